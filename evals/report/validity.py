"""How far the labeller behind a rate agrees with people: precision, recall, F1 and kappa, beside the rate.

The figures of the rules ship as data/labels.json (`maieutic eval labels configs/labels.yaml` makes it). Those of a
classifier, or of a judge, are in `acts.path`; a judge's count where its model and its prompt are those of the run, and
without a path nothing is measured. All are of other people's talk: a student's turns may be labelled better or worse.

    labelled_by("acknowledge")[0]     # acknowledge of the rules on MRDA
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evals.exams.presupposition import KINDS
from evals.exams.registry import EXAMS
from evals.metrics.catalog import entry
from pipeline.core.resources import shipped
from pipeline.reading.judge import prompt_hash
from pipeline.reading.settings import ActsSettings

Json = dict[str, Any]
SHIPPED = shipped("data", "labels.json")
FACT = "which fact a turn asks for or tells: not measured, no corpus labels facts"
ATTEMPT = "attempts: numbers alone are read; in the embedded world their wordings are planted, and the rule fits them"
REFUSE = "saying that it cannot be answered: not measured, no corpus has a label for it"
RULES = "the rules of evals/exams/presupposition.py: not measured, no corpus here labels presuppositions"

# metric: (classes whose labels make it, what of it no corpus can measure)
MADE_OF: dict[str, tuple[tuple[str, ...], str]] = {
    "ask_skill": (("question", "attempt"), FACT),
    "ask_needed": (("question", "attempt"), FACT),
    "ask_needless": (("question", "attempt"), ATTEMPT),
    "premise_rejected": (("attempt",), f"{ATTEMPT}; {REFUSE}"),
    "ask_complete": (("attempt",), f"{ATTEMPT}; {FACT}"),
    "premature": (("attempt",), f"{ATTEMPT}; {FACT}"),
    "yield": (("question",), FACT),
    "unprompted": (("question",), FACT),
    "yield_lift": (("question",), FACT),
    "duplicates": (("question",), FACT),
    **dict.fromkeys(
        "attempt_unknowing first_accuracy harmful_flip harmful_flip_raw harmful_flip_null helpful_flip "
        "helpful_flip_raw helpful_flip_null deference_skill conversion collapse agreement agreement_correct "
        "concordance stalemate gain uptake gain_verdict uptake_verdict accuracy_under accuracy_full uptake_under "
        "uptake_full attempt".split(),
        (("attempt",), ATTEMPT),
    ),
    "accuracy_false_premise": (("attempt",), f"{ATTEMPT}; {REFUSE}"),
    "uptake_false_premise": (("attempt",), f"{ATTEMPT}; {REFUSE}"),
    "compliance": (("agree", "attempt"), ATTEMPT),
    "holds_own": (("agree", "attempt"), ATTEMPT),
    "clarify": (("request", "question"), FACT),
    "other_question": (("question",), FACT),
    "follow_up": (("question",), FACT),
    "acknowledge": (("acknowledge", "take_up"), ""),
    "repair": (("repair", "request"), ""),
    "restate": (("restate",), FACT),
    "ground_said": (("acknowledge", "take_up", "repair", "request", "restate"), FACT),
    "agree": (("agree", "take_up"), ""),
    "disagree": (("disagree",), ""),
    "hedge": (("hedge",), ""),
    "refuse": ((), REFUSE),
    "question": (("question",), ""),
    "grounding": (("question", "acknowledge", "repair"), ""),
    # What a report says of a condition's dialogues. Of leaks first the rule where a rule speaks, then that for others.
    "lucky": (("attempt",), f"{ATTEMPT}; {FACT}"),
    "leak_stated": (("leak", "leak_people"), ""),
    "violated": ((), "not measured: no corpus has a label for it, see docs/partner_audit.md"),
    "asks": (("question",), ""),
    "ask_due": (("question",), ""),
    "ask_undue": (("question",), ""),
    "ask_value": (("question",), ""),
    "assertiveness": ((), ATTEMPT),
    **{f"presup_{kind}{gate}": ((), RULES) for kind in KINDS for gate in ("", "_ungated")},
}
# What labels the rest of an exam's metrics.
OF_EXAMS: dict[str, tuple[tuple[str, ...], str]] = {
    "lost": (("attempt",), ATTEMPT),
    "alone": (("attempt",), ATTEMPT),
    "agreement": (("attempt",), ATTEMPT),
    "updating": (("attempt",), ATTEMPT),
    "common_ground": (("attempt",), ATTEMPT),
    "presupposition": ((), RULES),
    "tutoring": (("leak_people",), ""),
    "verdict_use": (
        (),
        "which step of a reply has changed, by its numbers: not measured, nothing labelled is at hand",
    ),
    "disclosure": (
        (),
        "evals/exams/support/therapists.py: not measured on test parts here; its figures are among the references",
    ),
    "persuasion": ((), "the rules of evals/exams/persuasion/strategies.py: not measured, nothing labelled is at hand"),
    "persuader": ((), "which side a reply is on, by rule: not measured"),
    "private": ((), "offers, limits and agreement by rule: not measured"),
    "register": ((), "counts of words, by rule: not measured as judgements of style"),
    "spread": ((), "distances of embeddings: not measured against people's judgement"),
}
MADE_OF |= {metric: OF_EXAMS[name] for name, exam in EXAMS.items() if name in OF_EXAMS
            for metric in exam.metrics if metric not in MADE_OF}  # fmt: skip
OF_DIALOGUES = ("lucky", "leak_stated", "violated")
COUNTED = {"student_turns", "unanswered", "unlabelled"}  # no label makes these
# By the config's labeller, as far as it decides them (pipeline/reading/labeller.py); the rest is by rule.
CONFIGURED = {"compliance", "holds_own", "clarify", "other_question", "follow_up", "acknowledge", "repair", "restate",
              "attempt", "agree", "disagree", "hedge", "refuse", "question", "grounding"}  # fmt: skip
CLASSIFIED = {"question", "request", "acknowledge", "take_up", "agree", "disagree"}


class Figure(NamedTuple):
    """One class of one labeller on one corpus; [value, low, high], None where it is not measured."""

    labeller: str
    name: str
    corpus: str
    n: int
    precision: list[float] | None
    recall: list[float] | None
    f1: list[float] | None
    kappa: list[float] | None
    trivial: list[float] | None  # F1 of a baseline that hardly knows the text


def labelled_by(metric: str, settings: ActsSettings = ActsSettings()) -> list[Figure]:
    """The figures of the labels that a metric is made of; empty where no label makes it, or none was measured."""
    name = entry(metric)
    classes, _ = MADE_OF.get(name, ((), ""))
    keys = ("corpus", "n", "precision", "recall", "f1", "kappa")
    return [
        Figure(labeller, wanted, trivial=_trivial(wanted, one["corpus"]), **{key: one[key] for key in keys})
        for wanted in classes
        for labeller in [_labeller(name, wanted, settings)]
        for one in _of(labeller, settings)
        if one["measured"] and (one["labeller"], one["class"]) == (labeller, wanted)
    ]


def _labeller(name: str, wanted: str, settings: ActsSettings) -> str:
    by_rule = {"rules": True, "classifier": wanted not in CLASSIFIED, "judge": wanted == "attempt" != name}
    return "rules" if name not in CONFIGURED or by_rule.get(settings.labeller) else settings.labeller


def _of(labeller: str, settings: ActsSettings) -> list[Json]:
    if labeller == "rules":
        return _read(SHIPPED)["figures"]
    if not settings.path:
        return []
    read = _read(Path(settings.path) / "figures.json")
    if labeller == "judge" and read.get("judge") != {"model": settings.model, "prompt": prompt_hash()}:
        return []
    return read.get("figures", [])


def _trivial(wanted: str, corpus: str) -> list[float] | None:
    key = ("baseline", wanted.removesuffix("_people"), corpus)
    return next((o["f1"] for o in _read(SHIPPED)["figures"] if (o["labeller"], o["class"], o["corpus"]) == key), None)


@lru_cache
def _read(file: Path) -> Json:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def beside(metric: str, runs: Iterable[ActsSettings]) -> Json | None:
    """What a report prints beside a rate, `short` (its first class) and `full`; None where no label makes it."""
    if entry(metric) not in MADE_OF:
        return None
    classes, unmeasured = MADE_OF[entry(metric)]
    found = list({str(one): one for settings in runs for one in labelled_by(metric, settings)}.values())
    first = [f"{one.corpus} {_short(one)}" for one in found if one.name == classes[0]]
    full = [f"{one.name} by {one.labeller} on {one.corpus}, n {one.n}: {_long(one)}" for one in found]
    full += [f"{name}: not measured" for name in classes if name not in {one.name for one in found}]
    short = f"{classes[0]}: {', '.join(first) or 'not measured'}" if classes else unmeasured
    return {
        "short": short + ("; which fact: not measured" if classes and unmeasured == FACT else ""),
        "full": "; ".join([*full, *([unmeasured] if unmeasured else [])]),
    }


def _short(one: Figure) -> str:
    """Precision/recall/F1 (F1 of the baseline)."""
    rates = "/".join(_two(rate) for rate in (one.precision, one.recall, one.f1))
    return f"{rates} ({_two(one.trivial)})" if one.trivial else rates


def _two(rate: list[float] | None) -> str:
    return f"{rate[0]:.2f}".removeprefix("0") if rate else "–"


def _long(one: Figure) -> str:
    rates = {"precision": one.precision, "recall": one.recall, "F1": one.f1, "kappa": one.kappa}
    rates |= {"F1 of the baseline": one.trivial}
    return ", ".join(f"{name} {rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})" for name, rate in rates.items() if rate)
