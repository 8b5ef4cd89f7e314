"""The figures of a society run, as inline SVG: phase diagram, curves, silos in two dimensions, share of verifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from evals.report.figures import ACCENT, INK, LINE, MUTED, PAGE, SECOND, STYLE, svg
from evals.society.silos import BEHAVIOURS
from pipeline.core.schema import Json

Array = np.ndarray
COLOURS: dict[str, str] = dict(zip(BEHAVIOURS, ("#1f5fa8", "#c2571a", "#e3b341", "#8b95a1"), strict=True))
SILOS = ("#1f5fa8", "#c2571a", "#2c7a4b", "#8e4a9e", "#c9a227", "#17879b", "#b3261e", "#7a5c3e", "#d67ba8", "#4b5a6b")
OTHER = "#c3c9d1"
DRAWN = 2000  # agents in a panel at most; the first ones, whose places say nothing of them


def spread(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the values, evenly spaced, with the first and the last."""
    if len(values) <= most:
        return list(values)
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]


def phases(rows: Sequence[Json]) -> str:
    """A field for each (k, p), filled by the share of runs of each kind; the number is the share of the commonest."""
    ks, ps = (sorted({row["setting"][axis] for row in rows}) for axis in ("k", "p"))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.3 + 0.5 * len(ps)), layout="constrained")
        axes = figure.subplots()
        for row in rows:
            x, y = ks.index(row["setting"]["k"]), ps.index(row["setting"]["p"])
            _field(axes, x, y, {name: row["behaviour"][name]["value"] for name in BEHAVIOURS})
        axes.set_xticks(range(len(ks)), [str(k) for k in ks], color=INK)
        axes.set_yticks(range(len(ps)), [f"{p:g}" for p in ps])
        axes.set_xlim(-0.5, len(ks) - 0.5)
        axes.set_ylim(-0.5, len(ps) - 0.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("k, neighbours whom an agent may talk to")
        axes.set_ylabel("p, share of mirroring")
        keys = [Rectangle((0, 0), 1, 1, color=COLOURS[name], label=name) for name in BEHAVIOURS]
        figure.legend(handles=keys, loc="outside upper left", ncols=4, frameon=False, labelcolor=INK)
        return svg(figure)


def _field(axes: Axes, x: int, y: int, shares: Mapping[str, float]) -> None:
    left = x - 0.47
    for name, value in shares.items():
        axes.add_patch(Rectangle((left, y - 0.45), 0.94 * value, 0.9, facecolor=COLOURS[name], linewidth=0))
        left += 0.94 * value
    best = max(shares, key=lambda name: shares[name])
    start = x - 0.47 + 0.94 * sum(list(shares.values())[: list(shares).index(best)])
    colour = "black" if best in ("decaying", "single silo") else "white"
    at = start + 0.47 * shares[best]
    axes.text(at, y, f"{100 * shares[best]:.0f}%", ha="center", va="center", color=colour, fontsize=9)


def curves(rows: Sequence[Json]) -> str:
    """S(t) above E(t), a column for each k, a line for each p: means over repeats with 95% bands."""
    by_setting = {(row["setting"]["k"], row["setting"]["p"]): row["curves"] for row in rows}
    ks = spread(sorted({k for k, _ in by_setting}), 5)
    ps = spread(sorted({p for _, p in by_setting}), 5)
    shades = matplotlib.colormaps["viridis"](np.linspace(0.25, 0.85, len(ps)))  # on a light page and on a dark one
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.1 + 1.75 * max(len(ks), 3), 4.6), layout="constrained")
        grid = figure.subplots(2, len(ks), sharex=True, sharey="row", squeeze=False)
        for column, k in enumerate(ks):
            for p, shade in zip(ps, shades, strict=True):
                for axes, name, first in ((grid[0, column], "S", 1), (grid[1, column], "E", 0)):
                    if (k, p) in by_setting:
                        _band(axes, by_setting[k, p][name], first, shade)
            grid[0, column].set_title(f"k = {k}", fontsize=10, color=INK)
            grid[1, column].set_xlabel("step t")
        for axes in grid.flat:
            axes.grid(axis="y", color=LINE, linewidth=0.6)
            axes.set_axisbelow(True)
        grid[0, 0].set_ylim(-0.03, 1.03)
        grid[1, 0].set_ylim(bottom=-0.05)
        grid[0, 0].set_ylabel("S(t), share that stays")
        grid[1, 0].set_ylabel("E(t), nats")
        keys = [
            Line2D([], [], color=shade, linewidth=2, label=f"p = {p:g}") for p, shade in zip(ps, shades, strict=True)
        ]
        figure.legend(handles=keys, loc="outside upper left", ncols=len(ps), frameon=False, labelcolor=INK)
        return svg(figure)


def _band(axes: Axes, curve: Mapping[str, Sequence[float]], first: int, colour: Any) -> None:
    steps = np.arange(first, first + len(curve["mean"]))
    axes.fill_between(steps, curve["low"], curve["high"], color=colour, alpha=0.18, linewidth=0)
    axes.plot(steps, curve["mean"], color=colour, linewidth=1.6)


def plane(shown: Sequence[tuple[str, Array, Array]], topics: Sequence[str]) -> str:
    """Silos over time: a row for each (name, flat [T + 1, n, 2], silo [T + 1, n]), a column for each of five steps.

    A disc is the agents at one place, its area their number, its colour their silo: the ten that have most agents
    over all rows, others are grey. `topics` names silos by id.
    """
    ids, counts = np.unique(np.concatenate([silo.ravel() for _, _, silo in shown]), return_counts=True)
    colour = dict(zip(sorted(ids[np.argsort(-counts, kind="stable")][: len(SILOS)].tolist()), SILOS, strict=False))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.4, 0.7 + 1.9 * len(shown)), dpi=200, layout="constrained")  # dpi: of the discs
        grid = figure.subplots(len(shown), 5, squeeze=False)
        for line, (name, flat, silo) in zip(grid, shown, strict=True):
            last = len(silo) - 1
            low, high = flat.reshape(-1, 2).min(axis=0), flat.reshape(-1, 2).max(axis=0)
            room = 0.1 * np.maximum(high - low, 1e-6)
            for axes, step in zip(line, (0, last // 8, last // 4, last // 2, last), strict=True):
                _agents(axes, flat[step, :DRAWN], silo[step, :DRAWN], colour)
                axes.set_xlim(low[0] - room[0], high[0] + room[0])
                axes.set_ylim(low[1] - room[1], high[1] + room[1])
                axes.set_xticks([])
                axes.set_yticks([])
                axes.spines[:].set_visible(True)
                count = len(np.unique(silo[step]))
                axes.set_title(f"t = {step}, {count} silo{'s' if count > 1 else ''}", fontsize=9, color=MUTED)
            line[0].set_ylabel(name, color=INK)
        named = [(face, topics[silo_id]) for silo_id, face in colour.items() if silo_id < len(topics)]
        keys = [Line2D([], [], marker="o", linestyle="", color=face, label=topic) for face, topic in named]
        if keys:
            figure.legend(handles=keys, loc="outside upper left", ncols=6, frameon=False, labelcolor=INK)
        return svg(figure)


def _agents(axes: Axes, flat: Array, silo: Array, colour: Mapping[int, str]) -> None:
    places, count = np.unique(np.column_stack([flat.round(4), silo]), axis=0, return_counts=True)
    size = 14 + 240 * count / len(flat)
    faces = [colour.get(int(silo_id), OTHER) for silo_id in places[:, 2]]
    # As an image: as shapes, the discs of a large society would weigh megabytes.
    look: Any = {"alpha": 0.8, "edgecolors": "white", "linewidths": 0.6, "rasterized": True}
    axes.scatter(places[:, 0], places[:, 1], s=size, c=faces, **look)


def verifiers(panels: Sequence[tuple[str, Sequence[Json]]], bar: float) -> str:
    """A panel for each (k, p): against the share q of verifiers, right answers and runs that end wrong."""
    marks = (
        ("right", "agents right at the end", ACCENT, "o"),
        ("wrong_largest", "runs whose largest silo is wrong", MUTED, "s"),
        ("wrong_single", "runs that end in a wrong single silo", SECOND, "D"),
    )
    columns = min(len(panels), 4)
    height = -(-len(panels) // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.4 if columns > 1 else 6, 0.7 + 2.5 * height), layout="constrained")
        grid = figure.subplots(height, columns, sharex=True, sharey=True, squeeze=False)
        for axes, (name, rows) in zip(grid.flat, panels, strict=False):
            q = [row["setting"]["q"] for row in rows]
            axes.axhline(bar, color=MUTED, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
            for metric, label, colour, shape in marks:
                value, low, high = ([row[metric][end] for row in rows] for end in ("value", "low", "high"))
                axes.fill_between(q, low, high, color=colour, alpha=0.13, linewidth=0)
                look: Any = {"color": colour, "linewidth": 1.4, "markersize": 5, "markeredgecolor": PAGE}
                axes.plot(q, value, shape + "-", label=label, **look)
            axes.set_title(name, fontsize=10, color=INK)
            axes.grid(axis="y", color=LINE, linewidth=0.6)
            axes.set_axisbelow(True)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        grid[0, 0].set_ylim(-0.02, 1.02)
        figure.supxlabel("q, share of agents that hold a verifier", fontsize=10, color=MUTED)
        figure.supylabel("share", fontsize=10, color=MUTED)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper left", ncols=3 if columns > 1 else 1, frameon=False, labelcolor=INK
        )
        return svg(figure)


def lines(experiments: Sequence[tuple[str, str, Sequence[Json]]]) -> str:
    """A column for each (name, varied, settings in order): S above E, means over repeats with 95% intervals."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 3.7 * len(experiments), 4.2), layout="constrained")
        grid = figure.subplots(2, len(experiments), sharex="col", sharey="row", squeeze=False)
        for column, (name, varied, rows) in enumerate(experiments):
            for axes, metric in zip(grid[:, column], ("S", "E"), strict=True):
                value, low, high = (np.array([row[metric][end] for row in rows]) for end in ("value", "low", "high"))
                x = range(len(rows))
                axes.vlines(x, low, high, color=ACCENT, linewidth=2)
                axes.plot(x, value, "o-", color=ACCENT, linewidth=0.8, markeredgecolor=PAGE, markersize=6)
                axes.set_xticks(x, [f"{row['setting'][varied]:g}" for row in rows])
                axes.grid(axis="y", color=LINE, linewidth=0.6)
                axes.set_axisbelow(True)
            grid[0, column].set_title(name, fontsize=10, color=INK)
            grid[1, column].set_xlabel(varied)
        grid[0, 0].set_ylim(-0.03, 1.03)
        grid[0, 0].set_ylabel("mean S, long run")
        grid[1, 0].set_ylabel("mean E at the end, nats")
        grid[1, 0].set_ylim(bottom=-0.05)
        return svg(figure)
