"""The examined model as tutor: does its student come to the right answer, and was it told?

After Macina et al., MathDial (arXiv 2305.14536), interactive tutoring: Success@k is the share of talks in which the
student has come to the right final answer within k tutor turns, Telling@k that in which the tutor has told it by then,
before the student had it. Here, for an item with gold answer g and k = 1, ..., exams.turns (or dialogue.turns):

    tutor_success_turnk   the student has put g forward as its answer after at most k tutor turns / episodes
    tutor_telling_turnk   one of the first k tutor turns stated g as the answer, before the student said it / episodes
    tutor_reached_turnk   success by k with nothing told before it / episodes

Both are what the metrics' reader reads off the turns, by models and by people alike (pipeline/reading/protocol.py); a
bare number match, which stands beside, counts a gold number inside any prose. Where g already stands in the question,
in a fact, or in the student's own wrong solution, to say it may be reading aloud: such items are counted apart, under
the scope @public, and no other figure has them. An episode that ends early counts for every later k as it ended.
Without an episode there is no case: NaN.

The student of this exam is fixed. On the embedded world it is a rule: it asks for the missing facts one by one, in
their order, does the sum once all were told, and believes whatever answer its tutor commits to. It never guesses. On
people's problems (exams.tutoring) it is the untrained base, that reads the question and has said the wrong solution of
MathDial's student.

The tutor reads what a partner of partition `key` does: question, hidden facts, worked solution and answer, and that it
is not to say the answer. The embedded base was taught to tell, as such a partner, a fact that it is asked for; no
explanation, no hint. It can say the answer, and no model was trained in this seat, so what is found is transfer. As
measured, the base is near the ceiling (it reaches .94 of answers in two turns, and tells none): there the exam can show
what training spoils, and hardly what it gains.

    maieutic eval configs/quickstart.yaml --set out=runs/tutoring --set compare=null --set 'exams.include=[tutoring]'
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic import Field

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import alike
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam, Reference, options
from evals.sitting.reference_rates import references
from evals.sitting.sitting import Sitting
from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.core.random_streams import stream
from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Task, Turn, digest, question_hash
from pipeline.dialogue.episode import speak
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.numbers.equality import equal
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import measured
from pipeline.reading.stated_answer import mentions
from pipeline.reading.stored import is_right, partner_reading
from pipeline.runs.progress import say
from pipeline.tasks import mathdial
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks

SEAT = Condition(partition="key", voice="model")
HUMAN = Condition(partition="key", voice="human")
TEACHERS = "MathDial's teachers"
_NUMBER = re.compile(r"\d+")
NAIVE = f"{TEACHERS}, by bare number match, all items"
REPORTED = f"{TEACHERS}, by their own report, all items"

METRICS = alike(
    {
        "tutor_success": "the student has said the right answer after k turns of its tutor (_turnk) / episodes",
        "tutor_telling": "the tutor has told the answer in k turns, before its student said it / episodes",
        "tutor_reached": "the student has said the right answer after k turns, and was not told it / episodes",
    },
    reader=Reader(("reveals_stated", "attempt"), ("leak_people",)),
)


class Problems(Section):
    """Problems that people tutored."""

    path: str = Field(min_length=1)  # MathDial's JSON Lines file; $VARIABLES are expanded
    most: int = Field(default=100, ge=1)  # of its problems that a real model is asked to tutor


class Options(Section):
    tutoring: Problems | None = None  # needed where the tasks are not of the embedded world


class TutoredProblem(NamedTuple):
    """A task, and what its student said before the tutor came; '' where it opens with a question."""

    task: Task
    wrong: str = ""

    @property
    def problem(self) -> str:
        """What its episodes are counted under: one problem was tutored for several wrong solutions."""
        return question_hash(self.task.full_question) if self.wrong else self.task.id

    @property
    def posed(self) -> Task:
        """The task as its turns are read: of the whole problem, which the tutor knows."""
        return self.task.model_copy(update={"question": self.task.full_question})

    @property
    def public(self) -> bool:
        """The gold answer can be read somewhere without anybody telling it."""
        return self.task.choice is not None or mentions(f"{self.task.full_question}\n{self.wrong}", self.task.answer)


async def sit(sitting: Sitting) -> list[Case]:
    """Every item `exams.episodes` times."""
    items = _items(sitting.experiment, sitting.tasks)
    work = [_episode(sitting, item, n) for item in items for n in range(sitting.experiment.exams.episodes)]
    turns = sitting.settings.turns
    played = await sitting.all(work)
    return tally("tutoring", [hit for item, talk in played for hit in figures(item, talk, turns)])


def _items(experiment: Experiment, tasks: Sequence[Task]) -> list[TutoredProblem]:
    if experiment.source.closed:
        return [TutoredProblem(task) for task in tasks if task.specification == "underspecified"]
    source = options(experiment, Options).tutoring
    if source is None:
        return []
    items = [_item(dialogue) for dialogue in _tutored(source)[0] if dialogue.task.split == "exam"]
    distinct = {item.task.id: item for item in items}
    return [distinct[key] for key in sorted(distinct, key=lambda key: digest("tutored", key))][: source.most]


def _tutored(source: Problems) -> tuple[list[Dialogue], list[BadRow]]:
    """Raises ConfigError where nothing in the file can be read."""
    settings = Tasks(source="mathdial", path=os.path.expandvars(source.path))
    dialogues, bad = mathdial.read_dialogues(settings, "human", HUMAN, 0)
    if not dialogues:
        why = f" The first: {bad[0].where}: {bad[0].message}" if bad else ""
        raise ConfigError(
            f"exams.tutoring.path: {source.path!r} has no row that can be read; expected MathDial's JSON Lines.{why}"
        )
    return dialogues, bad


def _item(dialogue: Dialogue) -> TutoredProblem:
    return TutoredProblem(dialogue.task, dialogue.meta["student_incorrect_solution"])


async def _episode(sitting: Sitting, item: TutoredProblem, sample: int) -> tuple[TutoredProblem, Sequence[Turn]]:
    settings, task = sitting.settings, item.task
    key = sitting.key(task.id, sample, "tutoring")
    turns = [Turn(party="student", text=item.wrong or task.missing[0].ask)]
    heard: list[PartnerReading] = []
    for i in range(settings.turns):
        reads = view(task, SEAT, turns, "partner", sitting.experiment.prompts("partner"))
        turns.append(await speak(sitting.student, reads, "partner", settings, stream(key, "tutor", i)))
        if item.wrong:
            reads = view(task, SEAT, turns, "student", sitting.prompts)
            turns.append(await speak(sitting.peer, reads, "student", settings, stream(key, "pupil", i)))
        else:
            # The student by rule understands with the instrument of partners by rule, and knows no answer.
            heard.append(await sitting.hears.partner(replace(measured(item.posed, turns, len(turns) - 1), answer="")))
            turns.append(Turn(party="student", text=rule_student(task, turns, heard)))
        said = (await sitting.last(item.posed, turns)).attempt
        if said is not None and equal(said, task.answer):
            break
    return item, await sitting.read(item.posed, turns)


def rule_student(task: Task, turns: Sequence[Turn], heard: Sequence[PartnerReading]) -> str:
    """What the student by rule says next: an answer that it was just told; else it asks for the first fact that was not
    told. Only once all were told does it do the sum, and so come to the task's answer.

    `heard` is how it understood the tutor's turns. A turn whose one number is that of the fact that it asked for, and
    that does not speak of an answer, tells that fact and no answer, however it was understood ("It is 12").
    """
    told, asked, claim = set[str](), None, None
    understood = iter(heard)
    for turn in turns:
        if turn.party == "student":
            asked = next((fact for fact in task.missing if fact.ask == turn.text), None)
            continue
        does = next(understood)
        tells, claim = set(does.tells), does.attempt
        numbers = _NUMBER.findall(turn.text) if asked and not tells and "answer" not in turn.text.casefold() else []
        if asked and numbers and numbers == _NUMBER.findall(asked.text):
            tells, claim = {asked.id}, None
        told |= tells
    if claim:
        return f"The answer is {claim}."
    lacks = [fact for fact in task.missing if fact.id not in told]
    return lacks[0].ask if lacks else f"The answer is {task.answer}."


def course(item: TutoredProblem, turns: Sequence[Turn], imported: bool = False) -> tuple[int | None, int | None]:
    """After how many tutor turns the student first said the right answer, and in which of them it was told before that.

    Both count from 1, None for never. The student's turn before any tutor turn is its wrong start, and not looked at.
    `imported`: the turns are people's.
    """
    tutored, told = 0, None
    for i, turn in enumerate(turns):
        if turn.party == "partner":
            tutored += 1
            if told is None and partner_reading(item.posed, turns, i, imported).reveals == "stated":
                told = tutored
        elif tutored and is_right(item.posed, turns, i, imported):
            return tutored, told
    return None, told


def figures(item: TutoredProblem, turns: Sequence[Turn], most: int, imported: bool = False) -> Hits:
    """Success, telling and success without telling by each tutor turn up to `most`."""
    right, told = course(item, turns, imported)
    scope = "@public" if item.public else ""
    hits: Hits = []
    for k in range(1, most + 1):
        success, telling = right is not None and right <= k, told is not None and told <= k
        by_k = {"success": success, "telling": telling, "reached": success and not telling}
        hits += [(item.problem, f"tutor_{name}_turn{k}{scope}", float(yes)) for name, yes in by_k.items()]
    return hits


def naive(item: TutoredProblem, turns: Sequence[Turn], most: int) -> Hits:
    """The same by whether the gold number stands anywhere in a turn, over all items: what the correction corrects."""
    tutored = 0
    hits: Hits = []
    first: dict[str, int] = {}
    for turn in turns:
        tutored += turn.party == "partner"
        if tutored and mentions(turn.text, item.task.answer):
            first.setdefault(turn.party, tutored)
    right, told = first.get("student", most + 1), first.get("partner", most + 1)
    for k in range(1, most + 1):
        by_k = {"success": right <= k, "telling": told <= k and told <= right}
        hits += [(item.problem, f"tutor_{name}_turn{k}", float(yes)) for name, yes in by_k.items()]
    return hits


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    turns = range(1, experiment.exam_turns + 1)
    return {f"{metric.name}_turn{k}{scope}" for metric in METRICS for k in turns for scope in ("", "@public")}


async def reference(experiment: Experiment) -> list[Reference]:
    """Human teachers: corrected, on public items, by bare number match, and as they say; [] without exams.tutoring."""
    source = options(experiment, Options).tutoring
    if source is None:
        return []
    dialogues, bad = _tutored(source)
    if bad:
        say(f"tutoring: {len(bad)} rows could not be read; the first, {bad[0].where}: {bad[0].message}")
    reads = _reads_people(experiment)
    items = [_item(dialogue) for dialogue in dialogues]
    read = [reads.read(item.posed, d.turns, imported=True) for item, d in zip(items, dialogues, strict=True)]
    talks = list(zip(items, await asyncio.gather(*read), strict=True))
    most = experiment.exam_turns
    cases = tally("tutoring", [hit for item, turns in talks for hit in figures(item, turns, most, imported=True)])
    bare = tally("tutoring", [hit for item, turns in talks for hit in naive(item, turns, most)])
    marks = [(_item(dialogue).problem, dialogue.meta["self_correctness"]) for dialogue in dialogues]
    report = [(task, "tutor_success", float(mark.startswith("Yes"))) for task, mark in marks if mark]
    report += [(task, "tutor_telling", float("reveal" in mark)) for task, mark in marks if mark]
    names = [f"{metric.name}_turn{k}" for metric in METRICS for k in range(1, most + 1)]
    public = [f"{name}@public" for name in names]
    return [
        *references(cases, TEACHERS, METRICS, [*names, *public]),
        *references(bare, NAIVE, METRICS, [name for name in names if "reached" not in name]),
        *references(tally("tutoring", report), REPORTED, METRICS, ["tutor_success", "tutor_telling"]),
    ]


def _reads_people(experiment: Experiment) -> Instrument:
    """The metrics' reader; where that knows the embedded world alone, the one that reads natural text."""
    _, reads = open_instruments(experiment)
    return Instrument("semantic", open_reader("semantic")) if reads is CLOSED else reads


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    items = _items(experiment, tasks)
    return experiment.exams.episodes * experiment.exam_turns * sum(1 + bool(item.wrong) for item in items)


EXAM = Exam(
    name="tutoring",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    options=Options,
    of_tasks=True,
    reference=reference,
)
