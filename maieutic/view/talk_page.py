"""One dialogue for a page: beside each other what either party saw of each turn, and what was read of it.

What a party saw is what `pipeline.knowledge.view` shows a model, cut where a turn ends: views are append-only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from maieutic.view.read_talks import ShownRun, Talk
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Belief, Party, Task
from pipeline.judging.violations import Violation, violations
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import script_view, view
from pipeline.prompts.prompts import Prompts
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import is_right


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a party reads, or says itself, between one turn and the next."""

    role: str  # system, user, assistant
    text: str


@dataclass(frozen=True, kw_only=True)
class ShownTurn:
    """A row of the page; the first has no turn, and is what each party was told before."""

    number: int  # 1 is the first turn; 0: before it
    party: Party | None
    student: tuple[Said, ...]
    partner: tuple[Said, ...]
    text: str
    acts: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()  # what the partner understood, where it is another thing
    right: bool | None = None  # whether the answer in it is
    reasoning: str = ""
    cut: bool = False  # at max_tokens
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShownBelief:
    party: Party
    when: str  # before, after
    answer: str
    share: float
    k: int
    right: bool | None


@dataclass(frozen=True, kw_only=True)
class ShownTalk:
    has_partner: bool
    turns: tuple[ShownTurn, ...]
    only_partner_knew: tuple[str, ...]
    beliefs: tuple[ShownBelief, ...]


def shown_talk(run: ShownRun, talk: Talk) -> ShownTalk:
    dialogue = talk.dialogue
    condition, experiment = dialogue.condition, run.experiment
    has_partner = condition.row.partner is not None
    partner_prompts = experiment.prompts("partner") if talk.kind == "exam" else experiment.partner_prompts(condition)
    student = [*_pieces(dialogue, "student", student_prompts(run, talk))]
    partner = [*_pieces(dialogue, "partner", partner_prompts)] if has_partner else [()] * len(student)
    violated = violations(dialogue)
    turns = [ShownTurn(number=0, party=None, student=student[0], partner=partner[0], text="")]
    for i, turn in enumerate(dialogue.turns):
        acts = _acts(dialogue, i)
        heard = _of_student(dialogue.task, turn.heard) if turn.heard is not None else acts
        turns.append(
            ShownTurn(
                number=i + 1,
                party=turn.party,
                student=student[i + 1],
                partner=partner[i + 1],
                text=turn.text,
                acts=acts,
                heard=() if heard == acts else heard,
                right=is_right(dialogue.task, dialogue.turns, i),
                reasoning=turn.reasoning,
                cut=not turn.finished,
                violations=tuple(one for one in violated if one.turn == i),
            )
        )
    return ShownTalk(
        has_partner=has_partner,
        turns=tuple(turns),
        only_partner_knew=only_partner_knew(dialogue),
        beliefs=tuple(_beliefs(dialogue)),
    )


def student_prompts(run: ShownRun, talk: Talk) -> Prompts:
    """With which the student was prompted: in exams without what sampling alone has."""
    condition = run.experiment.conditions.get(talk.dialogue.condition_name)
    if condition is None or talk.kind == "exam":
        return run.experiment.prompts("student")
    return run.experiment.sampling_prompts(condition)


def only_partner_knew(dialogue: Dialogue) -> tuple[str, ...]:
    """What stood in the partner's row of the partition and not in the student's, in sentences."""
    task, condition = dialogue.task, dialogue.condition
    if condition.row.partner is None or condition.row.student_reads_partner:
        return ()
    knows, student = known(task, condition, "partner"), known(task, condition, "student")
    shared = {fact.id for fact in student.facts}
    told = [fact.text for fact in knows.facts if fact.id not in shared]
    if knows.answer:
        told.append(f"{'It believes that the' if knows.believes_key else 'The'} answer is {knows.answer}.")
    if knows.solution:
        told.append(f"A worked solution: {knows.solution}")
    if knows.verdicts:
        told.append("Whether the student's latest attempt is right.")
    if knows.where:
        told.append(f"The first wrong step is step {knows.where}.")
    return (*told, knows.what) if knows.what else tuple(told)


def _pieces(dialogue: Dialogue, party: Party, prompts: Prompts) -> Iterator[tuple[Said, ...]]:
    """What a party's view has before the first turn, and what each turn adds to it."""
    task, condition = dialogue.task, dialogue.condition
    if condition.row.one_writer:  # one model wrote both sides, and read this
        opening = script_view(task, condition, prompts)
        yield tuple(Said(role=message["role"], text=message["content"]) for message in opening)
        for turn in dialogue.turns:
            yield (Said(role="assistant" if turn.party == party else "user", text=turn.own_text),)
        return
    before = view(task, condition, [], party, prompts)
    yield tuple(Said(role=message["role"], text=message["content"]) for message in before)
    for i in range(len(dialogue.turns)):
        after = view(task, condition, dialogue.turns[: i + 1], party, prompts)
        *_, last = after
        old = before[-1]["content"] if len(after) == len(before) else ""
        yield (Said(role=last["role"], text=last["content"].removeprefix(old).lstrip("\n")),)
        before = after


def _acts(dialogue: Dialogue, i: int) -> tuple[str, ...]:
    reading = dialogue.turns[i].reading
    if isinstance(reading, StudentReading):
        return _of_student(dialogue.task, reading)
    return _of_partner(dialogue.task, reading) if reading is not None else ()


def _of_student(task: Task, reading: StudentReading) -> tuple[str, ...]:
    """What a student's turn does; "no act" where nothing was read in it."""
    facts, missing = {fact.id: fact.text for fact in task.facts}, {fact.id for fact in task.missing}
    says = {
        "asks for help in general": reading.generic_request,
        "repeats the question": reading.repeats_question,
        "asks something else": reading.other_question,
        "says that something is missing": reading.says_missing,
        f"answers {reading.attempt}": reading.attempt is not None,
        "with a hedge": reading.tentative,
        "says it is done": reading.done,
        reading.stance: reading.stance != "none",
    }
    asks = [f"asks for {'' if id in missing else 'what it has: '}{facts.get(id, id)}" for id in sorted(reading.asks)]
    return (*asks, *(words for words, holds in says.items() if holds)) or ("no act",)


def _of_partner(task: Task, reading: PartnerReading) -> tuple[str, ...]:
    facts = {fact.id: fact.text for fact in task.facts}
    says = {
        f"reveals the answer ({reading.reveals})": reading.reveals != "no",
        f"says that it is {reading.feedback}": reading.feedback != "none",
        "refuses": reading.refuses,
        "leaves its role": reading.off_role,
        f"answers {reading.attempt}": reading.attempt is not None,
        "says it is done": reading.done,
    }
    tells = [f"tells: {facts.get(id, id)}" for id in sorted(reading.tells)]
    wrong = [f"tells another value of: {facts.get(id, id)}" for id in sorted(reading.tells_wrong)]
    return (*tells, *wrong, *(words for words, holds in says.items() if holds))


def _beliefs(dialogue: Dialogue) -> Iterator[ShownBelief]:
    task = dialogue.task
    for when, beliefs in (("before", dialogue.before), ("after", dialogue.after)):
        for party, belief in beliefs.items():
            yield ShownBelief(
                party=party,
                when=when,
                answer=belief.answer or ("unreadable" if belief.unread else "unsure"),
                share=belief.share,
                k=belief.k,
                right=_believes_right(task, belief),
            )


def _believes_right(task: Task, belief: Belief) -> bool | None:
    """None where it has no answer, or where only tests could tell."""
    return None if not belief.answer or task.entry else equal(belief.answer, task.answer)
