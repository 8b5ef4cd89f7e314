"""A summary for people: report.json, report.md and report.html; a terminal's tables are in terminal_tables.py.

report.html is one file that opens without a network. The primary contrast comes first and is stated in
words whichever way it fell.

    maieutic compare runs/quickstart     # writes them
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from evals.exams.asking import ASK_SKILL
from evals.exams.registry import catalog_of
from evals.metrics.catalog import Catalog
from evals.metrics.metric import Metric, metric_name
from evals.report.counting.counts import OF_DIALOGUES
from evals.report.figures import forest, prediction, turn_values_figure
from evals.report.methods import holds_zero, method_of
from evals.report.page.first_screen import finding
from evals.report.page.label_marks import Mark, marks_of
from evals.report.page.shown_dialogues import samples
from evals.report.rendering import environment
from evals.report.shapes.shape_figure import marked, shape_figure
from evals.report.summary_types import Summary
from evals.report.transfer import transfer_figure
from evals.report.validity import REFUSED
from evals.sitting.competence import mark_of
from pipeline.core.files import write_whole
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.judging.moves import MOVE_NAMES
from pipeline.runs.directory import experiment_of

COUNTS = ("tasks", "dialogues", "failures", "bad_rows", "selected", "rows", "student_tokens", "partner_tokens")
BUDGETS = (
    "turns",
    "student_turns",
    "distinct_tasks",
    "trained_rows",
    "optimizer_steps",
    "trained_tokens",
    "sampled_tokens",
)
BLOCKS = ("competence", "people", "lost", "bandits", "needs", "mentions", "references", "transfer")
MOST_AGAINST = 5  # lines on the first screen; others open on demand


def p_value(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def named(row: Json) -> str:
    """Whether a contrast was named to decide: primary, of a family, or neither."""
    return "primary" if row["primary"] else row["family"] or "exploratory"


def standing(row: Json) -> str:
    """The same, marked where no reader was measured."""
    return named(row) if row["measured"] else f"{named(row)}; {REFUSED}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%" if not 0 < value < 0.01 else "< 1%"


def whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def change(cell: Json) -> str:
    """How a rate moved against the base's, in words, and whether the advantage said so."""
    base, seen = cell["base"], cell["observed"]
    if base is None or seen is None:
        return "–"
    if not seen["apart"]:
        return "none shown"
    moved = "rose" if seen["value"] > base["value"] else "fell"
    if cell["agrees"] is None:
        return moved
    sure = not holds_zero(cell["advantage"])
    return f"{moved}, {'as' if cell['agrees'] else 'not as'} the advantage says{'' if sure else ' (unclear)'}"


def source(condition: Json) -> str:
    """Whose dialogues a condition learned from."""
    if condition["condition"]["learns_from"]:
        return str(condition["turn_values_of"] or condition["condition"]["learns_from"])
    return "its own" if condition["counts"]["dialogues"] else "–"


def first_facts(turn_values: dict[str, Json]) -> Json:
    """The first turns that ask for a missing fact: a row for each condition and specification, a column for each."""
    rows: dict[tuple[str, str], dict[str, Json]] = {}
    for name, of_turns in turn_values.items():
        for row in of_turns["facts"]:
            if row["at"] == 0:
                rows.setdefault((name, row["specification"]), {})[row["move"].removeprefix("ask ")] = row
    columns = {fact for facts in rows.values() for fact in facts}
    return {
        "columns": sorted(columns, key=lambda fact: (len(fact), fact)),  # s10 comes after s9
        "rows": [{"condition": name, "specification": spec, "facts": facts} for (name, spec), facts in rows.items()],
    }


def prices(turn_values: dict[str, Json]) -> str:
    """What is taken off a turn's value."""
    taken = {
        f"{of_turns[key]:g} per {key.removesuffix('_price')}"
        for of_turns in turn_values.values()
        for key in ("token_price", "question_price")
        if of_turns[key]
    }
    return f", less {' and '.join(sorted(taken))} of the student" if taken else ""


def write(run: Path, summary: Summary) -> list[Path]:
    """Write the three reports into `run`; each appears whole. Returns their paths."""
    env = environment()
    env.filters.update(
        p=p_value, standing=standing, percent=percent, whole=whole, change=change, source=source, marked=marked
    )
    page, metrics, runs = summary.plain(), metrics_of(summary), experiments(summary)
    marks = marks_of((*metrics.metrics, *OF_DIALOGUES), runs)
    turn_values = {name: entry["turn_values"] for name, entry in page["conditions"].items() if entry.get("turn_values")}
    shared = {
        "summary": page,
        "conditions": page["conditions"],
        "built": built(page),
        "selecting": selecting(page),
        "turn_values": turn_values,
        "judges": {name: entry["judge"] for name, entry in page["conditions"].items() if "judge" in entry},
        "prices": prices(turn_values),
        **{part: page[part] for part in BLOCKS},
        "warmups": [_shown_of(block, metrics) for block in page["warmups"]],
        "first_facts": first_facts(turn_values),
        "moves": MOVE_NAMES,
        "method_metrics": [scoped(metric, at) for metric in metrics.metrics for at in metric.shown.methods],
        "gained": ASK_SKILL.name,
        "families": matrix(page, metrics),
        "count_names": COUNTS,
        "budget_names": BUDGETS,
        "glossary": glossary(page, metrics),
        "readers": page["readers"],
        "reading_classes": reading_classes(page["readers"]),
        "refused": REFUSED,
        "finding": finding(page, runs, marks, metrics),
        "most_against": MOST_AGAINST,
        "marks": marks,
        "places": places(marks),
    }
    html = env.get_template("report.html.j2").render(
        **shared,
        forest=forest(page["comparisons"]),
        prediction=prediction(selecting(page)),
        turn_values_figure=turn_values_figure(turn_values, MOVE_NAMES),
        transfer_figure=transfer_figure(page["transfer"]),
        shapes=page["shapes"],
        shape_figure=shape_figure(page["shapes"]),
        samples=samples(summary, runs),
    )
    texts = {
        "report.json": summary.written(),
        "report.md": env.get_template("report.md.j2").render(**shared),
        "report.html": html,
    }
    return [write_whole(run / name, text) for name, text in texts.items()]


def experiments(summary: Summary) -> list[Experiment]:
    """The runs' own configs."""
    return [experiment_of(Path(run.path)) for run in summary.runs]  # which need not lie where they were made


def metrics_of(summary: Summary) -> Catalog:
    """Of all exams of the runs."""
    return catalog_of(experiments(summary))


def built(page: Json) -> dict[str, Json]:
    """The conditions that have dialogues; the untrained base has none."""
    return {name: condition for name, condition in page["conditions"].items() if "counts" in condition}


def selecting(page: Json) -> dict[str, Json]:
    """The conditions that train on what selection keeps: for them alone its arithmetic is a prediction."""
    return {name: condition for name, condition in built(page).items() if method_of(condition) == "sft"}


def places(marks: Mapping[str, Mark]) -> dict[Mark, list[str]]:
    """Each mark once, in the order of where its figures stand, with the metrics that have it."""
    met: dict[Mark, list[str]] = {}
    for name, mark in marks.items():
        met.setdefault(mark, []).append(name)
    return met


def matrix(page: Json, metrics: Catalog) -> dict[str, list[Json]]:
    """The condition x behaviour table by family: a cell per condition, tinted by its distance from the base."""
    conditions = page["conditions"]
    base_of = {name: run["names"].get("base") for run in page["runs"] for name in run["names"].values()}
    present = list(dict.fromkeys(metric for c in conditions.values() for metric in c["metrics"]))
    made: dict[str, list[Json]] = {family: [] for family in [*metrics.families, "other"]}
    for name in present:
        metric = metrics.metric(name)
        rates = {condition: entry["metrics"].get(name) for condition, entry in conditions.items()}
        family = metrics.family(name) or "other"
        cells = [
            _cell(rate, (rates.get(base_of[condition]) or {}).get("value"), metric is None or metric.unit == "share")
            | {"able": mark_of(page["competence"], family, name, condition)}
            for condition, rate in rates.items()
        ]
        row = {"metric": name, "name": metric_name(name), "shown": is_shown(metric, name), "cells": cells}
        made[family].append(row)
    return {family: rows for family, rows in made.items() if rows}


def scoped(metric: Metric, scope: str) -> str:
    return f"{metric.name}@{scope}" if scope else metric.name


def is_shown(metric: Metric | None, name: str) -> bool:
    """Whether a metric, with its scope, is in the table of behaviour before all metrics are asked for."""
    if metric is None:
        return False
    scopes = metric.shown.behaviour
    return scopes is None or name in [scoped(metric, scope) for scope in scopes]


def _shown_of(warmup: Json, metrics: Catalog) -> Json:
    """A warm-up with the metrics that the table of behaviour has."""
    rows = [row for row in warmup["rows"] if is_shown(metrics.metric(row["metric"]), row["metric"])]
    return warmup | {"rows": rows}


def always_shown(metric: Metric | None) -> bool:
    """Whether it stands on the page whatever its scope."""
    return metric is not None and metric.shown.behaviour is None


def _cell(rate: Json | None, base: float | None, is_share: bool) -> Json:
    """Tinted by its distance from the base of its own run; of other units than shares no one knows what is far."""
    if rate is None or rate["value"] is None:
        return {"rate": None, "tint": "", "apart": False}
    tint = ""
    if is_share and base is not None and rate["low"] is not None and rate["high"] is not None:
        change = rate["value"] - base
        tint = f"rgb(var({'--up' if change > 0 else '--down'}) / {min(abs(change), 0.5) * 0.8:.2f})"
    return {"rate": rate, "tint": tint, "apart": rate["apart"]}


def glossary(page: Json, metrics: Catalog) -> dict[str, dict[str, str]]:
    """The entries of the metrics that the summary holds, by family."""
    names = {name for condition in page["conditions"].values() for name in condition["metrics"]}
    used = {(metrics.family(name), metric_name(name)) for name in names}
    entries = {
        family: {metric.name: _meaning(metric) for metric in declared if (family, metric.name) in used}
        for family, declared in metrics.families.items()
    }
    return {family: there for family, there in entries.items() if there}


def _meaning(metric: Metric) -> str:
    return metric.definition if metric.unit == "share" else f"{metric.definition} (a mean, in: {metric.unit})"


def reading_classes(readers: Iterable[Json]) -> list[str]:
    """What any reader was measured on, in the order of its figures."""
    return list(dict.fromkeys(of for use in readers for known in use["figures"].values() for of in known))
