"""The shipped base: its recorded dispositions are those of its weights, and meet the bars."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.examining.dispositions import BARS
from pipeline.engines.weights import weights_id

BASE = Path(__file__).parents[3] / "data" / "base"
RECORD = json.loads((BASE / "dispositions.json").read_text(encoding="utf-8"))


def test_the_recorded_dispositions_are_of_the_weights_that_ship():
    assert RECORD["weights"] == weights_id(str(BASE))


@pytest.mark.parametrize("metric", BARS)
def test_the_shipped_base_meets_its_bar(metric):
    low, high = BARS[metric]
    assert low <= RECORD["metrics"][metric]["value"] <= high
