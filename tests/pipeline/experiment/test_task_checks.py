"""Which tasks a condition may play."""

import pytest

from tests.builders import small_experiment


def test_a_share_is_dealt_of_problems_that_are_made_here_alone(tmp_path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "A box holds 12 pens. How many pens do 3 boxes hold?", "answer": "#### 36"}\n')
    tasks = {"source": "gsm8k", "path": str(path), "train": {"full": 1}, "exam": {}}
    with pytest.raises(ValueError, match=r"jigsaw.*of what 'gsm8k' reads nobody knows"):
        small_experiment(tasks=tasks, conditions={"c": {"partition": "jigsaw"}})
    assert small_experiment(conditions={"c": {"partition": "jigsaw"}})


@pytest.mark.parametrize("manner", ["vague", "erring"])
@pytest.mark.parametrize("source", ["lookup", "hidden_item"])
def test_a_manner_that_changes_numbers_is_for_facts_that_are_numbers(manner: str, source: str) -> None:
    tasks = {"source": source, "train": {"underspecified": 4}, "exam": {}}
    conditions = {"c": {"partition": "facts", "manner": manner}}
    with pytest.raises(ValueError, match=f"{manner}.*{source!r} are told in words"):
        small_experiment(tasks=tasks, conditions=conditions)
    assert small_experiment(conditions=conditions)


def test_a_file_of_tasks_is_refused_where_problems_are_made(tmp_path) -> None:
    tasks = {"source": "embedded", "path": str(tmp_path / "mine.jsonl"), "train": {"full": 1}, "exam": {}}
    with pytest.raises(ValueError, match=r"tasks\.path: .*'embedded' makes its problems and reads no file"):
        small_experiment(tasks=tasks)


def test_kinds_that_a_second_source_would_train_on_are_not_held_out() -> None:
    both = {"source": "hidden_item", "train": {"full": 4}, "exam": {"full": 4}}
    second, apart = {"source": "hidden_item_hard", "train": {"full": 4}}, both | {"held_out": ["pattern"]}
    with pytest.raises(ValueError, match=r"tasks\.second\.seed: 0: 'hidden_item_hard' draws the problems"):
        small_experiment(tasks=both | {"second": second})
    with pytest.raises(ValueError, match=r"tasks\.held_out: pattern: tasks\.second, of 'hidden_item_hard'"):
        small_experiment(tasks=apart | {"second": second}, exams={"held_out": 2})
    assert small_experiment(tasks=apart, exams={"held_out": 2}) and small_experiment(
        tasks=both | {"second": second | {"seed": 1}}
    )


def test_what_a_partner_is_to_tell_is_asked_of_the_sources_that_a_condition_plays(tmp_path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "A box holds 12 pens. How many pens do 3 boxes hold?", "answer": "#### 36"}\n')
    bare = {"source": "gsm8k", "path": str(path), "train": {"full": 1}, "exam": {}}
    tasks = bare | {"second": {"source": "embedded", "train": {"full": 1}}}
    asks = {"partition": "facts", "sources": ["embedded"]}
    assert small_experiment(tasks=tasks, conditions={"c": asks})
    with pytest.raises(ValueError, match="has nothing to tell on source 'gsm8k'"):
        small_experiment(tasks=tasks, conditions={"c": asks | {"sources": ["gsm8k"]}})


def test_a_condition_without_a_task_to_play_is_refused() -> None:
    tasks = {"source": "hidden_item", "train": {"full": 4, "underspecified": 0}, "exam": {"full": 4}}
    conditions = {"c": {"partition": "facts", "specifications": ["underspecified"]}}
    with pytest.raises(
        ValueError, match=r"conditions\.c: no task .* left for it \(specifications: \['underspecified'\]\)"
    ):
        small_experiment(tasks=tasks, conditions=conditions)
    assert small_experiment(
        tasks=tasks | {"train": {"full": 0}}, conditions={"c": {"partition": "facts"}}
    )  # exams alone
