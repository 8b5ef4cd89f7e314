"""All students of one round, one after the other.

maieutic train configs/quickstart.yaml
"""

from __future__ import annotations

import json

from pipeline.core.files import write_whole
from pipeline.experiment.cell import cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import adapter_path, newest_adapter, untrained_path
from pipeline.runs.progress import say, seconds
from training.adapter import RECORD, is_done, made_from
from training.inputs.student_rows import student_rows
from training.inputs.untrained import Interrupted, NothingToTrain


def train_round(experiment: Experiment, group: list[str], round: int) -> None:
    """Train what is missing of one round, and say for each student what it learned from.

    Where an engine failed a student that plays, the others are trained all the same. Raises Interrupted then, since
    nothing may be built on, or compared with, a student that is not there yet.
    """
    interrupted: list[Interrupted] = []
    for cell in cells(experiment, group, round):
        label, start = cell.label("train"), newest_adapter(cell.in_round(round - 1))
        try:
            if is_done(adapter_path(cell), made_from(cell, student_rows(cell), start)):
                say(f"{label}: there already")
                continue
            from training.student import train  # heavy: TRL

            adapter = train(cell, start)
        except NothingToTrain as error:
            write_whole(untrained_path(cell), f"{error}\n")
            say(f"{label}: left untrained. {error}")
            continue
        except Interrupted as error:
            say(str(error))
            interrupted.append(error)
            continue
        untrained_path(cell).unlink(missing_ok=True)
        record = json.loads((adapter / RECORD).read_text(encoding="utf-8"))
        say(
            f"{label}: {record['rows']} rows, {record['optimizer_steps']} steps, "
            f"{record['trained_tokens']} tokens, {seconds(record['seconds'])}"
        )
    if interrupted:
        raise Interrupted("\n".join(map(str, interrupted)))
