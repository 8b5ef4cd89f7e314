"""`dtype: auto` is bfloat16 where that was measured to be faster, and never for an embedded base."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.engines import dtype
from pipeline.engines.dtype import bfloat16_gain, computed_in
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import TransformersModel
from tests.builders import small_experiment
from training.inputs.job import in_bf16


@pytest.fixture(params=[0.7, 3.0])
def gain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(dtype, "bfloat16_gain", lambda: request.param)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return float(request.param)


def test_auto_is_what_is_faster_and_a_named_type_is_kept(gain: float, tmp_path: Path) -> None:
    assert computed_in("auto", str(tmp_path)) == ("bfloat16" if gain > 1 else "float32")
    assert computed_in("auto", "embedded") == computed_in("float32", str(tmp_path)) == "float32"
    assert computed_in("bfloat16", "embedded") == "bfloat16"


def test_training_takes_the_same_type_unless_dialogues_are_deterministic(gain: float, tmp_path: Path) -> None:
    real = {"model": str(tmp_path)}
    assert in_bf16(small_experiment(student=real)) == (gain > 1)
    assert not in_bf16(small_experiment(student=real, dialogue={"deterministic": True}))
    assert not in_bf16(small_experiment()) and in_bf16(small_experiment(training={"bf16": True}))


def test_deterministic_runs_and_other_engines_rest_on_no_measurement(gain: float) -> None:
    assert Engine().fixed_dtype == "float32" and Engine(dtype="bfloat16").fixed_dtype == "bfloat16"
    model = open_model(Engine(kind="transformers"), "embedded", deterministic=True)
    assert isinstance(model, TransformersModel) and model.model.dtype == torch.float32


def test_measuring_leaves_threads_and_random_numbers_as_they_were() -> None:
    before = torch.get_num_threads(), torch.get_rng_state()
    assert 0.01 < bfloat16_gain() < 100
    assert torch.get_num_threads() == before[0] and torch.equal(torch.get_rng_state(), before[1])
