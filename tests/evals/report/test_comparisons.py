from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from evals.report.summary import summarize
from maieutic.cli import app
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Json
from pipeline.experiment.experiment import load
from pipeline.runs.progress import console
from tests.evals.made_run import CONDITIONS, made_run

FACTS = {"metric": "harmful_flip", "a": "facts", "b": "volunteer"}
BLIND = {"metric": "ask_skill", "a": "volunteer", "b": "blind"}
PRIMARY = {"metric": "ask_skill", "a": "facts", "b": "volunteer"}


def compares(run: Path, compare: Any) -> Path:
    """The run as if its config had compared this."""
    config = run / "config.yaml"
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | {"compare": compare}))
    return run


def rows(*runs: Path) -> list[Json]:
    return list(summarize(list(runs)).plain()["comparisons"])


def pair(row: Json) -> tuple[str, str]:
    return row["a"], row["b"]


def test_holm_corrects_over_each_family_of_the_config_alone(tmp_path):
    run = made_run(tmp_path / "made")
    one, two = (row for row in rows(run) if not row["primary"])
    low, high = sorted((row["p"], row["p_holm"]) for row in (one, two))
    assert low[0] < 0.5 and one["family"] == two["family"] == "others"
    assert (low[1], high[1]) == pytest.approx((2 * low[0], max(2 * low[0], high[0])), rel=1e-5)
    compares(run, {"primary": PRIMARY, "families": {"blind": [BLIND], "flips": [FACTS]}})
    apart = [row for row in rows(run) if not row["primary"]]
    assert [row["family"] for row in apart] == ["blind", "flips"]
    assert all(row["p_holm"] == pytest.approx(row["p"]) for row in apart)


def test_what_was_not_measured_counts_in_its_family_as_a_test(tmp_path):
    run = made_run(tmp_path / "made")
    before = {row["metric"]: row["p_holm"] for row in rows(run) if row["family"]}
    for file in (run / "results").glob("*/seed-[12].jsonl"):
        file.write_text("".join(x for x in file.read_text().splitlines(keepends=True) if "ask_need" not in x))
    after = {row["metric"]: row for row in rows(run) if row["family"]}
    assert after["ask_skill"]["p_holm"] is None is after["ask_skill"]["p"]
    assert after["harmful_flip"]["p_holm"] == before["harmful_flip"] > after["harmful_flip"]["p"]


def test_a_contrast_of_no_family_is_exploratory_and_has_no_corrected_p(tmp_path, monkeypatch):
    run = compares(
        made_run(tmp_path / "made"), {"primary": PRIMARY, "families": {"x": [BLIND]}, "exploratory": [FACTS]}
    )
    primary, named, looked = rows(run)
    assert (primary["p_holm"], looked["p_holm"], looked["family"]) == (None, None, None)
    assert named["p_holm"] == pytest.approx(named["p"])  # what is merely looked at does not weigh on a family
    monkeypatch.setattr(console, "width", 160)
    shown = CliRunner().invoke(app, ["compare", str(run)])
    lines = [line.strip("│ ") for line in shown.output.splitlines()]
    assert shown.exit_code == 0 and lines[lines.index("exploratory") + 1].endswith("–")
    assert "| exploratory | – |" in (run / "report.md").read_text()
    assert ">exploratory</td>" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("compare", "told"),
    [
        ({"others": [BLIND]}, r"compare\.others: not a key any more\..* compare\.families, as in"),
        ({"families": {"x": []}}, r"compare\.families\.x"),
        (
            {"families": {"x": [PRIMARY]}},
            r"compare\.families\.x\.0: facts - volunteer on ask_skill is compare\.primary al",
        ),
        ({"exploratory": [FACTS, FACTS]}, r"compare\.exploratory\.1: .* is compare\.exploratory\.0 already"),
        ({"families": {"x": [FACTS | {"a": "fact"}]}}, r"compare\.families\.x\.0: 'fact' is not a condition"),
    ],
)
def test_a_family_that_is_none_is_refused_with_its_key(tmp_path, compare, told):
    run = compares(made_run(tmp_path / "made"), {"primary": PRIMARY} | compare)
    with pytest.raises(ConfigError, match=told):
        load(run / "config.yaml")


def test_runs_with_colliding_names_are_prefixed_and_contrasted(tmp_path):
    runs = [made_run(tmp_path / name, rates={"facts": rate}) for name, rate in (("low", 0.2), ("high", 0.8))]
    summary = summarize(runs).plain()
    assert {"low/facts", "high/facts"} <= set(summary["conditions"])
    between = [row for row in summary["comparisons"] if pair(row) == ("high/facts", "low/facts")]
    assert len(between) == 1 and between[0]["difference"] > 0.3 and between[0]["paired"]
    primary = [pair(row) for row in summary["comparisons"] if row["primary"]]
    assert primary == [("low/facts", "low/volunteer"), ("high/facts", "high/volunteer")]
    assert summary["headline"].count("low/facts") and "high/" not in summary["headline"]


def test_another_run_beside_it_changes_no_p_of_a_family(tmp_path):
    runs = [made_run(tmp_path / name) for name in ("one", "two")]
    alone = [row["p_holm"] for row in rows(runs[0]) if row["family"]]
    both = rows(*runs)
    assert [row["p_holm"] for row in both if row["family"] == "one: others"] == alone
    assert all(row["family"] is None for row in both if row["a"].startswith("two/") and row["b"].startswith("one/"))


def test_two_runs_that_name_no_contrast_are_compared_and_it_is_called_exploratory(tmp_path, monkeypatch):
    runs = [compares(made_run(tmp_path / name, rates={"facts": r}), None) for name, r in (("low", 0.2), ("high", 0.8))]
    summary = summarize(runs).plain()
    of_facts = {row["metric"]: row for row in summary["comparisons"] if pair(row) == ("high/facts", "low/facts")}
    assert list(of_facts) == ["ask_skill", "ask_needed", "ask_needless", "harmful_flip", "gain"]
    assert of_facts["ask_needed"]["difference"] > 0.3
    assert {pair(row) for row in summary["comparisons"]} == {
        (f"high/{name}", f"low/{name}") for name in ("base", *CONDITIONS)
    }
    assert not any(row["primary"] or row["family"] for row in summary["comparisons"])
    assert "exploratory" in summary["headline"] and "compare.primary" in summary["headline"]
    monkeypatch.setattr(console, "width", 160)
    shown = CliRunner().invoke(app, ["compare", *map(str, runs)])
    assert "exploratory" in [line.strip("│ ") for line in shown.output.splitlines()]


def test_runs_whose_conditions_have_other_names_are_compared_each_with_each(tmp_path):
    first = compares(made_run(tmp_path / "one"), None)
    second = compares(made_run(tmp_path / "two"), None)
    config, other = second / "config.yaml", {"asked": "facts", "told": "volunteer"}
    held = yaml.safe_load(config.read_text())
    held["conditions"] = {new: held["conditions"][old] for new, old in other.items()}
    config.write_text(yaml.safe_dump(held))
    for new, old in other.items():
        (second / "results" / old).rename(second / "results" / new)
    compare = {"primary": {"metric": "ask_needed", "a": "asked", "b": "told"}}
    expected = {(a, b) for a in other for b in CONDITIONS} | {("two/base", "one/base")}
    assert {pair(row) for row in rows(first, second)} == expected
    made = [row for row in rows(first, compares(second, compare)) if not row["primary"]]
    assert {pair(row) for row in made} == expected and {row["metric"] for row in made} == {"ask_needed"}


def test_runs_that_measured_nothing_alike_say_what_is_missing(tmp_path):
    runs = [compares(made_run(tmp_path / name), None) for name in ("one", "two")]
    for file in (runs[1] / "results").glob("*/seed-[12].jsonl"):
        file.write_text("")
    summary = summarize(runs).plain()
    assert summary["comparisons"] == [] and "no metric was measured in both" in summary["headline"]
    assert "exams.include" in summary["headline"]


def test_the_reports_file_says_of_each_contrast_where_it_stands(tmp_path):
    run = made_run(tmp_path / "made")
    assert CliRunner().invoke(app, ["compare", str(run)]).exit_code == 0
    written = json.loads((run / "report.json").read_text())["comparisons"]
    assert [(row["primary"], row["family"]) for row in written] == [(True, None), (False, "others"), (False, "others")]
    assert not any(isinstance(row["p_holm"], float) and math.isnan(row["p_holm"]) for row in written)
