"""The report's plots as inline SVG: text stays text, so a page weighs little and prints sharply."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evals.report.rendering import SCHEME
from evals.report.validity import REFUSED
from pipeline.core.schema import Json

# Not colours, but places for those of the page: `svg` puts the variable of its scheme (templates/scheme.css) at each.
INK, MUTED, LINE, ACCENT, SECOND, PAGE = "#000001", "#000002", "#000003", "#000004", "#000005", "#000006"
VARIABLES = {INK: "ink", MUTED: "muted", LINE: "line", ACCENT: "accent", SECOND: "warm", PAGE: "page"}
UP, DOWN, NOTHING = (31, 95, 168), (194, 87, 26), (128, 138, 150, 30)  # of a heat map's cells, on any page
FULLEST = 0.7  # of their colour, so that text stands out from them by 4.5 to 1 on a light page and on a dark one
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "maieutic",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "ytick.major.size": 0,
    "xtick.major.size": 3,
}


def forest(comparisons: list[Json]) -> str:
    """One line per contrast, the primary first: the difference a - b and its 95% interval; exploratory ones hollow."""
    rows = [row for row in comparisons if row["difference"] is not None]
    if not rows:
        return ""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 0.9 + 0.5 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=MUTED, linewidth=1, zorder=1)
        headlines = [row["primary"] and row["measured"] for row in rows]
        for y, (row, headline) in enumerate(zip(rows, headlines, strict=True)):
            colour = ACCENT if headline else MUTED if _exploratory(row) else INK
            if row["low"] is not None and row["high"] is not None:
                axes.plot(
                    [row["low"], row["high"]],
                    [y, y],
                    color=colour,
                    linewidth=3 if headline else 1.8,
                    solid_capstyle="butt",
                    zorder=2,
                )
            axes.plot(
                row["difference"],
                y,
                "D" if headline else "o",
                color=PAGE if _exploratory(row) else colour,
                markersize=8 if headline else 6,
                markeredgecolor=colour if _exploratory(row) else PAGE,
                zorder=3,
            )
        axes.set_yticks(range(len(rows)), [_of_contrast(row) for row in rows], fontsize=8.5)
        for tick, headline in zip(axes.get_yticklabels(), headlines, strict=True):
            tick.set_color(ACCENT if headline else INK)
        axes.set_ylim(len(rows) - 0.5, -0.6)
        axes.set_xlabel("difference, 95% interval")
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        return svg(figure)


def _exploratory(row: Json) -> bool:
    return not row["primary"] and row["family"] is None


def _of_contrast(row: Json) -> str:
    """In two lines, since both names may be long."""
    of_what = f"{row['a']} − {row['b']}\n{row['metric']}{'' if row['measured'] else f' ({REFUSED})'}"
    return f"{of_what} (exploratory)" if _exploratory(row) else of_what


def prediction(conditions: dict[str, Json]) -> str:
    """Per condition: how often the student asked before, what selection alone predicts, what was observed."""
    rows = [(name, entry["predicted"]) for name, entry in conditions.items() if entry.get("predicted", {}).get("n")]
    if not rows:
        return ""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.2 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        labels = set()

        def mark(x: float | None, y: int, shape: str, label: str, **look: Any) -> None:
            if x is not None:
                axes.plot(x, y, shape, label="" if label in labels else label, **look)
                labels.add(label)

        for y, (_, entry) in enumerate(rows):
            seen = entry["observed"] or {"value": None, "low": None, "high": None}
            if seen["value"] is not None and entry["ask_rate"] is not None:
                axes.plot([entry["ask_rate"], seen["value"]], [y, y], color=LINE, linewidth=1, zorder=1)
            if seen["low"] is not None and seen["high"] is not None:
                axes.plot([seen["low"], seen["high"]], [y, y], color=ACCENT, linewidth=2.4, zorder=2)
            mark(entry["prior"], y, "|", "before training", color=MUTED, markersize=13, markeredgewidth=1.8)
            mark(
                entry["ask_rate"],
                y,
                "D",
                "predicted by selection alone",
                color=PAGE,
                markeredgecolor=SECOND,
                markersize=7,
                markeredgewidth=1.8,
                zorder=3,
            )
            mark(
                seen["value"],
                y,
                "o",
                "observed (exam, 95% interval)",
                color=ACCENT,
                markersize=7,
                markeredgecolor=PAGE,
                zorder=4,
            )
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.6)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("share of underspecified tasks on which the first student turn asks for a missing fact")
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper left", ncols=3, frameon=False, labelcolor=INK, handletextpad=0.3)
        return svg(figure)


def turn_values_figure(turn_values: dict[str, Json], moves: dict[str, str]) -> str:
    """The value of each kind of first turn, a panel for each specification, a block of lines for each condition.

    Colour is the sign of the advantage, where its interval leaves out 0; the dashed line of a block is the mean
    value of all turns sampled there.
    """
    first = {
        (name, row["specification"], row["move"]): row
        for name, of_turns in turn_values.items()
        for row in of_turns["values"]
        if row["at"] == 0
    }
    panels = [spec for spec in ("underspecified", "sharded", "full") if any(key[1] == spec for key in first)]
    if not panels:
        return ""
    lines: list[tuple[str, str]] = []
    for name in turn_values:
        made = [move for move in moves if any((name, spec, move) in first for spec in panels)]
        lines += [(name, move) for move in ["", *made]]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.3 + 0.27 * len(lines)), layout="constrained")
        columns = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for axes, spec in zip(columns, panels, strict=True):
            right = axes.get_yaxis_transform()
            for y, (name, move) in enumerate(lines):
                if not move:
                    block = [i for i, line in enumerate(lines) if line[0] == name]
                    there = [row for key, row in first.items() if key[:2] == (name, spec)]
                    mean = sum(row["share"] * row["value"]["value"] for row in there)
                    if there:
                        axes.plot(
                            [mean, mean], [y + 0.4, block[-1] + 0.4], color=MUTED, linewidth=1, linestyle=(0, (3, 2))
                        )
                elif row := first.get((name, spec, move)):
                    _value_of(axes, y, row)
                    text = f"{100 * row['share']:.0f}%, n {row['value']['n']:,}"
                    axes.text(1.02, y, text, transform=right, va="center", color=MUTED, fontsize=8.5)
            axes.set_title(f"{spec} tasks", loc="left", fontsize=10.5, color=INK)
            axes.grid(axis="x", color=LINE, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.set_xlabel("value of a first turn, 95% interval")
        columns[0].set_yticks(range(len(lines)), [moves[move] if move else name for name, move in lines])
        for tick, (_, move) in zip(columns[0].get_yticklabels(), lines, strict=True):
            tick.set_fontweight("normal" if move else "bold")
        columns[0].set_ylim(len(lines) - 0.4, -0.6)
        keys: list[Any] = [
            Line2D([], [], marker="o", color=colour, linestyle="", markersize=7, markeredgecolor=PAGE, label=label)
            for colour, label in (
                (ACCENT, "better than its siblings"),
                (SECOND, "worse"),
                (MUTED, "not shown to differ"),
            )
        ]
        keys.append(Line2D([], [], color=MUTED, linewidth=1, linestyle=(0, (3, 2)), label="mean of all turns"))
        figure.legend(handles=keys, loc="outside upper left", ncols=4, frameon=False, labelcolor=INK, handletextpad=0.3)
        return svg(figure)


def precision_recall(curves: dict[str, Json], points: dict[str, Json], names: dict[str, str]) -> str:
    """Scored detectors as curves, those that say yes or no as points (precision, recall); the baseline is grey."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axes = figure.subplots()
        for name, line in curves.items():
            axes.step(line["recall"], line["precision"], where="post", color=ACCENT, linewidth=2, label=names[name])
        shapes = iter(("s", "o", "D", "^", "v"))
        for name, point in points.items():
            colour = MUTED if name.startswith("naive") else SECOND
            at = point["recall"]["value"], point["precision"]["value"]
            if None not in at:
                look: Any = {"color": colour, "markersize": 8, "markeredgecolor": PAGE, "zorder": 3}
                axes.plot(*at, next(shapes), label=names[name], linestyle="", **look)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.03)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        axes.grid(color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(loc="lower left", frameon=False, labelcolor=INK)
        return svg(figure)


def _value_of(axes: Axes, y: int, row: Json) -> None:
    value, advantage = row["value"], row["advantage"]
    low, high = ((advantage[end] or 0) for end in ("low", "high"))
    colour = ACCENT if low > 0 else SECOND if high < 0 else MUTED
    if value["low"] is not None and value["high"] is not None:
        axes.plot([value["low"], value["high"]], [y, y], color=colour, linewidth=2, solid_capstyle="butt", zorder=2)
    axes.plot(value["value"], y, "o", color=colour, markersize=7, markeredgecolor=PAGE, zorder=3)


def as_table(axes: Axes, columns: Sequence[str], rows: Sequence[str], fontsize: float) -> None:
    """A heat map's axes as a table: headings above, white space between cells, no frame."""
    axes.set_xticks(range(len(columns)), columns, fontsize=fontsize, color=INK)
    axes.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks([x + 0.5 for x in range(len(columns) - 1)], minor=True)
    axes.set_yticks([y + 0.5 for y in range(len(rows) - 1)], minor=True)
    axes.grid(which="minor", color=LINE, linewidth=1)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)


def tinted(values: Sequence[Sequence[float | None]], strongest: float) -> np.ndarray:
    """Differences as the cells of a heat map, [rows, columns, 4] bytes: blue above 0, orange below, and the less of it
    the more the page shows through."""
    cells = [[NOTHING if value is None else _tint(value / strongest) for value in row] for row in values]
    return np.array(cells, dtype=np.uint8)


def _tint(share: float) -> tuple[int, int, int, int]:
    return (*(UP if share > 0 else DOWN), round(255 * FULLEST * min(abs(share), 1.0)))


def svg(figure: Figure) -> str:
    """A figure as it is put into a page, in the page's colours."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = file.getvalue()
    text = re.sub("|".join(VARIABLES), lambda place: f"var(--{VARIABLES[place[0]]})", text)
    text = re.sub(r"font:([^;\"']*?)(\d+(?:\.\d+)?px)[^;\"]*", r"font: \2 system-ui, sans-serif", text)
    return re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1">', text[text.index("<svg") :])


def svg_file(drawn: str) -> str:
    """What `svg` has drawn as a file of its own, which brings the names and the colours that a page would have."""
    begins = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    colours = f"<style>{SCHEME.read_text(encoding='utf-8')}svg {{ background: var(--page) }}</style>"
    opened, rest = drawn.split(">", 1)
    return f"{opened.replace('<svg ', begins)}>{colours}{rest}\n"
