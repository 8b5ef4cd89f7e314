"""All students of one round.

maieutic train configs/quickstart.yaml
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from pipeline.building.failures import failures_of
from pipeline.building.rounds import speaking
from pipeline.building.turn_values import has_turn_values
from pipeline.core.errors import MaieuticError
from pipeline.core.files import write_whole
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import adapter_before, adapter_path, untrained_path
from pipeline.runs.processes import begin_early, begun_early
from pipeline.runs.progress import say, seconds, stage
from pipeline.runs.student_files import RECORD, results_path
from training.adapter import is_done, made_from
from training.inputs.student_rows import student_rows
from training.inputs.untrained import Interrupted, NothingToTrain
from training.one_student import trained

BEFORE = "before"  # the folder of a student that was trained, and examined, on data that is there no more


class BesideBuilding:
    """Students of one round that are trained while dialogues of conditions after theirs are made.

    Call it with a condition once all of its dialogues are there. `select` makes a dataset; `selected` names whose were
    made. Nothing is begun where no other dialogues are waited for, nor where one student is trained at a time.
    """

    def __init__(self, experiment: Experiment, group: list[str], round: int, select: Callable[[str], None]):
        self.experiment, self.group, self.round, self.select = experiment, group, round, select
        self.selected: list[str] = []

    def __call__(self, built: str) -> None:
        names = [name for name in self.group if self._needs_only(built, name)]
        if not names or built == speaking(self.experiment, self.group)[-1] or self._at_once < 2:
            return
        for name in names:
            with stage(f"dataset {name}"):  # by its planned label it would come after all that is to be built
                self.select(name)
            self.selected.append(name)
        due = [cell for cell in cells(self.experiment, names, self.round) if _is_due(cell)]
        begin_early(trained, "train", due, self._at_once)

    @cached_property
    def _at_once(self) -> int:
        from training.side_by_side import room_beside_building  # heavy: TRL

        return room_beside_building(cells(self.experiment, self.group, self.round))

    def _needs_only(self, built: str, name: str) -> bool:
        """Whether its students learn from the dialogues of `built` and nothing else: not in proportion to others, from
        branches that are played later, or going on from another's student; and whether no engine failed at these."""
        condition = self.experiment.conditions[name]
        return (
            (condition.learns_from or name) == built
            and self.experiment.regime_of(name) == "natural"
            and not condition.begins
            and not has_turn_values(self.experiment, built)
            and not any(map(_failed_by_engine, cells(self.experiment, [built], self.round)))
        )


def _failed_by_engine(cell: Cell) -> bool:
    return any(failure.kind == "engine_error" for failure in failures_of(cell.experiment.run, cell))


def _is_due(cell: Cell) -> bool:
    """Whether it is not trained yet, and has something to learn from."""
    try:
        return not _is_made(cell)
    except NothingToTrain:
        return False


def train_round(
    experiment: Experiment, group: list[str], round: int, meanwhile: Callable[[Sequence[Cell]], None] = lambda due: None
) -> None:
    """Train what is missing of one round, and say for each student what it learned from. Where several are trained at a
    time, `meanwhile` is called with them as soon as all wait for a process.

    Where an engine failed a student that plays, the others are trained all the same. Raises Interrupted then, since
    nothing may be built on, or compared with, a student that is not there yet.
    """
    due = [cell for cell in cells(experiment, group, round) if begun_early("train", cell) or not _is_there(cell)]
    if not due:
        return
    from training.side_by_side import train_each  # heavy: TRL

    interrupted = []
    for cell, made in train_each(due, lambda: meanwhile(due)):
        if isinstance(made, Interrupted):
            say(str(made))
            interrupted.append(str(made))
        elif isinstance(made, NothingToTrain):
            _leave_untrained(cell, made)
        elif isinstance(made, MaieuticError):
            raise made
        else:
            untrained_path(cell).unlink(missing_ok=True)
            record = json.loads((made / RECORD).read_text(encoding="utf-8"))
            say(
                f"{cell.label('train')}: {record['rows']} rows, {record['optimizer_steps']} steps, "
                f"{record['trained_tokens']} tokens, {seconds(record['seconds'])}"
            )
    if interrupted:
        raise Interrupted("\n".join(interrupted))


def _is_there(cell: Cell) -> bool:
    """Whether there is nothing to be done for this student; it is said why."""
    try:
        there = _is_made(cell)
    except NothingToTrain as error:
        _leave_untrained(cell, error)
        return True
    if there:
        untrained_path(cell).unlink(missing_ok=True)  # of an earlier call
        say(f"{cell.label('train')}: there already")
    return there


def _is_made(cell: Cell) -> bool:
    """Whether its adapter is of what it would be made of now. Raises NothingToTrain where that is nothing."""
    return is_done(adapter_path(cell), made_from(cell, student_rows(cell), adapter_before(cell)))


def _leave_untrained(cell: Cell, error: NothingToTrain) -> None:
    write_whole(untrained_path(cell), f"{error}\n")
    say(f"{cell.label('train')}: left untrained. {error}")
    if (old := adapter_path(cell)).exists():
        for file in (old, *results_path(cell).parent.glob(f"{results_path(cell).stem}.*")):
            _lay_aside(file)
        say(f"{cell.label('train')}: what was trained on other data before lies in {old.parent / BEFORE} now.")


def _lay_aside(file: Path) -> None:
    """Into a folder that nobody looks for students in."""
    aside = file.parent / BEFORE / file.name
    shutil.rmtree(aside, ignore_errors=True)
    aside.parent.mkdir(exist_ok=True)
    file.replace(aside)
