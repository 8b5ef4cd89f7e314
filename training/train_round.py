"""All students of one round, one after the other.

maieutic train configs/quickstart.yaml
"""

from __future__ import annotations

import json

from pipeline.experiment.cell import cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import adapter_path, newest_adapter
from pipeline.runs.progress import say, seconds
from training.adapter import RECORD
from training.inputs.job import NothingToTrain
from training.student import Interrupted, train


def train_round(experiment: Experiment, group: list[str], round: int) -> None:
    """Train what is missing of one round, and say for each student what it learned from.

    Where an engine failed a student that plays, the others are trained all the same. Raises Interrupted then, since
    nothing may be built on, or compared with, a student that is not there yet.
    """
    interrupted: list[Interrupted] = []
    for cell in cells(experiment, group, round):
        label, there = cell.label("train"), adapter_path(cell) / RECORD
        before = there.read_text(encoding="utf-8") if there.is_file() else ""
        try:
            adapter = train(cell, newest_adapter(cell.in_round(round - 1)))
        except NothingToTrain as error:
            say(f"{label}: left untrained. {error}")
            continue
        except Interrupted as error:
            say(str(error))
            interrupted.append(error)
            continue
        after = (adapter / RECORD).read_text(encoding="utf-8")
        record = json.loads(after)
        if after == before:  # a training anew takes other seconds; times of files follow a clock that may be set
            say(f"{label}: there already")
        else:
            say(
                f"{label}: {record['rows']} rows, {record['optimizer_steps']} steps, "
                f"{record['trained_tokens']} tokens, {seconds(record['seconds'])}"
            )
    if interrupted:
        raise Interrupted("\n".join(map(str, interrupted)))
