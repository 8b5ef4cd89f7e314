"""A society run as one page, and the same figures as JSON.

`society/report.html` opens without a network: the verdicts first, then for each group of settings the phase diagram,
the paper's first experiments, S(t) and E(t), the silos in two dimensions over time and, of a factual query, the
share of verifiers. `society/report.json` has every number of it.

    maieutic society configs/mirroring.yaml     # plays what is missing and writes them
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evals.report.rendering import environment
from evals.society import society_figures
from evals.society.paper_claims import PaperClaim, Sweep, claims, experiments, needed_for, smallest_q
from evals.society.repeats import MeasuredRepeat, by_setting, groups, measured, summary
from evals.society.silos import BEHAVIOURS
from evals.stats.intervals import Rate
from evals.stats.number_format import clean
from pipeline.core.files import write_whole
from pipeline.core.schema import Json

BAR = 0.05  # of runs that may end in a wrong single silo


def write_society_report(out: Path) -> Path:
    """Measure every repeat of the run directory `out` and write report.json and report.html into `out/society`.

    Returns the page's path. Raises ConfigError where no society has been played or a repeat's file is missing.
    """
    folder = out / "society"
    grouped = {name: _group(name, settings) for name, settings in groups(by_setting(measured(out))).items()}
    drawn = [_draw(folder, group) for group in grouped.values()]
    report = clean({"run": out.name, "groups": [group["report"] for group in grouped.values()]})
    write_whole(folder / "report.json", json.dumps(report, indent=1, allow_nan=False) + "\n")
    page = (
        environment()
        .get_template("society.html.j2")
        .render(
            report=report,
            drawn=drawn,
            behaviours=BEHAVIOURS,
            headline=headline(report),
            bar=BAR,
            needed=needed_for(BAR),
        )
    )
    return write_whole(folder / "report.html", page)


def headline(report: Json) -> str:
    """What the claims came to over all groups, in words; where wrong silos are commonest, which q keeps them off."""
    runs = sum(row["repeats"] for group in report["groups"] for row in group["settings"])
    parts = [f"{runs:,} societies"]
    if verdicts := [claim["verdict"] for group in report["groups"] for claim in group["claims"]]:
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("agreed", "not agreed", "undecided"))
        parts.append(f"claims: {counts}")
    if panels := [panel for group in report["groups"] for panel in group["verifiers"]]:
        worst = max(panels, key=lambda panel: panel["rows"][0]["wrong_single"]["value"])
        share, q = worst["rows"][0]["wrong_single"]["value"], worst["smallest"]
        kept = "no q is shown to keep it" if q is None else f"from q = {q:g} on it is"
        parts.append(f"at {worst['where']} a share of {share:.2f} end in a wrong single silo, {kept} below {BAR:g}")
    return "; ".join(parts if len(parts) > 1 else [*parts, "no sweep of k and p to hold a claim against"])


def _group(name: str, settings: Sequence[list[MeasuredRepeat]]) -> Json:
    """One group: its settings' numbers, its claims and experiments, and its q where agents may hold verifiers."""
    rows = [summary(setting) for setting in settings]
    sweep: Sweep = {(setting[0].of.k, setting[0].of.p): setting for setting in settings}
    if len(sweep) < len(settings):  # several q at one (k, p)
        sweep = {}
    moves = {"k", "p", "adapt"} & settings[0][0].of.varies.keys()  # so that no k or p is its whole story
    held: Sweep = {} if moves else sweep
    qs = {
        f"k = {k}, p = {p:g}": [row for row in rows if (row["setting"]["k"], row["setting"]["p"]) == (k, p)]
        for k, p in dict.fromkeys((row["setting"]["k"], row["setting"]["p"]) for row in rows if "right" in row)
    }
    # Where everybody always mirrors no item is ever passed on: a voter model, which may be another world.
    below_1 = {point: some for point, some in held.items() if point[1] < 1}
    if len({p for _, p in below_1}) < 2 or len(below_1) == len(held):
        below_1 = {}
    report = {
        "name": name,
        "settings": rows,
        "claims": [_plain(claim) for claim in (claims(held) if held else [])],
        "claims_below_1": [_plain(claim) for claim in (claims(below_1) if below_1 else [])],
        "experiments": [
            experiment._asdict() | {"change": {metric: rate._asdict() for metric, rate in experiment.change.items()}}
            for experiment in (experiments(held) if held else [])
        ],
        "verifiers": [
            {
                "where": where,
                "rows": some,
                **{
                    name: smallest_q({row["setting"]["q"]: Rate(**row[of]) for row in some}, BAR)
                    for name, of in (("smallest", "wrong_single"), ("smallest_by_largest", "wrong_largest"))
                },
                "repeats": min(row["repeats"] for row in some),
            }
            for where, some in qs.items()
            if len({row["setting"].get("q") for row in some}) > 1
        ],
    }
    return {"report": report, "played": settings, "sweep": sweep}


def _plain(claim: PaperClaim) -> Json:
    parts = [part._asdict() | {"rate": part.rate._asdict()} for part in claim.parts]
    return claim._asdict() | {"parts": parts}


def _draw(folder: Path, group: Json) -> Json:
    report, sweep = group["report"], group["sweep"]
    rows = {(row["setting"]["k"], row["setting"]["p"]): row for row in report["settings"]}
    whole = list(rows.values()) if sweep else []
    lines = [
        (varied["name"], varied["varied"], [rows[at["k"], at["p"]] for at in varied["rows"]])
        for varied in report["experiments"]
    ]
    panels = [(panel["where"], panel["rows"]) for panel in report["verifiers"]]
    return {
        "phases": society_figures.phases(whole) if len(whole) > 1 else "",
        "lines": society_figures.lines(lines) if lines else "",
        "curves": society_figures.curves(whole) if whole else "",
        "plane": society_figures.plane(_shown(folder, group["played"]), group["played"][0][0].of.topics),
        "verifiers": society_figures.verifiers(panels, BAR) if panels else "",
    }


def _shown(folder: Path, settings: Sequence[list[MeasuredRepeat]]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """The first repeat of the corners of the sweep over k and p, or over q where it is swept."""
    places = {(setting[0].of.k, setting[0].of.p, setting[0].of.q): setting[0].of for setting in settings}
    ends = [sorted({place[axis] or 0 for place in places}) for axis in range(3)]
    shown: list[tuple[str, np.ndarray, np.ndarray]] = []
    for (k, p, q), repeat in places.items():
        if all((value or 0) in (end[0], end[-1]) for value, end in zip((k, p, q), ends, strict=True)):
            with np.load(folder / f"{repeat.id}.npz") as arrays:
                name = f"k = {k}, p = {p:g}" + ("" if q is None else f"\nq = {q:g}")
                shown.append((name, arrays["flat"], arrays["silo"]))
    return shown[:8]
