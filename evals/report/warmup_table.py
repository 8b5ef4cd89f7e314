"""What a base's warm-up did to it: its dispositions before and after, on the same exams.

maieutic compare runs/lookup_smollm2
"""

from __future__ import annotations

from rich.table import Table

from evals.exams.asking import FIRST_ACCURACY
from evals.exams.told import TOLD_ACCURACY
from evals.metrics.catalog import Catalog
from evals.sitting.examined_run import Run
from evals.stats.contrasts import contrast
from evals.stats.intervals import Tables, estimate
from evals.stats.number_format import interval, number
from evals.stats.parts import Figure, Number, Part
from evals.stats.stored_cases import results
from pipeline.core.schema import Json
from pipeline.experiment.fields import BEFORE_WARMUP
from pipeline.runs.student_files import WARMUP, trainings

COMPETENCE = (FIRST_ACCURACY.name, TOLD_ACCURACY.name, f"{TOLD_ACCURACY.name}@own")


class WarmupChange(Part):
    """A metric before and after, and the difference with its 95% interval, paired by task and seed."""

    metric: str
    before: Figure
    after: Figure
    difference: Number
    low: Number
    high: Number


class WarmupSummary(Part):
    """The warm-up of one run's base: what it learned from, and every metric of which both have cases."""

    run: str
    model: str
    full: int  # tasks
    told: int
    kept: int = 0  # full ones under the sampling prompt, whose first turns were the base's own
    trained_tokens: Number  # null where the run lies without its adapters
    seconds: Number
    rows: tuple[WarmupChange, ...]


def warmup_block(run: Run, metrics: Catalog) -> Json | None:
    """None where the base was not warmed up, or not examined both times."""
    settings = run.experiment.student.warmup
    tables = {name: results(run.path, name) for name in (BEFORE_WARMUP, "base")}
    if settings is None or not all(tables.values()):
        return None
    learned = next(iter(trainings(run.path / WARMUP, WARMUP)), {})
    there = {metric for metric, _ in tables[BEFORE_WARMUP]} & {metric for metric, _ in tables["base"]}
    return {
        "run": str(run.path),
        "model": run.experiment.student.model,
        **settings.model_dump(include={"full", "told", "kept"}),
        **{key: learned.get(key) for key in ("trained_tokens", "seconds")},
        "rows": [_change(tables, name, metrics) for name in metrics.offered(there)],
    }


def _change(tables: dict[str, Tables], name: str, metrics: Catalog) -> Json:
    total = metrics.signed_sum(name)
    before, after = (estimate(tables[each], total)._asdict() for each in (BEFORE_WARMUP, "base"))
    row = contrast(tables, total, "base", BEFORE_WARMUP)
    moved = {"difference": row.difference, "low": row.low, "high": row.high}
    return {"metric": name, "before": before, "after": after, **moved}


def warmup_table(block: Json, deciding: list[str]) -> Table:
    """What a terminal shows, of a block without NaN: competence, and the metrics that decide."""
    title = f"Warm-up of {block['model']}: {block['full']} full tasks, {block['told']} told (95% intervals)"
    table = Table(title=title, title_justify="left")
    for column in ("metric", "before", "after", "difference"):
        table.add_column(column, justify="left" if column == "metric" else "right", overflow="fold")
    for row in block["rows"]:
        if row["metric"] in (*COMPETENCE, *deciding):
            both = (f"{number(row[when]['value'])} ({interval(row[when])})" for when in ("before", "after"))
            table.add_row(row["metric"], *both, f"{number(row['difference'], 2, True)} ({interval(row, 2, True)})")
    return table
