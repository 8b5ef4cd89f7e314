"""The audit for people and for programs: audit.html (one offline file), audit.json, and the table of a terminal."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from evals.audit.audited_talks import Material
from evals.audit.finding import Check, Finding, plain, untested
from evals.report.rendering import environment
from evals.stats.intervals import Rate
from evals.stats.number_format import clean
from pipeline.core.files import write_whole

COLOURS = {"pass": "green", "fail": "red", "not testable": "bright_black"}
# What of a description a check cannot do without, where it is somebody's dataset.
NEEDS = {
    "question": ("knowledge", "leak", "luck", "public answer", "contamination", "wording"),
    "answer": ("knowledge", "partner", "leak", "luck", "public answer", "wording"),
    "partition": ("partner",),
    "split": ("contamination",),
    "learn": ("masks",),
    "condition_name": ("balance",),
}
LONG = 6  # findings of a check that are shown without being folded


def write(material: Material, checks: list[Check]) -> list[Path]:
    """Both files, into `material.out`."""
    summary = {
        "name": material.name,
        "source": material.source,
        "talks": len(material.talks),
        "bad_rows": len(material.bad),
        "settings": material.settings.model_dump(mode="json"),
        "checks": [plain(check) for check in checks],
    }
    page, data = material.out / "audit.html", material.out / "audit.json"
    write_whole(data, json.dumps(clean(summary), indent=1, ensure_ascii=False), errors="replace")
    write_whole(page, _html(material, checks), errors="replace")
    return [page, data]


def _html(material: Material, checks: list[Check]) -> str:
    env = environment()
    env.filters.update(number=three_digits, interval=interval, curve=curve)
    counts = {verdict: sum(check.verdict == verdict for check in checks) for verdict in COLOURS}
    return env.get_template("audit.html.j2").render(
        material=material,
        checks=checks,
        counts=counts,
        parties=_parties(material),
        headline=headline(checks),
        long=LONG,
    )


def _parties(material: Material) -> list[tuple[str, int]]:
    turns = Counter(turn.party for talk in material.talks for turn in talk.turns)
    return [("student turns", turns["student"]), ("partner turns", turns["partner"])]


def headline(checks: list[Check]) -> str:
    """What failed, in one line."""
    red = [check.name for check in checks if check.verdict == "fail"]
    tested = sum(check.verdict != "not testable" for check in checks)
    made = f"{tested} of {len(checks)} checks could be made"
    if not red:
        return f"{made}; none of them failed." if tested else f"{made}."
    return f"{made}; {len(red)} of them failed: {', '.join(red)}."


def unsaid(material: Material, checks: list[Check]) -> str:
    """The keys of a description that would let more checks be made, and which; empty where there is none."""
    if material.experiment:
        return ""
    idle = [check.name for check in checks if check.verdict == "not testable"]
    silent = {key: [name for name in names if name in idle] for key, names in NEEDS.items() if not _set(material, key)}
    asked = "; ".join(f"{key} ({', '.join(names)})" for key, names in silent.items() if names)
    if not asked:
        return ""
    return (
        f"Not testable: {', '.join(idle)}. What the rows hold for these keys would make more of them: {asked}. "
        "As in --set 'answer=\"{gold}\"' where the rows have a field gold; docs/config.md has all keys."
    )


def _set(material: Material, key: str) -> bool:
    if key == "split":
        return len({talk.split for talk in material.talks}) > 1
    return any(getattr(talk, key) for talk in material.talks)


def table(checks: list[Check]) -> Table:
    """A row for each check: its worst finding. In 80 columns the last column alone is broken."""
    shown = Table("check", "verdict", "value (95%)", "n", "bar", "worst finding", box=None, padding=(0, 1, 0, 0))
    for check in checks:
        finding = worst(check)
        rate, bar = finding.rate, "–" if finding.bar is None else f"{finding.bar:.3g}"
        figures = [f"{three_digits(rate.value)} ({interval(rate)})", str(rate.n)] if rate else ["–", "–"]
        found = finding.what if check.verdict != "pass" or not rate or rate.value else "none"
        shown.add_row(check.name, f"[{COLOURS[check.verdict]}]{check.verdict}[/]", *figures, bar, escape(found))
    for column in shown.columns[:-1]:
        column.no_wrap = True
    return shown


def worst(check: Check) -> Finding:
    """Of the findings that have the check's verdict the one with the largest figure; of none that there is none."""
    own = [finding for finding in check.findings if finding.verdict == check.verdict]
    return max(
        own,
        key=lambda finding: finding.rate.value if finding.rate and finding.rate.n else -1.0,
        default=untested(check.name, "nothing to look at"),
    )


def three_digits(value: float) -> str:
    """A figure of any size, a share or a count of tokens; a dash where there is none."""
    if value != value:
        return "–"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:#.3g}"


def interval(rate: Rate) -> str:
    """A rate's 95% interval, a dash where it has none."""
    return "–" if rate.low != rate.low else f"{three_digits(rate.low)} to {three_digits(rate.high)}"


def curve(finding: Finding) -> str:
    """The share of talks without a mention by partner turn, with its interval, as inline SVG."""
    # Heavy, and an audit without leaks does without.
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from evals.report.figures import ACCENT, STYLE, svg

    turns = [0, *(point[0] for point in finding.curve)]
    lines: list[list[float]] = [[1.0, *(float(point[k]) for point in finding.curve)] for k in (1, 2, 3)]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 1.9), layout="constrained")
        condition = figure.add_subplot()
        condition.step(turns, lines[0], where="post", color=ACCENT)
        condition.fill_between(turns, lines[1], lines[2], step="post", color=ACCENT, alpha=0.15, linewidth=0)
        condition.set(xlabel="partner turn", ylabel="not yet said", ylim=(0, 1.02), xlim=(0, turns[-1]))
        condition.xaxis.set_major_locator(MaxNLocator(integer=True))
        return svg(figure)
