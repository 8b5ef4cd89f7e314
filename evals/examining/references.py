"""What is known of an exam before any student sits it: figures of people, of reference text, of scripts.

They are made by `maieutic eval` for the exams of a config, which names them in its terminal, and stand in the report.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from evals.exams.registry import exams_of
from evals.sitting.exam import Exam, asked, not_asked
from pipeline.core.files import write_whole
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment


def references_path(run: Path) -> Path:
    return run / "results" / "references.json"


async def make_references(experiment: Experiment) -> Json:
    """By exam: its rows, and what of it this config's student is not asked. Written into the run, and returned; an
    exam of which neither is known is left out.
    """
    known: Json = {}
    for exam in exams_of(experiment):
        rows = [] if exam.reference is None else await exam.reference(experiment)
        beyond = needing(exam, experiment)
        if rows or beyond:
            known[exam.name] = {
                "rows": [{key: _finite(value) for key, value in row._asdict().items()} for row in rows],
                "needs_real_model": beyond,
            }
    if known:
        text = json.dumps(known, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(references_path(experiment.run), text)
    else:  # of other exams that were asked for before
        references_path(experiment.run).unlink(missing_ok=True)
    return known


def needing(exam: Exam, experiment: Experiment) -> list[str]:
    """What needs a real model: "all of it", or the scopes that the student is not asked, or metrics where it is asked
    others in the same scope; [] where it is asked everything.
    """
    here, beyond = asked(exam, experiment), not_asked(exam, experiment)
    if beyond and not here:
        return ["all of it"]
    scopes = {ratio.partition("@")[2] for ratio in here}
    return sorted({ratio if (scope := ratio.partition("@")[2]) in scopes else "@" + scope for ratio in beyond})


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_references(run: Path) -> Json:
    """What `make_references` wrote into a run, by exam; {} where nothing was known."""
    path = references_path(run)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def references_table(known: Json) -> Table:
    """A line an exam: whose figures are known, how many, and what the embedded base is not asked."""
    table = Table(
        title="Known before any student sits",
        title_justify="left",
        caption="Figures: results/references.json, report",
    )
    for column in ("exam", "figures of", "how many", "needs a real model"):
        table.add_column(column, justify="right" if column == "how many" else "left", overflow="fold")
    for name, block in known.items():
        whose = dict.fromkeys(row["who"] for row in block["rows"])
        beyond = escape(", ".join(block["needs_real_model"])) or "–"
        table.add_row(name, escape("; ".join(whose)) or "–", f"{len(block['rows']):,}", beyond)
    return table
