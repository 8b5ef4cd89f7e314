"""Every format: its rows are the student's views, and private facts stand in the one column that is named for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from pipeline.core.schema import Task, Turn
from pipeline.datasets.condition_rows import NotExportable, check_exportable, condition_rows
from pipeline.datasets.export import export, export_all
from pipeline.datasets.formats import FORMATS
from pipeline.datasets.rows import informed, replies, to_row
from pipeline.datasets.survey import surveyed
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.briefing import privileged
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import rewrite

ASKED = ("{ask}", "{fact}", "The answer is {answer}.", "Okay.", "I am done.")


def talk(task: Task, partition: str = "facts", lines: tuple[str, ...] = ASKED) -> Dialogue:
    fill = {"ask": task.missing[0].ask, "fact": task.missing[0].text, "answer": task.answer}
    turns = tuple(
        Turn(party=("student", "partner")[i % 2], text=line.format(**fill), tokens=3) for i, line in enumerate(lines)
    )
    condition = Condition(partition=partition, voice="model" if partition == "script" else "rule")
    return Dialogue(
        id=f"{partition}{task.id}",
        task=task,
        condition_name=partition,
        condition=condition,
        seed=1,
        turns=turns,
        stop="turn_cap",
    )


def built(out: Path, tasks: list[Task], **conditions: Any) -> Experiment:
    """A run with one dialogue and one branch of each task under `facts` and `symmetric`."""
    made = Experiment.model_validate({
        "name": "x", "out": str(out), "turn_values": {"siblings": 2},
        "tasks": {"train": {"full": 6, "underspecified": 6}},
        "conditions": {"facts": {"partition": "facts"}, "symmetric": {"partition": "symmetric"}} | conditions,
    })  # fmt: skip
    for name in ("facts", "symmetric"):
        dialogues = [talk(task, name) for task in tasks]
        rewrite(out / "dialogues" / f"{name}.jsonl", dialogues)
        rewrite(branches_path(out, name), [branch(dialogue) for dialogue in dialogues])
    return made


def branch(dialogue: Dialogue) -> Branch:
    question, *rest = dialogue.turns
    wrong = question.model_copy(update={"text": "The answer is 0."})
    return Branch(
        id=f"b{dialogue.id}", dialogue=dialogue.id, task=dialogue.task, condition_name=dialogue.condition_name,
        condition=dialogue.condition, seed=1, round=0, prefix=(),
        siblings=(
            Sibling(turn=question, rollouts=(Rollout(turns=tuple(rest), stop="turn_cap"),)),
            Sibling(turn=wrong, rollouts=(Rollout(turns=(), stop="turn_cap"),)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_reads_back_with_the_columns_of_its_format_and_the_card_lists_it(underspecified, tmp_path, name):
    made = built(tmp_path, underspecified[:3])
    for condition in made.conditions:
        export(made, condition)
    export_all(made, name)
    folder = tmp_path / "datasets/facts"
    stored = Dataset.from_parquet(str(folder / name / "train.parquet"), cache_dir=str(tmp_path / "cache"))
    assert list(stored.features) == list(FORMATS[name]) and len(stored) >= 3
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"data_files: {name}/*.parquet" in card and "config_name: sft" in card
    assert (name in card.partition("## Other formats")[2]) == (name != "sft")


def test_each_turn_with_loss_is_one_completion_after_all_that_was_read(underspecified):
    made, dialogue = built_nowhere(), talk(underspecified[0])
    row = to_row(made, dialogue)
    assert row is not None
    parts = replies(dict(row))
    assert [part["completion"][0]["content"] for part in parts] == [turn.text for turn in dialogue.turns[::2]]
    for i, part in enumerate(parts):
        assert part["prompt"] == view(dialogue.task, dialogue.condition, dialogue.turns[: 2 * i], "student")
        assert part["completion"][0]["role"] == "assistant"
    assert len({part["id"] for part in parts}) == 3


@pytest.mark.parametrize("partition", PARTITIONS)
def test_what_the_partner_knows_stands_in_its_own_column_and_in_no_prompt(underspecified, partition):
    condition = Condition(partition=partition, voice="model" if partition == "script" else "rule")
    task = underspecified[0]
    task = task.model_copy(
        update={
            "facts": tuple(
                f if f.public else f.model_copy(update={"text": f"The zorb {f.id} has 77."}) for f in task.facts
            ),
            "answer": "717",
            "solution": "Count the zorbs: 717.",
            "wrong_answer": "718",
        }
    )
    dialogue = talk(task, partition, ("I do not know.", "Okay.", "The answer is 5.", "Okay.", "I am done."))
    dialogue = dialogue.model_copy(update={"condition": condition.shaped()})
    found = informed(built_nowhere(), dialogue)
    assert condition.row.informs == (partition not in ("solo", "symmetric", "mindreader"))
    if not condition.row.informs:
        return
    assert found
    for row in found:
        lines = row["privileged_context"].splitlines()
        assert lines
        assert not any(line in message["content"] for message in row["prompt"] for line in lines)
        if partition != "jigsaw":  # its facts are dealt to both
            assert not any(secret in m["content"] for m in row["prompt"] for secret in ("zorb", "717", "718"))
    if partition in ("facts", "key"):
        assert "zorb" in found[0]["privileged_context"]
    if partition == "answer":
        assert "717" in found[0]["privileged_context"] and "zorb" not in found[0]["privileged_context"]
    if partition == "verifier":  # before its first attempt there is nothing to tell
        assert [row["privileged_context"] for row in found] == ["The last answer is wrong."]


def test_where_a_teacher_begins_rows_stand_before_the_students_turns(underspecified):
    dialogue = talk(underspecified[0], "key", ("How many?", "The answer is 5.", "No.", "The answer is 6."))
    turns = [turn.model_copy(update={"party": ("partner", "student")[i % 2]}) for i, turn in enumerate(dialogue.turns)]
    rows = informed(built_nowhere(), dialogue.model_copy(update={"turns": tuple(turns)}))
    assert [row["id"] for row in rows] == [f"{dialogue.id}-1", f"{dialogue.id}-3"]
    assert "How many?" in rows[0]["prompt"][-1]["content"] and "No." in rows[1]["prompt"][-1]["content"]


def test_a_symmetric_partner_has_nothing_to_tell_whatever_is_hidden(underspecified):
    for task in underspecified[:5]:
        assert privileged(task, Condition(partition="symmetric"), talk(task).turns) == ""


@pytest.mark.parametrize("more", [{"first_acts": "as_played"}, {"regime": "matched"}])
def test_rows_that_count_unlike_often_have_no_format_that_cannot_say_so(underspecified, tmp_path, more):
    made = built(tmp_path, underspecified[:1], weighed={"partition": "facts", "learns_from": "facts"} | more)
    check_exportable(made, "weighed", "sft")
    for format in ("prompt_completion", "preference", "unpaired_preference", "privileged_context"):
        with pytest.raises(NotExportable, match="stands in a column of its `sft` rows"):
            check_exportable(made, "weighed", format)


def test_a_label_says_nothing_of_a_yoked_conditions_rows(underspecified, tmp_path):
    made = built(tmp_path, underspecified[:1], yoked={"partition": "facts", "learns_from": "facts"})
    own = made.conditions["yoked"].model_copy(update={"selection": "yoked"})
    made = made.model_copy(update={"conditions": made.conditions | {"yoked": own}})
    check_exportable(made, "yoked", "sft")
    with pytest.raises(NotExportable, match="a label says of a dialogue whether it is itself kept"):
        check_exportable(made, "yoked", "unpaired_preference")


def test_what_a_condition_cannot_give_is_refused_with_its_reason(underspecified, tmp_path, capsys):
    made = built(tmp_path, underspecified[:1], online={"partition": "facts", "method": "grpo"})
    with pytest.raises(NotExportable, match="stores no dialogues"):
        check_exportable(made, "online", "sft")
    with pytest.raises(NotExportable, match="nobody knows more"):
        check_exportable(made, "symmetric", "privileged_context")
    bare = made.model_copy(update={"turn_values": made.turn_values.model_copy(update={"siblings": 0})})
    with pytest.raises(NotExportable, match=r"turn_values\.siblings"):
        check_exportable(bare, "facts", "preference")
    with pytest.raises(NotExportable, match="Known: sft, prompt_completion"):
        export_all(made, "parquet")
    with pytest.raises(NotExportable, match="no condition has rows"):
        export_all(made, "sft")
    assert "maieutic build" in capsys.readouterr().out


def built_nowhere() -> Experiment:
    return Experiment.model_validate({"name": "x", "conditions": {"facts": {"partition": "facts"}}})


def test_what_was_exported_is_made_anew_with_what_is_trained_on(underspecified, tmp_path):
    made = built(tmp_path, underspecified[:2])
    export(made, "facts")
    before = export(made, "facts", "unpaired_preference").rows
    rewrite(tmp_path / "dialogues/facts.jsonl", [talk(task) for task in underspecified[:5]])
    export(made, "facts")
    folder = tmp_path / "datasets/facts/unpaired_preference"
    assert len(Dataset.from_parquet(str(folder / "train.parquet"), cache_dir=str(tmp_path / "cache"))) == before + 3


def test_the_openings_of_a_student_with_a_memory_hold_what_it_remembers(underspecified, tmp_path):
    made = built(tmp_path, [], mem={"partition": "facts", "memory": "uniform", "remembers": "facts"})
    task = underspecified[0].model_copy(update={"memories": ("Another problem.",)})
    condition = made.conditions["mem"].shaped()
    rewrite(
        tmp_path / "dialogues/mem.jsonl",
        [talk(task).model_copy(update={"condition_name": "mem", "condition": condition})],
    )
    with surveyed(made, "mem") as survey:
        ((row,),) = condition_rows(survey, "prompt_only").rows
    assert row["prompt"][0]["content"].startswith("Another problem.\n")
