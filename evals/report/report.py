"""A summary for people: report.json, report.md, report.html, and the table that a terminal shows.

report.html is one file that opens without a network. The primary contrast comes first and is stated in
words whichever way it fell.

    maieutic compare runs/quickstart     # writes them and prints the table
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from evals.exams.lost.unreliability import lost_tables
from evals.exams.registry import EXAMS
from evals.metrics.catalog import GLOSSARY, entry
from evals.report.figures import forest, prediction, turn_values
from evals.report.methods import holds_zero, method_of
from evals.report.pages import environment, interval, number
from evals.report.transfer import transfer_figure, transfer_table
from evals.report.validity import OF_DIALOGUES, beside
from evals.sitting.pairs import MOVABLE
from pipeline.core.files import write_whole
from pipeline.datasets.rejection_sampling import kept
from pipeline.experiment.experiment import Experiment, load
from pipeline.judging.outcome import final_answer, is_correct
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.settings import ActsSettings
from pipeline.runs.store import read

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
METHOD_METRICS = ("ask_skill", "premature@facts", "ask_needless", "gain", "harmful_flip")
MOVE_NAMES = {
    "ask": "asks for a missing fact",
    "ask_other": "asks something else",
    "attempt": "answers",
    "guess": "answers, hedging",
    "other": "none of these",
}


def p_value(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%" if not 0 < value < 0.01 else "< 1%"


def whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def change(cell: Json) -> str:
    """How a rate moved against the base's, in words, and whether the ledger's advantage said so."""
    base, seen = cell["base"], cell["observed"]
    if base is None or seen is None:
        return "–"
    if seen["low"] <= base["value"] <= seen["high"]:
        return "none shown"
    moved = "rose" if seen["value"] > base["value"] else "fell"
    if cell["agrees"] is None:
        return moved
    sure = not holds_zero(cell["advantage"])
    return f"{moved}, {'as' if cell['agrees'] else 'not as'} the advantage says{'' if sure else ' (unclear)'}"


def source(condition: Json) -> str:
    """Whose dialogues a condition learned from."""
    if condition["condition"]["learns_from"]:
        return str(condition["ledger_of"])
    return "its own" if condition["counts"]["dialogues"] else "–"


def first_facts(ledgers: dict[str, Json]) -> Json:
    """The first turns that ask for a missing fact: a row for each condition and specification, a column for each."""
    rows: dict[tuple[str, str], dict[str, Json]] = {}
    for name, ledger in ledgers.items():
        for row in ledger["facts"]:
            if row["at"] == 0:
                rows.setdefault((name, row["specification"]), {})[row["move"].removeprefix("ask ")] = row
    columns = {fact for facts in rows.values() for fact in facts}
    return {
        "columns": sorted(columns, key=lambda fact: (len(fact), fact)),  # s10 comes after s9
        "rows": [{"condition": name, "specification": spec, "facts": facts} for (name, spec), facts in rows.items()],
    }


def prices(ledgers: dict[str, Json]) -> str:
    """What is taken off a turn's worth."""
    found = {
        f"{ledger[key]:g} per {key.removesuffix('_price')}"
        for ledger in ledgers.values()
        for key in ("token_price", "question_price")
        if ledger[key]
    }
    return f", less {' and '.join(sorted(found))} of the student" if found else ""


def table(summary: Json) -> RenderableType:
    """The deciding table: the primary contrast first, then the others, then behaviour per condition."""
    title = summary["headline"]
    contrasts = Table(title="Contrasts (95% intervals; p of all but the primary is Holm's)", title_justify="left")
    for column in ("metric", "a − b", "difference", "interval", "p"):
        contrasts.add_column(column, justify="right" if column in ("difference", "p") else "left", overflow="fold")
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
    methods = summary["methods_differ"]
    for column in ("condition", *(["method"] if methods else [])):
        shares.add_column(column, no_wrap=True)
    for column in (*DECIDING, "predicted ask_needed"):
        shares.add_column(column.replace("_", "_\n"), justify="right")  # on a narrow screen names need two lines
    selected = selecting(summary)
    decided = {name: c for name, c in summary["conditions"].items() if c["metrics"].keys() & set(DECIDING)}
    for name, condition in decided.items():
        rates = [condition["metrics"].get(metric) for metric in DECIDING]
        shares.add_row(
            name,
            *([method_of(condition) or "–"] if methods else []),
            *(number(rate["value"]) if rate else "–" for rate in rates),
            number(selected[name]["predicted"]["ask_rate"]) if name in selected else "–",
        )
    warnings = [f"[bold red]Does not reconcile:[/] {escape(line)}" for line in summary["problems"]]
    more: list[RenderableType] = [contrasts] if summary["comparisons"] else [*exam_tables(summary)]
    more += [shares] if decided else []
    more += lost_tables(summary["lost"]) if summary["lost"] else []
    more += [transfer_table(summary["transfer"])] if summary["transfer"] else []
    return Group(f"[bold]{escape(title)}[/]", *warnings, *more)


def exam_tables(summary: Json) -> list[Table]:
    """A table for each student of what it did in the exams of the literature; `lost` has its own."""
    made = []
    for name, condition in summary["conditions"].items():
        rows = [
            (family, metric, rate)
            for family in EXAMS
            for metric, rate in condition["metrics"].items()
            if family != "lost" and family_of(metric) == family and rate["value"] is not None
        ]
        if not rows:
            continue
        one = Table(title=f"Exams of the literature: {name} (95% intervals)", title_justify="left")
        for column in ("exam", "metric", "value", "interval", "n"):
            one.add_column(column, justify="left" if column in ("exam", "metric") else "right", overflow="fold")
        before = ""
        for family, metric, rate in rows:
            shown = "" if family == before else family
            one.add_row(shown, metric, number(rate["value"], 3), interval(rate, 3), f"{rate['n']:,}")
            before = family
        made.append(one)
    return made


def write(run: Path, summary: Json) -> list[Path]:
    """Write the three reports into `run`; each appears whole. Returns their paths."""
    env = environment()
    env.filters.update(p=p_value)
    env.filters.update(percent=percent, whole=whole, change=change, source=source)
    ledgers = {name: entry["ledger"] for name, entry in summary["conditions"].items() if entry.get("ledger")}
    runs = labelling(summary)
    shared = {
        "summary": summary,
        "conditions": summary["conditions"],
        "built": built(summary),
        "selecting": selecting(summary),
        "ledgers": ledgers,
        "prices": prices(ledgers),
        "people": summary["people"],
        "lost": summary["lost"],
        "needs": summary["needs"],
        "mentions": summary["mentions"],
        "references": summary["references"],
        "transfer": summary["transfer"],
        "first_facts": first_facts(ledgers),
        "moves": MOVE_NAMES,
        "method_metrics": METHOD_METRICS,
        "families": matrix(summary),
        "count_names": COUNTS,
        "budget_names": BUDGETS,
        "glossary": glossary(summary),
        "labels": {name: beside(name, runs) for part in (*GLOSSARY.values(), OF_DIALOGUES) for name in part},
    }
    html = env.get_template("report.html.j2").render(
        **shared,
        forest=forest(summary["comparisons"]),
        prediction=prediction(selecting(summary)),
        turn_values=turn_values(ledgers, MOVE_NAMES),
        transfer_figure=transfer_figure(summary["transfer"]),
        samples=samples(summary),
    )
    texts = {
        "report.json": json.dumps(summary, indent=1, allow_nan=False) + "\n",
        "report.md": env.get_template("report.md.j2").render(**shared),
        "report.html": html,
    }
    return [write_whole(run / name, text) for name, text in texts.items()]


def built(summary: Json) -> dict[str, Json]:
    """The conditions that have dialogues; the untrained base has none."""
    return {name: condition for name, condition in summary["conditions"].items() if "counts" in condition}


def selecting(summary: Json) -> dict[str, Json]:
    """The conditions that train on what selection keeps: for them alone its arithmetic is a prediction."""
    return {name: condition for name, condition in built(summary).items() if method_of(condition) == "sft"}


def matrix(summary: Json) -> dict[str, list[Json]]:
    """The condition x behaviour table by family: a cell per condition, tinted by its distance from the base."""
    conditions = summary["conditions"]
    present = list(dict.fromkeys(metric for c in conditions.values() for metric in c["metrics"]))
    made: dict[str, list[Json]] = {family: [] for family in [*GLOSSARY, "other"]}
    for metric in present:
        family = family_of(metric)
        rates = {name: condition["metrics"].get(metric) for name, condition in conditions.items()}
        base = (rates.get("base") or {}).get("value")
        cells = [_cell(rate, None if name == "base" else base) for name, rate in rates.items()]
        labels = beside(metric, labelling(summary))
        # Who asks for an exam of the literature wants to see all of it; `lost` has a table of its own.
        shown = metric in SHOWN or (family in EXAMS and family != "lost")
        made[family].append({"metric": metric, "shown": shown, "cells": cells, "labels": labels})
    return {family: rows for family, rows in made.items() if rows}


def family_of(metric: str) -> str:
    """The exam that a metric is of; what `collapse` and `agreement` both measure is by partner in `agreement` alone."""
    if metric.endswith(("@self", "@cross")) and entry(metric) in MOVABLE:
        return "agreement"
    return next((name for name, metrics in GLOSSARY.items() if entry(metric) in metrics), "other")


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


def labelling(summary: Json) -> list[ActsSettings]:
    """Who labelled the turns of each run's exams."""
    return [load(Path(run["path"]) / "config.yaml").acts for run in summary["runs"]]


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
        key = bool(dialogue.task.missing), kept(dialogue, experiment.conditions[dialogue.condition_name])
        chosen[key] = min(chosen.get(key, dialogue), dialogue, key=lambda d: d.id)
    return [chosen[key] for key in ((True, True), (True, False), (False, True)) if key in chosen]


def _sample(experiment: Experiment, shown: str, dialogue: Dialogue) -> Json:
    condition, task = experiment.conditions[dialogue.condition_name], dialogue.task
    views = {"student": view(task, condition, dialogue.turns, "student", experiment.student.system)}
    if condition.row.partner is not None:
        views["partner"] = view(task, condition, dialogue.turns, "partner", experiment.partner.system)
    return {
        "condition": shown,
        "task": task,
        "seed": dialogue.seed,
        "stop": dialogue.stop.replace("_", " "),
        "kept": kept(dialogue, condition),
        "right": is_correct(dialogue),
        "final": final_answer(dialogue),
        "views": views,
    }
