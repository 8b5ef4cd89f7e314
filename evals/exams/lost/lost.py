"""Underspecified conversation: the same problem told at once, and told a piece at a time.

After Lost in Conversation (Laban et al., arXiv 2505.06120): the facts that a question lacks are its shards, and the
student meets the same content in five ways, `exams.lost.samples` times each (N = 10 in the paper):

    full      the whole problem in the first message
    concat    the question, and behind it the partner's turns of this sample's own `sharded` talk, in one message
    sharded   the question, then one shard in each partner's turn, whatever the student says
    recap     the sharded talk, and one more partner's turn that repeats all shards
    snowball  each partner's turn repeats all earlier shards before its new one

The partner is a rule in exam wordings and listens to nothing, so every student hears the same. With exams.lost.partner:
model the untrained base chooses the shard and words it (evals.exams.lost.simulator), in the sharded talk; a rule tells
what recap and snowball repeat, in the order of that talk. A talk with k shards has
k + 1 turns of the student (recap one more) and is not stopped before: not by "I am done", and not by a right answer.
Recap goes on from the sharded talk and snowball from its first exchange, which is the same in both; with one shard
snowball is sharded. Nothing is decoded greedily: the spread between samples is what is measured.

`lost_final@MODE`: the last answer that the student committed to is right, scored once at the end / talks. No answer is
wrong.
`lost_any@MODE`: any answer that it committed to is right / talks. This is the paper's score, whose talk ends with the
first right attempt; it rewards guessing, since every turn is one more guess. With one answer both are the same.
`lost_worded`: of the turns that the model is to word, those that tell one shard and no other fact, and tell nothing
wrongly, judge or answer beside it, by the metrics' reader / turns. The others were told by rule: where this is low, the
partner was a rule all the same.
Both scores count tasks that lack a needed fact and no others. A talk in which the student failed to answer is left out
of all five modes. P, A90, U and what else is made of N talks of one task are in `evals.exams.lost.unreliability`.

Not as in the paper: its partner is a model, which here has to be asked for, and models read off what is an attempt.

The embedded base reads all five on embedded tasks. On 60 tasks that train students, 4 talks each, its last answers on
easy problems were right in .96 (full), .91 (concat), .88 (sharded), .91 (recap and snowball). Two other renderings it
cannot read: shards pasted into the question instead of behind it (.59 to .72), and a recap that repeats the question
(it takes itself for the partner). On any other source it needs a real model, and is not asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from evals.exams.lost.simulator import worded
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, difference
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Bar, Exam, options
from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import Sitting, needs_real_model
from pipeline.core.config_reading import Section
from pipeline.core.random_streams import stream
from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.stored import is_right


class LostSettings(Section):
    """How much the exam draws."""

    samples: int = Field(default=10, ge=2)  # talks of each task in each mode; the paper's N
    partner: Literal["rule", "model"] = "rule"  # who tells the shards; model: the untrained base, checked by the reader


class Options(Section):
    lost: LostSettings = LostSettings()


class Talks(NamedTuple):
    """`stood`: of each turn that a model was to word, whether it told one shard and no other fact."""

    of_mode: dict[str, list[Turn]]
    stood: list[bool]


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
WORDED = Metric("lost_worded", "turns that tell one shard and nothing else / turns that a model is to word")


async def sit(sitting: Sitting) -> list[Case]:
    """Cases whose hits are right talks and whose n is N, for each task, score and mode."""
    tasks = [task for task in sitting.tasks if task.missing]
    samples = range(options(sitting.experiment, Options).lost.samples)
    hits = await sitting.all([_sample(sitting, task, sample) for task in tasks for sample in samples])
    return tally("lost", [hit for of_sample in hits for hit in of_sample])


async def _sample(sitting: Sitting, task: Task, sample: int) -> Hits:
    talks = await played(sitting, task, sample)
    hits: Hits = [(task.id, WORDED.name, float(each)) for each in talks.stood]
    for mode, turns in talks.of_mode.items():
        read = await sitting.read(task.told_at_once() if mode == "full" else task, turns)
        hits += [(task.id, f"{score}@{mode}", hit) for score, hit in zip(SCORES, scored(task, read), strict=True)]
    return hits


def scored(task: Task, turns: Sequence[Turn]) -> tuple[float, float]:
    """Whether the last answer that the student committed to is right, and whether any was."""
    said = [is_right(task, turns, i) for i, turn in enumerate(turns) if turn.party == "student"]
    right = [each for each in said if each is not None]
    return float(right[-1:] == [True]), float(any(right))


async def played(sitting: Sitting, task: Task, sample: int) -> Talks:
    """One talk in each mode."""
    by_model = options(sitting.experiment, Options).lost.partner == "model"
    left, in_order, stood = list(task.missing), list[Fact](), list[bool]()

    def tell(*facts: Fact) -> Turn:
        key = sitting.key(task.id, sample, "tell", task.missing.index(facts[-1]))
        drawn = random.Random(key).choice(WORDINGS["exam"]["tell"])
        return Turn(party="partner", text=drawn.format(" ".join(fact.text for fact in facts)))

    async def next_shard(turns: list[Turn]) -> Turn:
        model = None
        if by_model:
            key = sitting.key(task.id, sample, "simulator", len(turns))
            model = await worded(sitting, task, left, turns, key)
            stood.append(model is not None)
        turn, fact = model or (tell(left[0]), left[0])
        left.remove(fact)
        in_order.append(fact)
        return turn

    async def answered(mode: str, turns: list[Turn], of: Task = task) -> list[Turn]:
        seed = stream(sitting.key(task.id, sample, "lost", mode, len(turns)))
        messages = view(of, OPENING, turns, "student", sitting.prompts)
        return [*turns, await speak(sitting.student, messages, "student", sitting.settings, seed)]

    sharded = await answered("sharded", [])
    while left:
        sharded = await answered("sharded", [*sharded, await next_shard(sharded)])
    snowball = sharded[:3]
    for i in range(1, len(in_order)):
        snowball = await answered("snowball", [*snowball, tell(*in_order[: i + 1])])
    of_mode = {
        "full": await answered("full", [], task.told_at_once()),
        "concat": await answered("concat", [turn for turn in sharded if turn.party == "partner"]),
        "sharded": sharded,
        "recap": await answered("recap", [*sharded, tell(*in_order)]),
        "snowball": snowball,
    }
    return Talks(of_mode, stood)


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    each = sum(2 * len(task.missing) + 3 for task in tasks if task.missing)
    return each * options(experiment, Options).lost.samples


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    scores = {f"{score}@{mode}" for score in SCORES for mode in MODES}
    return scores | ({WORDED.name} if options(experiment, Options).lost.partner == "model" else set())


def _check(experiment: Experiment) -> None:
    if options(experiment, Options).lost.partner == "model" and needs_real_model(experiment):
        raise ValueError(
            f"exams.lost.partner: 'model' needs a real model. {experiment.student.model!r} is an embedded base, which "
            "cannot do what it is asked there: name another student.model, or use exams.lost.partner: rule"
        )


EXAM = Exam(
    name="lost",
    metrics=(*METRICS, WORDED),
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    options=Options,
    check=_check,
    of_tasks=True,
    competence=(Bar("lost_final@full", 0.5),),
)
