"""Whether a run may be passed on: it is finished, its sources' licences allow it, its partners were what cards say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evals.examining.examine import is_done
from maieutic.finished_stages import compared
from maieutic.push.licences import known_licence
from pipeline.building.failures import unfinished
from pipeline.building.lacking import lacking
from pipeline.building.soundness import FIRST, Soundness
from pipeline.core.errors import MaieuticError
from pipeline.datasets.condition_rows import records_of
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.survey import surveyed
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import Kind
from pipeline.runs.directory import newest_adapter, untrained_path

STATED_BY_NOBODY = ("unknown", "other")  # what Licence.spdx is where whoever brings the tasks has to say it
SOUND = 0.9  # of dialogues kept to what the partner may know, where partner.sound says no other share


class NotPushed(MaieuticError, RuntimeError):
    """A run that is not finished, or may not be passed on; the message says why and what to do."""


class Student(NamedTuple):
    """A trained student: its cell, of the last round, and the adapter that it is."""

    cell: Cell
    adapter: Path


def students(experiment: Experiment) -> list[Student]:
    """All that are there."""
    last = cells(experiment, list(experiment.conditions), experiment.rounds - 1)
    return [Student(cell, adapter) for cell in last if (adapter := newest_adapter(cell))]


def check_licences(experiment: Experiment, stated: str) -> dict[str, str]:
    """The licence of each source's rows as the hub names it, `stated` for those that have none of their own.

    Raises NotPushed where one is missing, and ConfigError where the hub does not know one, `stated` in any case.
    """
    stated, found = stated and known_licence(stated, "--licence"), dict[str, str]()
    for source in experiment.sources:
        spdx = source.licence.spdx
        if spdx in STATED_BY_NOBODY and not stated:
            raise NotPushed(
                f"push: the licence of source {source.name!r} is {spdx!r}. {source.licence.asks}\nWhere you may pass "
                "its tasks on, say under which licence: --licence cc-by-4.0, for example."
            )
        own = "" if spdx in STATED_BY_NOBODY else known_licence(spdx, f"the licence of source {source.name!r}")
        found[source.name] = own or stated
    return found


def check_whole(experiment: Experiment) -> None:
    """Raises NotPushed where dialogues or branches are not there any more, though cards count them, and StoreError for
    a broken line of theirs."""
    for name, path, count in lacking(experiment):
        raise NotPushed(
            f"push: {path}: {count} records of condition {name!r} are not there any more, or not yet. Bring the file "
            "back, or make them again, with all that comes of them: `maieutic run`, or `maieutic build` alone where "
            "the run has no students."
        )


def check_finished(experiment: Experiment, trained: Sequence[Student]) -> None:
    """Raises NotPushed where something is still to be made. A run that is only built has datasets alone, and a
    condition that has nothing to learn from has no student."""
    run = experiment.run
    if open_ := unfinished(experiment):
        raise NotPushed(
            f"push: {open_} dialogues of {run} ended in an engine error. `maieutic build` tries them again."
        )
    for name in experiment.conditions:
        if not list(dataset_path(experiment, name).glob("*.parquet")):
            raise NotPushed(f"push: {run} has no dataset of condition {name!r} yet. `maieutic build` makes it.")
    if not trained:
        return
    _check_all_trained(experiment, trained)
    for cell in cells(experiment, ["base"], experiment.rounds - 1):
        _check_examined(cell, None)
    for cell, adapter in trained:
        _check_examined(cell, adapter)
    if not (run / "report.json").is_file():
        raise NotPushed(f"push: {run} has no report.json, and so no figures for cards. Run: maieutic compare {run}")
    if not compared(run, [run]):
        raise NotPushed(
            f"push: the report of {run} is not of what is there now, or of it under another name or version. Run: "
            f"maieutic compare {run}"
        )


def _check_all_trained(experiment: Experiment, trained: Sequence[Student]) -> None:
    there = {student.cell.key for student in trained}
    for cell in cells(experiment, list(experiment.conditions), experiment.rounds - 1):
        if cell.key in there or untrained_path(cell).is_file():
            continue
        raise NotPushed(f"push: the student of {cell} is not trained, and others are. `maieutic train` does that.")


def _check_examined(cell: Cell, adapter: Path | None) -> None:
    if not is_done(cell, adapter):
        raise NotPushed(f"push: {cell} has not sat the exams yet, as it is now. `maieutic eval` does that.")


def check_partners(experiment: Experiment) -> None:
    """Raises NotPushed where a model partner kept to its knowledge in too few of the dialogues that rows are made of.

    As in a build (pipeline.building.soundness) it is too few where the upper end of Wilson's 95% interval is below.
    """
    least = experiment.partner.sound or SOUND
    for name, condition in experiment.conditions.items():
        if condition.voice != "model" or LEARNING_RULES[condition.method].format == "prompt_only":
            continue
        on_purpose: set[Kind] = {"false_fact"} if condition.manner == "erring" else set()
        seen = Soundness()
        with surveyed(experiment, name) as survey:
            for record in records_of(survey, LEARNING_RULES[condition.method].format):
                if record.partner_spoke and not (condition.violations == "drop" and record.violations):
                    seen.count(record.violations - on_purpose)
        if seen.n >= FIRST and seen.interval[1] < least:
            raise NotPushed(
                f"push: the card of condition {name!r} would say what its partner knew, and it did not keep to that: "
                f"{seen}. At least {least:g} is asked for.\nLeave such dialogues out (conditions.{name}.violations: "
                "drop, in another `out`), or say that a lower share will do: `maieutic build` with --set "
                "partner.sound=SHARE."
            )
