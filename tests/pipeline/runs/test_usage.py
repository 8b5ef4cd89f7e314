"""Hit rates: sums of what engines said of themselves, and missing where one says nothing."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.engines.model import Completion, Sampling
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import Partner, Role
from pipeline.knowledge.condition import Condition
from pipeline.runs.store import read
from pipeline.runs.usage import Meter, Metered, Usage, grand_totals, totals
from tests.fakes import FakeModel


class Counting(FakeModel):
    """Each prompt of 10 tokens; `cached` of them known."""

    def __init__(self, cached: int | None):
        self.cached = cached

    async def complete(self, messages: list[dict[str, str]], sampling: Sampling) -> Completion:
        return Completion("Okay.", tokens=3, prompt_tokens=10, finished=True, cached_tokens=self.cached)


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
    meter.of("judge")(Completion("Yes.", tokens=9, prompt_tokens=20, reasoning_tokens=5))
    meter.of("student")(Completion("Okay.", tokens=3, prompt_tokens=10))
    meter.store(tmp_path, "build", Cell(exp, "facts", 1))
    rows = {usage.role: usage for usage in read(tmp_path / "usage.jsonl", Usage)}
    assert {role: (row.engine, row.model) for role, row in rows.items()} == {
        "judge": ("api", "large"),
        "student": ("scripted", "embedded"),
    }
    assert (rows["judge"].generated_tokens, rows["judge"].reasoning_tokens, rows["student"].answers) == (9, 5, 1)
    assert {row["role"] for row in totals(tmp_path)} == {"judge", "student"}


def test_a_partner_with_a_students_weights_is_counted_where_those_are_asked(tmp_path: Path) -> None:
    conditions = {
        "peer": Condition(partition="symmetric", voice="model", weights="current"),
        "own": Condition(partition="symmetric", voice="model"),
    }
    exp = Experiment(
        name="x",
        conditions=conditions,
        rounds=2,
        engine=Engine(kind="scripted"),
        engines={"api": Engine(kind="openai", url="http://127.0.0.1:1/v1")},
        partner=Partner(model="large", engine="api"),
    )
    for stage in ("build", "train"):
        for name in conditions:
            meter = Meter()
            meter.of("partner")(Completion("Okay.", tokens=3, prompt_tokens=10))
            meter.store(tmp_path, stage, Cell(exp, name, 1))
    rows = [(usage.condition_name, usage.engine, usage.model) for usage in read(tmp_path / "usage.jsonl", Usage)]
    assert rows == [("peer", "scripted", "embedded"), ("own", "api", "large")] * 2


COUNTED = ("answers", "prompt_tokens", "cached_tokens", "generated_tokens", "reasoning_tokens")
ASKED = st.lists(
    st.tuples(
        st.sampled_from(["build", "examine"]),
        st.sampled_from(["facts", "peer"]),
        st.sampled_from(["student", "partner", "judge"]),
        st.builds(
            Completion,
            text=st.just(""),
            tokens=st.integers(0, 9),
            prompt_tokens=st.integers(5, 99),
            cached_tokens=st.none() | st.integers(0, 5),
            reasoning_tokens=st.integers(0, 3),
        ),
    ),
    min_size=1,
)


def priced(**prices: object) -> Experiment:
    return Experiment.model_validate({
        "name": "x", "conditions": {"facts": {"partition": "facts"}, "peer": {"partition": "symmetric"}},
        "engine": {"kind": "scripted"}, "engines": {"api": {"kind": "scripted"}}, "prices": prices,
        "partner": {"model": "large", "engine": "api"}, "judge": {"model": "small", "engine": "api"},
    })  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(ASKED)
def test_what_all_roles_were_asked_comes_to_what_the_run_was_asked(asked: list[tuple[str, str, str, Completion]]):
    exp, prices = priced(embedded={"input": 1, "output": 2}, api={"input": 3, "output": 4, "cached": 1}), (1, 2, 3, 4)
    with TemporaryDirectory() as folder:
        meter = Meter()
        for stage, name, role, answer in asked:
            meter.of(role)(answer)
            meter.store(Path(folder), stage, Cell(exp, name, 1))
        rows, sums = totals(Path(folder)), grand_totals(Path(folder))
    answers = [answer for *_, answer in asked]
    expected = {
        "answers": len(answers),
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
        "cached_tokens": sum(answer.cached_tokens or 0 for answer in answers),
        "generated_tokens": sum(answer.tokens for answer in answers),
        "reasoning_tokens": sum(answer.reasoning_tokens for answer in answers),
    }
    money = sum(
        (a.prompt_tokens - (a.cached_tokens or 0)) * prices[0 if role == "student" else 2]
        + (a.cached_tokens or 0)  # 1 a million, at either price
        + a.tokens * prices[1 if role == "student" else 3]
        for _, _, role, a in asked
    )
    by_role = sums[:-1] or sums
    for part in (rows, by_role, sums[-1:]):
        assert {key: sum(row[key] or 0 for row in part) for key in COUNTED} == expected
        assert math.isclose(sum(row["money"] for row in part), money / 1e6, abs_tol=1e-12)


def test_a_role_without_a_price_has_no_money_and_neither_has_the_run(tmp_path: Path) -> None:
    exp, meter = priced(large={"input": 2, "output": 10}), Meter()
    meter.of("partner")(Completion("", tokens=3, prompt_tokens=10, cached_tokens=4))
    meter.of("judge")(Completion("", tokens=3, prompt_tokens=10))
    meter.store(tmp_path, "build", Cell(exp, "peer", 1))
    money = {row["role"]: row["money"] for row in grand_totals(tmp_path)}
    assert money == {"partner": (10 * 2 + 3 * 10) / 1e6, "judge": None, "all": None}


def test_a_models_price_goes_before_its_engines_and_a_price_of_nobody_is_an_error() -> None:
    exp = priced(api={"input": 1, "output": 1}, large={"input": 2, "output": 2})
    assert exp.price_of("partner").input == 2 and exp.price_of("judge").input == 1
    assert exp.price_of("student") is None
    with pytest.raises(ValidationError, match=r"prices\.larg: 'larg' is the model of no role"):
        priced(larg={"input": 1, "output": 1})
