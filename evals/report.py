"""A summary for people: report.json, report.md, report.html, and the table that a terminal shows.

report.html is one file that opens without a network. The primary contrast comes first and is stated in
words whichever way it fell.

    maieutic compare runs/quickstart     # writes them and prints the table
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from evals.figures import forest, prediction
from evals.metrics import GLOSSARY, entry
from pipeline.config import Experiment, load
from pipeline.schema import Dialogue
from pipeline.select import final_answer, is_correct, kept
from pipeline.store import read
from pipeline.view import view

Json = dict[str, Any]
DECIDING = ("ask_needed", "ask_needless", "ask_skill", "harmful_flip", "gain")
SHOWN = (
    *DECIDING,
    "ask_needed@facts",
    "ask_complete@facts",
    "premature@facts",
    "yield@facts",
    "first_accuracy",
    "helpful_flip",
    "deference_skill",
    "compliance",
    "conversion",
    "holds_own",
    "collapse",
    "uptake",
    "gain_verdict",
    "uptake_verdict",
    "clarify",
    "acknowledge",
    "follow_up",
    "repair@garbled",
)
COUNTS = ("tasks", "dialogues", "failures", "selected", "rows", "student_tokens", "partner_tokens")
BUDGETS = (
    "turns",
    "student_turns",
    "distinct_tasks",
    "trained_rows",
    "optimizer_steps",
    "trained_tokens",
    "sampled_tokens",
)


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A value for people; a dash where there was nothing to divide by."""
    if value is None:
        return "–"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def p_value(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(row: Json | None, digits: int = 2, sign: bool = False) -> str:
    if row is None or row["low"] is None or row["high"] is None:
        return "–"
    return f"{number(row['low'], digits, sign)} to {number(row['high'], digits, sign)}"


def table(summary: Json) -> RenderableType:
    """The deciding table: the primary contrast first, then the others, then behaviour per condition."""
    title = summary["headline"]
    contrasts = Table(title="Contrasts (95% intervals; p of all but the primary is Holm's)", title_justify="left")
    for column in ("metric", "a − b", "difference", "interval", "p"):
        contrasts.add_column(column, justify="right" if column in ("difference", "p") else "left")
    for row in summary["comparisons"]:
        contrasts.add_row(
            row["metric"] + (" (primary)" if row["primary"] else ""),
            f"{row['a']} − {row['b']}",
            number(row["difference"], 3, True),
            interval(row, 3, True),
            p_value(row["p"] if row["primary"] else row["p_holm"]),
            style="bold" if row["primary"] else "",
        )
    shares = Table(title="Behaviour per condition (at the sampling temperature)", title_justify="left")
    for column in ("condition", *DECIDING, "predicted ask_needed"):
        shares.add_column(column, justify="left" if column == "condition" else "right")
    for name, condition in summary["conditions"].items():
        rates = [condition["metrics"].get(metric) for metric in DECIDING]
        shares.add_row(
            name,
            *(number(rate["value"]) if rate else "–" for rate in rates),
            number(condition.get("predicted", {}).get("ask_rate")),
        )
    warnings = [f"[bold red]Does not reconcile:[/] {escape(line)}" for line in summary["problems"]]
    return Group(f"[bold]{escape(title)}[/]", *warnings, contrasts, shares)


def write(run: Path, summary: Json) -> list[Path]:
    """Write the three reports into `run`; each appears whole. Returns their paths."""
    env = Environment(
        loader=PackageLoader("evals"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: bool(name and "html" in name),
    )
    env.filters.update(number=number, p=p_value, interval=interval)
    shared = {
        "summary": summary,
        "conditions": summary["conditions"],
        "built": built(summary),
        "families": matrix(summary),
        "count_names": COUNTS,
        "budget_names": BUDGETS,
        "glossary": glossary(summary),
    }
    html = env.get_template("report.html.j2").render(
        **shared,
        forest=forest(summary["comparisons"]),
        prediction=prediction(summary["conditions"]),
        samples=samples(summary),
    )
    texts = {
        "report.json": json.dumps(summary, indent=1, allow_nan=False) + "\n",
        "report.md": env.get_template("report.md.j2").render(**shared),
        "report.html": html,
    }
    paths = []
    for name, text in texts.items():
        path = run / name
        temporary = path.with_name(f".{name}.tmp")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
        paths.append(path)
    return paths


def built(summary: Json) -> dict[str, Json]:
    """The conditions that have dialogues; the untrained base has none."""
    return {name: condition for name, condition in summary["conditions"].items() if "counts" in condition}


def matrix(summary: Json) -> dict[str, list[Json]]:
    """The condition x behaviour table by family: a cell per condition, tinted by its distance from the base."""
    conditions = summary["conditions"]
    present = list(dict.fromkeys(metric for c in conditions.values() for metric in c["metrics"]))
    made: dict[str, list[Json]] = {family: [] for family in [*GLOSSARY, "other"]}
    for metric in present:
        family = next((name for name, metrics in GLOSSARY.items() if entry(metric) in metrics), "other")
        rates = {name: condition["metrics"].get(metric) for name, condition in conditions.items()}
        base = (rates.get("base") or {}).get("value")
        cells = [_cell(rate, None if name == "base" else base) for name, rate in rates.items()]
        made[family].append({"metric": metric, "shown": metric in SHOWN, "cells": cells})
    return {family: rows for family, rows in made.items() if rows}


def _cell(rate: Json | None, base: float | None) -> Json:
    if rate is None or rate["value"] is None:
        return {"rate": None, "tint": "", "apart": False}
    apart, tint = False, ""
    if base is not None and rate["low"] is not None and rate["high"] is not None:
        change = rate["value"] - base
        apart = not rate["low"] <= base <= rate["high"]
        colour = "31, 95, 168" if change > 0 else "194, 87, 26"
        tint = f"rgba({colour}, {min(abs(change), 0.5) * 0.8:.2f})"
    return {"rate": rate, "tint": tint, "apart": apart}


def glossary(summary: Json) -> dict[str, dict[str, str]]:
    """The entries of the metrics that the summary holds."""
    used = {entry(metric) for condition in summary["conditions"].values() for metric in condition["metrics"]}
    found = {
        family: {name: text for name, text in metrics.items() if name in used} for family, metrics in GLOSSARY.items()
    }
    return {family: metrics for family, metrics in found.items() if metrics}


def samples(summary: Json) -> list[Json]:
    """Per condition up to three dialogues (kept and dropped underspecified ones, a full one), from both views.

    The condition that the primary contrast is about comes first.
    """
    made = []
    for run in summary["runs"]:
        experiment = load(Path(run["path"]) / "config.yaml")
        for name, shown in run["names"].items():
            if name != "base":
                dialogues = read(Path(run["path"]) / "dialogues" / f"{name}.jsonl", Dialogue)
                made += [_sample(experiment, shown, dialogue) for dialogue in _pick(experiment, dialogues)]
    first = next((row["a"] for row in summary["comparisons"] if row["primary"]), "")
    return sorted(made, key=lambda sample: sample["condition"] != first)


def _pick(experiment: Experiment, dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """The first by id of each kind."""
    chosen: dict[tuple[bool, bool], Dialogue] = {}
    for dialogue in dialogues:
        key = bool(dialogue.task.missing), kept(dialogue, experiment.conditions[dialogue.condition])
        chosen[key] = min(chosen.get(key, dialogue), dialogue, key=lambda d: d.id)
    return [chosen[key] for key in ((True, True), (True, False), (False, True)) if key in chosen]


def _sample(experiment: Experiment, shown: str, dialogue: Dialogue) -> Json:
    axes, task = experiment.conditions[dialogue.condition], dialogue.task
    views = {"student": view(task, axes, dialogue.turns, "student", experiment.student.system)}
    if axes.row.partner is not None:
        views["partner"] = view(task, axes, dialogue.turns, "partner", experiment.partner.system)
    return {
        "condition": shown,
        "task": task,
        "seed": dialogue.seed,
        "stop": dialogue.stop.replace("_", " "),
        "kept": kept(dialogue, axes),
        "right": is_correct(dialogue),
        "final": final_answer(dialogue),
        "views": views,
    }
