"""The page of the shape table: the null, the primary contrasts, the figure, and what selection explains of each cell.

    python -m evals.report.shapes.shape_page runs/shapes docs/results/shapes.md --shuffled runs/shapes-shuffled

Beside the page lies its figure, with the ending .svg. Figures are those of the run's report.json (`maieutic compare`).
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Literal

from evals.report.figures import svg_file
from evals.report.rendering import environment
from evals.report.shapes.shape_figure import KEY, LEFT, STANDS, marked, shape_figure
from evals.report.shapes.shape_table import CONTROLS, MATCHED, WITHOUT_SELECTION
from evals.stats.number_format import interval, number
from evals.stats.verdicts import Verdict, in_words, verdict
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole
from pipeline.core.schema import Json
from pipeline.runs.directory import experiment_of
from pipeline.runs.student_files import said_files

# Of each primary contrast, by its metric: on which side of 0 the claim has it.
DIRECTIONS: dict[str, Literal[1, -1]] = {"open_question": 1, "closed_question": 1, "repeated_attempt": -1}
UNTRIED: Json = {"difference": None, "low": None, "high": None}
# What follows a verdict, by what becomes of the contrast among yoked students.
WITHOUT_IT = {
    "stands": "",
    "falls": ", not shown with selection taken out",
    "turns": ", the other way with selection taken out",
    "not tried": ", not tried with selection taken out",
}
PARTNER = {"solo": "symmetric", "blind": "symmetric", "sham": "symmetric", "volunteer": "facts", "jigsaw": "facts"}


def page(run: Path, shuffled: Path | None, figure: str) -> str:
    """The page's text. `figure` is where its picture lies, seen from the page. Raises ConfigError."""
    report, experiment, by_lot = _report(run), experiment_of(run), _shuffled(shuffled)
    block = report["shapes"]
    env = environment()
    env.filters.update(marked=marked, span=_span)
    return env.get_template("shapes.md.j2").render(
        run=run.name,
        block=block,
        figure=figure,
        key=KEY,
        stands_mark=STANDS,
        left_mark=LEFT,
        controls={
            kind: said for kind, said in CONTROLS.items() if any(kind in of for of in block["controls"].values())
        },
        primary=[judged(row, same_by_lot(row, by_lot), yoked_twin(row, report)) for row in _primary(report)],
        counts={name: report["conditions"][name] for name in block["rows"]},
        predicted={name: report["conditions"][name]["predicted"] for name in block["rows"]},
        tries=tries(block, _block(shuffled)),
        shuffled=by_lot,
        dialogues={name: drawn(run, name) for name in block["rows"]},
        seeds=experiment.seeds,
        exam=experiment.tasks.exam,
        warmed_up=experiment.student.warmup is not None,
    )


def _report(run: Path) -> Json:
    file = run / "report.json"
    if not (run / "config.yaml").is_file():
        raise ConfigError(f"{run} is no run: it has no config.yaml. Expected a run directory, such as runs/shapes")
    if not file.is_file():
        raise ConfigError(f"{file} is not there: run `maieutic compare {run}` first")
    report: Json = json.loads(file.read_text(encoding="utf-8"))
    if not report.get("shapes"):
        raise ConfigError(f"{file} has no shape table: its config names no columns (compare.shapes)")
    return report


def _block(run: Path | None) -> Json | None:
    return _report(run)["shapes"] if run else None


def _primary(report: Json) -> list[Json]:
    """The primary contrast and those of the families whose names say that they are, then the same without selection."""
    return [row for row in report["comparisons"] if row["primary"] or row["family"]]


def judged(row: Json, by_lot: Json | None, yoked: Json | None = None) -> Json:
    """A contrast with its verdict. What students differ by whose rows were dealt by lot is no evidence for a shape, and
    what is gone among yoked students none for teaching.
    """
    direction = DIRECTIONS.get(row["metric"].partition("@")[0], 1)
    said, claimed = in_words(row, direction), "above 0" if direction > 0 else "below 0"
    if row["family"] and verdict(row) != "undecided" and not (row["p_holm"] or 0) < 0.05:
        said = f"undecided (Holm's p is {number(row['p_holm'])})"
    if by_lot and verdict(row) == verdict(by_lot) != "undecided":
        said = "undecided (by lot it leaves out 0 on the same side)"
    elif yoked and said in ("supported", "contradicted"):
        said += WITHOUT_IT[_became([verdict(yoked, 1 if row["difference"] > 0 else -1)])]
    return row | {"verdict": said, "claimed": claimed, "by_lot": by_lot}


def same_by_lot(row: Json, shuffled: Json | None) -> Json | None:
    """The same contrast between students whose rows were dealt by lot: no more than chance."""
    same = _named(shuffled["contrasts"] if shuffled else [], row["metric"], row["a"], row["b"])
    return same | {"value": same["difference"]} if same else None


def yoked_twin(row: Json, report: Json) -> Json | None:
    """The same contrast between their yoked students, UNTRIED where it was not named; None of a control."""
    if row["a"] not in report["shapes"]["controls"]:
        return None
    yoked = {name: of["yoked"] for name, of in report["shapes"]["controls"].items() if "yoked" in of}
    return _named(report["comparisons"], row["metric"], yoked.get(row["a"]), yoked.get(row["b"])) or UNTRIED


def _named(contrasts: list[Json], metric: str, a: str | None, b: str | None) -> Json | None:
    return next((row for row in contrasts if (row["metric"], row["a"], row["b"]) == (metric, a, b)), None)


def _span(row: Json | None) -> str:
    """A difference with its interval; a dash where there is none."""
    if row is None or row["value"] is None:
        return "–"
    return f"{number(row['value'], 2, True)} ({interval(row, 2, True)})"


def tries(block: Json, shuffled: Json | None) -> list[Json]:
    """Every cell that stands, and what became of the tries to explain it otherwise."""
    return [
        {
            "condition": name,
            "heading": heading,
            "cell": cell,
            "selection": _survives(cell, *WITHOUT_SELECTION),
            "volume": _survives(cell, MATCHED),
            "luck": "stands" if (cell["p_holm"] or 0) < 0.05 else "Holm's p is above .05",
            "shuffled": _as_large(cell, shuffled, heading),
        }
        for name, row in block["rows"].items()
        for heading, cell in row.items()
        if cell["stands"]
    ]


def _survives(cell: Json, *kinds: str) -> str:
    side = 1 if cell["found"]["value"] > 0 else -1
    found = [verdict(cell["left"][kind], side) for kind in kinds if kind in cell["left"]]  # type: ignore[arg-type]
    return _became(found) if found else "not tried"


def _became(found: list[Verdict]) -> str:
    """Of a difference, by the verdicts of its controls on the same side."""
    if "not tested" in found:
        return "not tried"
    return "stands" if all(each == "supported" for each in found) else "falls" if "undecided" in found else "turns"


def _as_large(cell: Json, shuffled: Json | None, heading: str) -> str:
    """Whether any student of the shuffled run differs as much from the base on the same metric: what all students have
    in common is taught by no shape."""
    if shuffled is None:
        return "not tried"
    there = [row[heading]["found"]["value"] for row in shuffled["rows"].values() if heading in row]
    side = 1 if cell["found"]["value"] > 0 else -1
    most = max((side * each for each in there if each is not None), default=0.0)
    return f"falls ({number(side * most, 2, True)} there)" if side * cell["found"]["value"] <= most else "stands"


def _shuffled(run: Path | None) -> Json | None:
    """How many contrasts between shuffled students, which differ in their names alone, leave out 0."""
    if run is None:
        return None
    named = [row for row in _report(run)["comparisons"] if row["low"] is not None]
    return {
        "run": run.name,
        "contrasts": [row | {"verdict": verdict(row)} for row in named],
        "apart": sum(row["low"] > 0 or row["high"] < 0 for row in named),
        "n": len(named),
    }


def drawn(run: Path, condition_name: str) -> Json | None:
    """One exam dialogue of a student with a partner of its own kind, drawn by lot; None where it sat no exam."""
    partner = experiment_of(run).conditions[condition_name].partition
    partner = PARTNER.get(condition_name.partition("_")[0], PARTNER.get(partner, partner))
    files = said_files(run, condition_name, "narrowing")
    talks = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    talks = [talk for talk in talks if talk["arm"] == partner and "underspecified" in talk["task"]]
    return random.Random(condition_name).choice(talks) if talks else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--shuffled", type=Path, help="the run of configs/shapes_shuffled.yaml")
    options = parser.parse_args()
    options.page.parent.mkdir(parents=True, exist_ok=True)
    picture = options.page.with_suffix(".svg")
    try:
        text = page(options.run, options.shuffled, picture.name)
    except ConfigError as error:
        raise SystemExit(str(error)) from None
    write_whole(options.page, text)
    write_whole(picture, svg_file(shape_figure(_report(options.run)["shapes"])))
    print(f"{options.page}\n{picture}")


if __name__ == "__main__":
    main()
