"""Hit rates: sums of what engines said of themselves, and missing where one says nothing."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

from pipeline.engines.model import Completion, Sampling
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import Role
from pipeline.knowledge.condition import Condition
from pipeline.runs.store import read
from pipeline.runs.usage import Meter, Metered, Usage, totals
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
    model = Metered(Counting(cached), meter.of("student"))
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


def test_each_role_of_a_stage_has_a_row_with_its_engine_and_model(tmp_path: Path) -> None:
    exp = Experiment(
        name="x",
        conditions={"facts": Condition(partition="facts")},
        engine=Engine(kind="scripted"),
        engines={"api": Engine(kind="openai", url="http://127.0.0.1:1/v1")},
        judge=Role(model="large", engine="api"),
    )
    meter = Meter()
    meter.of("judge")(Completion("Yes.", 9, 20, reasoning_tokens=5))
    meter.of("student")(Completion("Okay.", 3, 10))
    meter.store(tmp_path, "build", Cell(exp, "facts", 1))
    rows = {usage.role: usage for usage in read(tmp_path / "usage.jsonl", Usage)}
    assert {role: (row.engine, row.model) for role, row in rows.items()} == {
        "judge": ("api", "large"),
        "student": ("scripted", "embedded"),
    }
    assert (rows["judge"].generated_tokens, rows["judge"].reasoning_tokens, rows["student"].answers) == (9, 5, 1)
    assert {row["role"] for row in totals(tmp_path)} == {"judge", "student"}
