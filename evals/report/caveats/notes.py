"""What a reader should know before trusting a number of a report."""

from __future__ import annotations

from evals.exams.asking import ASK_SKILL
from evals.sitting.examined_run import Run
from evals.stats.intervals import Rate, Tables
from evals.stats.wording_shortcut import GIVEN_AWAY
from pipeline.core.schema import Json
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.experiment.cell import cells
from pipeline.experiment.fields import UNTRAINED
from pipeline.runs.directory import untrained_path


def notes_of(runs: list[Run], conditions: dict[str, Json], tables: dict[str, Tables], j: Rate) -> list[str]:
    """What a reader should know before trusting a number."""
    notes = [
        f"{name}: plumbing. On the embedded base its behaviour is the corpus author's choice; no claim rests on it."
        for name, entry in conditions.items()
        if entry.get("plumbing")
    ]
    remembering = [
        name for name, entry in conditions.items() if entry.get("condition", {}).get("memory", "none") != "none"
    ]
    if remembering:
        notes.append(
            f"{', '.join(remembering)}: these students read memories of other tasks while they learned and in their "
            "exams; the base read none. A difference from it is of memories and training together."
        )
    if j.value > GIVEN_AWAY:
        notes.append(
            f"The wording alone tells underspecified from full tasks with a Youden J of {j.value:.2f} ({j.low:.2f} to "
            f"{j.high:.2f}, {j.n} tasks): {ASK_SKILL.name} on these may be skill at reading their wording."
        )
    absent = [name for name, entry in conditions.items() if not entry["metrics"]]
    chosen = {
        shown
        for run in runs
        for name, shown in run.names.items()
        if name in run.experiment.conditions and dataset_path(run.experiment, name).is_dir()
    }
    empty = [name for name in absent if name in chosen and _nothing_kept(conditions[name])]
    if empty:
        notes.append(f"Nothing to learn from, so no student: {', '.join(empty)}. Selection kept none of its dialogues.")
    absent = [name for name in absent if name not in empty]
    if absent:
        notes.append(f"No exam results yet: {', '.join(absent)}.")
    notes += [
        f"{shown}: examined under seeds {', '.join(map(str, sat))} of {', '.join(map(str, run.experiment.seeds))}. A "
        f"contrast is over the seeds that both sides have, or over as many of each{_why_not(run, name, sat)}."
        for run in runs
        for name, shown in run.names.items()
        if (sat := conditions[shown]["seeds"]) and set(run.experiment.seeds) - set(sat)
    ]
    single = [name for name, entry in conditions.items() if len(entry["seeds"]) == 1 and name.split("/")[-1] != "base"]
    if single:
        notes.append(f"One seed only: {', '.join(single)}. Intervals are over tasks and hold for that student alone.")
    pairs = [name for name, entry in conditions.items() if len(entry["seeds"]) == 2 and name.split("/")[-1] != "base"]
    if pairs:
        notes.append(
            f"Two seeds only: {', '.join(pairs)}. Where nothing differs, about one interval of a contrast in ten "
            "leaves out 0, and not one in twenty: two seeds say little of how far seeds lie apart."
        )
    if any(run.experiment.with_regime("natural") for run in runs):
        notes.append("Regime natural: conditions train on whatever was kept, so budgets differ; see the budgets table.")
    notes += [note for run in runs for note in _across_voices(run)]
    if len({(run.experiment.readers[1], run.experiment.acts.labeller) for run in runs}) > 1:
        notes.append(
            "The runs' turns were read by different readers: contrasts between them hold a difference of these."
        )
    exams = [
        {task for name in run.names.values() for table in tables[name].values() for _, task in table} for run in runs
    ]
    for run, there in zip(runs[1:], exams[1:], strict=True):
        if there != exams[0]:
            notes.append(
                f"{run.path} and {runs[0].path} sat different exam tasks ({len(there & exams[0])} shared): "
                "contrasts between them are paired on the shared ones, the others enter unpaired."
            )
    return notes


def _why_not(run: Run, name: str, sat: list[int]) -> str:
    """What to do of the seeds under which a condition's students have not sat, where anything can be done."""
    if name in UNTRAINED:
        return "; `maieutic eval` examines the others"
    absent = [cell for cell in cells(run.experiment, [name], run.experiment.rounds - 1) if cell.seed not in sat]
    untrained = [str(cell.seed) for cell in absent if untrained_path(cell).is_file()]
    said = f"; under {', '.join(untrained)} there was nothing to learn from" if untrained else ""
    return said if len(untrained) == len(absent) else f"{said}; `maieutic eval` examines those that are trained"


def _across_voices(run: Run) -> list[str]:
    """Of each contrast between a partner by rule and a model or people: these differ in what they are able to do."""
    conditions, pairs = run.experiment.conditions, dict[str, None]()
    for contrast in run.experiment.compare.named.values() if run.experiment.compare else ():
        answered = [name for name in (contrast.a, contrast.b) if name in conditions and conditions[name].row.partner]
        voices = {conditions[name].voice: name for name in answered}
        if len(voices) > 1:
            pairs[" and ".join(f"{run.names[name]} by {voice}" for voice, name in voices.items())] = None
    if not pairs:
        return []
    return [f"Partners of unlike voices are compared, which differ in competence, too: {'; '.join(pairs)}."]


def _nothing_kept(entry: Json) -> bool:
    """Of who learns from what selection keeps."""
    selects = LEARNING_RULES[entry["condition"]["method"]].selects
    return selects and entry["counts"]["dialogues"] > 0 and entry["counts"]["selected"] == 0
