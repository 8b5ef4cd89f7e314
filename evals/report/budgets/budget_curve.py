"""The budget curve: performance against sampled and against trained tokens, and a ranking where intervals part.

python -m evals.report.budgets.budget_curve runs/methods [METRIC]     # also writes runs/methods/budget_curve.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich.console import Console
from rich.table import Table

from evals.exams.registry import catalog_of
from evals.report.budgets.budget_points import Above, Point, points, ranked, tables_of
from evals.report.figures import STYLE, svg, svg_file
from evals.stats.number_format import interval, number
from pipeline.core.errors import MaieuticError
from pipeline.core.files import write_whole
from pipeline.runs.directory import experiment_of, require

COLOURS = matplotlib.color_sequences["tab10"]


def table(made: Sequence[Point], metric: str) -> Table:
    """A line for each condition."""
    shown = Table("pool", "condition", "method", "budget", "steps", "sampled", "trained", metric, "n", box=None)
    for point in made:
        value = f"{number(point.rate.value)} ({interval(point.rate._asdict())})"
        shown.add_row(
            point.pool, point.condition_name, point.method, f"{point.budget:g}", f"{point.steps:,.0f}",
            f"{point.sampled:,.0f}", f"{point.trained:,.0f}", value, str(point.rate.n),
        )  # fmt: skip
    return shown


def in_words(found: Mapping[tuple[str, float], Sequence[Above]]) -> list[str]:
    """Who is above whom in each pool and at each budget; all others are not ranked."""
    lines = []
    for (pool, budget), pairs in found.items():
        where = f"{pool}, budget {budget:g}: "
        said = [
            f"{pair.difference.a} above {pair.difference.b} by {number(pair.difference.difference)} "
            f"({interval(pair.difference._asdict())}; Holm's p {pair.p_holm:.3f})"
            for pair in pairs
        ]
        lines.append(where + ("; ".join(said) if said else "no two students are told apart, so there is no ranking"))
    return lines


def curve(made: Sequence[Point], metric: str) -> Figure:
    """Two panels; conditions that differ in budget alone share a line. With 95% intervals, and no two of the first
    fifteen lines told apart by colour alone."""
    lines: dict[str, list[Point]] = {}
    for point in made:
        lines.setdefault(point.line, []).append(point)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        panels: tuple[Axes, Axes] = figure.subplots(1, 2, sharey=True)
        for i, (name, on_line) in enumerate(lines.items()):
            values = [point.rate.value for point in on_line]
            ends = [[p.rate.value - p.rate.low for p in on_line], [p.rate.high - p.rate.value for p in on_line]]
            for axes, tokens in zip(panels, (_sampled(on_line), _trained(on_line)), strict=True):
                axes.errorbar(
                    tokens, values, yerr=ends, markersize=4, linewidth=1, capsize=2, label=name,
                    marker="os^Dv"[i % 5], linestyle=("-", "--", ":")[i % 3], color=COLOURS[i % len(COLOURS)],
                )  # fmt: skip
        for axes, which in zip(panels, ("sampled", "trained"), strict=True):
            axes.set_xlabel(f"thousand tokens {which} for one student")
            axes.xaxis.set_major_locator(MaxNLocator(6))
            axes.xaxis.set_major_formatter(lambda tokens, _: f"{tokens / 1000:g}")
        panels[0].set_ylabel(metric)
        panels[1].legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def _sampled(on_line: Sequence[Point]) -> list[float]:
    return [point.sampled for point in on_line]


def _trained(on_line: Sequence[Point]) -> list[float]:
    return [point.trained for point in on_line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("metric", nargs="?", default="ask_skill")
    options = parser.parse_args()
    try:
        require(options.run)
        experiment = experiment_of(options.run)
        total = catalog_of([experiment]).signed_sum(options.metric)
    except MaieuticError as error:
        raise SystemExit(str(error)) from None
    tables = tables_of(experiment)
    made = points(experiment, tables, total)
    if not made:
        raise SystemExit(f"{options.run}: no student was trained and examined on {options.metric!r} yet: maieutic run")
    Console(width=160).print(table(made, options.metric))
    print(*in_words(ranked(made, tables, total)), sep="\n")
    picture = options.run / "budget_curve.svg"
    with matplotlib.rc_context(STYLE):  # which decides how letters are saved, too
        write_whole(picture, svg_file(svg(curve(made, options.metric))))
    print(picture)


if __name__ == "__main__":
    main()
