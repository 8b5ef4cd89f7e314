"""Underspecified conversation: the same problem told at once, and told a piece at a time.

After Lost in Conversation (Laban et al., arXiv 2505.06120): the facts that a question lacks are its shards, and the
student meets the same content in five ways, `exams.lost.samples` times each (N = 10 in the paper):

    full      the whole problem in the first message
    concat    the question, and behind it the partner's turns of this sample's own `sharded` talk, in one message
    sharded   the question, then one shard in each partner's turn, whatever the student says
    recap     the sharded talk, and one more partner's turn that repeats all shards
    snowball  each partner's turn repeats all earlier shards before its new one

The partner is a rule in exam wordings and listens to nothing, so every student hears the same. A talk with k shards has
k + 1 turns of the student (recap one more) and is not stopped before: not by "I am done", and not by a right answer.
Recap goes on from the sharded talk and snowball from its first exchange, which is the same in both; with one shard
snowball is sharded. Nothing is decoded greedily: the spread between samples is what is measured.

`lost_final@MODE`: the last answer that the student committed to is right, scored once at the end / talks. No answer is
wrong.
`lost_any@MODE`: any answer that it committed to is right / talks. This is the paper's score, whose talk ends with the
first right attempt; it rewards guessing, since every turn is one more guess. With one answer both are the same.
Both count tasks that lack a needed fact and no others. A talk in which the student failed to answer is left out of all
five modes. P, A90, U and what else is made of N talks of one task are in `evals.exams.lost.unreliability`.

Not as in the paper: its partner is a model that chooses the shard and words it, and models read off what is an attempt.

The embedded base reads all five on embedded tasks. On 60 tasks that train students, 4 talks each, its last answers on
easy problems were right in .96 (full), .91 (concat), .88 (sharded), .91 (recap and snowball). Two other renderings it
cannot read: shards pasted into the question instead of behind it (.59 to .72), and a recap that repeats the question
(it takes itself for the partner). On any other source it needs a real model, and is not asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pydantic import Field

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, difference
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Exam, options
from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import Sitting
from pipeline.core.config_reading import Section
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.stored import is_right


class LostSettings(Section):
    """How much the exam draws."""

    samples: int = Field(default=10, ge=2)  # talks of each task in each mode; the paper's N


class Options(Section):
    lost: LostSettings = LostSettings()


MODES = ("full", "concat", "sharded", "recap", "snowball")
METRICS = (
    difference(
        "lost_loss",
        "lost_final@full",
        "lost_final@sharded",
        reader=ANSWERS,
        shown=HIDDEN,  # evals.exams.lost.unreliability has tables of its own
    ),
    Metric(
        "lost_final",
        "the last answer is right, the content told at once (@full, @concat), a shard a turn (@sharded), and with "
        "repeats (@recap, @snowball) / talks on tasks that lack a fact",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "lost_any",
        "any answer is right, which rewards guessing (Lost in Conversation's own score) / the same talks",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
)
SCORES = tuple(metric.name for metric in METRICS if not metric.parts)


async def sit(sitting: Sitting) -> list[Case]:
    """Cases whose hits are right talks and whose n is N, for each task, score and mode."""
    tasks = [task for task in sitting.tasks if task.missing]
    samples = range(options(sitting.experiment, Options).lost.samples)
    hits = await sitting.all([_sample(sitting, task, sample) for task in tasks for sample in samples])
    return tally("lost", [hit for of_sample in hits for hit in of_sample])


async def _sample(sitting: Sitting, task: Task, sample: int) -> Hits:
    hits: Hits = []
    for mode, turns in (await played(sitting, task, sample)).items():
        read = await sitting.read(task.told_at_once() if mode == "full" else task, turns)
        hits += [(task.id, f"{score}@{mode}", hit) for score, hit in zip(SCORES, scored(task, read), strict=True)]
    return hits


def scored(task: Task, turns: Sequence[Turn]) -> tuple[float, float]:
    """Whether the last answer that the student committed to is right, and whether any was."""
    said = [is_right(task, turns, i) for i, turn in enumerate(turns) if turn.party == "student"]
    right = [each for each in said if each is not None]
    return float(right[-1:] == [True]), float(any(right))


async def played(sitting: Sitting, task: Task, sample: int) -> dict[str, list[Turn]]:
    """One talk in each mode."""
    shards, whole = [fact.text for fact in task.missing], task.told_at_once()

    def tell(*texts: str) -> Turn:
        wordings = WORDINGS["exam"]["tell"]
        drawn = random.Random(sitting.key(task.id, sample, "tell", shards.index(texts[-1]))).choice(wordings)
        return Turn(party="partner", text=drawn.format(" ".join(texts)))

    async def answered(mode: str, turns: list[Turn], of: Task = task) -> list[Turn]:
        seed = stream(sitting.key(task.id, sample, "lost", mode, len(turns)))
        messages = view(of, OPENING, turns, "student", sitting.prompts)
        return [*turns, await speak(sitting.student, messages, "student", sitting.settings, seed)]

    sharded = await answered("sharded", [])
    for shard in shards:
        sharded = await answered("sharded", [*sharded, tell(shard)])
    snowball = sharded[:3]
    for i in range(1, len(shards)):
        snowball = await answered("snowball", [*snowball, tell(*shards[: i + 1])])
    return {
        "full": await answered("full", [], whole),
        "concat": await answered("concat", [turn for turn in sharded if turn.party == "partner"]),
        "sharded": sharded,
        "recap": await answered("recap", [*sharded, tell(*shards)]),
        "snowball": snowball,
    }


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    each = sum(2 * len(task.missing) + 3 for task in tasks if task.missing)
    return each * options(experiment, Options).lost.samples


EXAM = Exam(
    name="lost",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=lambda experiment, understands: {f"{score}@{mode}" for score in SCORES for mode in MODES},
    options=Options,
    of_tasks=True,
)
