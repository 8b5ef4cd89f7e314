"""A summary in a terminal: the contrasts, what decides, and the exams of a run that compares nothing.

maieutic compare runs/quickstart     # prints them
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from evals.exams.asking import ASK_NEEDED
from evals.exams.bandits.learned_tables import learned_tables
from evals.exams.lost.unreliability import lost_tables
from evals.metrics.catalog import Catalog
from evals.report.methods import method_of
from evals.report.page.first_screen import Finding, finding
from evals.report.page.label_marks import marks_of
from evals.report.report_page import (
    MOST_AGAINST,
    always_shown,
    experiments,
    metrics_of,
    named,
    p_value,
    selecting,
)
from evals.report.summary_types import ReaderUse, Summary
from evals.report.transfer import transfer_table
from evals.report.validity import REFUSED, is_measured
from evals.report.warmup_table import warmup_table
from evals.sitting.competence import mark_of
from evals.stats.number_format import interval, number
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment


def table(summary: Summary) -> RenderableType:
    """The deciding table: the primary contrast first, then the others, then behaviour per condition."""
    page, metrics, runs = summary.plain(), metrics_of(summary), experiments(summary)
    decided = _decided(page, metrics, runs)
    found = finding(page, runs, marks_of(metrics.metrics, runs), metrics)
    warnings = [f"[bold red]Does not reconcile:[/] {escape(line)}" for line in summary.problems]
    more: list[RenderableType] = [_contrasts(page)] if summary.comparisons else [*exam_tables(summary)]
    more += [decided] if decided else []
    deciding = [metric.name for metric in metrics.metrics if metric.shown.deciding]
    more += [warmup_table(block, deciding) for block in page["warmups"]]
    more += lost_tables(page["lost"]) if summary.lost else []
    more += [table for block in page["bandits"] for table in learned_tables(block)]
    more += [transfer_table(page["transfer"])] if summary.transfer else []
    caveats = [escape(f"Against it: {line}") for line in found.against[:MOST_AGAINST]]
    return Group(
        f"[bold]{escape(summary.headline)}[/]",
        *_figures(found),
        *_meant(found),
        *caveats,
        *_read_by(summary),
        *warnings,
        *more,
    )


def _figures(found: Finding) -> list[str]:
    """The primary contrast's metric under both conditions and the base."""
    if found.contrast is None or not found.figures:
        return []
    rates = "; ".join(f"{name} {number(rate['value'])} ({interval(rate)})" for name, rate in found.figures)
    return [escape(f"{found.contrast['metric']}: {rates}")]


def _meant(found: Finding) -> list[str]:
    """What the metric counts, in short, and who the two conditions are. The report has whole definitions."""
    names = {found.contrast[side] for side in ("a", "b")} if found.contrast else set[str]()
    counted = [f"{name}: {definition.partition(';')[0]}." for name, definition in found.means]
    return [escape(line) for line in (*counted, *(line for line in found.of_whom if line.partition(":")[0] in names))]


def _read_by(summary: Summary) -> list[str]:
    """Who read the turns, a line for each run that differs."""
    lines = [
        f"Turns were read by {use.metrics} ({_standing(use)}); rule partners understood by {use.partner}; acts are "
        f"labelled by {use.acts}."
        for use in summary.readers
    ]
    return [escape(line) for line in dict.fromkeys(lines)]


def _standing(use: ReaderUse) -> str:
    if use.planted:
        return "exact: planted wordings"
    return "measured on natural turns" if use.figures[use.metrics] else REFUSED


def _contrasts(page: Json) -> Table:
    contrasts = Table(title="Contrasts (95% intervals; p of a family is Holm's over it)", title_justify="left")
    for column in ("contrast", "difference", "interval", "p"):
        contrasts.add_column(column, justify="right" if column in ("difference", "p") else "left", overflow="fold")
    for family, rows in groupby(page["comparisons"], named):
        contrasts.add_section()
        contrasts.add_row(escape(family), style="italic")
        for row in rows:
            lines = [row["metric"], f"{row['a']} − {row['b']}", *([] if row["measured"] else [REFUSED])]
            contrasts.add_row(
                "\n".join(lines),  # side by side they are broken within words on 80 columns
                number(row["difference"], 3, True),
                interval(row, 3, True),
                p_value(row["p"] if row["primary"] else row["p_holm"]),
                style="bold" if row["primary"] and row["measured"] else "",
            )
    return contrasts


def _decided(page: Json, metrics: Catalog, runs: Sequence[Experiment]) -> Table | None:
    """The metrics that decide, of each condition that has one of them; None where none has."""
    shown = [metric for metric in metrics.metrics if metric.shown.deciding]
    deciding = [metric.name for metric in shown]
    refused = {metric.name for metric in shown if not all(is_measured(metric, run) for run in runs)}
    conditions = {name: c for name, c in page["conditions"].items() if c["metrics"].keys() & set(deciding)}
    if not conditions:
        return None
    shares = Table(
        title="Behaviour per condition (at the sampling temperature)",
        title_justify="left",
        caption=f"* {REFUSED}" if refused else None,
        caption_justify="left",
    )
    methods, selected = page["methods_differ"], selecting(page)
    for column in ("condition", *(["method"] if methods else [])):
        shares.add_column(column, no_wrap=True)
    for column in (*deciding, f"predicted {ASK_NEEDED.name}"):
        mark = "\n*" if column in refused else ""
        shares.add_column(column.replace("_", "_\n") + mark, justify="right")  # on a narrow screen names need two lines
    for name, condition in conditions.items():
        rates = [condition["metrics"].get(metric) for metric in deciding]
        shares.add_row(
            name,
            *([method_of(condition) or "–"] if methods else []),
            *(number(rate["value"]) if rate else "–" for rate in rates),
            number(selected[name]["predicted"]["ask_rate"]) if name in selected else "–",
        )
    return shares


def exam_tables(summary: Summary) -> list[Table]:
    """A table for each student of what it did in the exams that are shown whole; `lost` has its own."""
    page, metrics, made = summary.plain(), metrics_of(summary), []
    for name, condition in page["conditions"].items():
        rows = [
            (family, metric, rate)
            for family in metrics.families
            for metric, rate in condition["metrics"].items()
            if rate["value"] is not None and metrics.family(metric) == family and always_shown(metrics.metric(metric))
        ]
        if not rows:
            continue
        whole = Table(title=f"Exams: {name} (95% intervals)", title_justify="left")
        for column in ("exam", "metric", "value", "interval", "n"):
            whole.add_column(column, justify="left" if column in ("exam", "metric") else "right", overflow="fold")
        before = ""
        for family, metric, rate in rows:
            shown = "" if family == before else family
            value = f"{number(rate['value'], 3)} {mark_of(page['competence'], family, metric, name)}".strip()
            whole.add_row(shown, metric, value, interval(rate, 3), f"{rate['n']:,}")
            before = family
        made.append(whole)
    return made
