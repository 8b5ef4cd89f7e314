"""Who read the turns of a run, in a report: by name, with figures, and why a headline is refused without them."""

from __future__ import annotations

from collections.abc import Sequence

from evals.metrics.catalog import Catalog
from evals.report.validity import REFUSED, is_measured, planted
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.reading.reader_figures import figures_of


def reader_use(experiment: Experiment) -> Json:
    """Both instruments by name, the labeller of acts, and how well the instruments read natural turns."""
    partner, metrics = experiment.readers
    figures = {name: figures_of(name, experiment.reading.figures) for name in (partner, metrics)}
    return {
        "run": str(experiment.run),
        "partner": partner,
        "metrics": metrics,
        "acts": experiment.acts.labeller,
        "planted": planted(experiment),
        "figures": {name: {of: row.model_dump() for of, row in known.items()} for name, known in figures.items()},
    }


def marked(rows: Sequence[Json], experiments: Sequence[Experiment], metrics: Catalog) -> list[Json]:
    """Contrasts with `measured`: whoever labels what the metric counts was measured, in every run."""
    known: dict[str, bool] = {}
    for row in rows:
        name = row["metric"]
        known[name] = all(is_measured(metrics.metric(name), experiment) for experiment in experiments)
    return [{**row, "measured": known[row["metric"]]} for row in rows]


def unread(primary: Json | None, experiments: Sequence[Experiment], metrics: Catalog) -> str:
    """Why the primary contrast is no headline: nobody measured who labels what it counts. Empty where somebody did."""
    if primary is None or primary["measured"]:
        return ""
    declared = metrics.metric(primary["metric"])
    run = next(experiment for experiment in experiments if not is_measured(declared, experiment))
    return (
        f"{primary['metric']}, {primary['a']} - {primary['b']}: {REFUSED}. Turns were read by {run.readers[1]!r}, acts "
        f"labelled by {run.acts.labeller!r}, and no figures say how well on such text. Make them (maieutic eval "
        "reading FILE... --reader NAME --json OUT), and name the file: maieutic run with --set reading.figures=OUT, "
        "where nothing is made again. For a labeller: maieutic eval labels, whose folder is acts.path of another `out`."
    )
