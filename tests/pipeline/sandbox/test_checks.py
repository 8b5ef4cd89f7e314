"""Programs are run when they are said, once each; what the tests said goes into the dialogue, and decides it."""

import asyncio
import json

import pytest

from pipeline.building.build import build
from pipeline.core.schema import ExampleCall, ProgramCheck, Tests, Turn
from pipeline.datasets.rows import to_row
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import Completion
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import is_correct, is_grounded
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.acts import asked
from pipeline.reading.correctness import NotChecked
from pipeline.reading.programs import fenced
from pipeline.reading.stored import is_right
from pipeline.runs.store import read
from pipeline.sandbox.checks import CHECKER, checked, failing
from pipeline.tasks.code.generated import code_tasks
from pipeline.tasks.loading import load_tasks
from tests.fakes import FakeModel

UNDER = next(task for task in code_tasks("train", "underspecified") if len(task.missing) == 1)
FULL = next(code_tasks("train", "full"))


pytestmark = pytest.mark.usefixtures("programs_of_ours")


class Lines(FakeModel):
    """Says its lines in order, in every dialogue anew."""

    def __init__(self, *lines):
        super().__init__()
        self.lines = lines

    def reply(self, messages):
        turns_before = sum(message["role"] == "assistant" for message in messages)
        return self.lines[min(turns_before, len(self.lines) - 1)]


def settings(**more):
    return Experiment.model_validate(
        {"name": "t", "conditions": {"c": {"partition": "facts"}}, "dialogue": {"turns": 4} | more}
    ).dialogue


def right(task):
    return f"Here it is.\n{fenced(task.answer)}"


def wrong(task):
    return "Here it is.\n" + fenced(f"def {task.entry}(*all):\n    return 3")


def played(task, partition, *lines, voice="rule", partner=None, **condition):
    condition = Condition(partition=partition, voice=voice, **condition)
    cast = Cast(Lines(*lines), None if partner is None else Lines(*partner))
    made = asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=settings(), key="key")))
    return Dialogue(
        id="d", task=task, condition_name="c", condition=condition.shaped(), seed=1, turns=made.turns, stop=made.stop
    )


def test_the_verifier_names_the_public_call_that_fails_and_never_a_hidden_one():
    dialogue = played(FULL, "verifier", wrong(FULL), right(FULL))
    said = dialogue.turns[1].text
    public = FULL.tests.public[0]
    assert f"{public.call} gave 3, expected {public.expected}" in said
    assert not any(example.call in said for example in FULL.tests.hidden)
    assert is_correct(dialogue) and dialogue.stop == "partner_done"
    assert [turn.check.passed for turn in dialogue.turns if turn.check] == [False, True]
    assert not violations(dialogue)


def test_who_fails_hidden_tests_alone_hears_no_more_than_that():
    values = {example.call: example.expected for example in FULL.tests.public}
    table = "".join(f"    if call == {call!r}: return {value}\n" for call, value in values.items())
    cheat = f"def {FULL.entry}(*all):\n    call = f'{FULL.entry}(' + ', '.join(map(repr, all)) + ')'\n{table}"
    dialogue = played(FULL, "verifier", fenced(cheat), "I am done.")
    assert not is_correct(dialogue)
    said = dialogue.turns[0].check.printed
    assert said.startswith("2 of") and "expected" not in said


def test_a_facts_partner_tells_the_convention_asked_for_which_grounds_the_talk():
    [fact] = UNDER.missing
    dialogue = played(UNDER, "facts", fact.ask, right(UNDER), "I am done.")
    assert asked(fact.ask, UNDER.facts) == [fact.id] and fact.text in dialogue.turns[1].text
    assert is_correct(dialogue) and is_grounded(dialogue)
    lucky = played(UNDER, "facts", right(UNDER), "I am done.")
    assert is_correct(lucky) and not is_grounded(lucky)


def test_a_key_partner_may_say_a_convention_and_not_paste_the_reference():
    pasted = played(UNDER, "key", "What now?", "I am done.", voice="model", partner=[right(UNDER)])
    assert [violation.kind for violation in violations(pasted)] == ["revealed_answer"]
    [fact] = UNDER.missing
    told = played(UNDER, "key", fact.ask, "I am done.", voice="model", partner=[fact.text])
    assert not violations(told)


def test_a_key_partner_by_rule_compares_programs_by_what_they_do():
    same = right(UNDER).replace("return", "return ", 1)
    assert played(UNDER, "key", same).stop == "partner_done"
    assert "expected" not in played(UNDER, "key", wrong(UNDER), "I am done.").turns[1].text


def test_a_partner_that_praises_a_program_that_fails_breaks_its_row():
    praised = played(FULL, "verifier", wrong(FULL), "I am done.", voice="model", partner=["That is right."])
    assert "false_feedback" in [violation.kind for violation in violations(praised)]


def test_the_same_program_is_run_once_and_other_dialogues_go_on_meanwhile():
    before = CHECKER.runs

    async def many():
        turn = Turn(party="student", text=right(FULL))
        going = asyncio.create_task(asyncio.sleep(0, "others"))
        found = await asyncio.gather(*(checked(FULL, turn) for _ in range(20)))
        return found, going.done()

    found, others = asyncio.run(many())
    assert CHECKER.runs == before + 1 and others
    assert {turn.check for turn in found} == {found[0].check} and found[0].check.passed


def test_assertions_may_use_what_else_a_program_defines():
    tests = Tests(entry="halve", script="def check(f):\n    assert f(twice(3)) == 3\n\ncheck(halve)\n")
    task = FULL.model_copy(update={"tests": tests})
    both = "def twice(n):\n    return 2 * n\n\ndef halve(n):\n    return n // 2"
    for code, outcome in {both: "passed", both.replace("// 2", "// 3"): "failed"}.items():
        turn = asyncio.run(checked(task, Turn(party="student", text=fenced(code))))
        assert turn.check.outcome == outcome and "twice" not in turn.check.printed


def test_where_assertions_decide_public_examples_only_tell_what_is_wrong():
    wrong_example = (ExampleCall(call="halve(4)", expected="3"),)
    tests = Tests(entry="halve", public=wrong_example, script="assert halve(4) == 2\nassert halve(7) == 3\n")
    task = FULL.model_copy(update={"tests": tests})
    passes, fails = ("def halve(n):\n    return n // 2", "def halve(n):\n    return n")
    checks = [asyncio.run(checked(task, Turn(party="student", text=fenced(code)))).check for code in (passes, fails)]
    assert [check.outcome for check in checks] == ["passed", "failed"]
    assert "halve(4) gave 4, expected 3" in checks[1].printed and "7" not in checks[1].printed
    assert checks[1].printed.startswith("0 of 2 tests passed"), "the count is of what decides"


def test_a_turn_without_a_program_and_a_task_without_tests_are_left_alone():
    turn = Turn(party="student", text="Should the list be sorted?")
    assert asyncio.run(checked(FULL, turn)) is turn
    assert is_right(FULL, [turn], 0) is None


def test_a_program_that_nobody_ran_is_not_judged():
    with pytest.raises(NotChecked, match=FULL.id):
        is_right(FULL, [Turn(party="student", text=right(FULL))], 0)


def made(out, source, **condition):
    return Experiment.model_validate({
        "name": "t", "out": str(out), "seeds": [1], "engine": {"kind": "scripted"}, "dialogue": {"turns": 3},
        "tasks": {"source": source, "train": {"full": 2, "underspecified": 2}, "exam": {"full": 1}},
        "conditions": {"c": {"partition": "verifier"} | condition}, "exams": {"include": ["asking"]},
    })  # fmt: skip


def stored(experiment, model):
    tasks, _ = load_tasks(experiment.tasks, "train")
    asyncio.run(build(Cell(experiment, "c", 1), tasks, [], Cast(model), lambda: None))
    path = experiment.run / "dialogues" / "c.jsonl"
    return sorted(path.read_text().splitlines()), list(read(path, Dialogue))


class Coder(Lines):
    """Defines the function that the question asks for, wrong in the same way always."""

    async def complete(self, messages, sampling):
        name = messages[0]["content"].split("Examples:\n")[1].split("(")[0]
        return Completion(fenced(f"def {name}(*all):\n    return 3"), tokens=3, prompt_tokens=10)


def test_a_build_of_code_stores_the_same_bytes_again(tmp_path):
    one, dialogues = stored(made(tmp_path / "a", "code"), Coder())
    CHECKER.kept.clear()
    again, _ = stored(made(tmp_path / "b", "code"), Coder())
    assert one == again and len(one) == 4
    assert all(turn.check for dialogue in dialogues for turn in dialogue.turns if turn.party == "student")


def test_a_training_row_holds_neither_tests_nor_the_reference(tmp_path):
    experiment = made(tmp_path, "code")
    _, dialogues = stored(experiment, Coder())
    for dialogue in dialogues:
        row = json.dumps(to_row(experiment, dialogue))
        assert not any(json.dumps(example.call)[1:-1] in row for example in dialogue.task.tests.hidden)
        assert json.dumps(dialogue.task.answer)[1:-1] not in row


def test_dialogues_about_numbers_are_stored_as_they_were(tmp_path):
    lines, dialogues = stored(made(tmp_path, "embedded"), Lines("The answer is 3."))
    for line in lines:
        record = json.loads(line)
        assert not {"tests", "draft"} & record["task"].keys()
        assert all("check" not in turn for turn in record["turns"])
        assert all("topics" not in fact for fact in record["task"]["facts"])
    assert dialogues and all(is_right(d.task, d.turns, 0) is not None for d in dialogues)


def test_a_worth_of_a_check_survives_a_round_trip():
    turn = Turn(party="student", text="x", check=ProgramCheck(outcome="failed", printed="0 of 2 tests passed."))
    assert Turn.model_validate_json(turn.model_dump_json()) == turn


def test_a_task_whose_own_reference_fails_its_tests_is_named():
    broken = FULL.model_copy(update={"id": "broken", "answer": f"def {FULL.entry}(*args):\n    return None"})
    assert asyncio.run(failing([FULL, broken, UNDER])) == ["broken"]
