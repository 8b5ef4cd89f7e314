"""How far a run is, said from outside while it goes on, or after.

maieutic status runs/quickstart
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from pipeline.datasets.dataset_files import dataset_path
from pipeline.runs.directory import experiment_of, require
from pipeline.runs.finished import REPORT
from pipeline.runs.lock import holder
from pipeline.runs.progress import clock, console, end_in_words, say, seconds
from pipeline.runs.whole_run import PlannedStage, RunProgress, StageOfRun, read_progress


def show_status(run: Path) -> None:
    """Print its stages by name, which one runs, and when the whole ends. Raises RunError where this is no run."""
    require(run)
    process, progress = holder(run), read_progress(run)
    if progress is not None and process == str(progress.process):
        _show_live(run, progress)
        return
    from maieutic.status.planned_stages import planned_stages  # heavy: exams

    experiment = experiment_of(run)
    planned = [stage for stage in planned_stages(experiment) if stage.kinds]  # others leave nothing to count
    took = {stage.label: stage.seconds for stage in progress.stages} if progress else {}
    console.print(_by_name([_of_files(stage, took.get(stage.label, 0.0)) for stage in planned]))
    left = [stage.name for stage in planned if stage.size]
    left += ["select" for name in experiment.conditions if not dataset_path(experiment, name).is_dir()]
    left += [] if experiment.compare is None or all((run / name).is_file() for name in REPORT) else ["compare"]
    if process:
        say(f"{run}: process {process} is writing to it; when it ends, only `maieutic run` says.")
    elif left:
        when = f" since {clock(progress.updated)}" if progress and progress.now else ""
        stopped = f", which was in {progress.now}" if progress and progress.now else ""
        say(
            f"{run}: nobody works on it{when}{stopped}; `maieutic run` on its config goes on. "
            f"Missing: {_counted(left)}."
        )
    else:
        say(f"{run}: all there.")
    if untrained := sorted(run.glob("adapters/*/*.untrained.txt")):
        says = f"and {len(untrained) - 1} others say" if len(untrained) > 1 else "says"
        say(f"Left untrained, for want of anything to learn from: {untrained[0].relative_to(run)} {says} why.")


def _show_live(run: Path, progress: RunProgress) -> None:
    console.print(_by_name(progress.stages))
    of = f" {progress.done:,}" + (f" of {progress.total:,}" if progress.total else "") if progress.done else ""
    say(f"{run}: process {progress.process}, since {clock(progress.began)}, now {progress.now or 'between stages'}{of}")
    say(f"{end_in_words(progress)}; told {seconds(max(time.time() - progress.updated, 0))} ago")


def _of_files(stage: PlannedStage, seconds: float) -> StageOfRun:
    state = "ahead" if stage.size else "done"
    return StageOfRun.model_validate({**stage._asdict(), "state": state, "seconds": seconds})


def _by_name(stages: Sequence[StageOfRun]) -> Table:
    table = Table("stages", "done", "of", "took", "now", box=None, title_justify="left")
    for name in dict.fromkeys(stage.name for stage in stages):
        own = [stage for stage in stages if stage.name == name]
        took = sum(stage.seconds for stage in own)
        now = next((stage.label for stage in own if stage.state == "running"), "")
        done = sum(stage.state == "done" for stage in own)
        table.add_row(name, str(done), str(len(own)), seconds(took) if took else "–", now)
    return table


def _counted(names: list[str]) -> str:
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
