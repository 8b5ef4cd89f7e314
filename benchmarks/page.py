"""Make docs/benchmarks.md and its picture from benchmarks/results.json: each figure beside its limit or its peer.

A ratio within one run is ours, and hardly changes from one machine to another. Seconds are the machine's: the page has
them apart.

    python -m benchmarks.page
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from jinja2 import Template
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results import Found, recorded, when

TEXT = Path(__file__).with_name("page.md.j2")
PAGE = Path(__file__).parent.parent / "docs/benchmarks.md"
PICTURE = PAGE.with_suffix(".svg")

CLIENTS = {"openai": "a loop over the OpenAI SDK", "verifiers": "verifiers", "inspect_ai": "inspect_ai"}
STAGES = ("build", "resume", "export", "compare", "audit")
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "maieutic", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.spines.left": False, "ytick.major.size": 0,
}  # fmt: skip
MARKS = "os^Dv"


class Shown(NamedTuple):
    """One figure of `benchmarks/results.json`, what it is, and the bar that was set for it."""

    benchmark: str
    entry: str
    key: str
    what: str
    bar: float | None = None


SHARES = (("64", 0.97), ("256", 0.96), ("1024", 0.93))  # dialogues at a time, and the share that was wanted
UNLIKE = "all turns unlike"
LIMITS = (
    *(
        Shown("limit", c, "share", f"dialogues over HTTP, {c} at a time: of what the server allows", bar)
        for c, bar in SHARES
    ),
    *(
        Shown("limit", f"{c} unlike", "share", f"the same, {c} at a time, {UNLIKE}: of the same", bar)
        for c, bar in SHARES
    ),
    Shown("limit", "1024", "least_share", "the same, 1024 at a time: the least of three runs"),
    Shown("peers", "1024 ours", "share", "the same, 1024 at a time, in the peers' run, of one wave and not four"),
    *(
        Shown("limit", c, "bare_share", f"a bare aiohttp loop, {c} at a time: of the same")
        for c in ("64", "256", "1024")
    ),
    Shown("raw_vllm", "dialogues", "share", "dialogues on vLLM: of its own flat batch, tokens a second"),
    *(
        Shown(
            "engine", f"{base} {rows}", f"{work} share of {limit}", f"engine, {base}, {rows} rows: {work}, {said}", bar
        )
        for base, rows in (("embedded", 16), ("embedded", 64), ("embedded", 256), ("smollm2", 64))
        for work, limit, said, bar in (
            ("prefill", "products", "of the matrix products' rate", 0.5),
            ("decode", "products", "of the matrix products' rate", 0.5),
            ("decode", "with attention", "of the matrix products' rate, attention's among them", None),
        )
    ),
    Shown("utilisation", "2 cores", "utilisation", "a whole run: of the time of both cores"),
    *(
        Shown("cluster", f"{n} workers", "efficiency", f"Ray, workers: {n}, of that many builds without it")
        for n in (1, 2)
    ),
)
PEERS = (
    *(
        Shown(
            "peers",
            f"{c} {peer}",
            "times_ours",
            f"{said}, {c} at a time: its time by ours",
            bar if c == "256" else None,
        )
        for c in ("64", "256", "1024")
        for (peer, said), bar in zip(CLIENTS.items(), (1.68, 1.50, 4.82), strict=True)
    ),
    *(
        Shown("peers", f"{c} {peer}", "cpu_times_ours", f"{said}, {c} at a time: its CPU by ours", bar)
        for c in ("64", "256", "1024")
        for (peer, said), bar in zip(CLIENTS.items(), (6.0, 5.0, 20.0), strict=True)
    ),
    Shown(
        "training",
        "maieutic train",
        "loop_ratio",
        "training the embedded base: tokens a CPU second by a bare SFTTrainer's",
        1.0,
    ),
    Shown(
        "training on lookup_smollm2",
        "maieutic train",
        "loop_ratio",
        "training SmolLM2: the same, for 4 or 6 steps",
        1.0,
    ),
    Shown(
        "grpo on embedded",
        "maieutic train",
        "loop_ratio",
        "GRPO, the embedded base: sampled tokens a CPU second by a bare GRPOTrainer's",
        1.0,
    ),
    Shown("grpo on smollm2", "maieutic train", "loop_ratio", "GRPO, SmolLM2: the same, for 4 steps, nothing right"),
    *(
        Shown(benchmark, "maieutic train", key, f"{said}: {what}")
        for benchmark, said in (
            ("training", "training the embedded base"),
            ("training on lookup_smollm2", "training SmolLM2"),
        )
        for key, what in (
            ("command_ratio", "the whole command, CPU seconds of the bare one by ours"),
            ("clock_ratio", "the same by the clock"),
        )
    ),
)
OURS = (
    *(
        Shown(
            "engine",
            f"{base} {rows}",
            f"{work} times as fast as vllm",
            f"engine, {base}, {rows} rows: {work}, tokens a CPU second by vLLM's",
        )
        for base, rows in (("embedded", 16), ("embedded", 64), ("embedded", 256), ("smollm2", 64))
        for work in ("prefill", "decode")
    ),
    *(
        Shown("limit", c, "cpu_times_bare", f"client CPU a turn, {c} at a time: ours by a bare aiohttp loop's", 2.5)
        for c in ("64", "256", "1024")
    ),
    *(
        Shown("limit", f"{c} unlike", "cpu_times_bare", f"the same, {c} at a time, {UNLIKE}", 2.5)
        for c in ("64", "256", "1024")
    ),
    Shown("reading", "semantic", "ratio", "reading a turn: ours by embedding it with sentence-transformers"),
    Shown("sandbox", "ratio", "mean", "verdicts of programs a second: contained by not contained"),
)
# Of the machine that they were measured on.
OWN = (
    *(
        Shown("limit", c, key, f"{who}, {c} at a time, ms")
        for c in ("64", "256", "1024")
        for key, who in (
            ("cpu_ms_per_turn", "client CPU a turn"),
            ("bare_cpu_ms_per_turn", "a bare aiohttp loop's"),
        )
    ),
    *(
        Shown("view", what, "median_ms", f"`maieutic view` on 1e5 dialogues: {what}, ms")
        for what in ("first page", "filtered", "filtered by an act", "searched", "two conditions")
    ),
    Shown("view", "command", "indexed_s", "its index, made once, s"),
    *(
        Shown(
            "engine",
            f"{base} 64",
            f"{work} tokens_per_s",
            f"engine, {base}, 64 rows on one core: {work}, tokens a second",
        )
        for base in ("embedded", "smollm2")
        for work in ("prefill", "decode")
    ),
    Shown("cluster", "2 workers", "start_s", "Ray and two workers: seconds to start and to end"),
    Shown("reading", "semantic", "ms_a_turn", "reading a turn, ms"),
    Shown("training", "maieutic train", "tokens_per_s", "training the embedded base, tokens a second"),
    Shown("training on lookup_smollm2", "maieutic train", "tokens_per_s", "training SmolLM2, tokens a second"),
    Shown("grpo on embedded", "maieutic train", "tokens_per_s", "GRPO, the embedded base: sampled tokens a second"),
)


def page() -> str:
    """The page as it should stand, of what is recorded."""
    text = Template(TEXT.read_text(encoding="utf-8"), trim_blocks=True, keep_trailing_newline=True)
    return text.render(
        limits=table(LIMITS),
        peers=table(PEERS),
        ours=table(OURS),
        own=table(OWN),
        growth=growth(),
        machines="; ".join(machines()),
        when=measured_when(),
    )


def machines() -> list[str]:
    """On which kinds of machine something was measured."""
    return sorted({machine for of in recorded().values() for machine in of})


def measured_when() -> str:
    """A line for each machine: day and commit of each benchmark that has them."""
    lines = []
    for machine, of in when().items():
        days: dict[str, list[str]] = {}
        for benchmark, day in of.items():
            days.setdefault(day, []).append(benchmark)
        lines.append(f"- {machine}: " + "; ".join(f"{', '.join(names)} ({day})" for day, names in days.items()))
    return "\n".join(lines)


def figure_of(shown: Shown, machine: str) -> float | None:
    return recorded().get(shown.benchmark, {}).get(machine, {}).get(shown.entry, {}).get(shown.key)


def measured(rows: Sequence[Shown]) -> list[Shown]:
    """Those that have a figure of any machine."""
    return [row for row in rows if any(figure_of(row, machine) is not None for machine in machines())]


def table(rows: Sequence[Shown]) -> str:
    """A row for each figure, a column for each machine that has one of them."""
    having = [each for each in machines() if any(figure_of(row, each) is not None for row in rows)]
    lines = ["| | " + " | ".join(having) + " | bar |", "|---|" + "--:|" * (len(having) + 1)]
    for row in measured(rows):
        found = [figure_of(row, each) for each in having]
        cells = ["–" if value is None else f"{value:.3g}" for value in found]
        lines.append(f"| {row.what} | " + " | ".join(cells) + f" | {'' if row.bar is None else f'{row.bar:g}'} |")
    return "\n".join(lines)


def growth() -> str:
    """By machine, stage and number of dialogues: seconds of the CPU, what each further dialogue took, and memory."""
    parts = []
    for machine, found in recorded().get("growth", {}).items():
        head = "| stage | dialogues | CPU, s | each further, ms | peak, MiB |"
        lines = [f"{machine}:", "", head, "|---|--:|--:|--:|--:|"]
        lines += [line for stage in STAGES for line in grown(stage, found)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def grown(stage: str, found: Found) -> list[str]:
    sizes = sorted(int(entry.split()[1]) for entry in found if entry.split()[0] == stage)
    lines = []
    for before, size in zip([None, *sizes], sizes, strict=False):
        row, further = found[f"{stage} {size}"], "–"
        if before is not None:
            further = f"{1000 * (row['cpu_s'] - found[f'{stage} {before}']['cpu_s']) / (size - before):.2f}"
        lines.append(f"| {stage} | {size:,} | {row['cpu_s']:g} | {further} | {row['peak_mib']:g} |")
    return lines


def picture() -> Figure:
    """Shares of a limit, and ratios to peers; a mark for each machine, a stroke at each bar."""
    groups = (LIMITS, "share of the limit"), (PEERS, "times ours (training: ours by the bare trainer's)")
    with matplotlib.rc_context(STYLE):
        counts = [len(measured(rows)) for rows, _ in groups]
        figure = Figure(figsize=(9.6, 1.6 + 0.34 * sum(counts)), layout="constrained")
        both = figure.subplots(2, 1, height_ratios=counts)
        for axes, (rows, label) in zip(both, groups, strict=True):
            draw(axes, rows)
            axes.set_xlabel(label)
        both[0].set_xlim(0, 1.02)
        both[1].set_xscale("log")
        both[1].set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        figure.legend(*both[1].get_legend_handles_labels(), loc="outside upper left", frameon=False)
    return figure


def draw(axes: Axes, rows: Sequence[Shown]) -> None:
    rows = measured(rows)
    for mark, machine in zip(MARKS, machines(), strict=False):
        found = [(value, y) for y, row in enumerate(rows) if (value := figure_of(row, machine)) is not None]
        axes.plot(*zip(*found, strict=True), mark, label=machine, markersize=6, alpha=0.8) if found else None
    for y, row in enumerate(rows):
        if row.bar is not None:
            axes.plot([row.bar, row.bar], [y - 0.35, y + 0.35], color="#9ca3af", linewidth=2)
    axes.set_yticks(range(len(rows)), [row.what for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x", color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    with matplotlib.rc_context(STYLE):
        picture().savefig(PICTURE, metadata={"Date": None})
