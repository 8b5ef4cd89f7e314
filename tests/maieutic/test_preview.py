"""What an experiment costs at most, before it is run."""

from __future__ import annotations

import json

import pytest

from maieutic.planned_cost import cost
from maieutic.show_preview import show_preview
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment

CONDITIONS = {
    "plain": {"partition": "facts"},
    "peer": {"partition": "symmetric", "voice": "model"},
    "convincing": {"partition": "symmetric", "voice": "model", "manner": "convincing"},
    "memory": {"partition": "facts", "memory": "asymmetric", "remembers": "plain"},
}


@pytest.fixture
def made() -> Experiment:
    return Experiment.model_validate({
        "name": "x", "seeds": [1, 2], "tasks": {"train": {"underspecified": 5}}, "engine": {"kind": "scripted"},
        "dialogue": {"turns": 3, "max_tokens": 10}, "partner": {"candidates": 3, "judgements": 2},
        "conditions": CONDITIONS,
    })  # fmt: skip


def test_judges_and_lessons_are_part_of_what_it_costs_at_most(made):
    tasks, _ = load_tasks(made.tasks, "train")
    found = {name: cost(made, tasks, name) for name in CONDITIONS}
    assert {name: each.dialogues for name, each in found.items()} == dict.fromkeys(CONDITIONS, 10)
    assert found["plain"].tokens == 10 * 3 * 10
    assert found["peer"].tokens == 10 * (3 + 2) * 10
    assert found["convincing"].tokens == 10 * (3 + 2 * (3 + 2 + 2 + 3 * 2)) * 10
    assert found["memory"].tokens == found["plain"].tokens + 10 * 10  # a lesson for each dialogue


def test_lessons_are_of_dialogues_without_branches_and_are_written_once(made):
    branched = {"siblings": 3, "rollouts": 2}
    plain = {"partition": "facts", "method": "dpo"}
    whole = Experiment.model_validate(
        made.model_dump()
        | {"turn_values": branched, "conditions": CONDITIONS | {"plain": plain, "again": CONDITIONS["memory"]}}
    )
    tasks, _ = load_tasks(whole.tasks, "train")
    found = {name: cost(whole, tasks, name) for name in ("plain", "memory", "again")}
    assert found["plain"].branches > 0
    assert found["memory"].tokens - found["again"].tokens == 10 * 10


def test_who_plays_while_it_learns_plays_the_tasks_of_its_budget_alone(made):
    tasks, _ = load_tasks(made.tasks, "train")
    whole = made.conditions["plain"].model_copy(update={"method": "grpo"})
    half = whole.model_copy(update={"budget": 0.5})
    asked = made.model_copy(update={"conditions": {"whole": whole, "half": half}})
    within = sum(half.affords(task.id) for task in tasks)
    found = {name: cost(asked, tasks, name).dialogues for name in ("whole", "half")}
    assert 0 < within < len(tasks) and found["half"] * len(tasks) == found["whole"] * within


def test_who_is_primed_with_questions_may_be_answered_twice_in_a_turn(made):
    primed = made.conditions["peer"].model_copy(update={"method": "q_priming"})
    tasks, _ = load_tasks(made.tasks, "train")
    asked = made.model_copy(update={"conditions": {"peer": primed}})
    assert cost(asked, tasks, "peer").tokens == cost(made, tasks, "peer").tokens + 10 * 3 * 10


def test_who_remembers_itself_has_lessons_of_all_rounds_but_the_last(made):
    bank = made.conditions["memory"].model_copy(update={"remembers": "memory"})
    grown = made.model_copy(update={"rounds": 3, "conditions": {"memory": bank}})
    tasks, _ = load_tasks(made.tasks, "train")
    assert cost(grown, tasks, "memory").tokens == 3 * 10 * 3 * 10 + 2 * 10 * 10


def test_what_a_role_reasons_is_part_of_what_it_costs_at_most(made):
    tasks, _ = load_tasks(made.tasks, "train")
    thinks = made.partner.model_copy(update={"thinking": "drop", "thinking_tokens": 100})
    thinking = made.model_copy(update={"partner": thinks})
    assert cost(thinking, tasks, "plain").tokens == cost(made, tasks, "plain").tokens
    assert cost(thinking, tasks, "peer").tokens == 10 * (3 * 10 + 2 * (10 + 100))


def test_a_preview_says_that_nothing_is_remembered_yet(made, capsys):
    show_preview(made, 0, 1)
    assert "what it remembers of plain; nothing is remembered yet" in " ".join(capsys.readouterr().out.split())


def test_a_preview_shows_what_each_role_is_prompted_with(made, capsys):
    told = made.model_copy(update={"partner": made.partner.model_copy(update={"prompts": "chat"})})
    show_preview(told.model_copy(update={"conditions": {"peer": made.conditions["peer"]}}), 0, 1)
    shown = capsys.readouterr().out
    assert "As the student sees it\n" in shown and "As the partner sees it (prompts `chat`)" in shown
    assert "# Goal" in shown.split("As the partner sees it")[1]


def test_a_preview_says_who_kept_to_their_knowledge_and_what_it_is_reckoned_from(made, capsys):
    show_preview(made, 10, 4)
    shown = " ".join(capsys.readouterr().out.split())
    assert "peer: " in shown and "dialogues kept to what the partner may know" in shown and "plain: no" not in shown
    assert "in 16 dialogues, 4 at a time" in shown  # four of each of four conditions
    assert "`prices` in the config says what tokens cost" in shown


def test_a_preview_says_of_how_many_tasks_a_key_has_no_working(tmp_path, capsys):
    rows = [
        {"question": f"What is {n} + 1?", "answer": f"{'It is one more. ' * (n % 2)}#### {n + 1}"} for n in range(40)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tasks = {"source": "gsm8k", "path": str(tmp_path / "mine.jsonl"), "train": {"full": 40}, "exam": {"full": 1}}
    keyed = small_experiment(tasks=tasks, conditions={"key": {"partition": "key"}})
    show_preview(keyed, 0, 1)
    bare = sum(not task.solution for task in load_tasks(keyed.tasks, "train")[0])
    assert bare and f"{bare} of " in (said := " ".join(capsys.readouterr().out.split()))
    assert "tasks have no worked solution, so with them key know no more than the answer" in said
