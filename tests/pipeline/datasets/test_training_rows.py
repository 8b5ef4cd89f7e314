"""Rows of every method: the student's view alone, pairs whose values are apart, and one pool for all methods."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from datasets import Dataset

from pipeline.core.schema import Task, Turn
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.datasets.formats import FORMATS
from pipeline.datasets.rows import labelled, monologue, pairs, to_row
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import rewrite
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment

METHODS = {
    "sft": {"partition": "facts"},
    "flat": {"partition": "facts", "method": "monologue", "learns_from": "sft"},
    "dpo": {"partition": "facts", "method": "dpo", "learns_from": "sft"},
    "answer": {"partition": "facts", "method": "dpo_answer", "learns_from": "sft"},
    "kto": {"partition": "facts", "method": "kto", "learns_from": "sft"},
}


experiment = partial(small_experiment, conditions=METHODS, turn_values={"siblings": 4})


def turn(party: Any, text: str, finished: bool = True) -> Turn:
    return Turn(party=party, text=text, tokens=10, finished=finished)


def talk(task: Task, *lines: str, cut: int = -1) -> Dialogue:
    turns = tuple(turn(("student", "partner")[i % 2], line, i != cut) for i, line in enumerate(lines))
    condition = {"partition": "facts"}
    return Dialogue(
        id="-".join(lines), task=task, condition_name="sft", condition=condition, seed=1, turns=turns, stop="turn_cap"
    )


def branch(task: Task, *first: str, prefix: tuple[Turn, ...] = ()) -> Branch:
    """A sibling for each first line; a question ends right in both rollouts, all else where it stands."""
    right = (turn("partner", task.missing[0].text), turn("student", f"The answer is {task.answer}."))
    return Branch(
        id=f"b{task.id}", dialogue="d", task=task, condition_name="sft", condition=Condition(partition="facts"),
        seed=1, round=0,
        prefix=prefix,
        siblings=tuple(
            Sibling(
                turn=turn("student", line),
                rollouts=tuple(Rollout(turns=right if "?" in line else (), stop="turn_cap") for _ in range(2)),
            )
            for line in first
        ),
    )  # fmt: skip


def test_pairs_go_from_one_prompt_to_what_is_worth_more_and_no_text_meets_itself(underspecified):
    task = underspecified[0]
    ask = task.missing[0].ask
    made = branch(task, ask, "The answer is 0.", "The answer is 0.", f"The answer is {task.answer}.")
    found = pairs(experiment(), made, learner("dpo"))
    assert {(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in found} == {
        (ask, "The answer is 0."),
        (f"The answer is {task.answer}.", "The answer is 0."),
    }
    assert all(row["margin"] == 1 and row["prompt"] == view(task, setting_condition(), (), "student") for row in found)
    assert len({row["id"] for row in found}) == len(found)


def test_what_was_said_twice_is_one_turn_worth_the_mean(underspecified):
    task = underspecified[0]
    made = branch(task, "Hm.", "Hm.", task.missing[0].ask)
    once, twice, ask = made.siblings
    half = ask.model_copy(update={"rollouts": (ask.rollouts[0], once.rollouts[0])})
    siblings = (once.model_copy(update={"rollouts": ask.rollouts}), twice, half)
    # Worth 1, 0 and one half: one by one the ask would be better than the one and worse than the other.
    assert pairs(experiment(), made.model_copy(update={"siblings": siblings}), learner("dpo")) == []


def learner(name: str) -> Condition:
    return experiment().conditions[name]


def setting_condition() -> Any:
    return experiment().conditions["sft"]


def test_credit_by_answer_prefers_an_answer_to_the_question_that_leads_to_it(underspecified):
    task = underspecified[0]
    made = branch(task, task.missing[0].ask, f"The answer is {task.answer}.", "The answer is 0.")
    found = pairs(experiment(), made, learner("answer"))
    assert {row["chosen"][0]["content"] for row in found} == {f"The answer is {task.answer}."}
    assert {row["rejected"][0]["content"] for row in found} == {task.missing[0].ask, "The answer is 0."}


def test_pairs_take_the_value_of_who_learns_and_not_of_whose_dialogues_they_are(underspecified):
    task = underspecified[0]
    made = branch(task, task.missing[0].ask, "The answer is 0.")
    agreed = Rollout(turns=(turn("partner", "The answer is 0."),), stop="turn_cap")
    asks, guess = made.siblings
    made = made.model_copy(update={"siblings": (asks, guess.model_copy(update={"rollouts": (agreed, agreed)}))})
    by_agreement = Condition(partition="symmetric", voice="model", method="dpo", selection="agreement")
    chosen = [pairs(experiment(), made, who)[0]["chosen"][0]["content"] for who in (learner("dpo"), by_agreement)]
    assert chosen == [task.missing[0].ask, "The answer is 0."]


def test_a_condition_pays_its_own_prices_for_the_same_dialogues(underspecified):
    task = underspecified[0]
    made = branch(task, task.missing[0].ask, f"The answer is {task.answer}.")
    free, dear = (
        Condition(partition="facts", method="dpo", question_price=price, token_price=price and 0.01)
        for price in (None, 0.5)
    )
    assert pairs(experiment(), made, free) == []  # the question leads to the answer, and both are worth 1
    (row,) = pairs(experiment(), made, dear)
    # It says ten tokens more, and asks for one thing.
    assert row["rejected"][0]["content"] == task.missing[0].ask and row["margin"] == pytest.approx(0.5 + 0.1)


def test_a_price_is_refused_where_no_turn_is_valued():
    with pytest.raises(ValueError, match="and method: 'sft' learns by none"):
        small_experiment(conditions={"c": {"partition": "facts", "token_price": 0.01}})


def test_a_discount_is_refused_where_no_dialogue_is_rewarded_while_it_is_played():
    with pytest.raises(ValueError, match="and method: 'grpo_turn' learns by none"):
        small_experiment(conditions={"c": {"partition": "facts", "method": "grpo_turn", "discount": 0.9}})


def test_turns_that_are_not_far_enough_apart_or_were_cut_make_no_pair(underspecified):
    task = underspecified[0]
    made = branch(task, task.missing[0].ask, "The answer is 0.")
    assert pairs(experiment(training={"gap": 1.5}), made, learner("dpo")) == []
    whole, cut = made.siblings
    cut = cut.model_copy(update={"turn": turn("student", "The answer", finished=False)})
    assert pairs(experiment(), made.model_copy(update={"siblings": (whole, cut)}), learner("dpo")) == []


def test_a_labelled_dialogue_is_the_row_of_sft_cut_in_two(underspecified):
    made = talk(underspecified[0], "How many?", "I cannot say.", "The answer is 7.", "Okay.")
    row, whole = labelled(experiment(), made, True), to_row(experiment(), made)
    assert row is not None and whole is not None
    assert row["prompt"] + row["completion"] == whole["messages"] and row["label"] is True
    assert [False] * len(row["prompt"]) + row["learn"] == whole["learn"]
    assert row["completion"][0]["role"] == "assistant" and len(row["prompt"]) == 1


def test_private_facts_reach_no_row_of_any_method(underspecified, tmp_path):
    task = next(task for task in underspecified if len(task.missing) == 1)
    secret = {"answer": "31337", "solution": "s", "wrong_answer": "w"}
    secret["facts"] = tuple(f if f.public else f.model_copy(update={"text": "A secret 31337."}) for f in task.facts)  # type: ignore[assignment]
    rows = []
    for one in (task, task.model_copy(update=secret)):
        made = branch(task, task.missing[0].ask, f"The answer is {one.answer}.", "The answer is 0.")
        made = made.model_copy(update={"task": one})
        rows.append(
            [
                monologue(experiment(), talk(one, "How many?", "I cannot say.", "I am done.")),
                labelled(experiment(), talk(one, "How many?", "I cannot say.", "I am done."), False),
                [row["prompt"] for row in pairs(experiment(), made, learner("answer"))],
            ]
        )
    assert rows[0] == rows[1]


def test_all_methods_learn_from_one_pool_in_the_columns_of_their_format(underspecified, tmp_path):
    setting = experiment(tmp_path)
    tasks = underspecified[:4]
    talks = [talk(t, "How many?", "Hm.", f"The answer is {t.answer}.") for t in tasks]
    rewrite(tmp_path / "dialogues/sft.jsonl", talks)
    first = [(t, t.missing[0].ask, f"The answer is {t.answer}.", "The answer is 0.") for t in tasks]
    rewrite(branches_path(tmp_path, "sft"), [branch(*one) for one in first])
    taken = {name: export(setting, name) for name in METHODS}
    # Of each task a dialogue of its own, and three siblings with two rollouts that are alike and count once in sft.
    assert {name: (report.taken, report.rows) for name, report in taken.items()} == {
        "sft": (12, 12),
        "flat": (12, 12),
        "dpo": (4, 8),
        "answer": (4, 8),
        "kto": (28, 28),
    }
    for name, report in taken.items():
        columns = FORMATS[report.path.name]
        stored = Dataset.from_parquet(str(report.path / "train.parquet"), cache_dir=str(tmp_path / "cache" / name))
        assert list(stored.features) == list(columns)
        assert len(read_rows(setting, name)) == report.rows
    assert sum(row["label"] for row in read_rows(setting, "kto")) == 4 + 4 * 2 * 2


@pytest.mark.parametrize("name", METHODS)
def test_a_curriculum_keeps_the_tasks_that_are_passed_as_often_as_it_asks(underspecified, tmp_path, name):
    some, never, always = underspecified[:3]
    first = [
        (some, some.missing[0].ask, f"The answer is {some.answer}.", "The answer is 0."),
        (never, "The answer is 0.", "The answer is 1."),
        (always, always.missing[0].ask),
    ]
    setting = experiment(tmp_path)
    condition = setting.conditions[name].model_copy(update={"pass_rate": (0.1, 0.9)})
    setting = setting.model_copy(update={"conditions": setting.conditions | {name: condition}})
    rewrite(tmp_path / "dialogues/sft.jsonl", [talk(t, f"The answer is {t.answer}.") for t in (some, always)])
    rewrite(branches_path(tmp_path, "sft"), [branch(*one) for one in first])
    export(setting, name)
    assert {row["task_id"] for row in read_rows(setting, name)} == {some.id}


def test_a_curriculum_needs_more_than_one_dialogue_a_task():
    conditions = {"c": {"partition": "facts", "pass_rate": [0.25, 0.75]}}
    with pytest.raises(ValueError, match="of one dialogue a task the rate is 0 or 1"):
        Experiment.model_validate({"name": "x", "conditions": conditions})
    assert Experiment.model_validate({"name": "x", "conditions": conditions, "dialogue": {"per_task": 4}})
    learns = {"d": conditions["c"] | {"learns_from": "a"}}  # by what its pool has
    assert Experiment.model_validate({"name": "x", "conditions": {"a": {"partition": "facts", "per_task": 4}} | learns})
    with pytest.raises(ValueError, match="of one dialogue a task the rate is 0 or 1"):
        few = {"a": {"partition": "facts", "per_task": 1}} | learns
        Experiment.model_validate({"name": "x", "conditions": few, "dialogue": {"per_task": 4}})
    with pytest.raises(ValueError, match="two shares from 0 to 1 are expected, the lower first"):
        Experiment.model_validate({"name": "x", "conditions": {"c": {"partition": "facts", "pass_rate": [0.8, 0.2]}}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dpo": {"partition": "symmetric", "method": "dpo", "learns_from": "sft"}}, "differs in partition"),
        ({"dpo": {"partition": "script", "voice": "model", "method": "dpo"}}, "one writer or Q-priming spoke"),
        ({"dpo": {"partition": "facts", "method": "dpo", "learns_from": "nobody"}}, "must name a condition"),
        ({"dpo": {"partition": "facts", "method": "dpo", "learns_from": "flat"}}, "dialogues of its own. Known: sft"),
        ({"qp": {"partition": "facts", "method": "q_priming", "learns_from": "sft"}}, "leave out learns_from"),
    ],
)
def test_a_condition_that_cannot_learn_from_another_is_refused_in_words(change, message):
    with pytest.raises(ValueError, match=message):
        Experiment.model_validate({"name": "x", "conditions": METHODS | change, "turn_values": {"siblings": 4}})


def test_pairs_without_turn_values_and_other_students_dialogues_are_refused():
    with pytest.raises(ValueError, match=r"Set turn_values\.siblings"):
        Experiment.model_validate({"name": "x", "conditions": {"dpo": {"partition": "facts", "method": "dpo"}}})
    with pytest.raises(ValueError, match="another student's from the second round on"):
        Experiment.model_validate({"name": "x", "conditions": METHODS, "turn_values": {"siblings": 4}, "rounds": 2})


def test_what_is_said_in_a_dialogue_does_not_depend_on_how_one_learns_from_it():
    condition = [experiment().conditions[name].shaping() for name in METHODS]
    assert all(one == condition[0] for one in itertools.islice(condition, 1, None))


def test_checks_are_learned_from_the_rows_of_sft_and_as_many_wrong_ones(underspecified, tmp_path):
    conditions = METHODS | {"checks": {"partition": "facts", "method": "post_completion", "learns_from": "sft"}}
    setting = experiment(tmp_path, conditions=conditions)
    right, *wrong = underspecified[:4]
    said = [talk(right, f"The answer is {right.answer}."), talk(right, f"So the answer is {right.answer}.")]
    said += [talk(task, f"The answer is {9000 + 3 * i + k}.") for i, task in enumerate(wrong) for k in range(3)]
    rewrite(tmp_path / "dialogues/sft.jsonl", said)
    rewrite(branches_path(tmp_path, "sft"), [])
    for name in ("sft", "checks"):
        export(setting, name)
    labels = {row["id"]: row["label"] for row in read_rows(setting, "checks")}
    assert [id for id, label in labels.items() if label] == [row["id"] for row in read_rows(setting, "sft")]
    assert sorted(labels.values()) == [False, False, True, True]


def test_no_check_stands_behind_a_dialogue_without_an_answer(underspecified, tmp_path):
    conditions = METHODS | {"checks": {"partition": "facts", "method": "post_completion", "learns_from": "sft"}}
    setting = experiment(tmp_path, conditions=conditions)
    right, silent, wrong = underspecified[:3]
    said = [talk(right, f"The answer is {right.answer}."), talk(right, f"So the answer is {right.answer}.")]
    said += [talk(silent, silent.missing[0].ask), talk(silent, "I am done."), talk(wrong, "The answer is 9000.")]
    rewrite(tmp_path / "dialogues/sft.jsonl", said)
    rewrite(branches_path(tmp_path, "sft"), [])
    export(setting, "checks")
    labels = [(row["task_id"], row["label"]) for row in read_rows(setting, "checks")]
    assert sorted(labels) == sorted([(right.id, True), (right.id, True), (wrong.id, False)])


def test_a_check_behind_a_cut_turn_is_not_learned(underspecified, tmp_path):
    conditions = METHODS | {"checks": {"partition": "facts", "method": "post_completion", "learns_from": "sft"}}
    setting = experiment(tmp_path, conditions=conditions)
    task = underspecified[0]
    said = [talk(task, f"The answer is {task.answer}.", "Okay.", "I am do", cut=cut) for cut in (2, -1)]
    said[1] = said[1].model_copy(update={"id": "whole"})
    wrong = [talk(each, "The answer is 9000.") for each in underspecified[1:4]]
    rewrite(branches_path(tmp_path, "sft"), [])
    for right, labels in ((said[0], []), (said[1], [False, True])):  # as many wrong ones as right ones are left
        rewrite(tmp_path / "dialogues/sft.jsonl", [right, *wrong])
        export(setting, "checks")
        assert sorted(row["label"] for row in read_rows(setting, "checks")) == labels


@pytest.mark.parametrize(
    ("axes", "sections", "message"),
    [
        ({"selection": "none"}, {}, "says something else of a dialogue"),
        ({"keep": "grounded"}, {}, "says something else of a dialogue"),
        ({}, {"training": {"learn": "final"}}, "Use learn: all"),
    ],
)
def test_a_check_of_anything_but_the_answer_is_refused(axes, sections, message):
    condition = {"partition": "facts", "method": "post_completion"} | axes
    with pytest.raises(ValueError, match=message):
        small_experiment(conditions={"c": condition}, **sections)


def test_an_experts_rows_are_its_steps_as_turns_of_the_student_with_loss_on_each(tmp_path):
    conditions = {"e": {"partition": "key", "method": "expert"}}
    counts = {"full": 6, "underspecified": 3}
    setting = small_experiment(tmp_path, conditions=conditions, seeds=[1, 2], tasks={"train": counts})
    tasks = {task.id: task for task in load_tasks(setting.tasks, "train")[0] if not task.missing}
    export(setting, "e")
    rows = read_rows(setting, "e")
    assert sorted((row["task_id"], row["seed"]) for row in rows) == sorted((id, s) for id in tasks for s in (1, 2))
    for row in rows:
        own = [m["content"] for m, learned in zip(row["messages"], row["learn"], strict=True) if learned]
        assert own == [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        assert own == [step.text for step in tasks[row["task_id"]].steps]
        assert [m["role"] for m in row["messages"]] == ["user", "assistant"] * len(own)


def test_with_facts_on_request_an_expert_asks_for_what_is_missing_and_nothing_else(tmp_path):
    counts = {"full": 6, "underspecified": 12}
    tasks = {"source": "lookup", "train": counts, "exam": {"full": 2}}
    conditions = {"e": {"partition": "facts", "method": "expert"}}
    setting = small_experiment(tmp_path, conditions=conditions, seeds=[1], tasks=tasks)
    export(setting, "e")
    rows = read_rows(setting, "e")
    by_id = {task.id: task for task in load_tasks(setting.tasks, "train")[0]}
    assert sorted(row["task_id"] for row in rows) == sorted(by_id)
    for row in rows:
        task = by_id[row["task_id"]]
        replies = [message["content"] for message in row["messages"] if message["role"] == "assistant"]
        assert sum(row["learn"]) == len(replies)
        turns = [
            Turn(party="student" if message["role"] == "assistant" else "partner", text=message["content"])
            for message in row["messages"][1:]
        ]
        wanted = sorted(task.missing, key=lambda fact: fact.id)  # the second hop is about what the first comes to
        assert replies[:-1] == [fact.ask for fact in wanted]
        assert all(fact.text in turn.text for fact, turn in zip(wanted, turns[1::2], strict=True))
        assert replies[-1].endswith(f"The answer is {task.answer}.")
        assert not any(fact.text in row["messages"][0]["content"] for fact in task.missing)


def test_an_expert_is_shown_on_no_task_that_lacks_more_than_its_turns_can_ask_for(tmp_path):
    conditions = {"e": {"partition": "facts", "method": "expert"}}
    tasks = {"source": "lookup", "train": {"full": 4, "underspecified": 40}, "exam": {"full": 2}}
    setting = small_experiment(tmp_path, conditions=conditions, seeds=[1], tasks=tasks, dialogue={"turns": 2})
    made = load_tasks(setting.tasks, "train")[0]
    export(setting, "e")
    shown = {row["task_id"] for row in read_rows(setting, "e")}
    assert shown == {task.id for task in made if len(task.missing) < 2} < {task.id for task in made}


def test_methods_of_a_budget_have_the_same_tasks_and_a_larger_one_has_them_too(underspecified, tmp_path):
    conditions = dict(METHODS)
    for name in ("flat", "dpo", "kto"):
        for share in (3, 6):
            conditions[f"{name}_{share}"] = METHODS[name] | {"budget": share / 10}
    setting = experiment(tmp_path, conditions=conditions)
    talks = [talk(t, f"The answer is {t.answer}.").model_copy(update={"id": t.id}) for t in underspecified]
    rewrite(tmp_path / "dialogues/sft.jsonl", talks)
    first = [(t, t.missing[0].ask, f"The answer is {t.answer}.", "The answer is 0.") for t in underspecified]
    rewrite(branches_path(tmp_path, "sft"), [branch(*one) for one in first])
    tasks = {}
    for name in conditions:
        export(setting, name)
        tasks[name] = {row["task_id"] for row in read_rows(setting, name)}
    for share in (3, 6):
        assert tasks[f"flat_{share}"] == tasks[f"dpo_{share}"] == tasks[f"kto_{share}"]
    assert set() < tasks["kto_3"] < tasks["kto_6"] < tasks["kto"] == {task.id for task in underspecified}


def test_a_student_that_plays_has_the_tasks_of_its_budget(tmp_path):
    conditions = {"g": {"partition": "facts", "method": "grpo", "budget": 0.5}}
    setting = small_experiment(tmp_path, conditions=conditions, tasks={"train": {"full": 20}})
    export(setting, "g")
    afforded = {t.id for t in load_tasks(setting.tasks, "train")[0] if setting.conditions["g"].affords(t.id)}
    assert 0 < len(afforded) < 20 and {row["task_id"] for row in read_rows(setting, "g")} == afforded


@pytest.mark.parametrize("axes", [{}, {"method": "q_priming"}])
def test_a_budget_of_dialogues_that_are_built_in_full_is_refused(axes):
    with pytest.raises(ValueError, match="it builds all of its dialogues"):
        small_experiment(conditions={"c": {"partition": "facts", "budget": 0.5} | axes})
