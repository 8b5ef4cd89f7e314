"""A prompt that dialogues are sampled with: the model reads it, no row and no exam does, and ids tell it apart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.building.build import planned_dialogues, play_planned
from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.datasets.rows import to_row
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.prompts.prompts import Briefing, prompts_of
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.lookup.words import words
from tests.builders import small_experiment
from tests.fakes import FakeModel

CONDITIONS = {"facts": {"partition": "facts"}, "plain": {"partition": "facts", "sampling_prompt": False}}
DEMONSTRATED = {"model": "embedded", "prompts": "brief", "sampling_prompt": "demonstrated"}


class Reads(FakeModel):
    """Gives one answer, and keeps what it reads."""

    def __init__(self) -> None:
        self.read: list[list[Message]] = []

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.read.append(messages)
        return Completion("The answer is 4. I am done.", tokens=3, prompt_tokens=9)


def experiment(**student: Any) -> Experiment:
    return small_experiment(
        tasks={"train": {"full": 1}, "exam": {"full": 1}}, student=DEMONSTRATED | student, conditions=CONDITIONS
    )


def played(run: Experiment, name: str) -> tuple[list[Message], Dialogue]:
    """What the student reads first, and the dialogue."""
    cell, student = Cell(run, name, 1), Reads()
    cast = Casting(run).cast(cell)
    cast = Cast(student=student, student_prompts=cast.student_prompts)
    [plan] = planned_dialogues(cell, load_tasks(run.tasks, "train")[0])
    dialogue = asyncio.run(play_planned(plan, cast))
    assert isinstance(dialogue, Dialogue)
    return student.read[0], dialogue


def test_dialogues_are_sampled_with_it_and_rows_are_as_without():
    run = experiment()
    shown, dialogue = played(run, "facts")
    roles = [message["role"] for message in shown]
    assert roles == ["system", *["user", "assistant"] * 6, "user"]
    row = to_row(run, dialogue)
    assert row is not None
    assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant"]
    assert row["messages"][:2] == [shown[0], shown[-1]]


def test_a_condition_can_be_sampled_without_it():
    run = experiment()
    shown, dialogue = played(run, "plain")
    row = to_row(run, dialogue)
    assert row is not None and row["messages"][:-1] == shown


def test_ids_tell_it_apart_and_random_streams_do_not():
    run, plain = experiment(), experiment(sampling_prompt="")
    ids = {DialogueKeys(Cell(each, "facts", 1)).id("t", 0) for each in (run, plain)}
    assert len(ids) == 2
    assert DialogueKeys(Cell(run, "plain", 1)).id("t", 0) == DialogueKeys(Cell(plain, "plain", 1)).id("t", 0)
    assert run.fingerprint() == plain.fingerprint()


def test_nothing_that_is_demonstrated_is_a_word_of_the_look_ups():
    shown = " ".join(part["content"] for part in _student("demonstrated").demonstrations)
    names = [name for key in ("people", "places", "things") for name in words().fillers[key]]
    assert "accordion" in shown and not [name for name in names if name in shown]


def test_who_may_ask_reads_one_sentence_more_and_no_way_of_asking():
    plain, may_ask = _student("brief"), _student("may_ask")
    assert may_ask._replace(system=may_ask.system.replace("You may ask something first. ", "")) == plain
    assert not may_ask.demonstrations


def _student(name: str) -> Briefing:
    names = ("question", "entry", "other", "facts", "solution", "answer", "program", "where", "what")
    return prompts_of(name, "chat").brief(("student",), dict.fromkeys(names, "") | {"memories": ()})


@pytest.mark.parametrize(
    "written", ["user: a", "assistant: a\nuser: b", "hello", "user: a\nuser: b\nassistant: c"], ids=repr
)
def test_demonstrations_that_take_no_turns_are_refused_with_their_file(tmp_path: Path, written):
    file = tmp_path / "student.j2"
    file.write_text(f'{{% extends "chat/student.j2" %}}\n{{% block demonstrations %}}\n{written}\n{{% endblock %}}\n')
    with pytest.raises(ConfigError, match=r"student\.j2: demonstrations must be lines"):
        _student(str(tmp_path))


def test_a_set_without_demonstrations_shows_none():
    assert _student("chat").demonstrations == ()


def test_a_method_that_plays_while_it_learns_cannot_have_one():
    grpo = {"facts": {"partition": "facts", "method": "grpo"}}
    with pytest.raises(ValueError, match=r"conditions\.facts\.sampling_prompt: method 'grpo' learns what it reads"):
        small_experiment(student=DEMONSTRATED, conditions=grpo)


def test_demonstrations_are_no_part_of_the_prompt_that_rows_have():
    with pytest.raises(ValueError, match=r"student\.prompts: 'demonstrated' has demonstrations"):
        experiment(prompts="demonstrated", sampling_prompt="")


def test_a_sampling_prompt_that_is_not_there_is_told_by_its_key():
    with pytest.raises(ValueError, match=r"student\.sampling_prompt: 'nowhere' is no set of prompts"):
        experiment(sampling_prompt="nowhere")
