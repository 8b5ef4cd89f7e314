"""Students that learn while vLLM plays for them: `make test-vllm`, in an environment of its own."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from datasets import disable_progress_bars
from test_online import job

from pipeline.core.errors import ConfigError
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.engines.model import EngineDown, Sampling
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.runs.student_files import RECORD
from training.online.grpo import grpo_trainer
from training.online.sampling import VllmBeside, open_sampler
from training.online.session import Session
from training.student import train

HERE = importlib.util.find_spec("vllm") is not None
disable_progress_bars()


def needs_vllm(test: Any) -> Any:
    for mark in (
        pytest.mark.slow,
        pytest.mark.timeout(1800),
        pytest.mark.skipif(not HERE, reason="vLLM is not installed: GRPO on vLLM is NOT tested in this run"),
        pytest.mark.filterwarnings("default"),  # vLLM's own
    ):
        test = mark(test)
    return test


def experiment(out: Path) -> Experiment:
    return Experiment(
        name="tiny",
        out=str(out),
        seeds=(1,),
        engine=Engine(kind="vllm"),
        conditions={"facts": Condition(partition="facts", method="grpo")},
        student={"model": "data/base"},
        tasks={"train": {"full": 2, "underspecified": 6}},
        dialogue={"turns": 2, "max_tokens": 32},
        turn_values={"siblings": 2, "rollouts": 2},
        training={"lora": {"r": 4}, "learning_rate": 1e-2, "grpo": {"group": 4, "tasks_per_step": 2}},
    )


@needs_vllm
def test_vllm_samples_from_the_weights_of_each_step_and_its_scores_are_the_trainers(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    export(made, "facts")
    record = json.loads((train(Cell(made, "facts", 1)) / RECORD).read_text())
    assert record["optimizer_steps"] == 8 * 5 // 8 and record["trained_tokens"] > 0


@needs_vllm
def test_scores_that_are_not_the_trainers_end_the_training(embedded: Path, tmp_path: Path) -> None:
    made = experiment(tmp_path)
    export(made, "facts")
    ready = grpo_trainer(job(made), [row for row in read_rows(made, "facts") if row["seed"] == 1])
    sampler: VllmBeside = ready.close.args[0]  # type: ignore[attr-defined]
    played: list[Session] = []

    async def work(engine: Any) -> None:
        session = Session(engine)
        await session.complete([{"role": "user", "content": "Tom has 3 pens."}], Sampling(16, temperature=1.0, seed=7))
        played.append(session)

    sampler.play(ready.trainer, work)
    sampler.check(ready.trainer, played)
    assert len(played[0].scores) == len(played[0].ids)
    played[0].scores = [score - 1 for score in played[0].scores]
    with pytest.raises(EngineDown, match="nats from the trained model's"):
        sampler.check(ready.trainer, played)
    ready.close()


@needs_vllm
def test_several_processes_are_refused_before_vllm_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="Train it in one process"):
        open_sampler(job(experiment(tmp_path)))
