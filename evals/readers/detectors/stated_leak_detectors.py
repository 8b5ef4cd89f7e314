"""Detectors of leaks on MRBench's human labels, each against the naive number match.

With the gold: `naive` (the gold number stands in the reply), `naive_told` (in a sentence that is no question, and it is
no number of the problem: a stronger baseline, named after the test half was scored), `stated`
(pipeline.reading.stated_answer.states, which `leak_stated` goes by where a rule speaks), `gives_away`
(pipeline.reading.stated_answer.gives_away), `functional` (pipeline.judging.functional_leak.leak_functional with the
reader by rule) and `fitted`, a logistic regression over all of these but `naive_told`, and a few counts. Without it:
`new_number` (a number that was not said before) and `new_result` (one that is told as a result).

`fitted` learned from the training half alone; its scores there are out of fold, by dialogue, and so is its threshold,
the one of best F1. Decided before the test half was looked at: figures of the test half over all replies with a gold
decide, and `gives_away` (F1) and `fitted` (average precision) are the detectors that have to beat `naive`.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evals.readers.detectors.mrbench import PLACE, TutorReply, read
from evals.readers.detectors.scores import compare, curve
from evals.stats.bootstrap import Array
from pipeline.core.schema import Json
from pipeline.judging.functional_leak import RuleReader, leak_functional
from pipeline.reading.numbers.equality import equal
from pipeline.reading.sentences import sentences
from pipeline.reading.stated_answer import gives_away, mentions, numbers_told, states

FOLDS = 5
LABELS: dict[str, Callable[[TutorReply], bool]] = {"leak": lambda r: r.leak, "any_reveal": lambda r: r.any_reveal}
SETS: dict[str, Callable[[TutorReply], bool]] = {
    "with gold": lambda r: bool(r.gold),
    "MathDial": lambda r: bool(r.gold) and r.source == "MathDial",
    "Bridge, gold computed": lambda r: bool(r.gold) and r.source == "Bridge",
}
NO_GOLD = "Bridge, without gold"
FEATURES = (
    "mentioned", "stated", "given_away", "functional", "result", "new", "last", "unasked", "steps", "length",
)  # fmt: skip


def measure(data: Path, seed: int = 0) -> Json:
    """All figures, by label, set and part ('test' decides; 'all' holds the training half, too). Raises ConfigError."""
    replies, bad = read(data / PLACE)
    known = [reply for reply in replies if reply.gold]
    scores, fit = _scores(known, seed)
    bridge = [reply for reply in replies if reply.source == "Bridge"]
    blind = {
        "new_number": (np.array([_new(r, False) for r in bridge], dtype=float), 0.5),
        "new_result": (np.array([_new(r, True) for r in bridge], dtype=float), 0.5),
    }
    figures: Json = {}
    for label, is_leak in LABELS.items():
        figures[label] = {
            name: _by_part(known, scores, inside, is_leak, "naive", seed) for name, inside in SETS.items()
        }
        figures[label][NO_GOLD] = _by_part(bridge, blind, lambda _: True, is_leak, "new_number", seed)
    return {
        "replies": len(replies),
        "dialogues": len({reply.conversation for reply in replies}),
        "bad_rows": [row.message for row in bad],
        "without_gold": len(replies) - len(known),
        "fitted": fit,
        "figures": figures,
        "curves": _curves(known, scores),
    }


def _by_part(
    replies: Sequence[TutorReply],
    scores: dict[str, tuple[Array, float]],
    inside: Callable[[TutorReply], bool],
    is_leak: Callable[[TutorReply], bool],
    baseline: str,
    seed: int,
) -> Json:
    figures = {}
    for part in ("test", "train", "all"):
        chosen = [i for i, reply in enumerate(replies) if inside(reply) and part in (reply.part, "all")]
        shown = {name: (score[chosen], least) for name, (score, least) in scores.items()}
        truth = [is_leak(replies[i]) for i in chosen]
        names = [replies[i].conversation for i in chosen]
        figures[part] = compare(truth, shown, names, baseline, seed)
        if "naive_told" in shown:
            against = compare(truth, shown, names, "naive_told", seed)["detectors"]
            figures[part]["over_naive_told"] = {
                name: {key: against[name][key] for key in ("f1_gain", "ap_gain")} for name in ("gives_away", "fitted")
            }
    return figures


def _curves(known: Sequence[TutorReply], scores: dict[str, tuple[Array, float]]) -> Json:
    chosen = [i for i, reply in enumerate(known) if reply.part == "test"]
    truth = [known[i].leak for i in chosen]
    return {name: curve(truth, score[chosen]) for name, (score, _) in scores.items()}


def _scores(known: Sequence[TutorReply], seed: int) -> tuple[dict[str, tuple[Array, float]], Json]:
    """Each detector's score of every reply, and from where on it says yes; and what was fitted."""
    table = np.array([features(reply) for reply in known])
    scores = {
        name: (table[:, FEATURES.index(column)], 0.5)
        for name, column in {
            "naive": "mentioned",
            "stated": "stated",
            "gives_away": "given_away",
            "functional": "functional",
        }.items()
    }
    scores["naive_told"] = (np.array([_told(reply) for reply in known], dtype=float), 0.5)
    fitted, least, weights = fit_and_score(known, table, seed)
    scores["fitted"] = (fitted, least)
    return scores, {
        "threshold": round(least, 4),
        "weights": dict(zip(FEATURES, weights.round(3).tolist(), strict=True)),
    }


def fit_and_score(known: Sequence[TutorReply], table: Array, seed: int) -> tuple[Array, float, Array]:
    """Scores (out of fold on the training half), the threshold of best F1 there, and the weights."""
    yes = np.array([reply.leak for reply in known])
    train = np.array([i for i, reply in enumerate(known) if reply.part == "train"])
    groups = [known[i].conversation for i in train]

    def model() -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=1000, random_state=seed))

    whole = model().fit(table[train], yes[train])
    scores = whole.predict_proba(table)[:, 1]
    for learn, held_out in GroupKFold(FOLDS).split(train, yes[train], groups):
        part = model().fit(table[train[learn]], yes[train[learn]])
        scores[train[held_out]] = part.predict_proba(table[train[held_out]])[:, 1]
    precision, recall, thresholds = precision_recall_curve(yes[train], scores[train])
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    return scores, float(thresholds[int(f1[:-1].argmax())]), whole[-1].coef_[0]


def features(reply: TutorReply) -> list[float]:
    """What a reply with a gold shows, in the order of FEATURES."""
    told = numbers_told(reply.text)
    gold = [number for number in told if equal(number.written, reply.gold)]
    reading = asyncio.run(leak_functional(RuleReader(), reply.question, [reply.text], reply.gold, samples=1))
    steps = {number.written for number in numbers_told(reply.solution) if number.result}
    repeated = sum(any(equal(number.written, step) for number in told) for step in steps)
    asked = [number for number in numbers_told(_asking(reply.text)) if equal(number.written, reply.gold)]
    return [
        float(bool(gold)),
        float(states(reply.text, reply.gold, reply.question)),
        float(gives_away(reply.text, reply.gold, reply.question)),
        reading.leak,
        float(any(number.result for number in gold)),
        float(bool(gold) and not mentions(reply.before, reply.gold)),
        float(bool(gold) and gold[-1] == told[-1]),
        float(len(gold) > len(asked)),
        repeated / len(steps) if steps else 0.0,
        math.log1p(len(reply.text.split())),
    ]


def _told(reply: TutorReply) -> bool:
    """The gold stands in a sentence that is no question, and is no number of the problem."""
    statements = " ".join(part for part in sentences(reply.text) if not part.endswith("?"))
    return mentions(statements, reply.gold) and not mentions(reply.question, reply.gold)


def _asking(text: str) -> str:
    return " ".join(part for part in sentences(text) if part.endswith("?"))


def _new(reply: TutorReply, result: bool) -> bool:
    """A number that nobody said before stands in the reply, told as a result where that is asked for."""
    earlier = [number.written for number in numbers_told(reply.before)]
    return any(
        (number.result or not result) and not any(equal(number.written, old) for old in earlier)
        for number in numbers_told(reply.text)
    )
