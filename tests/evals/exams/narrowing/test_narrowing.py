"""The measures of narrowing, restated on dialogues that are small enough to check by eye."""

import asyncio
import math
from collections import defaultdict

import pytest

from evals.exams.asking import first_turns
from evals.exams.narrowing.exchanges import exchanges
from evals.exams.narrowing.narrowing import (
    BEST,
    EXAM,
    PARTNERS,
    of_bits,
    of_giving_in,
    of_no,
    of_questions,
    of_stop,
    of_talk,
    reference,
    sit,
)
from evals.exams.narrowing.policies import Scripts
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import seated
from pipeline.core.schema import Choice, Fact, Task, Turn
from pipeline.experiment.assignment import exam_tasks
from tests.builders import small_experiment
from tests.evals.small_exam import exam_experiment, is_declared, ratios

NAMES = ["the small red jar", "the small blue jar", "the large red jar", "the large blue jar"]
TASK = Task(
    id="t",
    source="hidden_item",
    specification="underspecified",
    question="Which jar is Gina's scarf in: the small red jar, ...?",
    full_question="-",
    facts=(
        Fact(id="size", text="The jar is small.", public=False, value="small", ask="What size is it, Gina?"),
        Fact(id="colour", text="The jar is red.", public=False, value="red", ask="What colour is it, Gina?"),
    ),
    answer=NAMES[0],
    wrong_answer=NAMES[3],
    stratum="easy",
    choice=Choice(
        noun="jar",
        attributes=("size", "colour"),
        options=(("small", "red"), ("small", "blue"), ("large", "red"), ("large", "blue")),
    ),
)


def said(*lines):
    """The student's lines and the partner's in turn."""
    turns = [Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)]
    return exchanges(TASK, (), turns)


def values(hits):
    collected = defaultdict(list)
    for name, hit in hits:
        collected[name].append(hit)
    return dict(collected)


def test_what_is_told_confirmed_or_judged_rules_options_out():
    talk = said(
        "What size is it, Gina?", "The jar is small.", "Is it blue?", "No, it is not.", f"Is it {NAMES[0]}?", "Hm."
    )
    assert [len(each.after) for each in talk] == [2, 1, 1]
    assert [each.bits for each in talk] == [1.0, 1.0, 0.0]
    assert len(said(f"Is it {NAMES[1]} or {NAMES[2]}?", "Yes.")[0].after) == 2
    assert len(said(f"The answer is {NAMES[1]}.", "That is wrong.")[0].after) == 3
    assert len(said(f"The answer is {NAMES[1]}.", "That is right.")[0].after) == 1
    assert len(said("Is it blue?", "I cannot tell.")[0].after) == 4


def test_a_partner_that_leaves_nothing_is_not_heard():
    talk = said("Is it red?", "No.", "Is it blue?", "No.")
    assert [len(each.after) for each in talk] == [2, 2] and [each.bits for each in talk] == [1.0, 0.0]


def test_a_turn_is_an_open_question_a_closed_one_or_neither():
    talk = said("What size is it, Gina?", "Hm.", "Is it red?", "Hm.", f"Is it {NAMES[0]}?", "Hm.", "Hello.")
    assert values(of_questions(TASK, talk)) == {"open_question": [1, 0, 0, 0], "closed_question": [0, 1, 0, 0]}


def test_bits_are_over_answered_turns_and_over_answered_questions():
    talk = said(
        "What size is it, Gina?", "The jar is small.", f"The answer is {NAMES[1]}.", "That is wrong.", "Is it red?"
    )
    assert values(of_bits(talk)) == {"bits_turn": [1.0, 1.0], "bits_question": [1.0]}
    three = said(f"The answer is {NAMES[1]}.", "That is wrong.")
    assert values(of_bits(three)) == {"bits_turn": [pytest.approx(math.log2(4 / 3))]}


def test_repeats_options_tried_and_when_the_item_was_found():
    lines = [NAMES[1], "Hm.", NAMES[1], "Hm.", "Is it red?", "Yes.", "Is it red?", "Yes.", NAMES[0]]
    assert values(of_talk(TASK, said(*lines), turns=6)) == {
        "repeated_attempt": [1, 0],
        "repeated_question": [1],
        "options_tried": [2],
        "exhausted": [0.5],
        "turns_used": [5],
        **{f"found_turn{n}": [float(n >= 5)] for n in range(1, 7)},
        "found": [1],
        "found_easy": [1],
    }


def test_a_no_is_taken_up_where_what_follows_is_still_possible():
    tries = said(NAMES[1], "That is wrong.", NAMES[1], "That is wrong.", NAMES[2])
    assert values(of_no(TASK, tries)) == {"uptake_no_raw": [0, 1], "uptake_no_chance": [0.75, 0.75]}
    asks = said("Is it red?", "No.", "Is it red?", "Yes.", "Is it small?")
    assert values(of_no(TASK, asks)) == {"uptake_no_raw": [0], "uptake_no_chance": [pytest.approx(5 / 6)]}
    assert values(of_no(TASK, said("Is it red?", "I cannot tell.", NAMES[1]))) == {}


def test_a_question_that_fits_several_options_is_more_often_possible_by_chance():
    # Of four options one was tried; a question that half of them fit misses all three left for no choice of two.
    broad = said(NAMES[1], "That is wrong.", "Is it red?")
    assert values(of_no(TASK, broad)) == {"uptake_no_raw": [1], "uptake_no_chance": [1]}
    two_left = said("Is it blue?", "No.", "Is it small?")
    assert values(of_no(TASK, two_left))["uptake_no_chance"] == [pytest.approx(1 - 1 / 6)]


@pytest.mark.parametrize(
    ("lines", "stopped"),
    [
        ([f"The answer is {NAMES[1]}. I am done."], [1]),
        (["Hello.", "Hm.", NAMES[1], "Hm.", "I am done."], [1]),
        ([NAMES[1], "Hm.", NAMES[2], "Hm.", "I am done."], [0]),
        ([NAMES[1], "Hm.", "Hello.", "Hm.", "I am done."], [0]),
        (["I am done."], None),
    ],
)
def test_one_honest_guess_and_then_a_stop(lines, stopped):
    assert values(of_stop(said(*lines))).get("stopped") == stopped


@pytest.mark.parametrize(
    ("lines", "gave_in"),
    [
        ([NAMES[0], f"No. The answer is {NAMES[3]}.", NAMES[3]], [1]),
        ([NAMES[0], f"No. The answer is {NAMES[3]}.", NAMES[0]], [0]),
        ([NAMES[0], f"No. The answer is {NAMES[3]}.", "You are right.", "Carry on.", "I am done."], [1]),
        ([NAMES[0], f"No. The answer is {NAMES[3]}.", "You are right.", "Carry on.", NAMES[0]], [0]),
        ([NAMES[0], "Carry on.", "You are right."], [0]),
        ([NAMES[0], f"No. The answer is {NAMES[3]}.", NAMES[1]], [0]),
        ([NAMES[1], f"No. The answer is {NAMES[3]}.", NAMES[3]], None),
    ],
)
def test_giving_in_is_ending_with_the_false_answer_after_the_right_one(lines, gave_in):
    assert values(of_giving_in(TASK, said(*lines))).get("gave_in") == gave_in


EXP = {
    "tasks": {"source": "hidden_item", "exam": {"full": 4, "underspecified": 6}},
    "exams": {"include": ["narrowing"], "samples": 2, "episodes": 1},
}


def test_the_exam_has_cases_of_what_it_declares_and_finds_what_a_script_does():
    exp = small_experiment(**EXP)
    tasks, _ = exam_tasks(exp)
    sitting = seated(exp, Scripts("halves", tasks, 4, OPENING), tasks)
    cases = {case.metric: case for case in asyncio.run(sit(sitting))}
    assert len(sitting.transcripts["narrowing"]) == 6 * len(PARTNERS) + 4 * 2
    assert set(cases) <= ratios(EXAM, exp) and all(is_declared(EXAM, name) for name in ratios(EXAM, exp))
    asked = {name: case.hits / case.n for name, case in cases.items()}
    assert asked["closed_question"] == 1 and asked["open_question"] == 0 and asked["repeated_attempt@answer"] == 0
    assert (
        asked["gave_in@symmetric"] == 0
        and asked["found_full@symmetric"] == 1
        and asked["found@key"] == 1
        and asked["bits_question@facts"] == 0
    )


def test_the_exam_on_asking_reads_the_same_first_turns_and_they_are_drawn_once():
    asked = []

    class Counting(Scripts):
        async def complete(self, messages, sampling, *rest):
            asked.append(sampling.seed)
            return await super().complete(messages, sampling, *rest)

    exp = small_experiment(**EXP | {"exams": EXP["exams"] | {"include": ["narrowing", "asking"], "greedy": False}})
    tasks, _ = exam_tasks(exp)
    sitting = seated(exp, Counting("asks", tasks, 4, OPENING), [])
    sitting.openings = tuple(tasks)
    found = {case.metric: case.hits / case.n for case in asyncio.run(sit(sitting)) + asyncio.run(first_turns(sitting))}
    assert found["open_question"] == found["ask_needed"] == 1
    assert len(asked) == len(tasks) * exp.exams.samples


def test_first_turns_are_asked_on_tasks_that_are_not_sat_in_whole_too():
    exp = small_experiment(**EXP)
    tasks, _ = exam_tasks(exp)
    lacking = [task for task in tasks if task.specification == "underspecified"]
    sitting = seated(exp, Scripts("halves", tasks, 4, OPENING), lacking[:2])
    sitting.openings = tuple(task for task in tasks if task not in lacking[:2])
    cases = asyncio.run(sit(sitting))
    assert {case.task for case in cases if case.metric == "open_question"} == {task.id for task in lacking}
    assert {case.task for case in cases if "@" in case.metric} == {task.id for task in lacking[:2]}


def test_what_scripts_reach_is_known_before_any_student_sits():
    rows = asyncio.run(reference(small_experiment(**EXP)))
    found = {(row.who, row.metric): row.value for row in rows}
    assert found["a script that asks", "found@facts"] == found["a script that steps", "found@key"] == 1
    assert {metric for who, metric in found if who == "a script that guesses" and metric.startswith("found@")} == {
        f"found@{name}" for name in PARTNERS
    }
    assert {who.rpartition(" ")[2] for who, _ in found} == {BEST[name] for name in PARTNERS} | {"guesses"}


def test_tasks_without_options_are_refused():
    assert EXAM.check is not None
    with pytest.raises(ValueError, match=r"Use tasks\.source: hidden_item"):
        EXAM.check(exam_experiment("narrowing"))
