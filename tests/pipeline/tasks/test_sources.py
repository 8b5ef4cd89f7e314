"""Sources in this folder and in a file outside the repository: one descriptor each."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from maieutic.cli import app
from pipeline.core.errors import MaieuticError
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.experiment import load
from pipeline.knowledge.condition import Condition
from pipeline.tasks import gsm8k
from pipeline.tasks.loading import load_dialogues, load_tasks, stream_tasks
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import UNKNOWN
from pipeline.tasks.sources import source_names, source_of
from pipeline.tasks.split import split_of

# In the words of the embedded world, so that the shipped base can be trained on them.
MINE = """
import itertools

from pipeline.core.schema import Turn
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.source import Licence, Source
from pipeline.tasks.split import split_of
from pipeline.tasks.word_problems import embedded_tasks


def read(settings):
    made = (itertools.islice(embedded_tasks("train", name, 7), 40) for name in ("full", "underspecified"))
    return [task for tasks in made for task in tasks], []


SOURCE = Source(
    "mine", ("full", "underspecified"), read=read, licence=Licence("cc0-1.0", "Nobody owns them."), has_facts=True,
    closed=True,
)
SAME = lambda settings: ([task.model_copy(update={"id": "a"}) for task in read(settings)[0]], [])


def talks(settings, name, condition, seed):
    tasks = read(settings)[0]
    said = (Turn(party="student", text="Hm."),)
    return [Dialogue(id=f"d{i}", task=task.model_copy(update={"split": "train"}), condition_name=name,
                     condition=condition, seed=seed, turns=said, stop="turn_cap") for i, task in enumerate(tasks)], []


PEOPLE = Source("people", ("full", "underspecified"), read=read, dialogues=talks)
WORDS = Source("people", ("full",), read=read, dialogues=lambda *of: (["a talk"], []))
BROKEN = Source("people", ("full",), read=read, dialogues=lambda *of: of[9])
MAKES = Source("makes", ("full", "underspecified"), make=lambda settings, split: settings.nosuch)
TWICE = Source("makes", ("full", "underspecified"), make=lambda settings, split: [
    task.model_copy(update={"split": "exam"}) for task in read(settings)[0]])
GIVES = Source("makes", ("full", "underspecified"), make=lambda settings, split: ["a task"])
SPLITS = Source("makes", ("full", "underspecified"), make=lambda settings, split: [
    task.model_copy(update={"split": split}) for task in read(settings)[0] if split_of(task.full_question) == split])
HALF = lambda settings: read(settings)[0]
BAD = lambda settings: (read(settings)[0], ["oops"])
LEAVES = lambda settings: exit(0)
NUMBER = 3
FAILS = lambda settings: settings.nosuch
"""
COUNTS = {"full": 3, "underspecified": 3}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.fixture
def config(tmp_path: Path, mine: Path) -> Path:
    path = tmp_path / "config.yaml"
    tasks = {"source": f"{mine}:SOURCE", "train": COUNTS, "exam": COUNTS}
    small = {"seeds": [1], "engine": {"kind": "scripted"}, "training": {"epochs": 1}, "exams": {"include": ["asking"]}}
    conditions = {"facts": {"partition": "facts", "selection": "none"}}
    path.write_text(
        yaml.safe_dump(
            {"name": "own", "out": str(tmp_path / "run"), "tasks": tasks} | small | {"conditions": conditions}
        )
    )
    return path


@pytest.mark.parametrize("name", source_names())
def test_a_source_of_this_folder_bears_its_modules_name_and_says_its_licence(name):
    source = source_of(Tasks(source=name))
    assert source.name == name and source.specifications and source.licence != UNKNOWN


def test_only_gsm8k_itself_bears_its_licence(tmp_path, monkeypatch):
    mine, theirs = tmp_path / "mine.jsonl", tmp_path / "theirs.jsonl"
    mine.write_text("{}\n")
    theirs.write_text("{ }\n")
    monkeypatch.setattr(gsm8k, "PUBLISHED", {hashlib.sha256(theirs.read_bytes()).hexdigest()})
    licences = {path: source_of(Tasks(source="gsm8k", path=path)).licence for path in (str(mine), str(theirs))}
    assert licences[str(mine)] == UNKNOWN and licences[str(theirs)].spdx == "mit"
    assert source_of(Tasks(source="gsm8k", path="openai/gsm8k")).licence.spdx == "mit"
    assert source_of(Tasks(source="gsm8k", path="somebody/else")).licence == UNKNOWN


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_source_outside_the_repository_is_previewed_built_and_examined(config, tmp_path):
    assert "task embedded-" in call("preview", config)
    call("build", config)
    call("eval", config)
    run = tmp_path / "run"
    dialogues = [json.loads(line) for line in (run / "dialogues" / "facts.jsonl").read_text().splitlines()]
    assert len(dialogues) == 6 and {dialogue["task"]["source"] for dialogue in dialogues} == {"mine"}
    card = (run / "datasets" / "facts" / "README.md").read_text()
    assert "license: cc0-1.0" in card and "Nobody owns them." in card and "Source `mine`" in card
    assert "source: mine.py:SOURCE" in card and str(tmp_path) not in card
    assert list((run / "results").rglob("*.jsonl"))


def test_a_run_goes_on_only_with_the_source_that_it_began_with(config, mine):
    call("build", config)
    call("build", config)
    mine.write_text(MINE.replace("name, 7", "name, 8"))
    refused = CliRunner().invoke(app, ["build", str(config)])
    assert refused.exit_code == 2 and "mine.py is not the file that this run began with" in refused.output


@pytest.mark.slow
def test_a_student_is_trained_on_a_source_outside_the_repository(config, tmp_path):
    call("run", config)
    assert (tmp_path / "run" / "adapters" / "facts" / "seed-1").is_dir()


@pytest.mark.parametrize("name", ["SOURCE", "read"])
def test_tasks_of_a_source_outside_bear_its_name_and_are_split_as_all_others(mine, name):
    settings = Tasks(source=f"{mine}:{name}", train=COUNTS, exam=COUNTS)
    for split in ("train", "exam"):
        tasks, bad = load_tasks(settings, split)
        assert len(tasks) == 6 and not bad and {task.source for task in tasks} == {"mine"}
        assert {split_of(task.full_question) for task in tasks} == {split}


def test_a_reader_alone_may_have_every_specification_and_an_unknown_licence(mine):
    source = source_of(Tasks(source=f"{mine}:read"))
    assert source.licence == UNKNOWN and "false_premise" in source.specifications


@pytest.mark.parametrize(("name", "message"), [
    ("SORCE", "tasks.source: .*has no 'SORCE'. Did you mean 'SOURCE'"),
    ("NUMBER", "of type int, expected a Source"),
    ("HALF", "reads something else than"),
    ("BAD", "reads something else than"),
    ("LEAVES", "tasks.source: .* failed in line .*: SystemExit"),
    ("FAILS", "tasks.source: .* failed in line .*: AttributeError"),
    ("MAKES", "tasks.source: .* failed in line .*: AttributeError"),
    ("TWICE", "was asked for tasks of split 'train' and makes '.*' of split"),
    ("GIVES", "makes something else than pipeline.core.schema.Task"),
    ("SAME", "gives several tasks of the id 'a'"),
])  # fmt: skip
def test_what_is_no_source_is_refused_with_what_was_expected(mine, name, message):
    with pytest.raises(MaieuticError, match=message):
        load_tasks(Tasks(source=f"{mine}:{name}"), "train")


def test_tasks_that_a_source_outside_makes_bear_its_name(mine):
    made = {split: load_tasks(Tasks(source=f"{mine}:SPLITS"), split)[0] for split in ("train", "exam")}
    assert made["train"] and made["exam"] and {task.source for tasks in made.values() for task in tasks} == {"makes"}


def test_dialogues_of_a_source_outside_are_split_and_counted_as_its_tasks_are(mine):
    """What says that it is of the train split is asked of the question, so that no exam problem is learned."""
    settings = Tasks(source=f"{mine}:PEOPLE", train={"full": 5, "underspecified": 100}, exam={"full": 100})
    talks, _ = load_dialogues(settings, "people", Condition(partition="facts", voice="human"), 1)
    assert {talk.task.source for talk in talks} == {"people"}
    assert {split_of(talk.task.full_question) for talk in talks} == {"train"}
    kinds = Counter(talk.task.specification for talk in talks)
    assert kinds["full"] == 5 and 20 < kinds["underspecified"] < 40
    examined = {task.full_question for task in load_tasks(settings, "exam")[0]}
    assert examined and not examined & {talk.task.full_question for talk in talks}
    words = settings.model_copy(update={"source": f"{mine}:WORDS"})
    with pytest.raises(MaieuticError, match="gives something else than"):
        load_dialogues(words, "people", Condition(partition="facts", voice="human"), 1)
    broken = settings.model_copy(update={"source": f"{mine}:BROKEN"})
    with pytest.raises(MaieuticError, match=r"tasks.source: .* failed in line .*: IndexError"):
        load_dialogues(broken, "people", Condition(partition="facts", voice="human"), 1)


def test_a_second_source_outside_is_played_by_the_conditions_that_name_it(config, mine):
    second = f"tasks={{train: {{full: 2}}, exam: {{full: 2}}, second: {{source: '{mine}:SOURCE', train: {{full: 2}}}}}}"
    made = load(config, (second, "conditions={both: {partition: facts}, own: {partition: facts, sources: [mine]}}"))
    tasks, _ = stream_tasks(made.tasks, "train")
    played = {name: [task.source for task in tasks_of(made, name, tasks)] for name in made.conditions}
    assert played == {"both": ["embedded", "embedded", "mine", "mine"], "own": ["mine", "mine"]}


def test_the_reader_that_its_page_shows_reads(tmp_path):
    [shown] = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[3] / "docs/tasks.md").read_text(), re.DOTALL)
    (tmp_path / "my.py").write_text(shown)
    lacks = {"question": "How many has Ana?", "missing": "Ana has 3.", "ask": "How many?", "answer": "3"}
    (tmp_path / "mine.jsonl").write_text(f"{json.dumps(lacks)}\n\n{{}}\n{json.dumps(lacks)}\nnot json\n")
    settings = Tasks(source=f"{tmp_path / 'my.py'}:read", path=str(tmp_path / "mine.jsonl"))
    tasks, bad = source_of(settings).read(settings)
    assert [task.missing[0].text for task in tasks] == ["Ana has 3."]
    assert [row.where for row in bad] == [f"{tmp_path / 'mine.jsonl'}:{line}" for line in (3, 4, 5)]
