"""What a run directory is known by, and what it holds on to: the files that it began with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import RunError
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.directory import claim, experiment_of, require
from tests.builders import small_experiment


@pytest.mark.parametrize("key", ["acts.labeller", "reading"])
def test_a_run_goes_on_only_with_the_labeller_and_the_reader_it_began_with(tmp_path: Path, key: str) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("EXAM = 1\n")
    address = f"{mine}:EXAM"
    named = {
        "acts.labeller": {"acts": {"labeller": address}},
        "reading": {"reading": {"metrics": address}},
    }
    experiment = small_experiment(tmp_path / "run", **named[key])
    (experiment.run / "dialogues").mkdir(parents=True)
    claim(experiment)
    (experiment.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(experiment)
    mine.write_text("EXAM = 2\n")
    with pytest.raises(RunError, match=rf"^{key}: mine\.py is not the file that this run began with"):
        claim(experiment)


def test_once_a_student_has_sat_all_are_asked_from_the_same_files(tmp_path: Path) -> None:
    asked, elsewhere = tmp_path / "asked.jsonl", tmp_path / "other" / "asked.jsonl"
    elsewhere.parent.mkdir()
    asked.write_text("{}\n")
    elsewhere.write_text("{ }\n")
    paths = {"presupposition": {"path": str(asked)}, "claims": {"path": str(elsewhere)}}
    experiment = small_experiment(tmp_path / "run", exams=paths)
    (experiment.run / "dialogues").mkdir(parents=True)
    claim(experiment)
    assert (experiment.run / "exams.sha256").is_file()  # by the first command, which may be the one that examines
    (experiment.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(experiment)
    asked.write_text("{}\n{}\n")
    claim(experiment)  # nobody was asked yet
    (experiment.run / "results" / "base").mkdir(parents=True)
    (experiment.run / "results" / "base" / "seed-1.jsonl").write_text("")
    claim(experiment)
    asked.unlink()
    claim(experiment)  # a machine that does not have it
    asked.write_text("{}\n")
    with pytest.raises(RunError, match=r"asked\.jsonl is not the file that the students .* were examined with"):
        claim(experiment)


def test_a_file_may_hold_tasks_and_an_exams_questions_at_once(tmp_path: Path) -> None:
    both = tmp_path / "mine.py"
    both.write_text("READER = EXAM = 1\n")
    named = {"reading": {"metrics": f"{both}:READER"}, "exams": {"include": [f"{both}:EXAM"]}}
    experiment = small_experiment(tmp_path / "run", **named)
    (experiment.run / "dialogues").mkdir(parents=True)
    claim(experiment)
    (experiment.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(experiment)


@pytest.mark.parametrize("first", [{}, {"exams": {"include": ["asking"]}}], ids=["named at once", "named later"])
def test_an_exam_of_ones_own_may_be_mended_until_a_student_has_sat(tmp_path: Path, first: dict[str, Any]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("EXAM = 1\n")
    named = {"exams": {"include": [f"{mine}:EXAM"]}}
    (tmp_path / "run" / "dialogues").mkdir(parents=True)
    claim(small_experiment(tmp_path / "run", **(first or named)))
    (tmp_path / "run" / "dialogues" / "facts.jsonl").write_text("{}\n")
    experiment = small_experiment(tmp_path / "run", **named)
    claim(experiment)
    mine.write_text("EXAM = 2\n")
    claim(experiment)
    (tmp_path / "run" / "results" / "base").mkdir(parents=True)
    (tmp_path / "run" / "results" / "base" / "seed-1.jsonl").write_text("")
    claim(experiment)
    mine.write_text("EXAM = 3\n")
    with pytest.raises(RunError, match=r"mine\.py is not the file that the students .* were examined with"):
        claim(experiment)


def test_students_may_be_asked_other_exams_until_one_has_sat(tmp_path: Path) -> None:
    def of(**others: Any) -> Experiment:
        return small_experiment(tmp_path / "run", **others)

    (tmp_path / "run" / "dialogues").mkdir(parents=True)
    claim(of())
    (tmp_path / "run" / "dialogues" / "facts.jsonl").write_text("{}\n")
    other = {
        "exams": {"include": ["agreement"], "samples": 3},
        "compare": {"primary": {"metric": "gain_self", "a": "facts", "b": "base"}},
    }
    with pytest.raises(RunError, match=r"exams\.include"):
        claim(of(**other), shared=True)  # of a part of the dialogues, which the run would not take in
    claim(of(**other))
    assert experiment_of(tmp_path / "run").exams.include == ("agreement",)
    changed = (tmp_path / "run" / "changed.txt").read_text()  # a contrast that was named late is known as one
    assert "  compare: there null" in changed and '  exams.include: there null, asked for ["agreement"]' in changed
    with pytest.raises(RunError, match=r"dialogue\.turns"):
        claim(of(**other, dialogue={"turns": 7}))
    (tmp_path / "run" / "results" / "base").mkdir(parents=True)
    (tmp_path / "run" / "results" / "base" / "seed-1.jsonl").write_text("")
    with pytest.raises(RunError, match=r"exams\.include"):
        claim(of())


def test_an_exams_embedder_may_be_named_late_where_no_student_remembers(tmp_path: Path) -> None:
    def of(run: str, **others: Any) -> Experiment:
        return small_experiment(tmp_path / run, **others)

    remembers = {"partition": "facts", "memory": "uniform", "remembers": "facts"}
    remembering = {"conditions": {"facts": {"partition": "facts"}, "later": remembers}}
    for run, conditions in (("forgets", {}), ("remembers", remembering)):
        (tmp_path / run / "dialogues").mkdir(parents=True)
        claim(of(run, **conditions))
        (tmp_path / run / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(of("forgets", memory={"embedder": "installed"}))
    assert experiment_of(tmp_path / "forgets").memory.embedder == "installed"
    with pytest.raises(RunError, match=r"memory\.embedder"):
        claim(of("remembers", **remembering, memory={"embedder": "installed"}))


def test_a_run_goes_on_in_other_words_of_its_server_not_at_its_temperature(tmp_path: Path) -> None:
    def of(**words: str) -> Experiment:
        return small_experiment(tmp_path / "run", engines={"api": {"kind": "openai", **words}})

    (tmp_path / "run" / "dialogues").mkdir(parents=True)
    claim(of())
    (tmp_path / "run" / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(of(max_tokens_field="max_completion_tokens", url="http://127.0.0.1:1/v1", key_env="OTHER_KEY"))
    with pytest.raises(RunError, match=r"engines\.api\.temperature: there \"always\", asked for \"when_set\""):
        claim(of(temperature="when_set"))  # a server may have a temperature of its own


def test_a_run_that_ran_out_of_memory_goes_on_in_smaller_passes(tmp_path: Path) -> None:
    def of(**memory: Any) -> Experiment:
        return small_experiment(tmp_path / "run", training={"batch": 4, "max_length": 64, "steps": 1, **memory})

    (tmp_path / "run" / "dialogues").mkdir(parents=True)
    claim(of(micro_batch=4))
    (tmp_path / "run" / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(of(micro_batch=1, gradient_checkpointing=True))
    with pytest.raises(RunError, match=r"training\.learning_rate"):
        claim(of(micro_batch=1, learning_rate=0.5))


def test_a_config_that_no_run_wrote_is_not_replaced_by_one(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path / "run")
    experiment.run.mkdir()
    path = experiment.run / "config.yaml"
    for mine in ("# my notes\nname: mine\nout: run\n", "name: mine\n", "a: [", dump(experiment) + "# mine\n"):
        path.write_text(mine)
        with pytest.raises(RunError, match=rf"^{path}: no run wrote this file"):
            claim(experiment)
        assert path.read_text() == mine
    path.write_text(dump(small_experiment(tmp_path / "run", seeds=[7])))  # of a command that failed at once
    claim(experiment)
    assert path.read_text() == dump(experiment)


@pytest.mark.parametrize("out", ["~/runs/x", "$SCRATCH/runs/x"])
def test_a_folder_that_only_a_shell_would_understand_is_not_made(out: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^out: .* would be taken as it stands"):
        claim(small_experiment(out))
    assert not Path(out).exists()


def test_nothing_is_removed_from_a_directory_of_something_else(tmp_path: Path) -> None:
    others, killed = tmp_path / ".x.tmp", tmp_path / ".config.yaml.0123abcd.tmp"
    made = small_experiment(tmp_path)
    (tmp_path / "dialogues").mkdir()
    (tmp_path / "dialogues" / "facts.jsonl").write_text("{}\n")
    (tmp_path / "config.yaml").write_text(dump(made))
    for file in (others, killed):
        file.write_text("half")
    with pytest.raises(RunError, match="holds another experiment"):
        claim(small_experiment(tmp_path, seeds=[7]))
    assert others.exists() and killed.exists()
    claim(made)
    assert others.exists() and not killed.exists()


def test_a_run_of_an_earlier_version_is_not_to_be_mended_but_begun_again(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("name: old\ncompare: {primary: {metric: a, a: b, b: c}, bootstrap: 9}\n")
    with pytest.raises(RunError, match=r"earlier version of maieutic.*compare\.bootstrap.*Begin in another `out`"):
        experiment_of(tmp_path)


def test_who_names_the_config_in_a_run_is_told_to_name_the_run(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "mine"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("name: mine\n")
    require(run)
    with pytest.raises(RunError, match=rf"^{run}/config\.yaml: .* Expected the run directory that it lies in: {run}$"):
        require(run / "config.yaml")
    with pytest.raises(RunError, match=rf"^{tmp_path}: no config\.yaml here\. Expected a run directory"):
        require(tmp_path)
