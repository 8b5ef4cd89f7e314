"""What is a partner's turn worth to the student? Nats that the right answer gains by it.

In the whole episodes that all exams share, the student's own words "The answer is" are put behind each of the partner's
turns. The score is the log-probability of the right answer and a full stop after them. Nothing is sampled for it.

Most of that score is the student's own doing: behind a right answer of its own it is near 0, behind a wrong one low,
whatever the partner said. So each of the partner's turns is held against a turn without content in its place, after the
same words of the student:

    turn_worth_KIND@ARM           the score after the partner's turn - after the other / the partner's turns
    turn_worth_gain               on underspecified tasks, with facts volunteered - with chatter
    turn_worth_gain_verdict       on full tasks, with a verifier - with a partner that says nothing useful
    gold_logprob_KIND_turnN@ARM   the score after the partner's Nth turn; turn 0 is the student's opening view
    gold_logprob_KIND@ARM         after the last turn that it heard; a talk that ended keeps its last score

- A verifier's "right" makes the student's own answer likelier to be said again.
- A long answer has a lower score: compare on the same tasks. Behind other words than "The answer is" it is another,
  most of all for a model that was trained on other words. A turn after which more is to be worked out than a model does
  in its head is worth little to it.
- A model that reasons is scored behind an empty thought.
- Servers of the OpenAI protocol score no text, so the student has to be in this process (transformers, vllm).

The scores of each talk are in seed-N.gold_logprob.jsonl. The question is this project's; the score is what evaluation
harnesses call the log-likelihood of a reference answer.

    maieutic eval configs/quickstart.yaml --set out=runs/gold --set compare=null --set 'exams.include=[gold_logprob]'
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import NamedTuple

from evals.exams.feedback import KINDS, kind_of
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Shown, alike, difference
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ARMS, pairs_met
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Json, Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.model import EngineError, Sampling, Scored
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view

NAME = "gold_logprob"
BEGINS = "The answer is"
SCORE = "nats of the right answer behind the student's words 'The answer is', after the last turn of the partner "
WORTH = "nats that the right answer gains by the partner's turn, over a turn without content in its place / its turns, "
OVER = "(_turnN: its Nth turn, 0 before any) / episodes on "
TASKS = dict(zip(KINDS, ("underspecified tasks", "full tasks", "false-premise tasks"), strict=True))
METRICS = (
    difference(
        "turn_worth_gain",
        "turn_worth_under@volunteer",
        "turn_worth_under@chatter",
        "nats that the right answer gains by a turn with facts volunteered - with chatter",
        unit="nats",
        shown=Shown(behaviour=("",), deciding=True),
    ),
    difference(
        "turn_worth_gain_verdict",
        "turn_worth_full@verifier",
        "turn_worth_full@unhelpful",
        "nats that the right answer gains by a turn of a verifier - of an unhelpful partner, full tasks",
        unit="nats",
        shown=Shown(behaviour=("",)),
    ),
    *alike({f"turn_worth_{kind}": f"{WORTH}{on}" for kind, on in TASKS.items()}, unit="nats", shown=HIDDEN),
    *alike({f"gold_logprob_{kind}": f"{SCORE}{OVER}{on}" for kind, on in TASKS.items()}, unit="nats", shown=HIDDEN),
)


class Scores(NamedTuple):
    """Of one talk, in nats: before any turn of the partner, after each, and after an empty one in its place."""

    opening: float
    after: tuple[float, ...]
    without: tuple[float, ...]


async def sit(sitting: Sitting) -> list[Case]:
    """Scores after each of the partner's turns, in the whole episodes that all exams share."""
    episodes = await sitting.episodes()
    scored = await sitting.all([_scores(sitting, episode) for episode in episodes])
    sitting.transcripts[NAME] = [_row(episode, scores) for episode, scores in scored]
    return tally(NAME, [hit for each in scored for hit in hits_of(*each, sitting.settings.turns)])


async def _scores(sitting: Sitting, episode: ExamEpisode) -> tuple[ExamEpisode, Scores]:
    """Raises EngineError where the engine scores no text."""
    turns = episode.played.turns
    places = [i for i, turn in enumerate(turns) if turn.party == "partner"]
    rng = random.Random(sitting.key(episode.task.id, episode.sample, NAME))
    empty = [Turn(party="partner", text=rng.choice(WORDINGS["exam"]["go_on"])) for _ in places]
    heard: list[Sequence[Turn]] = [(), *(turns[: i + 1] for i in places)]
    heard += [(*turns[:i], other) for i, other in zip(places, empty, strict=True)]
    opening, *nats = await asyncio.gather(*(_score(sitting, episode, said) for said in heard))
    return episode, Scores(opening, tuple(nats[: len(places)]), tuple(nats[len(places) :]))


async def _score(sitting: Sitting, episode: ExamEpisode, said: Sequence[Turn]) -> float:
    messages = view(episode.task, ARMS[episode.arm].condition, list(said), "student", sitting.prompts)
    asked = Sampling(max_tokens=0, temperature=0.0, scored=Scored(BEGINS, f" {episode.task.answer}."))
    nats = (await sitting.student.complete(messages, asked)).score
    if nats is None:
        raise EngineError("the student's engine gives no log-probability of a text")
    return nats


def hits_of(episode: ExamEpisode, scores: Scores, turns: int) -> Hits:
    """Who stopped early keeps the last score. Of `turns` turns that the student may take the last is answered by
    nobody."""
    task, scope = episode.task.id, f"{kind_of(episode.task)}{{}}@{episode.arm}"
    nats = [scores.opening, *scores.after]
    kept = nats + nats[-1:] * (turns - len(nats))
    hits = [(task, f"gold_logprob_{scope.format(f'_turn{i}')}", each) for i, each in enumerate(kept)]
    hits.append((task, f"gold_logprob_{scope.format('')}", nats[-1]))
    worth = [(task, f"turn_worth_{scope.format('')}", a - b) for a, b in zip(scores.after, scores.without, strict=True)]
    return hits + worth


def _row(episode: ExamEpisode, scores: Scores) -> Json:
    return {"arm": episode.arm, "task": episode.task.id, "sample": episode.sample, **scores._asdict()}


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    met = {
        (kind, arm)
        for arm, partner in ARMS.items()
        for specification in partner.specifications
        if (kind := "under" if specification in ("underspecified", "sharded") else specification) in KINDS
        and experiment.tasks.exam.get(specification)
    }
    turns = ["", *(f"_turn{i}" for i in range(experiment.exam_turns))]
    scores = {f"gold_logprob_{kind}{turn}@{arm}" for kind, arm in met for turn in turns}
    return scores | {f"turn_worth_{kind}@{arm}" for kind, arm in met}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    # After each turn of the partner twice, and once before.
    return experiment.exams.episodes * (2 * experiment.exam_turns - 1) * pairs_met(tasks)


def _check(experiment: Experiment) -> None:
    engine = experiment.engine_of("student")
    if engine.kind not in ("transformers", "vllm"):
        raise ValueError(
            f"exams.include: {NAME!r} asks for the log-probability of a text, which {engine.config_key}.kind: "
            f"{engine.kind!r} cannot say. Leave it out, or serve the student by transformers or vllm"
        )
    if experiment.exams.scaffold != "none":
        raise ValueError(f"exams.include: {NAME!r} has no place for a plan. Leave it out, or exams.scaffold: none")


EXAM = Exam(
    name=NAME,
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    check=_check,
    episodes=True,
)
