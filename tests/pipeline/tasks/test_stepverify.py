"""Wrong solutions and what teachers found in them: what the student reads, what a verifier adds, what is left out."""

import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Turn
from pipeline.dialogue.rule_partner import WORDINGS, rule_reply
from pipeline.experiment.experiment import Experiment
from pipeline.judging.stated_leak import first_leak
from pipeline.judging.violations import violations
from pipeline.knowledge.briefing import privileged
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.knowledge.partition import PARTITIONS, WHAT, WHERE
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.tasks import stepverify
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.parsing import RowError
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import split_of
from pipeline.tasks.stepverify import note, tells

STRENGTHS = ("verifier", "verifier_where", "verifier_what")


def made(row, i=3, **other):
    return stepverify.task(note(row["stepverify"](i) | other))


def told(task, partition, said, wording="train", seed=0):
    condition, turns = Condition(partition=partition), [Turn(party="student", text=said)]
    knows, right = known(task, condition, "partner"), verdict(task, condition, turns)
    return rule_reply(knows, condition, turns, right, random.Random(seed), wording)


def test_the_student_reads_the_solution_and_not_what_was_found_in_it(row):
    task = made(row)
    assert task.question.startswith(task.full_question) and task.draft.text in task.question
    assert task.draft.text.splitlines()[0] == "Step 1: Ana has 5 + 1 = 6."
    seen = {str(view(task, Condition(partition=name), [], "student")) for name in (*STRENGTHS, "symmetric")}
    assert len(seen) == 1
    assert task.draft.what not in seen.pop()


@pytest.mark.parametrize("wording", ["train", "exam"])
@pytest.mark.parametrize("seed", range(4))
def test_each_strength_says_what_the_weaker_one_says_and_one_thing_more(row, wording, seed):
    task = made(row, incorrect_index=1, incorrect_step="They have 5 + 6 = 11.")
    bare, where, what = (told(task, name, "The answer is 11.", wording, seed).text for name in STRENGTHS)
    assert bare in WORDINGS[wording]["wrong"]
    assert re.fullmatch(rf"{re.escape(bare)} .*\bstep 2\b.*", where, re.I)
    assert what == f"{where} {task.draft.what}"


@pytest.mark.parametrize("partition", STRENGTHS)
def test_a_right_answer_ends_the_talk_and_nothing_is_pointed_at(row, partition):
    said = told(made(row), partition, "The answer is 15.")
    assert said.done and said.text in WORDINGS["train"]["right"]


def test_who_asks_without_an_answer_is_told_what_was_found(row):
    task = made(row)
    assert told(task, "verifier", "Where is the mistake?").text in WORDINGS["train"]["checks"]
    assert task.draft.what in told(task, "verifier_what", "Where is the mistake?").text


def test_every_partition_but_two_is_blind_to_what_was_found(row):
    task = made(row)
    other = task.model_copy(update={"draft": task.draft.model_copy(update={"where": 2, "what": "Zorbs."})})
    turns = [Turn(party="student", text="The answer is 11."), Turn(party="partner", text="Hm.")]
    for name, row_ in PARTITIONS.items():
        condition = Condition(partition=name, voice="model" if name == "script" else "rule")
        for party in ("student", "partner"):
            same = view(task, condition, turns, party) == view(other, condition, turns, party)
            holds = party == "partner" and bool({WHERE, WHAT} & (row_.partner or frozenset()))
            assert same != holds, (name, party)


def test_a_model_verifier_reads_as_much_as_a_rule_tells(row):
    task = made(row)
    reads = {
        name: view(task, Condition(partition=name, voice="model"), [], "partner")[0]["content"] for name in STRENGTHS
    }
    assert "first goes wrong in step 1." in reads["verifier_where"] and "Only you know" not in reads["verifier"]
    assert task.draft.what in reads["verifier_what"] and task.draft.what not in reads["verifier_where"]
    assert privileged(task, Condition(partition="verifier_what"), []).endswith(task.draft.what)


@pytest.mark.parametrize(("description", "gives"), [
    ("takes twice for more", False),
    ("Ana should have 10, so it is 15 in total", True),
    ("should be 5 + 10", True),
    ("it must come to fifteen", True),
    ("forgets the 15 pens of the question", True),
    ("did not add 7 to 5", False),
    ("takes 12 for the answer", False),
])  # fmt: skip
def test_a_description_that_gives_the_answer_away_is_left_out(row, description, gives):
    raw = row["stepverify"](3) | {"error_description": description}
    assert tells(note(raw)) == gives
    if gives:
        with pytest.raises(RowError, match="gives the answer away, 15"):
            stepverify.task(note(raw))
    else:
        assert stepverify.task(note(raw)).draft.what == f"{description}."


@pytest.mark.parametrize(("other", "message"), [
    ({"error_description": None}, "'error_description' is empty"),
    ({"incorrect_index": 2, "incorrect_step": "11"}, "is no step"),
    ({"incorrect_index": 3}, "'incorrect_index' is 3"),
    ({"incorrect_index": True}, "'incorrect_index' is True"),
    ({"incorrect_step": "Ana has 9."}, "is not line 0"),
    ({"student_incorrect_solution": ["Ana has 10.", "15"]}, "comes to the right answer, 15"),
    ({"student_incorrect_solution": ["Ana has 7.", "many"]}, "expected a number alone"),
    ({"student_incorrect_solution": ["12"]}, "at least one step"),
    ({"reference_solution": "Ana has 10."}, "the last line of 'reference_solution'"),
    ({"error_category": 3}, "must be text"),
])  # fmt: skip
def test_a_row_that_no_verifier_could_tell_is_refused_with_its_reason(row, other, message):
    with pytest.raises(RowError, match=message):
        made(row, **other)


def test_two_notes_on_one_solution_are_two_tasks_and_a_repeated_note_a_bad_row(row, write):
    first = row["stepverify"](3)
    second = first | {"incorrect_index": 1, "incorrect_step": first["student_incorrect_solution"][1]}
    tasks, bad = stepverify.read(Tasks(source="stepverify", path=write("stepverify", [first, second, first])))
    assert len({task.id for task in tasks}) == 2 and len({task.split for task in tasks}) == 1
    assert [row.message for row in bad] == ["the same was said of the same solution in an earlier row"]


def test_own_numbers_before_steps_are_dropped_and_quantities_are_kept(row):
    lines = ["1. Ana has 7.", "Step 2: They have 12.", "2.5 is no number of step.", "12"]
    task = made(row, student_incorrect_solution=lines, incorrect_step=lines[0])
    assert task.draft.steps == ("Ana has 7.", "They have 12.", "2.5 is no number of step.")


def test_a_partition_that_points_needs_solutions_to_point_at():
    with pytest.raises(ValueError, match="Use source stepverify, or partition verifier"):
        Experiment(name="t", conditions={"where": {"partition": "verifier_where"}})
    with pytest.raises(ValueError, match="'facts' has nothing to tell on source 'stepverify'"):
        Experiment(name="t", tasks={"source": "stepverify"}, conditions={"f": {"partition": "facts"}})


@pytest.mark.parametrize("content", ["not JSON", '{"problem": 1}', "3"])
def test_a_stepverify_file_that_is_no_list_is_an_error_that_names_the_key(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ConfigError, match=r"tasks\.path: .*StepVerify's JSON list"):
        load_tasks(Tasks(source="stepverify", path=str(tmp_path / "x.json"), train={"full": 1}), "train")


@pytest.mark.slow
def test_the_public_file_reconciles_and_its_verifiers_tell_no_answer():
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the public wrong solutions are not checked")
    settings = Tasks(source="stepverify", path=str(Path(folder) / "stepverify" / "stepverify_half.json"))
    tasks, bad = stepverify.read(settings)
    assert (len(tasks), len(bad)) == (348, 164) and len({task.id for task in tasks}) == 348
    reasons = Counter(next(part for part in ("empty", "no step", "away") if part in row.message) for row in bad)
    assert reasons == {"empty": 150, "no step": 5, "away": 9}
    assert all(task.split == split_of(task.full_question) for task in tasks)
    for task in tasks:
        for name in STRENGTHS:
            turns = (
                Turn(party="student", text=task.draft.text),
                Turn(party="partner", text=told(task, name, task.draft.text).text),
            )
            condition = Condition(partition=name)
            dialogue = Dialogue(
                id="d", task=task, condition_name="c", condition=condition, seed=0, turns=turns, stop="turn_cap"
            )
            assert first_leak(dialogue) is None and not violations(dialogue), (task.id, name)
