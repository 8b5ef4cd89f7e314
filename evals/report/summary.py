"""A run directory, or several, to one summary: what report.json holds.

Every count is derived from the files, none is carried over from the stage that wrote them, and what
does not reconcile is listed under `problems`. JSON has no NaN: an empty denominator is null.

    maieutic compare runs/quickstart
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.examining.references import read_references
from evals.exams.asking import ASK_NEEDED
from evals.exams.bandits.learned_tables import bandits_block
from evals.exams.clarification.asking_against_need import asking_against_need
from evals.exams.human.beside_people import beside_people
from evals.exams.lost.unreliability import lost_block
from evals.exams.private.mention_curves import mentions
from evals.exams.registry import catalog_of, exams_of
from evals.metrics.catalog import Catalog
from evals.report.caveats.notes import notes_of
from evals.report.caveats.room_to_move import without_room
from evals.report.comparisons import contrasts_between, named_contrasts
from evals.report.counting.counts import count_all
from evals.report.judges.misled_judge import misled_judge
from evals.report.methods import agreement, beside, cost, differ
from evals.report.readers_used import marked, reader_use, unread
from evals.report.shapes.shape_table import shapes_block
from evals.report.summary_types import Summary
from evals.report.transfer import transfer_block
from evals.report.turn_values_table import values
from evals.report.warmup_table import warmup_block
from evals.sitting.competence import competence_block, unable
from evals.sitting.examined_run import Run
from evals.stats.contrasts import Difference, contrast
from evals.stats.intervals import Rate, Tables, estimate
from evals.stats.number_format import clean
from evals.stats.stored_cases import not_of_today, results
from evals.stats.wording_shortcut import GIVEN_AWAY, Wordings, enough_wordings, told_apart
from pipeline.building.turn_values import has_turn_values
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.runs.dialogue_pool import reference
from pipeline.runs.directory import experiment_of, require
from pipeline.runs.student_files import results_folder
from pipeline.runs.usage import grand_totals, totals


class Conditions(NamedTuple):
    """What the runs hold, by condition as the summary names it."""

    tables: dict[str, Tables]
    entries: dict[str, Json]
    wordings: Wordings  # of the tasks behind the primary contrast
    problems: list[str]


def summarize(runs: list[Path]) -> Summary:
    """Tables, counts and comparisons of one or more run directories.

    Raises RunError for a directory without config.yaml, and StoreError for a broken record.
    """
    opened = _open(runs)
    owner = _owner(opened)
    experiments = [run.experiment for run in opened]
    metrics = catalog_of(experiments)
    tables, conditions, wordings, problems = _read(opened, owner, metrics)
    between, said = contrasts_between(opened, tables, metrics)
    comparisons = marked(named_contrasts(opened, tables, metrics) + between, experiments, metrics)
    bases = {shown: run.names.get("base", "") for run in opened for name, shown in run.names.items() if name != "base"}
    compared = beside(conditions, bases)
    if differ(conditions):
        for run in opened:
            _add_costs(run, conditions, tables)
    primary = next((row for row in comparisons if row["primary"]), None)
    j = told_apart(enough_wordings(wordings, owner.experiment.tasks))
    competence = competence_block(conditions, (exam for run in experiments for exam in exams_of(run)))
    refused = _refusal(owner.experiment, j) or unread(primary, experiments, metrics)
    unmeasured = _unmeasured(opened)
    cramped = without_room(primary, tables, metrics.signed_sum(primary["metric"])) if primary else []
    block: Json = {
        "runs": [_heading(run) for run in opened],
        "headline": refused or sentence(primary, unmeasured, said),
        "headline_refused": bool(refused),
        "youden_j": j._asdict(),
        "minimum_detectable_difference": primary["detectable"] if primary else math.nan,
        "conditions": conditions,
        "comparisons": comparisons,
        "beside": compared,
        "agreement": agreement(compared),
        "competence": competence,
        "people": _of_runs(beside_people, opened),
        "needs": _of_runs(asking_against_need, opened),
        "mentions": _of_runs(mentions, opened),
        "references": _references(opened),
        "lost": lost_block(tables),
        "bandits": _of_runs(bandits_block, opened),
        "warmups": _of_runs(lambda run: warmup_block(run, metrics), opened),
        "shapes": next(
            filter(None, (shapes_block(tables, run.experiment, run.names, metrics) for run in opened)), None
        ),
        "transfer": next(
            filter(None, (transfer_block(tables, run.experiment, run.names, metrics) for run in opened)), None
        ),
        "methods_differ": differ(conditions),
        "readers": [reader_use(experiment) for experiment in experiments],
        "engine": [row for run in opened for row in _of_run(run, opened, _in_order(run, totals(run.path)))],
        "engine_totals": [row for run in opened for row in _of_run(run, opened, grand_totals(run.path))],
        "problems": problems,
        "notes": [
            *(said if primary else []),
            *unmeasured,
            *cramped,
            *unable(competence),
            *notes_of(opened, conditions, tables, j),
        ],
    }
    return Summary.model_validate(clean(block))


def _of_run(run: Run, opened: Sequence[Run], rows: Iterable[Json]) -> Iterator[Json]:
    """Of several runs with names that tell them apart."""
    for row in rows:
        name = row["condition_name"]
        shown = run.names.get(name, name) if len(opened) == 1 or name in run.names else f"{_label(run, opened)}/{name}"
        yield row | {"run": str(run.path), "condition_name": shown}


def _label(run: Run, opened: Sequence[Run]) -> str:
    """Its folder's name, its path where two have one name."""
    name = run.path.resolve().name
    return name if [each.path.resolve().name for each in opened].count(name) == 1 else str(run.path)


def _references(opened: Sequence[Run]) -> Json:
    """By exam; of an exam that several runs have, by run and exam."""
    known = [(_label(run, opened), name, block) for run in opened for name, block in read_references(run.path).items()]
    often = Counter(name for _, name, _ in known)
    return {name if often[name] == 1 else f"{run}/{name}": block for run, name, block in known}


def _in_order(run: Run, rows: Sequence[Json]) -> list[Json]:
    """By stage, and in it by condition: whose exam ended first, of several at a time, differs from run to run."""
    stages, names = [row["stage"] for row in rows], run.experiment.examined
    place = {name: i for i, name in enumerate(names)}
    return sorted(rows, key=lambda row: (stages.index(row["stage"]), place.get(row["condition_name"], -1)))


def _owner(opened: list[Run]) -> Run:
    """Whose config named the primary contrast that is reported."""
    named = ((run, run.experiment.compare) for run in opened)
    return next((run for run, compare in named if compare and {*compare.primary.names} <= run.names.keys()), opened[0])


def _unmeasured(opened: list[Run]) -> list[str]:
    """Which named contrasts have no row, since one side has no exam results; a primary one comes first."""
    said = list[str]()
    for run in opened:
        if (compare := run.experiment.compare) is None:
            continue
        families = itertools.chain(*compare.families.values(), compare.exploratory)
        absent = [item for item in (compare.primary, *families) if not {*item.names} <= run.names.keys()]
        if absent:
            primary = ", the primary one among them," if absent[0] is compare.primary else ""
            who = ", ".join(sorted({name for item in absent for name in item.names} - run.names.keys()))
            count = f"{len(absent)} of the contrasts that {run.path} names lack a side"
            line = f"{count}{primary} since {who} has sat no exam."
            said.insert(0 if absent[0] is compare.primary else len(said), line)
    return said


def _read(opened: list[Run], owner: Run, metrics: Catalog) -> Conditions:
    tables = {shown: results(run.path, name) for run in opened for name, shown in run.names.items()}
    entries = {
        shown: _examined(tables, metrics, shown, _base_of(run, name))
        for run in opened
        for name, shown in run.names.items()
    }
    wordings = Wordings()
    problems: list[str] = []
    for run in opened:
        wrong: dict[str, list[str]] = {}
        for name, counted in count_all(run.experiment):
            entry = entries[run.names[name]]
            entry |= counted.entry | _valued(run, name)
            entry["predicted"]["observed"] = entry["metrics"].get(ASK_NEEDED.name)
            wrong[name] = counted.problems
            if run is owner:
                wordings.update(counted.tasks)
        problems += [f"{run.names[name]}: {line}" for name in run.experiment.conditions for line in wrong[name]]
        problems += not_of_today(run.experiment)
        if any((run.path / "shards").glob("*-of-*")):
            problems.append(f"{run.path} has shards that are not taken in; `maieutic build` with its config does that")
    return Conditions(tables, entries, wordings, problems)


def _base_of(run: Run, name: str) -> str:
    """The untrained base that a student is told apart from; itself where that was not examined, as where its own is
    another model."""
    condition = run.experiment.conditions.get(name)
    return run.names[name] if condition and condition.base else run.names.get("base", run.names[name])


def _heading(run: Run) -> Json:
    return {
        "path": str(run.path),
        "name": run.experiment.name,
        "names": run.names,
        "source": run.experiment.tasks.source,
        "seeds": run.experiment.seeds,
        "regime": run.experiment.training.regime,
        "temperature": run.experiment.temperature_of("student"),
    }


def _of_runs(block: Callable[[Run], Json | None], opened: list[Run]) -> list[Json]:
    """An exam's own part of the report, of each run that has it."""
    return [part for run in opened if (part := block(run)) is not None]


def _refusal(experiment: Experiment, j: Rate) -> str:
    """Why there is no headline; empty where there may be one."""
    # Real problems told in shards are short and whole ones long, so there it is a warning (see `notes_of`).
    made_here = any(source.made_here for source in experiment.sources)
    if not j.value > GIVEN_AWAY or not made_here:
        return ""
    return (
        "The headline is refused: a bag of words tells underspecified from full tasks with a Youden J of "
        f"{j.value:.2f} ({j.low:.2f} to {j.high:.2f}, {j.n} tasks), above {GIVEN_AWAY}, so asking could be learned "
        "from the wording alone."
    )


def sentence(row: Json | None, unmeasured: Sequence[str] = (), between: Iterable[str] = ()) -> str:
    """The primary contrast in words, whichever way it fell; without one, why, and what is compared `between` runs."""
    if row is None:
        why = unmeasured[0] if unmeasured else "No config named a primary contrast (compare.primary)."
        return " ".join([f"There is no headline. {why}", *between])
    a, b, metric, value = row["a"], row["b"], row["metric"], row["difference"]
    if math.isnan(value):
        return f"The primary contrast, {a} - {b} on {metric}, has no cases: it was not measured."
    amount = f"{row['tasks']} tasks, {row['seeds']} seed{'s' if row['seeds'] != 1 else ''}"
    if math.isnan(row["p"]):
        return f"{a} - {b} on {metric} is {value:+.3f} ({amount}): too few to say how far chance reaches."
    interval = f"{value:+.3f} (95% interval {row['low']:+.3f} to {row['high']:+.3f}, {amount})"
    power = ""
    if row["low"] > 0:
        verdict = f"{metric} is higher under {a} than under {b}"
    elif row["high"] < 0:
        verdict = f"{metric} is lower under {a} than under {b}"
    else:
        verdict = f"{metric} is not shown to differ between {a} and {b}"
        power = f" About three in four experiments that spread as this one find a true {row['detectable']:.3f}."
    return f"{verdict}: {interval}.{power}"


def _open(runs: list[Path]) -> list[Run]:
    experiments = []
    if len({path.resolve() for path in runs}) < len(runs):
        raise ConfigError(f"The same run is named twice: {', '.join(map(str, runs))}. Name each run once.")
    for path in runs:
        require(path)
        experiments.append(experiment_of(path))
    own = [_names(path, experiment) for path, experiment in zip(runs, experiments, strict=True)]
    seen = Counter(name for names in own for name in names)
    short = Counter(path.resolve().name for path in runs)
    opened = []
    for path, experiment, names in zip(runs, experiments, own, strict=True):
        run = path.resolve().name if short[path.resolve().name] == 1 else str(path)
        opened.append(Run(experiment, {name: f"{run}/{name}" if seen[name] > 1 else name for name in names}))
    return opened


def _names(path: Path, experiment: Experiment) -> list[str]:
    return [*(["base"] if results_folder(path, "base").is_dir() else []), *experiment.conditions]


def _examined(tables: Mapping[str, Tables], metrics: Catalog, name: str, base: str) -> Json:
    """What the exams say, in one entry of `conditions`."""
    own, rates = tables[name], dict[str, Json]()
    for metric in metrics.offered({metric for metric, _ in own}):
        total = metrics.signed_sum(metric)
        rates[metric] = {
            **estimate(own, total)._asdict(),
            "greedy": estimate(own, total, greedy=True).value,
            "apart": name != base and _is_apart(contrast(tables, total, name, base)),
        }
    return {"seeds": sorted({seed for table in own.values() for seed, _ in table}), "metrics": rates}


def _is_apart(found: Difference) -> bool:
    return found.low > 0 or found.high < 0


def _valued(run: Run, condition_name: str) -> Json:
    """The turn values of a condition, in its entry, or whose are its own; and its judge's answers, where it has one."""
    source = run.experiment.conditions[condition_name].learns_from
    whose = turn_values_of(run.experiment, condition_name)
    judge = misled_judge(run.experiment, condition_name)
    return {
        "turn_values": None if source else values(run.experiment, condition_name),
        "turn_values_of": run.names[whose] if whose else None,
        **({"judge": judge} if judge else {}),
    }


def turn_values_of(experiment: Experiment, condition_name: str) -> str | None:
    """The condition that has the values of a student's turns under the same partner."""
    source = reference(experiment, condition_name)
    return source if source and has_turn_values(experiment, source) else None


def _add_costs(run: Run, conditions: dict[str, Json], tables: dict[str, Tables]) -> None:
    base = tables.get(run.names.get("base", ""), {})
    for name, shown in run.names.items():
        if name != "base":
            conditions[shown]["cost"] = cost(run.experiment, name, tables[shown], base)
