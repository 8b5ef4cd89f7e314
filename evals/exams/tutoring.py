"""The student as tutor: does its pupil come to the right answer, and was it told?

After Macina et al., MathDial (arXiv 2305.14536), interactive tutoring: Success@k is the share of talks in which the
pupil has come to the right final answer within k tutor turns, Telling@k that in which the tutor has told it by then,
before the pupil had it. Here, for an item with gold answer g and k = 1, ..., exams.turns (or dialogue.turns):

    tutor_success_turnk   the pupil has said g as its answer or as a result after at most k tutor turns / episodes
    tutor_telling_turnk   one of the first k tutor turns gave g away in that way, before the pupil said it / episodes
    tutor_reached_turnk   success by k with nothing told before it / episodes

Both are read by `pipeline.reading.stated.gives_away`: a bare number match counts a gold number inside any prose, and
`pipeline.reading.acts.attempt` alone finds fewer than half of the right answers that MathDial's teachers report, since
people seldom say "the answer is". Where g already stands in the question, in a fact, or in the pupil's own wrong
solution, to say it may be reading aloud: such items are counted apart, under the scope @public, and no other figure has
them. An episode that ends early counts for every later k as it ended. Without an episode there is no case: NaN.

The pupil is fixed. On the embedded world it is a rule: it asks for the missing facts one by one, in their order, does
the sum once all were told, and believes whatever answer its tutor commits to. It never guesses. On people's problems
(exams.tutoring) it is the untrained base, that reads the question and has said the wrong solution of MathDial's pupil.

The tutor reads what a partner of partition `key` does: question, hidden facts, worked solution and answer, and that it
is not to say the answer. The embedded base was taught to tell, as such a partner, a fact that it is asked for; no
explanation, no hint. It can say the answer, and no student was trained in this seat, so what is found is transfer. As
measured, the base is near the ceiling (it reaches .94 of answers in two turns, and tells none): there the exam can show
what training spoils, and hardly what it gains.

    maieutic eval configs/quickstart.yaml --set out=runs/tutoring --set compare=null --set 'exams.include=[tutoring]'
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from evals.sitting.exam import Exam, Reference
from evals.sitting.reference_rates import references
from evals.sitting.sitting import Case, Sitting, tally
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task, Turn, digest, question_hash
from pipeline.dialogue.episode import speak, stream
from pipeline.experiment.exams import TutoringSource
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.acts import attempt, given
from pipeline.reading.stated import gives_away, mentions
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


class Item(NamedTuple):
    """A task, and what its pupil said before the tutor came; '' where it opens with a question."""

    task: Task
    wrong: str = ""

    @property
    def problem(self) -> str:
        """What its episodes are counted under: one problem was tutored for several wrong solutions."""
        return question_hash(self.task.full_question) if self.wrong else self.task.id

    @property
    def public(self) -> bool:
        """The gold answer can be read somewhere without anybody telling it."""
        return mentions(f"{self.task.full_question}\n{self.wrong}", self.task.answer)


async def sit(sitting: Sitting) -> list[Case]:
    """Every item `exams.episodes` times."""
    items = _items(sitting.experiment, sitting.tasks)
    work = [_episode(sitting, item, n) for item in items for n in range(sitting.experiment.exams.episodes)]
    turns = sitting.settings.turns
    return tally("tutoring", [hit for item, said in await sitting.all(work) for hit in figures(item, said, turns)])


def _items(experiment: Experiment, tasks: Sequence[Task]) -> list[Item]:
    if experiment.source.closed:
        return [Item(task) for task in tasks if task.specification == "underspecified"]
    if experiment.exams.tutoring is None:
        return []
    dialogues, _ = _tutored(experiment.exams.tutoring)
    found = [_item(one) for one in dialogues if one.task.split == "exam"]
    distinct = {item.task.id: item for item in found}
    return [distinct[key] for key in sorted(distinct, key=lambda key: digest("tutored", key))][
        : experiment.exams.tutoring.most
    ]


def _tutored(source: TutoringSource) -> tuple[list[Dialogue], list[BadRow]]:
    """Raises ConfigError where nothing in the file can be read."""
    settings = Tasks(source="mathdial", path=os.path.expandvars(source.path))
    dialogues, bad = mathdial.read_dialogues(settings, "human", HUMAN, 0)
    if not dialogues:
        why = f" The first: {bad[0].where}: {bad[0].message}" if bad else ""
        raise ConfigError(
            f"exams.tutoring.path: {source.path!r} has no row that can be read; expected MathDial's JSON Lines.{why}"
        )
    return dialogues, bad


def _item(dialogue: Dialogue) -> Item:
    return Item(dialogue.task, dialogue.meta["student_incorrect_solution"])


async def _episode(sitting: Sitting, item: Item, sample: int) -> tuple[Item, list[Turn]]:
    settings, task = sitting.settings, item.task
    key = sitting.key(task.id, sample, "tutoring")
    turns = [Turn(party="student", text=item.wrong or task.missing[0].ask)]
    for i in range(settings.turns):
        reads = view(task, SEAT, turns, "partner", sitting.experiment.partner.system)
        turns.append(await speak(sitting.student, reads, "partner", settings, stream(key, "tutor", i)))
        if item.wrong:
            reads = view(task, SEAT, turns, "student", sitting.system)
            turns.append(await speak(sitting.peer, reads, "student", settings, stream(key, "pupil", i)))
        else:
            turns.append(Turn(party="student", text=pupil(task, turns)))
        if _says(task, turns[-1]):
            break
    return item, turns


def pupil(task: Task, turns: Sequence[Turn]) -> str:
    """What the pupil by rule says next: an answer that it was just told; else it asks for the first fact that was not
    told. Only once all were told does it do the sum, and so come to the task's answer.

    "It is 12" to a question for a fact tells the fact and no answer, and so does any turn whose one number is the
    fact's and that does not speak of an answer.
    """
    told, asked, claim = set[str](), None, None
    for turn in turns:
        if turn.party == "student":
            asked = next((fact for fact in task.missing if fact.ask == turn.text), None)
            continue
        said, claim = set(given(turn.text, task.facts)), attempt(turn.text)
        numbers = _NUMBER.findall(turn.text) if asked and not said and "answer" not in turn.text.casefold() else []
        if asked and numbers == _NUMBER.findall(asked.text):
            said, claim = {asked.id}, None
        told |= said
    if claim:
        return f"The answer is {claim}."
    lacks = [fact for fact in task.missing if fact.id not in told]
    return lacks[0].ask if lacks else f"The answer is {task.answer}."


def _says(task: Task, turn: Turn) -> bool:
    return gives_away(turn.text, task.answer, task.full_question)


def course(item: Item, turns: Sequence[Turn]) -> tuple[int | None, int | None]:
    """After how many tutor turns the pupil first said the right answer, and in which of them it was told before that.

    Both count from 1, None for never. The pupil's turn before any tutor turn is its wrong start, and not looked at.
    """
    task, tutored, told = item.task, 0, None
    for turn in turns:
        if turn.party == "partner":
            tutored += 1
            if told is None and _says(task, turn):
                told = tutored
        elif tutored and _says(task, turn):
            return tutored, told
    return None, told


def figures(item: Item, turns: Sequence[Turn], most: int) -> list[tuple[str, str, float]]:
    right, told = course(item, turns)
    scope, found = "@public" if item.public else "", []
    for k in range(1, most + 1):
        success, telling = right is not None and right <= k, told is not None and told <= k
        hits = {"success": success, "telling": telling, "reached": success and not telling}
        found += [(item.problem, f"tutor_{name}_turn{k}{scope}", float(hit)) for name, hit in hits.items()]
    return found


def naive(item: Item, turns: Sequence[Turn], most: int) -> list[tuple[str, str, float]]:
    """The same by whether the gold number stands anywhere in a turn, over all items: what the correction corrects."""
    tutored, found = 0, []
    first: dict[str, int] = {}
    for turn in turns:
        tutored += turn.party == "partner"
        if tutored and mentions(turn.text, item.task.answer):
            first.setdefault(turn.party, tutored)
    right, told = first.get("student", most + 1), first.get("partner", most + 1)
    for k in range(1, most + 1):
        hits = {"success": right <= k, "telling": told <= k and told <= right}
        found += [(item.problem, f"tutor_{name}_turn{k}", float(hit)) for name, hit in hits.items()]
    return found


def ratios(experiment: Experiment) -> set[str]:
    turns = range(1, experiment.exam_turns + 1)
    return {f"{name}_turn{k}{scope}" for name in METRICS for k in turns for scope in ("", "@public")}


async def reference(experiment: Experiment) -> list[Reference]:
    """Human teachers: corrected, on public items, by bare number match, and as they say; [] without exams.tutoring."""
    if experiment.exams.tutoring is None:
        return []
    dialogues, bad = _tutored(experiment.exams.tutoring)
    if bad:
        say(f"tutoring: {len(bad)} rows could not be read; the first, {bad[0].where}: {bad[0].message}")
    talks = [(_item(one), one.turns) for one in dialogues]
    most = experiment.exam_turns
    cases = tally("tutoring", [hit for item, turns in talks for hit in figures(item, turns, most)])
    bare = tally("tutoring", [hit for item, turns in talks for hit in naive(item, turns, most)])
    said = [(_item(one).problem, one.meta["self_correctness"]) for one in dialogues if one.meta["self_correctness"]]
    report = [(task, "tutor_success", float(text.startswith("Yes"))) for task, text in said]
    report += [(task, "tutor_telling", float("reveal" in text)) for task, text in said]
    names = [f"{name}_turn{k}" for name in METRICS for k in range(1, most + 1)]
    public = [f"{name}_turn{k}@public" for name in METRICS for k in range(1, most + 1)]
    return [
        *references(cases, TEACHERS, [*names, *public]),
        *references(bare, NAIVE, [name for name in names if "reached" not in name]),
        *references(tally("tutoring", report), REPORTED, ["tutor_success", "tutor_telling"]),
    ]


def answers(experiment: Experiment, tasks: list[Task]) -> int:
    items = _items(experiment, tasks)
    return experiment.exams.episodes * experiment.exam_turns * sum(1 + bool(item.wrong) for item in items)


METRICS = {
    "tutor_success": "the pupil has said the right answer after k turns of the student as tutor (_turnk) / episodes",
    "tutor_telling": "the student as tutor has told the answer in k turns, before its pupil said it / episodes",
    "tutor_reached": "the pupil has said the right answer after k turns, and was not told it / episodes",
}
EXAM = Exam(sit, METRICS, ratios, answers, of_tasks=True, reference=reference)
