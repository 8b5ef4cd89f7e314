"""What an experiment will take is what was played, times how much of it there is."""

from __future__ import annotations

import math

import pytest

from maieutic.estimate import Played, Stage, estimate_table, measured_in_words, rate_of, stages
from maieutic.planned_cost import PlannedCost
from pipeline.experiment.experiment import Experiment
from pipeline.runs.progress import console
from pipeline.runs.usage import Tally, summed

STUDENT, PARTNER = Tally(20, 1000, 400, 300, 0), Tally(15, 3000, None, 600, 150)


@pytest.fixture
def made() -> Experiment:
    return Experiment.model_validate({
        "name": "x", "engine": {"kind": "scripted"},
        "engines": {"api": {"kind": "scripted", "requests_per_minute": 30}},
        "partner": {"model": "large", "engine": "api"}, "prices": {"large": {"input": 1, "output": 10}},
        "conditions": {"peer": {"partition": "symmetric", "voice": "model"}, "online": {
            "partition": "symmetric", "voice": "model", "method": "grpo"}},
    })  # fmt: skip


def test_each_stage_has_its_tokens_and_no_fewer_hours_than_a_server_lets_through(made) -> None:
    asked = {"student": STUDENT, "partner": PARTNER}
    played = {name: Played(5, dict(asked), 30.0) for name in made.conditions}
    costs = {"peer": PlannedCost(1000, 0, 0, branches=600), "online": PlannedCost(50, 0, 0)}
    build, branches, train, examine = stages(made, costs, played, exam_answers=200)
    assert (build.roles, branches.roles, train.roles) == tuple(
        {"student": STUDENT.times(n), "partner": PARTNER.times(n)} for n in (80, 120, 10)
    )
    assert examine.roles == {"student": STUDENT.times(10)}
    assert rate_of(played) == 30.0  # (300 + 600) tokens in 30 s, twice
    assert train.hours(made, 30.0) == pytest.approx(9000 / 30 / 3600)
    assert build.hours(made, 3e9) == pytest.approx(80 * 15 / 30 / 60)  # 30 requests a minute
    assert build.roles["partner"].money(made.price_of("partner")) == pytest.approx(80 * (3000 + 600 * 10) / 1e6)
    assert build.roles["student"].money(made.price_of("student")) is None
    assert "70 requests in 10 dialogues, 5 at a time" in measured_in_words(made, played)


def test_engines_of_one_server_and_key_are_paced_together_and_others_are_not(made) -> None:
    def hours(other: str) -> float:
        urls = {"a": "http://one/v1", "b": other}
        engines = {name: {"kind": "openai", "url": url, "requests_per_minute": 60} for name, url in urls.items()}
        roles = {"partner": {"model": "x", "engine": "a"}, "judge": {"model": "y", "engine": "b"}}
        apart = {"engines": engines, "prices": {}, **roles}
        asked = Stage("build", {"partner": Tally(3600), "judge": Tally(3600)})
        return asked.hours(Experiment.model_validate(made.model_dump() | apart), 1e9)

    assert hours("http://one/v1/") == pytest.approx(2.0) and hours("http://two/v1") == pytest.approx(1.0)


def test_a_partner_with_a_students_weights_costs_what_the_student_does(made) -> None:
    own = made.conditions["peer"].model_copy(update={"weights": "current"})
    current = made.model_copy(update={"conditions": {"peer": own}})
    played = {"peer": Played(5, {"student": STUDENT, "partner": PARTNER}, 30.0)}
    [build] = stages(current, {"peer": PlannedCost(10, 0, 0)}, played, exam_answers=0)
    assert build.roles == {"student": summed([STUDENT, PARTNER]).times(2)}


def test_what_nobody_is_asked_takes_no_stage_and_an_unknown_rate_no_hours(made) -> None:
    costs = {"peer": PlannedCost(1000, 0, 0), "online": PlannedCost(0, 0, 0)}
    [build] = stages(made, costs, {"peer": Played(5, {"student": STUDENT}, 0.0)}, exam_answers=0)
    assert build.name == "build" and math.isnan(build.hours(made, rate_of({})))
    assert summed([]).answers == 0


def test_a_judge_that_only_is_convinced_is_not_asked_in_exams_and_one_that_reads_is(made) -> None:
    costs = {"peer": PlannedCost(1000, 0, 0), "online": PlannedCost(0, 0, 0)}
    played = {"peer": Played(5, {"student": STUDENT, "judge": PARTNER}, 30.0)}
    assert set(stages(made, costs, played, 200)[-1].roles) == {"student"}
    reads = made.model_copy(update={"reading": made.reading.model_copy(update={"metrics": "judge"})})
    assert stages(reads, costs, played, 200)[-1].roles == {"student": STUDENT.times(10), "judge": PARTNER.times(10)}


def test_an_estimate_sums_its_lines_and_has_no_money_where_one_has_no_price(made, capsys) -> None:
    ahead = [Stage("build", {"student": STUDENT.times(1000)}), Stage("train", {"partner": PARTNER})]
    console.print(estimate_table(made, ahead, rate=100.0))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        ["build", "student", "20k", "1M", "400k", "300k", "0", "–", "0.83"],
        ["train", "partner", "15", "3k", "–", "600", "150", "0.01", "0.01"],
        ["all", "20k", "1M", "400k", "301k", "150", "–", "0.84"],
    ]
