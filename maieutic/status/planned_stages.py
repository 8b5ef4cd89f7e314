"""The stages of a whole run, in their order, and how much of each is missing: what `maieutic run` has ahead.

What is there is counted from the files, without reading what they are made from: a stage whose settings have changed is
found out when it begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evals.examining.answers_asked import most_answers
from maieutic.finished_stages import compared, rounds_finished
from pipeline.building.memory import remembered
from pipeline.building.rounds import groups, speaking
from pipeline.building.turn_values import has_turn_values, missing_branches
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.fields import BEFORE_WARMUP
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.directory import is_trained, untrained_path
from pipeline.runs.store import read
from pipeline.runs.student_files import MADE_FROM, results_path
from pipeline.runs.whole_run import ANSWER, BUILD, PlannedStage

TURN_VALUES = "turn values"


def planned_stages(experiment: Experiment) -> list[PlannedStage]:
    """Those of `maieutic run`, as `maieutic.workflow` goes through them."""
    stages, made = (
        [_warmup(experiment)] if experiment.student.warmup else [],
        rounds_finished(experiment, training=True),
    )
    for group in groups(experiment):
        for round in range(experiment.rounds):
            stages += _dialogues(experiment, group, round, made)
            stages += [PlannedStage("select", f"select {name}", float(not made)) for name in group]
            stages += [_training(cell) for cell in cells(experiment, group, round)]
    left = float(not compared(experiment.run, [experiment.run]))
    return [*stages, *_exams(experiment), PlannedStage("compare", "compare", left)]


def _warmup(experiment: Experiment) -> PlannedStage:
    assert experiment.student.warmup is not None
    there = (experiment.run / "warmup" / "base" / MADE_FROM).is_file()
    label = f"train warmup seed {experiment.student.warmup.seed}"
    return PlannedStage("warm-up", label, float(not there), ("warm-up",))


def _dialogues(experiment: Experiment, group: list[str], round: int, made: bool) -> Iterator[PlannedStage]:
    """Those of a group's builds, then those of its turn values; `made`: nothing of them is missing."""
    names = [name for name in speaking(experiment, group) if experiment.conditions[name].voice != "human"]
    missing = [(cell, 0) for cell in cells(experiment, names, round)]
    if not made:
        missing = [pair for name in names for pair in _missing(experiment, name, round)]
    if experiment.executor == "ray":
        label = f"build {', '.join(group)}"
        yield PlannedStage("build", label, sum(size for _, size in missing), (label, BUILD))
    else:
        for cell, size in missing:
            yield from _build(cell, size)
    for cell, size in missing:
        if has_turn_values(experiment, cell.condition_name):
            kinds = (f"{TURN_VALUES} {cell.condition_name}", TURN_VALUES)
            left = 0 if made else _branches(cell, size)
            yield PlannedStage(TURN_VALUES, cell.label(TURN_VALUES), left, kinds)


def _build(cell: Cell, size: int) -> Iterator[PlannedStage]:
    condition = cell.condition
    if condition.memory != "none":
        for source in remembered(cell):
            yield PlannedStage("memory", source.label("memory"), size, ("memory",))
    kinds = (f"build {cell.condition_name}", f"build {condition.voice}", BUILD)
    yield PlannedStage("build", cell.label("build"), size, kinds)


def _missing(experiment: Experiment, condition_name: str, round: int) -> list[tuple[Cell, int]]:
    """Of each cell, how many dialogues are to be made; at most, where the source has fewer tasks than asked for."""
    run = experiment.run
    planned = sum(map(len, experiment.stretches(condition_name).values())) * experiment.per_task(condition_name)
    ended = Counter((d.condition_name, d.seed, d.round) for d in read(dialogues_path(run, condition_name), Dialogue))
    failures = [f for f in read(run / "failures.jsonl", Failure) if f.kind not in ("engine_error", "bad_task")]
    ended.update((f.condition_name, f.seed, f.round) for f in failures)
    return [(cell, max(planned - ended[cell.key], 0)) for cell in cells(experiment, [condition_name], round)]


def _branches(cell: Cell, missing: int) -> int:
    """Those that are missing of stored dialogues, and of `missing` ones the most that they can have."""
    return missing_branches(cell) + missing * len(cell.experiment.turn_values.at)


def _training(cell: Cell) -> PlannedStage:
    kinds = (f"train {cell.condition_name}", f"train by {cell.condition.method}")
    return PlannedStage("train", cell.label("train"), float(not is_trained(cell)), kinds)


def _exams(experiment: Experiment) -> Iterator[PlannedStage]:
    before = [BEFORE_WARMUP] if experiment.student.warmup else []
    sitters = cells(experiment, [*before, "base", *experiment.conditions], experiment.rounds - 1)
    there = {cell.key for cell in sitters if results_path(cell).with_suffix(".student.json").is_file()}
    answers = 0 if len(there) == len(sitters) else _answers(experiment)
    for cell in sitters:
        kinds = (f"examine {cell.condition_name}", "examine", ANSWER)
        is_open = cell.key not in there and not untrained_path(cell).is_file()
        yield PlannedStage("examine", cell.label("examine"), answers if is_open else 0, kinds)


def _answers(experiment: Experiment) -> int:
    tasks, first_turn_tasks = exam_tasks(experiment)
    return most_answers(experiment, tasks, len(first_turn_tasks))
