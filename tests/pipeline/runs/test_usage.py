"""Hit rates: sums of what engines said of themselves, and missing where one says nothing."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.runs.usage import Meter, Metered, totals
from tests.fakes import FakeModel


class Counting(FakeModel):
    """Each prompt of 10 tokens; `cached` of them known."""

    def __init__(self, cached: int | None):
        self.cached = cached

    async def complete(self, messages: list[dict[str, str]], sampling: Sampling) -> Completion:
        return Completion("Okay.", 3, 10, True, self.cached)


def cell(seed: int) -> Cell:
    return Cell(Experiment(name="x", conditions={"facts": Condition(partition="facts")}), "facts", seed)


def use(meter: Meter, cached: int | None, times: int) -> None:
    model = Metered(Counting(cached), meter.add)
    for _ in range(times):
        asyncio.run(model.complete([], Sampling(5)))


def test_a_stage_is_stored_once_and_the_hit_rate_is_of_all_its_prompt_tokens(tmp_path: Path) -> None:
    meter = Meter()
    use(meter, 4, 3)
    use(meter, 9, 2)
    assert meter.store(tmp_path, "build", cell(1)) == ", 60% of prompt tokens from cache"
    assert meter.store(tmp_path, "build", cell(2)) == ""  # nothing was asked since
    use(meter, 0, 5)
    meter.store(tmp_path, "build", cell(3))
    use(meter, 5, 1)
    meter.store(tmp_path, "examine", cell(3))
    build, examine = totals(tmp_path)
    assert (build["answers"], build["prompt_tokens"], build["generated_tokens"]) == (10, 100, 30)
    assert math.isclose(build["hit_rate"], 0.3) and examine["hit_rate"] == 0.5


def test_an_engine_that_says_nothing_has_no_hit_rate(tmp_path: Path) -> None:
    meter = Meter()
    use(meter, None, 2)
    assert meter.store(tmp_path, "build", cell(1)) == ""
    (row,) = totals(tmp_path)
    assert row["answers"] == 2 and math.isnan(row["hit_rate"])
    assert totals(tmp_path / "nowhere") == []
