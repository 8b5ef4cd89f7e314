"""Common ground: what a turn makes of a correction, on traces that can be checked by eye."""

import asyncio
import random
import re
from pathlib import Path

import pytest

from evals.exams.common_ground.common_ground import ARMS, EXAM, UNDERSTOOD, arms, reference, took_floor
from evals.exams.common_ground.grounds import expected, grounds, wordings
from evals.exams.common_ground.listeners import LISTENERS, Listener, solved
from evals.metrics.case import Case
from evals.sitting.exam import asked
from evals.sitting.reference_rates import seated
from pipeline.engines.model import Completion
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.reading.embedded_world.closed import student_turn
from pipeline.reading.protocol import TurnToRead
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.word_problems import KINDS, arithmetic, embedded_tasks
from tests.evals.small_exam import ratios, weights
from tests.fakes import FakeModel


def made(tmp_path: Path, **more: object) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "t",
            "out": str(tmp_path),
            "seeds": [1],
            "engine": {"kind": "scripted"},
            "conditions": {"facts": {"partition": "facts"}},
            "tasks": {"exam": {"full": 2, "underspecified": 24}},
            "exams": {"include": ["common_ground"], "episodes": 2},
            **more,
        }
    )


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return made(tmp_path)


class Says(FakeModel):
    """Says its lines by turn, the last one for ever."""

    def __init__(self, *lines: str):
        self.lines = lines

    async def complete(self, messages, sampling):
        turn = sum(message["role"] == "assistant" for message in messages)
        return Completion(self.lines[min(turn, len(self.lines) - 1)], tokens=1, prompt_tokens=0)


def rates(cases: list[Case]) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for case in cases:
        hits, n = found.get(case.metric, (0.0, 0))
        found[case.metric] = hits + case.hits, n + case.n
    return found


def sat(experiment, student) -> dict[str, tuple[float, int]]:
    return rates(asyncio.run(EXAM.sit(seated(experiment, student, exam_tasks(experiment)[0]))))


def test_the_revised_answer_follows_from_the_revised_fact_and_is_another_one(experiment):
    found = grounds(experiment, exam_tasks(experiment)[0])
    assert len(found) > 5
    for one in found:
        facts = [one.revised if fact.id == one.revised.id else fact for fact in one.task.facts if fact.needed]
        numbers = [int("".join(filter(str.isdigit, fact.text))) for fact in facts]
        assert str(arithmetic(numbers, KINDS[one.task.kind][2])[1]) == one.answer != one.task.answer
        assert one.other.id != one.task.id and one.told in one.task.missing
        assert int(expected(one, "pivot")) + int(one.task.answer) == one.target > int(one.task.answer)
        said = wordings(one, random.Random(0))
        assert one.revised.text in said["corrected"] and one.told.text not in said["corrected"]
        assert not any(word in said["null"] for word in ("has", *filter(str.isdigit, said["null"])))


def test_a_listener_follows_everything_and_a_keeper_nothing(experiment):
    found = grounds(experiment, exam_tasks(experiment)[0])
    n = 2 * len(found)
    listens, keeps = (sat(experiment, make(found)) for make in LISTENERS.values())
    for arm in ("corrected", "pivot", "topic"):
        assert listens[f"ground_used@{arm}"] == listens[f"ground_revised@{arm}"] == (n, n)
        assert keeps[f"ground_used@{arm}"] == keeps[f"ground_revised@{arm}"] == (0, n)
        assert listens[f"ground_kept@{arm}"] == (0, n) and keeps[f"ground_kept@{arm}"] == (n, n)
        assert listens[f"ground_said@{arm}"] == (n, n) and keeps[f"ground_said@{arm}"] == (0, n)
    assert listens["ground_revised@null"] == keeps["ground_revised@null"] == (0, n)
    assert listens["ground_used@told"] == keeps["ground_used@told"] == (n, n)
    assert listens["floor_taken@floor"] == (n, n) and keeps["floor_taken@floor"] == (0, n)
    assert listens["floor_taken@null"] == (0, n)


def test_a_listener_reckons_from_what_it_reads_and_not_from_the_scorer(experiment):
    """Whatever the scorer takes to be right, the script says the same."""
    for one in grounds(experiment, exam_tasks(experiment)[0]):
        broken = one._replace(answer="-1", target=-1)
        heard = ["", one.told.text]
        says = wordings(one, random.Random(0))
        own = [f"The answer is {one.task.answer}."]
        lines = {arm: Listener([broken]).answer(broken, [*heard, says[arm]], own) for arm in ("corrected", "pivot")}
        assert lines["corrected"].endswith(f"The answer is {one.answer}.")
        assert lines["pivot"].endswith(f"The answer is {one.target - int(one.task.answer)}.")


def test_a_worked_solution_is_reckoned_anew_with_another_number(experiment):
    one = grounds(experiment, exam_tasks(experiment)[0])[0]
    task = one.task.model_copy(update={"solution": "43 + 54 = 97. 97 - 68 = 29."})
    assert (solved(task), solved(task, 0, 50), solved(task, 1, 60), solved(task, 2, 1)) == (29, 36, 35, 96)


def test_who_never_answers_has_no_turn_to_keep_or_revise(experiment):
    found = sat(experiment, Says("I cannot tell."))
    assert found["ground_used@corrected"][0] == 0 < found["ground_used@corrected"][1]
    assert not any(metric.startswith(("ground_kept", "ground_revised")) for metric in found)


def test_a_revision_need_not_be_right_and_silence_is_none(experiment):
    wrong = sat(experiment, Says("Hm.", "The answer is 3.", "The answer is 4."))
    assert wrong["ground_revised@corrected"][0] == wrong["ground_revised@corrected"][1]
    assert wrong["ground_used@corrected"][0] == wrong["ground_kept@corrected"][0] == 0
    mute = sat(experiment, Says("Hm.", "The answer is 3.", "I am done."))
    assert mute["ground_revised@corrected"][0] == mute["ground_kept@corrected"][0] == 0
    assert mute["floor_taken@floor"][0] == 0


def test_who_only_puts_the_problem_again_takes_the_floor_after_nothing_too(experiment):
    echo = sat(experiment, Says("How many pens does Tom have in total?"))
    assert echo["floor_taken@floor"] == echo["floor_taken@null"]
    assert weights(EXAM, "floor_opened") == {"floor_taken@floor": 1, "floor_taken@null": -1}


@pytest.mark.parametrize(("text", "expected"), [
    ("What shall we do?", True), ("Let us look at triangles.", True), ("Tom has pens.", False), ("Okay.", False),
    ("The answer is 12.", False), ("I am done.", False), ("Okay, I would like to try a harder one.", True),
    ("Thanks. How about fractions?", True), ("Have you ever seen a volcano?", True),
    ("Thank you for your help, goodbye.", False), ("I have nothing else to look at, thanks.", False),
    ("Nothing more from my side, have a nice day.", False), ("No, that's all.", False),
    ("You're welcome! Glad we solved that problem together.", False), ("Let us stop here.", False),
    ("I would like to thank you.", False), ("Is there anything else I can help you with?", False),
    ("What would you like to do?", False), ("How can I assist you further?", False), ("What's next?", False),
    ("Is there something specific you'd like to discuss?", False), ("Do you have a topic in mind?", False),
    ("Which topic interests you?", False), ("Okay, what is your question?", False), ("Is that correct?", False),
    ("Sorry, what do you mean?", False), ("Are you satisfied with the answer?", False), ("Should we stop here?", False),
    ("Can I assist you with another problem?", False), ("Did I get it right?", False),
    ("Maybe we could do one on percentages.", True), ("I would be interested in a harder problem.", True),
    ("Let me propose a new problem about pens.", True), ("Do you have pets?", True)])  # fmt: skip
def test_the_floor_is_taken_by_a_proposal_or_a_question_and_not_by_politeness(text, expected):
    assert took_floor(text, student_turn(TurnToRead(party="student", text=text, question=""))) == expected


def test_the_embedded_base_is_asked_only_what_it_understands(tmp_path):
    base = made(tmp_path, engine={"kind": "transformers"})
    assert arms(understands=False) == UNDERSTOOD and arms(understands=True) == ARMS
    assert not {metric for metric in asked(EXAM, base) if metric.endswith(("pivot", "topic", "floor"))}
    rows = asyncio.run(reference(base))
    assert {row.metric.partition("@")[2] for row in rows} == {"told", *UNDERSTOOD}


def test_tasks_of_another_world_are_replaced_by_the_embedded_ones(tmp_path):
    other = made(
        tmp_path, tasks={"source": "gsm8k", "path": "absent.jsonl"}, conditions={"blind": {"partition": "symmetric"}}
    )
    items = made(tmp_path, tasks={"source": "hidden_item"}, conditions={"blind": {"partition": "symmetric"}})
    for found in (grounds(other, []), grounds(items, hidden_item_tasks("exam", "underspecified"))):
        assert len(found) > 10 and {one.task.source for one in found} == {"embedded"}


def test_one_seed_gives_one_set_of_cases_of_metrics_that_may_be_compared(experiment):
    tasks, _ = exam_tasks(experiment)
    for make in LISTENERS.values():
        student = make(grounds(experiment, tasks))
        first, second = (asyncio.run(EXAM.sit(seated(experiment, student, tasks))) for _ in range(2))
        assert first == second and {case.metric for case in first} <= ratios(EXAM, experiment)
    assert EXAM.answers(experiment, tasks) == 2 * 7 * len(grounds(experiment, tasks))


def test_a_problem_whose_told_fact_can_have_no_other_number_is_left_out(experiment: Experiment) -> None:
    # 69 are held, no number is larger, and 68 of them go: every other number would leave none.
    made_here = embedded_tasks("exam", "underspecified", 1)
    lacking = (t for t in made_here if t.kind == "left" and t.stratum == "easy" and [f.id for f in t.missing] == ["f0"])
    task = next(lacking)
    largest = dict(zip((fact.id for fact in task.facts if fact.needed), ("69", "68"), strict=True))
    facts = tuple(
        fact.model_copy(update={"text": re.sub(r"\d+", largest[fact.id], fact.text)}) if fact.needed else fact
        for fact in task.facts
    )
    stuck = task.model_copy(update={"id": "stuck", "facts": facts, "answer": "1"})
    assert [ground.task.id for ground in grounds(experiment, [stuck, task])] == [task.id]
