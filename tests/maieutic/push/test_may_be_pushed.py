"""A push is refused for what speaks against it, and says what to do."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree

import pytest

import maieutic
from maieutic.push.licences import LICENCES
from maieutic.push.may_be_pushed import (
    STATED_BY_NOBODY,
    NotPushed,
    Student,
    check_finished,
    check_licences,
    check_partners,
)
from maieutic.push.push_run import push_run
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole
from pipeline.core.schema import Turn
from pipeline.experiment.cell import cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.places import without_places
from pipeline.experiment.prices import TokenPrice
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.directory import experiment_of, untrained_path
from pipeline.runs.store import StoreError, read, rewrite
from pipeline.tasks.settings import Tasks
from pipeline.tasks.sources import source_names, source_of
from tests.builders import small_experiment
from tests.evals.made_run import CONDITIONS, made_run

MODEL = Condition(partition="facts", voice="model", selection="none")
OFF_ROLE = Turn(party="partner", text="As an AI language model, I cannot say.")


def run_of_a_model_partner(path: Path, condition: Condition, says: Turn = OFF_ROLE) -> Experiment:
    """32 dialogues, in all of which the partner says this."""
    run = experiment_of(made_run(path, count=8, conditions=CONDITIONS | {"facts": condition}))
    file = dialogues_path(path, "facts")
    rewrite(file, [one.model_copy(update={"turns": (*one.turns, says, one.turns[-1])}) for one in read(file, Dialogue)])
    return run


@pytest.fixture
def made(tmp_path: Path) -> Experiment:
    return experiment_of(made_run(tmp_path / "run"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without students: twelve dialogues, each with a branch at its first turn."""
    run = tmp_path_factory.mktemp("built") / "run"
    maieutic.build(small_experiment(
        run, seeds=[1, 2], tasks={"train": {"full": 3, "underspecified": 3}, "exam": {"full": 1}},
        turn_values={"siblings": 2, "rollouts": 1, "at": [0]},
    ))  # fmt: skip
    return run


def pushed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a hub that must not be reached."""
    monkeypatch.setattr("maieutic.push.push_run.Hub", lambda *_: pytest.fail("something was sent"))
    push_run(run, "me/small")


@pytest.mark.parametrize("file", ["dialogues/facts.jsonl", "branches/facts.jsonl"])
@pytest.mark.parametrize("cut", [lambda text: text.partition("\n")[2], lambda text: text[:-9]])
def test_a_run_from_which_dialogues_were_deleted_is_not_passed_on(built, tmp_path, monkeypatch, file, cut):
    copytree(built, run := tmp_path / "run")
    assert [pushed.kind for pushed in push_run(run, "me/small", dry_run=True)] == ["dataset"]
    rmtree(run / "push")
    (run / file).write_text(cut((run / file).read_text()))
    with pytest.raises(NotPushed, match=rf"{run / file}: 1 records of condition 'facts' (.|\n)*`maieutic build`"):
        pushed(run, monkeypatch)
    assert not (run / "push").exists()


@pytest.mark.parametrize("file", ["dialogues/facts.jsonl", "branches/facts.jsonl"])
@pytest.mark.parametrize("broken", ["{", "[]", '{"id": "a"}', "\x00"])
def test_a_run_with_a_broken_line_is_not_passed_on_and_the_line_is_named(built, tmp_path, monkeypatch, file, broken):
    copytree(built, run := tmp_path / "run")
    first, second, *rest = (run / file).read_text().splitlines()
    (run / file).write_text("\n".join([first, broken, second, *rest]) + "\n")
    with pytest.raises(StoreError, match=rf"{run / file}:2: not a (Dialogue|Branch)(.|\n)*Delete that line"):
        pushed(run, monkeypatch)
    assert not (run / "push").exists()


def test_tasks_whose_rights_nobody_states_are_not_passed_on(made, tmp_path):
    assert check_licences(made, "") == {"embedded": "mit"}
    (tmp_path / "mine.jsonl").write_text('{"question": "A?", "answer": "#### 3"}\n')
    mine = made.tasks.model_copy(update={"source": "gsm8k", "path": str(tmp_path / "mine.jsonl")})
    both = made.model_copy(update={"tasks": made.tasks.model_copy(update={"second": mine})})
    with pytest.raises(NotPushed, match=r"source 'gsm8k' is 'unknown'(.|\n)*--licence"):
        check_licences(both, "")
    assert check_licences(both, "CC-BY-4.0") == {"embedded": "mit", "gsm8k": "cc-by-4.0"}


@pytest.mark.parametrize("name", ["nonsense", "unknown", "cc-by-5.0"])
def test_a_licence_that_the_hub_does_not_know_is_refused_where_sources_have_one_too(made, name):
    with pytest.raises(ConfigError, match=rf"--licence: '{name}' is no licence (.|\n)*Known: (.|\n)*cc-by-4\.0,"):
        check_licences(made, name)
    assert check_licences(made, "Apache-2.0") == {"embedded": "mit"}


def test_every_source_that_ships_states_a_licence_that_the_hub_knows_or_none():
    stated = {name: source_of(Tasks(source=name)).licence.spdx for name in source_names()}
    assert "mit" in stated.values() and {*stated.values()} <= {*LICENCES, *STATED_BY_NOBODY}, stated


def test_code_of_somebodys_file_has_no_licence_of_ours():
    own, files = (source_of(Tasks(source="code", path=path)).licence.spdx for path in ("", "mine.jsonl"))
    assert (own, files) == ("mit", "unknown")


def test_a_licence_of_ones_own_source_that_the_hub_does_not_know_names_the_source(made, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from pipeline.tasks.source import Licence, Source\n"
        "SOURCE = Source('mine', ('full',), read=lambda _: ([], []), licence=Licence('mine-1.0', 'Ask me.'))\n"
    )
    tasks = Tasks(source=f"{tmp_path}/mine.py:SOURCE", train={"full": 1})
    with pytest.raises(ConfigError, match=r"the licence of source 'mine': 'mine-1\.0' is no licence"):
        check_licences(made.model_copy(update={"tasks": tasks}), "")


def test_a_partner_that_kept_to_its_knowledge_too_seldom_is_not_passed_on(tmp_path):
    run = run_of_a_model_partner(tmp_path / "run", MODEL)
    with pytest.raises(NotPushed, match=r"condition 'facts'(.|\n)*At least 0\.9(.|\n)*violations: drop"):
        check_partners(run)
    check_partners(run.model_copy(update={"partner": run.partner.model_copy(update={"sound": 0.001})}))


@pytest.mark.parametrize("condition", [MODEL.model_copy(update={"violations": "drop"}), Condition(partition="facts")])
def test_what_rows_leave_out_and_what_a_rule_says_speaks_against_nothing(tmp_path, condition):
    check_partners(run_of_a_model_partner(tmp_path / "run", condition))


def test_a_run_without_datasets_exams_or_report_is_not_finished(made):
    check_finished(made, [])  # datasets alone
    next((made.run / "datasets/facts").rglob("*.parquet")).unlink()
    with pytest.raises(NotPushed, match=r"no dataset of condition 'facts' yet\. `maieutic build`"):
        check_finished(made, [])


def test_a_run_in_which_one_student_is_not_trained_is_not_finished(made, tmp_path):
    first, *others = cells(made, list(made.conditions), 0)
    with pytest.raises(NotPushed, match=r"the student of blind, seed 2 is not trained(.|\n)*`maieutic train`"):
        check_finished(made, [Student(first, tmp_path)])
    with pytest.raises(NotPushed, match="has not sat the exams yet"):
        check_finished(made, [Student(cell, tmp_path) for cell in (first, *others)])
    for cell in others:
        write_whole(untrained_path(cell), "it kept no rows")
    with pytest.raises(NotPushed, match="has not sat the exams yet"):
        check_finished(made, [Student(first, tmp_path)])


@pytest.mark.parametrize("name", ["small", "me/small/more", "me/sm all"])
def test_what_names_no_repository_is_refused_before_anything_is_read(tmp_path, name):
    with pytest.raises(ConfigError, match="push: "):
        push_run(tmp_path / "none", name)


def test_a_config_that_is_passed_on_names_no_path_and_no_server(made, tmp_path):
    tasks = {"source": f"{tmp_path}/my.py:SOURCE", "path": str(tmp_path / "a.jsonl")}
    update = {
        "student": made.student.model_copy(update={"model": "/models/mine"}),
        "tasks": made.tasks.model_copy(update=tasks),
        "engine": made.engine.model_copy(update={"kind": "openai", "url": "http://inside.example:8000/v1"}),
        "prices": {
            "/home/somebody/private": TokenPrice(input=1.0, output=2.0),
            "/data/other/private": TokenPrice(input=3.0, output=4.0),
        },
    }
    text = without_places(made.model_copy(update=update))
    assert str(tmp_path) not in text and "inside.example" not in text and "/models" not in text
    assert "/home/somebody" not in text and "private 1:" in text and "private 2:" in text
    assert "model: mine" in text and "source: my.py:SOURCE" in text and "path: a.jsonl" in text
