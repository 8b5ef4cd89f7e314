"""A pilot: an experiment by which another one's settings are chosen. What it was tuned on must not be what is reported.

`pilot_of: CONFIG` says whose. Then the two share no seed, and no problem: told in full or with something missing,
trained or examined on, also where only first turns are asked. The texts of some exams (claims, scenarios, requests),
which are the same for all, and the tasks of a warm-up, which nobody is examined on, are not looked at.

    maieutic run configs/lookup_smollm2_small.yaml
"""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.core.schema import question_hash
from pipeline.experiment.experiment import Experiment, load
from pipeline.tasks.loading import of_one_source
from pipeline.tasks.settings import Tasks
from pipeline.tasks.sources import source_of


def check_pilot(experiment: Experiment) -> None:
    """Raises ConfigError where a pilot shares a seed or a problem with what it pilots."""
    if not experiment.pilot_of:
        return
    run = load(Path(experiment.pilot_of))
    if shared := sorted({*experiment.seeds} & {*run.seeds}):
        raise ConfigError(
            f"seeds: {shared} are seeds of {experiment.pilot_of!r} too, whose pilot this is (pilot_of). Use others, "
            "for example [101, 102]"
        )
    for tasks in experiment.tasks.parts:
        # What is made and what is read from files have nothing in common: files that only the run needs stay closed.
        alike = [others for others in run.tasks.parts if bool(others.path) == bool(tasks.path)]
        if common := _problems(experiment, tasks) & {each for others in alike for each in _problems(run, others)}:
            key = "tasks.seed" if tasks == experiment.tasks else "tasks.second.seed"
            raise ConfigError(
                f"{key}: {tasks.seed}: {len(common)} problems of {tasks.source!r} are also among those of "
                f"{experiment.pilot_of!r}, whose pilot this is (pilot_of). Use another seed, or, of a file, fewer tasks"
            )


def _problems(experiment: Experiment, tasks: Tasks) -> set[str]:
    """The hash of each problem of one source that a student of the experiment trains or is examined on."""
    met = [*of_one_source(tasks, "train")[0], *of_one_source(tasks, "exam")[0]]
    if (unlike := source_of(tasks).unlike) and tasks == experiment.tasks:
        met += unlike(tasks, experiment.exams.stress, experiment.exams.held_out)
    return {question_hash(task.full_question) for task in met}
