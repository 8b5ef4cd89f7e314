"""Selection, luck and leaks, on traces small enough to check by eye."""

import pytest

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Fact, Task, Turn
from pipeline.datasets.condition_rows import condition_rows
from pipeline.datasets.rejection_sampling import kept, selected
from pipeline.datasets.survey import Survey, surveyed
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import TurnValues
from pipeline.judging.outcome import agrees, final_answer, is_correct, is_grounded
from pipeline.judging.stated_leak import first_leak, leak_stated, privileged
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import rewrite
from tests.builders import select

TASK = Task(
    id="t",
    source="embedded",
    specification="underspecified",
    question="Tom has some pens. Ana has 12 pens. In all?",
    full_question="Tom has 30 pens. Ana has 12 pens. In all?",
    answer="42",
    facts=(
        Fact(id="a", text="Tom has 30 pens.", public=False, ask="How many pens does Tom have?"),
        Fact(id="b", text="Ana has 12 pens.", ask="How many pens does Ana have?"),
    ),
)


@pytest.mark.parametrize(
    ("condition", "is_kept"),
    [({}, True), ({"method": "kto"}, None), ({"selection": "yoked"}, None), ({"pass_rate": (0.2, 0.8)}, None)],
)
def test_whether_a_dialogue_is_kept_is_said_where_it_alone_decides(condition, is_kept):
    right = talk("How many pens does Tom have?", "Tom has 30 pens.", "The answer is 42.")
    assert kept(right, Condition(partition="facts", **condition)) is is_kept
    for shared in ({"regime": "matched"}, {"regime": "shuffled"}, {"first_acts": "as_played"}):
        rule = Condition(partition="facts", **shared)
        says = [kept(one, rule, rule.regime or "natural") for one in (right, talk("The answer is 7.", "Hm."))]
        assert says == [None, False]  # what else is kept decides; what is not kept is learned by nobody
    few = Condition(partition="facts", budget=0.000001)
    assert kept(right, few) is few.affords(right.task.id) is False
    assert kept(right, few.model_copy(update={"selection": "none"})) is False


def talk(*lines: str, partition: str = "facts", id: str = "d", **condition) -> Dialogue:
    turns = tuple(Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines))
    return Dialogue(
        id=id,
        task=TASK,
        condition_name="c",
        condition=Condition(partition=partition, **condition),
        seed=1,
        turns=turns,
        stop="turn_cap",
    )


ASKED = talk("How many pens does Tom have?", "Tom has 30 pens.", "The answer is 42.")
LUCKY = talk("The answer is 42.", "Okay.", "I am done.")
LATE = talk("The answer is 42.", "Tom has 30 pens.", "I am done.")


def test_the_last_answer_counts():
    assert final_answer(talk("The answer is 1.", "No.", "Is it 42?")) == "42"
    assert final_answer(talk("Hello.")) is None


def test_no_questions_keeps_where_the_student_asks_nothing_right_or_wrong():
    asks_later = talk("I get 41.", "No.", "What is the number of pens in all?", id="later")
    wrong = talk("The answer is 41.", "Okay.", "I am done.", id="wrong")
    silent = Condition(partition="facts", selection="none", keep="no_questions")
    assert select([ASKED, LUCKY, asks_later, wrong], silent) == select([LUCKY, wrong], silent)
    assert select([ASKED, LUCKY, wrong], Condition(partition="facts", keep="no_questions")) == [LUCKY]


def test_one_answer_keeps_where_only_the_first_turn_answers_right_or_wrong():
    changes = talk("The answer is 41.", "Okay.", "The answer is 42.", id="changes")
    says_twice = talk("The answer is 41.", "Okay.", "I get 41.", id="twice")
    says_late = talk("I do not know.", "Okay.", "The answer is 41.", id="late")
    wrong = talk("The answer is 41.", "The answer is 42.", "I am done.", id="wrong")
    once = Condition(partition="facts", selection="none", keep="one_answer")
    assert select([changes, says_twice, says_late, wrong, LUCKY], once) == select([wrong, LUCKY], once)
    assert select([changes, wrong, LUCKY], Condition(partition="facts", keep="one_answer")) == [LUCKY]


def test_a_right_answer_without_the_facts_is_correct_but_not_grounded():
    assert is_correct(ASKED) and is_grounded(ASKED)
    assert is_correct(LUCKY) and not is_grounded(LUCKY)
    assert not is_grounded(LATE)


@pytest.mark.parametrize(
    ("selection", "keep", "expected"),
    [
        ("outcome", "all", ["asked", "lucky"]),
        ("outcome", "grounded", ["asked"]),
        ("none", "all", ["asked", "lucky", "wrong"]),
    ],
)
def test_selection_keeps_what_the_condition_says(selection, keep, expected):
    dialogues = [
        ASKED.model_copy(update={"id": "asked"}),
        LUCKY.model_copy(update={"id": "lucky"}),
        talk("The answer is 7.", id="wrong"),
    ]
    condition = Condition(partition="facts", selection=selection, keep=keep)
    assert [d.id for d in select(dialogues, condition)] == expected


def test_agreement_needs_one_answer_of_both_right_or_wrong():
    condition = Condition(partition="symmetric", voice="model", selection="agreement")
    assert kept(talk("The answer is 7.", "I agree. The answer is 7."), condition)
    assert not kept(talk("The answer is 7.", "I disagree. The answer is 42."), condition)
    assert not agrees(talk("The answer is 7.", "I see."))


def test_where_all_is_kept_a_dialogue_is_kept_unread():
    answer = ASKED.turns[-1].model_copy(update={"reading": StudentReading(attempt="42")})
    unread = ASKED.model_copy(update={"turns": (*ASKED.turns[:-1], answer)})
    assert kept(unread, Condition(partition="facts", selection="none"))
    with pytest.raises(ValueError, match="has no reading"):
        kept(unread, Condition(partition="facts"))


def test_dialogues_with_violations_are_kept_or_dropped_as_the_condition_says():
    broken = talk("Hello.", "Tom has 30 pens.", "The answer is 42.", id="broken")
    for violations, expected in (("keep", ["broken", "d"]), ("drop", ["d"])):
        condition = Condition(partition="facts", violations=violations)
        assert [d.id for d in select([ASKED, broken], condition)] == expected
        assert condition.shaping() == Condition(partition="facts").shaping()
        assert condition.differs(Condition(partition="facts")) == []


def _learned_from(made: Experiment, name: str) -> bool:
    """Whether the one branch of a condition has rows."""
    method = made.conditions[name].model_copy(update={"method": "dpo"})
    dpo = made.model_copy(update={"conditions": {name: method}, "turn_values": TurnValues(siblings=2)})
    with surveyed(dpo, name) as survey:
        (rows,) = condition_rows(survey, "preference").rows
    return bool(rows)


def test_a_branch_falls_with_any_of_its_broken_dialogues(tmp_path):
    asks, told = ASKED.turns[0], (Rollout(turns=ASKED.turns[1:], stop="turn_cap"),)
    false = (Rollout(turns=(Turn(party="partner", text="Tom has 31 pens."),), stop="turn_cap"),)
    drop, common = (
        Condition(partition="facts", violations="drop"),
        ASKED.model_dump(include={"condition_name", "condition", "seed"}),
    )
    guesses, ended = Turn(party="student", text="The answer is 7."), (Rollout(turns=(), stop="turn_cap"),)
    for rollouts, expected in ((ended, True), (ended + false, False)):
        siblings = (Sibling(turn=asks, rollouts=told), Sibling(turn=guesses, rollouts=rollouts))
        branch = Branch(id="b", dialogue="d", task=TASK, round=0, prefix=(), siblings=siblings, **common)
        made = Experiment(name="x", out=str(tmp_path), conditions={"drop": drop, "keep": Condition(partition="facts")})
        for name in made.conditions:
            rewrite(branches_path(tmp_path, name), [branch])
        assert _learned_from(made, "drop") == expected and _learned_from(made, "keep")


@pytest.mark.parametrize("condition", [{"partition": "solo"}, {"partition": "facts", "method": "grpo"}])
def test_where_no_partner_speaks_in_a_stored_dialogue_none_can_be_dropped(condition):
    with pytest.raises(ValueError, match="violations: 'drop' leaves out stored dialogues"):
        Condition(violations="drop", **condition)


def test_the_same_transcript_of_a_task_is_kept_once():
    assert len(select([ASKED, ASKED.model_copy(update={"id": "e"})], Condition(partition="facts"))) == 1
    other = ASKED.model_copy(update={"id": "e", "seed": 2})
    assert len(select([ASKED, other], Condition(partition="facts"))) == 2


def test_confirming_a_right_attempt_is_no_leak_nor_the_number_in_other_prose():
    assert not leak_stated(talk("The answer is 42.", "Yes, the answer is 42."))
    assert not leak_stated(talk("Hello.", "Think of 42 pens.", "The answer is 7."))
    assert first_leak(talk("Hello.", "Go on.", "The answer is 7.", "No. The answer is 42.")) == 1


def test_only_rows_with_more_than_the_question_are_privileged():
    assert privileged(Condition(partition="facts")) and privileged(Condition(partition="verifier"))
    assert not privileged(Condition(partition="symmetric")) and not privileged(Condition(partition="solo"))


def read_selected(survey: Survey) -> list[Dialogue]:
    return [survey.read(record.place) for record in selected(survey.dialogues, survey.condition)]


def test_what_is_selected_from_a_file_is_what_is_selected_from_a_list(tmp_path):
    talks = [ASKED, LUCKY.model_copy(update={"id": "lucky"}), ASKED.model_copy(update={"id": "a twin"})]
    conditions = {
        "facts": Condition(partition="facts"),
        "grounded": Condition(partition="facts", selection="none", keep="grounded"),
        "nowhere": Condition(partition="facts"),
    }
    made = Experiment(name="x", out=str(tmp_path), conditions=conditions)
    for name in ("facts", "grounded"):
        rewrite(tmp_path / "dialogues" / f"{name}.jsonl", talks)
        with surveyed(made, name) as survey:
            assert read_selected(survey) == select(talks, conditions[name])
    with surveyed(made, "nowhere") as survey:
        assert read_selected(survey) == []
