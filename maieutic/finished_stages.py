"""On what each stage of a run depends: where all of it is as it was when the stage ended, nothing is worked out again.

maieutic run quickstart     # a second time: what is there is said, and the report is shown as it was made
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.building.failures import unfinished
from pipeline.core.files import file_hash
from pipeline.core.schema import digest
from pipeline.engines.weights import weights_id
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import ROLES
from pipeline.runs.directory import exam_hashes, experiment_of, source_hashes
from pipeline.runs.finished import BUILT, COMPARED, CONFIG, REPORT, TRAINED, finish, is_finished, state_of

ROUNDS = {False: "build", True: "train"}  # by whether students are trained as well


def rounds_finished(experiment: Experiment, training: bool) -> bool:
    """Whether dialogues and datasets of all rounds are there, and their students where they are to be trained."""
    return is_finished(experiment.run, ROUNDS[training], partial(_rounds, experiment, training))


def finish_rounds(experiment: Experiment, training: bool) -> None:
    """All of it is there, but for what an engine failed at: that is tried again."""
    if unfinished(experiment):
        return
    for trained in {False, training}:
        finish(experiment.run, ROUNDS[trained], _rounds(experiment, trained))


def selected(experiment: Experiment, group: list[str]) -> bool:
    """Whether a group's datasets are those of the dialogues that are there."""
    return is_finished(experiment.run, _select(group), partial(_rounds, experiment, False))


def finish_select(experiment: Experiment, group: list[str]) -> None:
    finish(experiment.run, _select(group), _rounds(experiment, False))


def warmed_up(experiment: Experiment) -> bool:
    return is_finished(experiment.run, "warm-up", partial(_warmup, experiment))


def finish_warmup(experiment: Experiment) -> None:
    finish(experiment.run, "warm-up", _warmup(experiment))


def compared(folder: Path, runs: Sequence[Path]) -> bool:
    """Whether the report in a folder is of these runs as they are. Raises RunError where one is none."""
    return is_finished(folder, "compare", partial(_compare, folder, runs))


def finish_compare(folder: Path, runs: Sequence[Path]) -> None:
    finish(folder, "compare", _compare(folder, runs))


def _select(group: list[str]) -> str:
    return f"select {', '.join(group)}"


def _rounds(experiment: Experiment, training: bool) -> str:
    ids = [experiment.particulars(name) for name in experiment.conditions]
    ids += [[weights_id(condition.base)] for condition in experiment.conditions.values() if condition.base]
    return state_of(experiment.run, TRAINED if training else BUILT, experiment.fingerprint(), ids, _words(experiment))


def _warmup(experiment: Experiment) -> str:
    return state_of(experiment.run, (*CONFIG, "warmup"), weights_id(experiment.student.model), _words(experiment))


def _words(experiment: Experiment) -> list[str]:
    """Of the templates that lie in folders of one's own."""
    own = [experiment.prompts(name).own for name in ROLES] + [experiment.student.sampling_prompt]
    return [state_of(Path(folder), (".",)) for folder in own if folder and Path(folder).is_dir()]


def _figures(experiment: Experiment) -> list[str]:
    """Of the files that say how well readers and labellers of one's own do."""
    named = [Path(experiment.reading.figures), Path(experiment.acts.path, "figures.json")]
    return [file_hash(path) if path.is_file() else "" for path in named]


def _compare(folder: Path, runs: Sequence[Path]) -> str:
    there = [(run, experiment_of(run)) for run in runs]
    states = [state_of(run, COMPARED, str(run), source_hashes(of), exam_hashes(of), _figures(of)) for run, of in there]
    return digest(states, state_of(folder, REPORT))
