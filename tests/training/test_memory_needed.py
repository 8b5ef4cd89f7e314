"""The memory estimate against what a training on this CPU takes, and against sizes that can be reckoned by hand."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

import pytest
import torch
from test_student import experiment, row

from pipeline.datasets.rows import Row
from pipeline.engines.transformers import load_tokenizer
from pipeline.experiment.cell import Cell
from pipeline.experiment.lora import DEFAULT
from training.embedded.base import make_model
from training.memory_needed import FACTOR, Memory, Sizes, cache_bytes_per_token, sizes_of, training_memory
from training.student import train
from training.trainers.sft import encode_rows

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
TINY = Sizes(linear=100, other=20, adapter=10, layers=3, hidden=4, intermediate=8, attention=4, keys=2, vocabulary=50)


def test_bytes_are_those_of_the_types_that_weights_and_moments_have():
    plain = {"rows": 2, "length": 5, "learned": 3, "bf16": False, "four_bits": False}
    plain |= {"checkpointing": False, "tiled": False}
    layer = 4 * (4 * 4 + 5 * 4 + 4 * 8)
    assert training_memory(TINY, **plain) == Memory(480, 80, 80, 10 * 3 * layer, 3 * 4 * 3 * 50)
    saved = training_memory(TINY, **plain | {"checkpointing": True})
    assert saved.activations == 10 * (3 * 4 * 4 + layer)
    quantized = training_memory(TINY, **plain | {"bf16": True, "four_bits": True})
    assert quantized[:3] == (52 + 40, 40, 40)
    assert cache_bytes_per_token(TINY, bf16=True) == 2 * 3 * 2 * 2


def test_sizes_are_the_models_own_without_reading_its_weights():
    sizes = sizes_of("embedded", DEFAULT)
    hidden, wide, layers, rank = sizes.hidden, sizes.intermediate, sizes.layers, 16
    assert sizes.linear == layers * (4 * hidden**2 + 3 * hidden * wide)
    assert sizes.adapter == layers * rank * (4 * 2 * hidden + 3 * (hidden + wide))
    assert sizes.vocabulary * hidden < sizes.other < sizes.vocabulary * hidden + layers * 20 * hidden


def longer(row: Row) -> Row:
    return {**row, "messages": [{**m, "content": " ".join([m["content"]] * 30)} for m in row["messages"]]}


def resident(key: str) -> int:
    """Bytes: VmRSS as they are, VmHWM at their peak since it was reset."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not RESET.exists(), reason="no /proc: the estimate is NOT held against a peak")
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_measured_peak_is_within_the_stated_factor_of_the_estimate(base_tokenizer, embedded, tmp_path, checkpointing):
    torch.manual_seed(0)
    make_model(len(base_tokenizer), 512, 4).save_pretrained(tmp_path / "model")
    base_tokenizer.save_pretrained(tmp_path / "model")
    long = [longer(row(n)) for n in range(8)]
    settings = {
        "batch": 8,
        "micro_batch": 8,
        "epochs": 1,
        "lora": {"r": 16},
        "max_length": 2048,
        "gradient_checkpointing": checkpointing,
    }
    made = experiment(tmp_path / "model", tmp_path / "run", long, **settings)
    encoded = encode_rows(load_tokenizer(str(tmp_path / "model")), long, 2048)
    length = max(len(one["input_ids"]) for one in encoded)
    learned = sum(label != -100 for one in encoded for label in one["labels"])
    expected = training_memory(
        sizes_of(str(tmp_path / "model"), made.training.lora), 8, length, learned, False, False, checkpointing, False
    )
    train(Cell(experiment(embedded, tmp_path / "first"), "facts", 1))  # what libraries take is not in the estimate
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what earlier tests freed would be used again, and not be seen
    RESET.write_text("5")
    before = resident("VmRSS")
    train(Cell(made, "facts", 1))
    taken = resident("VmHWM") - before
    print(f"measured {taken / 2**20:.0f} MiB, estimated {expected.total / 2**20:.0f} MiB: {expected}")
    assert expected.total / FACTOR < taken < expected.total * FACTOR
