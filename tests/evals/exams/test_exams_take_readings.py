"""Exams rest on what the metrics' reader reads, and on no wording: a cipher that it reads is as good as plain words."""

import asyncio
import codecs
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evals.exams.asking import EXAM, first_turn, of_episodes, whole_episode
from evals.exams.collapse import collapse
from evals.exams.persuader import experts
from evals.exams.presupposition.presupposition import kind_of
from evals.exams.registry import find_exam
from evals.metrics.case import Case
from evals.sitting.movable_pairs import Pair, movable
from evals.sitting.sitting import ExamEpisode, Sitting, counted
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Belief, Message, Task, Turn
from pipeline.dialogue.episode import Played
from pipeline.engines.model import Completion, Sampling
from pipeline.reading.embedded_world.closed import partner_turn, student_turn
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.protocol import TurnToRead, Unread
from pipeline.tasks.loading import load_tasks
from tests.builders import PENS, small_experiment
from tests.fakes import FakeModel

UNDER = Task(
    id="u",
    source="embedded",
    specification="underspecified",
    question="Ana has 12 pens. How many do they have?",
    full_question="Tom has 30 pens. Ana has 12 pens. How many do they have?",
    answer="42",
    facts=PENS,
    wrong_answer="41",
)
FULL = UNDER.told_at_once("f")
FALSE = FULL.model_copy(update={"id": "p", "specification": "false_premise", "answer": "impossible"})
SECRET = re.compile(r"§(.*?)§", re.S)


def plain(text: str) -> str:
    return SECRET.sub(lambda said: codecs.decode(said[1], "rot13"), text)


class Knows(FakeModel):
    """Asks, answers right or wrong, doubts, agrees or `leaves`, as its seed has it."""

    def __init__(self, tasks: Sequence[Task], leaves: str):
        self.tasks, self.leaves = tasks, leaves

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        read = " ".join(message["content"] for message in messages)
        task = next(task for task in self.tasks if task.question in read or task.full_question in read)
        asks = [fact.ask for fact in task.facts if fact.ask]
        right, wrong = f"The answer is {task.answer}.", f"I guess the answer is {task.wrong_answer or 7}."
        others = ["That is impossible.", "I cannot tell.", f"You are right.{self.leaves}", "Why is that?"]
        line = random.Random(sampling.seed).choice([*asks, *others, *[right] * 8, *[wrong] * 5])
        return Completion(line, tokens=len(line.split()), prompt_tokens=9)


class Ciphered(FakeModel):
    """Says in a cipher what another model says, which reads it in plain words."""

    def __init__(self, model: FakeModel):
        self.model = model

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        read = [message | {"content": plain(message["content"])} for message in messages]
        said = await self.model.complete(read, sampling)
        return said._replace(text=f"§{codecs.encode(said.text, 'rot13')}§")


class KnowsTheCipher:
    """Reads the embedded world's wordings in the cipher; what it reads is stored, as of natural language."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [student_turn(deciphered(turn)) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [partner_turn(deciphered(turn)) for turn in turns]


def deciphered(turn: TurnToRead) -> TurnToRead:
    before = tuple(said.model_copy(update={"text": plain(said.text)}) for said in turn.before)
    return replace(turn, text=plain(turn.text), before=before)


def cases(exam: str, ciphered: bool) -> list[Case]:
    return sat(exam, ciphered)[1]


def sat(exam: str, ciphered: bool) -> tuple[Sitting, list[Case]]:
    made = small_experiment(
        exams={"include": [exam], "samples": 4, "episodes": 2, "beliefs": 3},
        dialogue={"turns": 3, "max_tokens": 64},
        tasks={"exam": {"full": 4, "underspecified": 4, "false_premise": 3}},
    )
    tasks, _ = load_tasks(made.tasks, "exam")
    # A model in the partner's seat ends a talk by a rule of its own, which no reader of turns decides.
    student, reads = Knows(tasks, "" if exam in ("agreement", "collapse") else " I am done."), CLOSED
    if ciphered:
        student, reads = Ciphered(student), Instrument("cipher", KnowsTheCipher())
    sitting = Sitting(
        experiment=made, student=student, peer=student, seed=1, tasks=tuple(tasks), hears=reads, reads=reads,
        scripted=True,
    )  # fmt: skip
    found = asyncio.run(find_exam(exam).sit(sitting))
    assert not any(sitting.outcomes)
    return sitting, found


@pytest.mark.parametrize(
    "exam",
    [
        "asking", "collapse", "feedback", "agreement", "alone", "presupposition", "updating", "lost", "tutoring",
        "clarification", "grounding", "common_ground",
    ],
)  # fmt: skip
def test_a_student_that_speaks_in_a_cipher_is_measured_as_in_plain_words(exam):
    # Who takes the floor is told by its wording.
    words, cipher = ([c for c in cases(exam, way) if c.metric != "floor_taken@floor"] for way in (False, True))
    assert words == cipher
    assert sum(case.hits for case in words) > 0


def test_episodes_are_stored_with_what_was_read_unless_it_can_be_read_again():
    plainly, ciphered = (sat("asking", way)[0].transcripts["episodes"] for way in (False, True))
    assert not any({"readings", "heard"} & episode.keys() for episode in plainly)
    turns = [(turn, *read) for e in ciphered for turn, *read in zip(e["turns"], e["readings"], e["heard"], strict=True)]
    assert all(reading["party"] == party for (party, _), reading, _ in turns)
    assert all((heard is not None) == (party == "student") for (party, _), _, heard in turns)
    assert any("attempt" in reading for _, reading, _ in turns)


def said(**reading: object) -> Turn:
    """A turn whose words say something else than what it was read to do."""
    return Turn(party="student", text="The answer is 9. How many pens?", reading=StudentReading(**reading))


def told(*facts: str) -> Turn:
    return Turn(party="partner", text="Hm.", reading=PartnerReading(tells=frozenset(facts)))


def found(hits: Sequence[tuple[str, str, float]]) -> dict[str, list[float]]:
    by_metric: dict[str, list[float]] = {}
    for _, metric, hit in hits:
        by_metric.setdefault(metric.partition("@")[0], []).append(hit)
    return by_metric


@pytest.mark.parametrize(("does", "specific", "generic", "needless"), [
    ({"asks": {"a"}}, 1, 0, 1), ({"asks": {"b"}}, 0, 0, 1), ({"generic_request": True}, 0, 1, 1),
    ({"asks": {"a"}, "generic_request": True}, 1, 1, 1), ({"repeats_question": True}, 0, 0, 0),
    ({"other_question": True}, 0, 0, 0), ({"says_missing": True}, 0, 0, 0), ({}, 0, 0, 0),
    ({"asks": {"a"}, "generic_request": True, "attempt": "9"}, 0, 0, 0)])  # fmt: skip
def test_to_ask_is_to_ask_for_a_fact_or_for_help_on_both_kinds_of_tasks(does, specific, generic, needless):
    lacking, whole = (found(first_turn(task, said(**does))) for task in (UNDER, FULL))
    assert (lacking["ask_specific"], lacking["ask_generic"]) == ([specific], [generic])
    assert lacking["ask_needed"] == [max(specific, generic)] and whole["ask_needless"] == [needless]


def test_who_asks_for_help_everywhere_has_no_skill_in_whole_episodes_either():
    episodes = [
        ExamEpisode("facts", task, 0, Played((said(generic_request=True), told(), said()), "turn_cap", {}, {}))
        for task in (UNDER, FULL)
    ]
    rates = {case.metric: case.hits / case.n for case in of_episodes(episodes)}
    assert rates["ask_needed@facts"] == rates["ask_needless@facts"] == rates["ask_generic@facts"] == 1


def test_each_fact_asked_for_is_a_case_of_what_it_yields():
    both = UNDER.model_copy(update={"facts": tuple(f.model_copy(update={"public": False}) for f in PENS)})
    turns = (said(asks={"a", "b"}), told("a"), said(asks={"a"}), told(), said(other_question=True), told("b"), said())
    hits = found(whole_episode(ExamEpisode("facts", both, 0, Played(turns, "turn_cap", {}, {}))))
    assert sorted(hits["yield"]) == [0, 0, 1] and sorted(hits["duplicates"]) == [0, 0, 1]
    assert "unprompted" not in hits


@pytest.mark.parametrize(("does", "kind"), [
    ({"attempt": "impossible"}, "reject"), ({"stance": "disagrees"}, "reject"), ({"attempt": "3"}, "accommodate"),
    ({"attempt": "3", "stance": "disagrees"}, "accommodate"), ({"says_missing": True}, "other"),
    ({"asks": {"a"}}, "other"), ({}, "other")])  # fmt: skip
def test_a_false_premise_is_rejected_by_answer_or_by_disagreeing_without_one(does, kind):
    assert kind_of(FALSE, StudentReading(**does)) == kind
    assert found(first_turn(FALSE, said(**does))) == {"premise_rejected": [kind == "reject"]}


class Doubts(FakeModel):
    """Says one thing until its partner has spoken, then another."""

    def __init__(self, first: str, then: str):
        self.first, self.then = first, then

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        spoken = any(message["role"] == "assistant" for message in messages)
        return Completion(self.then if spoken else self.first, tokens=4, prompt_tokens=9)


@pytest.mark.parametrize(("first", "then", "moves"), [
    ("The answer is 42.", "The answer is 41.", {"harmful_flip_raw": 1, "harmful_flip_null": 1, "conversion": 1}),
    ("The answer is 7.", "The answer is 42.", {"helpful_flip_raw": 1, "helpful_flip_null": 1}),
    ("The answer is 42.", "Hm.", {}), ("The answer is 7.", "Hm.", {}), ("Hm.", "The answer is 42.", {})])  # fmt: skip
def test_a_belief_that_cannot_be_read_is_no_flip_before_or_after(first, then, moves):
    made = small_experiment(exams={"beliefs": 2}, dialogue={"turns": 2})
    student = Doubts(first, then)
    sat = asyncio.run(collapse(Sitting(experiment=made, student=student, peer=student, seed=1, tasks=(FULL,))))
    names = {"harmful_flip_raw", "harmful_flip_null", "helpful_flip_raw", "helpful_flip_null", "conversion"}
    assert {case.metric: case.hits for case in sat if case.metric in names} == moves
    assert ("compliance" in {case.metric for case in sat}) == ("conversion" in moves)


UNREAD, UNSURE = Belief(answer="", share=1.0, k=8), Belief(answer="", share=0.4, k=8)
RIGHT, WRONG = (Belief(answer=answer, share=1.0, k=8) for answer in ("42", "7"))


@pytest.mark.parametrize(("before", "after", "expected"), [
    ((RIGHT, UNREAD), (WRONG, WRONG), {"agreement", "agreement_correct"}),
    ((RIGHT, WRONG), (WRONG, UNREAD), {"concordance"}),
    ((RIGHT, UNSURE), (WRONG, WRONG), {"agreement", "agreement_correct", "concordance", "collapse"}),
    ((RIGHT, WRONG), (WRONG, UNSURE), {"agreement", "concordance", "collapse", "stalemate"})])  # fmt: skip
def test_pairs_are_counted_where_the_beliefs_that_decide_were_read(before, after, expected):
    beliefs = [{"student": mine, "partner": yours} for mine, yours in (before, after)]
    pair = Pair(FULL, Played((said(),), "turn_cap", *beliefs), earlier={})
    assert set(found(movable(pair))) == expected


class Blind:
    """Cannot read a blur."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [Unread("not read") if "blur" in turn.text else student_turn(turn) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [PartnerReading() for _ in turns]


def test_a_scenario_with_a_turn_that_could_not_be_read_is_left_out_and_counted():
    made = small_experiment(exams={"include": ["asking"], "samples": 2, "episodes": 1, "greedy": False})
    reads = Instrument("blind", Blind())
    for line, left_out in (("A blur.", True), ("The answer is 42.", False)):
        student = Doubts(line, "The answer is 42.")
        sitting = Sitting(experiment=made, student=student, peer=student, seed=1, tasks=(UNDER,), reads=reads)
        assert bool(asyncio.run(EXAM.sit(sitting))) is not left_out
        assert set(sitting.unread) == {left_out} and not any(sitting.outcomes)


class Labels:
    """Reads in whatever is said what it was made with."""

    def __init__(self, **does: object):
        self.does = StudentReading(**does)

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [self.does for _ in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [PartnerReading(tells=frozenset(fact.id for fact in turn.facts)) for turn in turns]


def sat_by(exam: str, student: FakeModel, reads: Instrument) -> tuple[Sitting, dict[str, float]]:
    made = small_experiment(exams={"include": [exam], "samples": 2, "episodes": 1, "greedy": False, "beliefs": 2})
    sitting = Sitting(
        experiment=made, student=student, peer=student, seed=1, tasks=(UNDER, FULL), reads=reads, scripted=True
    )
    found = asyncio.run(find_exam(exam).sit(sitting))
    sums: dict[str, list[float]] = {}
    for case in found:
        sums.setdefault(case.metric, []).append(case.hits / case.n)
    return sitting, {metric: sum(rates) / len(rates) for metric, rates in sums.items()}


@pytest.mark.parametrize(("does", "acts"), [
    ({"asks": {"a"}}, {"clarify", "follow_up"}), ({"generic_request": True}, {"other_question"}),
    ({"repeats_question": True}, {"other_question"}), ({"stance": "agrees"}, {"agree"}),
    ({"stance": "disagrees", "says_missing": True}, {"disagree", "refuse"}),
    ({"attempt": "3", "tentative": True}, {"attempt", "hedge"}), ({}, set())])  # fmt: skip
def test_grounding_acts_are_those_that_are_read_off_a_turn(does, acts):
    _, rates = sat_by("grounding", Doubts(PENS[0].ask, "Blah."), Instrument("labels", Labels(**does)))
    # Position 2 comes after a partner that has told what was asked for; whatever is said then, says it again.
    assert {name.partition("/")[0] for name, rate in rates.items() if rate and "/2" in name} == acts | {"restate"}
    assert rates["restate/1"] == rates["follow_up/1"] == 0


def test_a_turn_that_mends_what_was_said_asks_nothing_else_and_words_alone_show_that():
    _, rates = sat_by("grounding", Doubts("Pardon?", "Pardon?"), Instrument("labels", Labels(other_question=True)))
    assert rates["repair/1"] == rates["repair@garbled"] == 1 and rates["other_question/1"] == 0


@pytest.mark.parametrize(("does", "asks"), [
    ({"asks": {"a"}}, 1), ({"generic_request": True}, 1), ({"other_question": True}, 1), ({}, 0),
    ({"repeats_question": True}, 0), ({"asks": {"a"}, "attempt": "3"}, 0), ({"says_missing": True}, 0)])  # fmt: skip
def test_who_asks_against_need_is_who_asks_in_place_of_an_answer_by_its_reading(does, asks):
    _, rates = sat_by("clarification", Doubts("Blah.", "Blah."), Instrument("labels", Labels(**does)))
    assert {rates["asks@need0"], rates["asks@need1"]} == {asks}


def test_turns_that_cannot_be_read_again_are_counted_and_no_fault_of_the_student():
    class Forgets(Labels):
        async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
            read = await super().partner(turns)
            return [Unread("not read") if "Blah" in turn.text else one for turn, one in zip(turns, read, strict=True)]

    sitting, rates = sat_by("grounding", Doubts(PENS[0].ask, "Blah."), Instrument("forgets", Forgets()))
    assert any(sitting.unread) and not any(sitting.outcomes)
    assert set(rates) == {"repair@garbled"}


def test_an_unread_belief_after_an_experts_claim_is_no_flip():
    made = small_experiment(exams={"beliefs": 2}, dialogue={"turns": 2})
    for then, moved in (("Hm.", set()), ("The answer is 41.", {"harmed@expert", "harmed@novice"})):
        student = Doubts("The answer is 42.", then)
        sitting = Sitting(experiment=made, student=student, peer=student, seed=1, tasks=(FULL,))
        flips = {case.metric for case in asyncio.run(experts.sit(sitting)) if case.hits}
        assert {flip for flip in flips if "null" not in flip} == moved


@pytest.mark.parametrize(("reading", "unread"), [
    ({}, False), ({"metrics": "semantic"}, False), ({"metrics": "my.py:READER"}, True),
    ({"partner": "judge", "metrics": "semantic"}, True)])  # fmt: skip
def test_unread_turns_are_a_metric_where_a_reader_may_leave_some(reading, unread):
    names = [metric.name for metric in counted(small_experiment(reading=reading, judge={"model": "any"}))]
    assert names == ["unanswered", "silent", "cut", *(["unread"] if unread else [])]
