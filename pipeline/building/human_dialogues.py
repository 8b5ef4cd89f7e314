"""Dialogues that people held, stored like those that were played: once each, with what could not be read.

maieutic build configs/mathdial.yaml
"""

from __future__ import annotations

from pipeline.building.build import Counts, finished
from pipeline.core.schema import digest
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.store import Appender
from pipeline.tasks.loading import BadRow


def adopt(
    experiment: Experiment, dialogues: list[Dialogue], bad: list[BadRow], condition_name: str, seed: int
) -> Counts:
    """Store what is not there yet. A row that could not be read is a failure that names its line."""
    run = experiment.run
    ended = finished(run, condition_name)
    failures = [
        Failure(
            id=digest(row.where.rpartition("/")[2], condition_name, seed, 0),
            task_id=row.where,
            condition_name=condition_name,
            seed=seed,
            kind="bad_task",
            message=row.message,
        )
        for row in bad
    ]
    new = [dialogue for dialogue in dialogues if dialogue.id not in ended]
    broken = [failure for failure in failures if failure.id not in ended]
    with Appender(run / "dialogues" / f"{condition_name}.jsonl") as file:
        for dialogue in new:
            file.append(dialogue)
    with Appender(run / "failures.jsonl") as file:
        for failure in broken:
            file.append(failure)
    return Counts(len(new), len(broken), len(dialogues) + len(failures) - len(new) - len(broken))
