"""In which order the stages of an experiment happen."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from maieutic.workflow import claimed, make_rounds, train_rounds
from pipeline.core.errors import ConfigError
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import untrained_path
from tests.builders import small_experiment


def test_exams_begin_beside_the_trainings_of_the_last_round_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[tuple[int, bool]] = []

    def train_round(
        experiment: Experiment, group: list[str], round: int, meanwhile: Callable[[Sequence[Cell]], None] | None = None
    ) -> None:
        began.append((round, meanwhile is not None))

    monkeypatch.setattr("training.train_round.train_round", train_round)
    made = small_experiment(tmp_path / "run", rounds=2, seeds=[1], tasks={"train": {"full": 2}, "exam": {"full": 2}})
    make_rounds(made, training=True)
    assert began == [(0, False), (1, True)]


def test_a_round_that_is_not_built_yet_is_not_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = small_experiment(tmp_path / "run", rounds=2, seeds=[1], tasks={"train": {"full": 2}, "exam": {"full": 2}})
    make_rounds(made, training=False)
    first = Cell(made, "facts", 1)
    untrained_path(first).parent.mkdir(parents=True)
    untrained_path(first).write_text("nothing to learn\n")  # its training has ended, and round 2 is due
    train_rounds(made)
    assert "round 2 of facts has no dialogues yet" in capsys.readouterr().out
    assert not untrained_path(first.in_round(1)).exists()


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_an_engine_that_is_not_installed_is_named_before_a_run_has_a_folder(tmp_path: Path) -> None:
    made = small_experiment(tmp_path / "run", engine={"kind": "vllm"})
    with pytest.raises(ConfigError, match=r"engine\.kind: 'vllm' is not installed here"), claimed(made):
        pass
    assert not made.run.exists()
