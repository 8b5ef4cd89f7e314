"""Where a partner violates its knowledge constraint: it says what it does not know, what it is to keep, or what is not
so.

Rules on what was read of the turns (pipeline/reading/stored.py), after the fact, for every partition, voice and
disclosure alike. What a violation is depends on what the partner may know by then: its row, and what was said before.
Every rule would rather miss a violation than invent one, and says what it misses (figures: docs/partner_audit.md).

    maieutic build configs/quickstart.yaml     # the rate of each kind stands in every dataset's card
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Task, Turn
from pipeline.judging.outcome import readings, rights
from pipeline.judging.stated_leak import first_leak
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known
from pipeline.knowledge.records import Dialogue
from pipeline.reading.correctness import judged
from pipeline.reading.numbers.equality import equal

Kind = Literal["false_feedback", "revealed_answer", "unknown_fact", "false_fact", "disclosure", "off_role"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# What the prompts that ship tell it. With what words one's own do, is not stored with a dialogue.
TOLD_TO_IT = (
    "Tell what only you know when you are asked for it, and no more than that.",
    "Tell one thing that only you know in each of your turns, asked or not.",
    "Do not say the answer.",
    "Say so when an answer is not right.",
    "Only you know:",
    "(A check says that",
    "[Notice to you alone",
    "What you alone know",
)


class Violation(NamedTuple):
    """One partner turn against its row. `turn` is its index among all turns of the dialogue."""

    turn: int
    kind: Kind
    text: str
    knows: str  # what it may know, or is to do, in words


@dataclass(frozen=True)
class Statement:
    """A partner's turn, the last of `turns`, and what its row lets it know; each list has a value for each turn."""

    turns: Sequence[Turn]
    readings: Sequence[StudentReading | PartnerReading]
    rights: Sequence[bool | None]  # whether what it puts forward is right
    tells: Sequence[frozenset[str]]  # ids of the facts that it states
    task: Task
    condition: Condition
    knows: Known
    student: frozenset[str]  # ids of facts in the student's row

    @property
    def reading(self) -> PartnerReading:
        last = self.readings[-1]
        assert last.party == "partner"
        return last

    @property
    def told(self) -> frozenset[str]:
        """Ids of facts that turns before have stated, of either party."""
        return frozenset[str]().union(*self.tells[:-1])

    @property
    def heard(self) -> StudentReading | None:
        """The student's turn just before, where there is one."""
        before = self.readings[-2] if len(self.readings) > 1 else None
        return before if before is not None and before.party == "student" else None

    def says(self, facts: Sequence[Fact]) -> list[str]:
        """The texts of those of the facts that the turn states."""
        return [fact.text for fact in facts if fact.id in self.tells[-1]]


def _as_answered(
    condition: Condition, turn: Turn, reading: StudentReading | PartnerReading
) -> StudentReading | PartnerReading:
    """A rule answers what its own reader heard, and keeps to its row by that."""
    return turn.heard if condition.voice == "rule" and turn.heard is not None else reading


def violations(dialogue: Dialogue) -> list[Violation]:
    """Every violation of the partner in the order of its turns; none where the row has no partner."""
    condition, task, turns = dialogue.condition, dialogue.task, dialogue.turns
    if condition.row.partner is None:
        return []
    knows, right = known(task, condition, "partner"), rights(dialogue)
    read = [_as_answered(condition, *each) for each in zip(turns, readings(dialogue), strict=True)]
    student = {fact.id for fact in known(task, condition, "student").facts}
    if condition.row.student_reads_partner:
        student |= {fact.id for fact in knows.facts}
    tells = [_tells(task, knows, turn, reading) for turn, reading in zip(turns, read, strict=True)]
    leak, partner_turns, committed = _revealed(dialogue, knows, condition), 0, list[Violation]()
    for i, turn in enumerate(turns):
        if turn.party == "student":
            continue
        statement = Statement(
            turns=turns[: i + 1],
            readings=read[: i + 1],
            rights=right[: i + 1],
            tells=tells[: i + 1],
            task=task,
            condition=condition,
            knows=knows,
            student=frozenset(student),
        )
        committed += [Violation(i, kind, turn.text, what) for kind, rule in _RULES for what in rule(statement)]
        if leak == partner_turns:
            committed.append(Violation(i, "revealed_answer", turn.text, f"it is to keep the answer, {task.answer}"))
        partner_turns += 1
    return committed


def _tells(task: Task, knows: Known, turn: Turn, reading: StudentReading | PartnerReading) -> frozenset[str]:
    """A fact that only the row holds, and not the task, is no reader's to find: it is told word for word."""
    own = {fact.id for fact in knows.facts} - {fact.id for fact in task.facts}
    return reading.tells | {fact.id for fact in knows.facts if fact.id in own and fact.text in turn.text}


def audited(condition: Condition) -> tuple[Kind, ...]:
    """The kinds that a partner of this condition can be seen to commit; the others have no rate."""
    row = condition.row
    if row.partner is None:
        return ()
    can = {
        "revealed_answer": (row.holds_answer or row.holds_withheld) and not condition.reveal,
        "unknown_fact": not row.holds_all_facts,
        "disclosure": row.holds_facts and condition.voice != "human",
    }
    return tuple(kind for kind in KINDS if can.get(kind, True))


def _revealed(dialogue: Dialogue, knows: Known, condition: Condition) -> int | None:
    """The partner's turn that states the gold answer unearned, where it holds the answer, or all that gives it.

    `stated_leak.first_leak`, with its limits: an answer that is spread over two turns is missed. No violation where the
    config lets it reveal. A partner of `jigsaw` may work the answer out with the student.
    """
    holds = condition.row.holds_answer or any(fact.needed for fact in knows.private)
    return first_leak(dialogue) if holds and not condition.reveal else None


def _false_feedback(statement: Statement) -> Iterator[str]:
    """It judges the attempt in the student's turn just before, and by what it believes itself that is not so.

    One that knows no more than the student, and puts forward an answer of its own beside, agrees or differs, and judges
    nothing. Judgements of an earlier attempt are missed, and so is "too high" of what is too low. "That is right" may
    mean a step: a right step in a turn with a wrong answer reads as false feedback.
    """
    reading, heard, knows = statement.reading, statement.heard, statement.knows
    if heard is None or heard.attempt is None or reading.feedback == "none":
        return
    if reading.attempt is not None and not (knows.answer or knows.solution or knows.verdicts):
        return
    key = knows.answer if knows.believes_key else statement.task.answer
    entry = statement.task.entry
    right = judged(statement.task, statement.turns[-2], heard.attempt) if entry else equal(heard.attempt, key)
    if right != (reading.feedback == "right"):
        what = "the program" if entry else f"the attempt {heard.attempt}"
        yield f"{what} is {reading.feedback}, and its key is {'the tests' if entry else key}"


def _unknown_fact(statement: Statement) -> Iterator[str]:
    """It states a fact that its row does not hold and that nobody has said, or the gold answer that it cannot know.

    It cannot know the answer while it lacks a needed fact, and has no key or verdict. Who knows the answer knows the
    one fact that is missing, too. A lucky guess reads the same.
    """
    has = {fact.id for fact in statement.knows.facts} | statement.told
    lacks = [fact for fact in statement.task.facts if fact.id not in has]
    needed = [fact for fact in lacks if fact.needed]
    *before, right = statement.rights
    confirmed = statement.knows.verdicts and any(before)
    believes_it = statement.knows.answer == statement.task.answer  # by luck, where its row holds an opinion
    holds = bool(statement.condition.row.holds_answer or believes_it or confirmed)
    secret = [fact for fact in lacks if not (holds and len(needed) == 1 and fact in needed)]
    for name in statement.says(secret):
        yield f"its row does not hold {name!r}, and nobody had said it"
    if needed and not holds and right and not any(before):
        yield f"it lacks {len(needed)} needed facts of the answer {statement.reading.attempt}"


def _false_fact(statement: Statement) -> Iterator[str]:
    """It states a fact of the problem with another value than the problem's. A manner that errs, errs here."""
    for fact in statement.task.facts:
        if fact.id in statement.reading.tells_wrong:
            yield f"the problem says {fact.text!r}"


def _disclosure(statement: Statement) -> Iterator[str]:
    """It tells what only it knows unasked (`on_request`) or at all (`chatter`), or does not tell it (`volunteer`).

    Any earlier question for the fact counts as asking, and so does a request just before that names no fact that it
    knows. While it judges an attempt a volunteer need not tell. People had no disclosure policy.
    """
    condition, knows = statement.condition, statement.knows
    if condition.voice == "human":
        return
    private = [fact for fact in knows.facts if fact.id not in statement.student | statement.told]
    if condition.disclosure == "volunteer":
        yield from _kept_back(statement, [fact for fact in private if fact.needed])
        return
    heard, names = statement.heard, {fact.id for fact in knows.facts}
    wanted = {id for reading in statement.readings if reading.party == "student" for id in reading.asks}
    on_request = condition.disclosure == "on_request"
    if on_request and heard and heard.requests > len(heard.asks & names):
        return
    for name in statement.says([fact for fact in private if not (on_request and fact.id in wanted)]):
        yield f"nobody asked for {name!r}" if on_request else f"it is to keep {name!r} to itself"


def _kept_back(statement: Statement, left: Sequence[Fact]) -> Iterator[str]:
    """A volunteer has something left, and tells nothing."""
    knows, heard = statement.knows, statement.heard
    judges = heard is not None and heard.attempt is not None and bool(knows.answer or knows.verdicts)
    told = {
        id
        for reading, tells in zip(statement.readings[:-1], statement.tells, strict=False)
        if reading.party == "partner"
        for id in tells
    }
    # What the student has guessed may be told all the same.
    new = [fact for fact in knows.facts if fact.id not in statement.student | told]
    if left and not judges and not statement.says(new):
        yield f"it is to tell one thing a turn, and {len(left)} are left"


def _off_role(statement: Statement) -> Iterator[str]:
    """It writes the student's lines, says that it is a language model, repeats its instructions, or says no word."""
    if statement.reading.off_role:
        yield f"it speaks for itself alone, as the {statement.condition.label}"
    elif any(line in statement.turns[-1].text for line in TOLD_TO_IT):
        yield "its instructions are its own"


_RULES: tuple[tuple[Kind, Callable[[Statement], Iterator[str]]], ...] = (
    ("false_feedback", _false_feedback),
    ("unknown_fact", _unknown_fact),
    ("false_fact", _false_fact),
    ("disclosure", _disclosure),
    ("off_role", _off_role),
)
