"""The dialogues of a run as they are shown: those that it made, and the episodes of its exams.

An exam episode is stored without its task, so the tasks of the exam are made again from the config. It becomes a
`Dialogue` whose condition is that of the exam's partner, and whose `condition_name` is the student's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from evals.sitting.exam_partners import ARMS
from pipeline.core.errors import ConfigError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Task, Turn, digest
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.fields import UNTRAINED
from pipeline.judging.outcome import readings
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import as_read, dialogues_path
from pipeline.runs.directory import experiment_of, require
from pipeline.runs.store import StoreError, read
from pipeline.runs.student_files import case_files, said_files, seed_of

Kind = Literal["dialogue", "exam"]
READINGS = TypeAdapter(list[Annotated[StudentReading | PartnerReading, Field(discriminator="party")]])


class Talk(NamedTuple):
    """A dialogue, every turn with its reading. `arm` is the exam's partner; '' where the run made the dialogue."""

    kind: Kind
    dialogue: Dialogue
    arm: str = ""

    @property
    def same(self) -> str:
        """Equal for what is the same but for the condition: task, seed, round, sample, and the exam's partner."""
        one = self.dialogue
        return digest(self.kind, one.task.id, one.seed, one.round, one.sample, self.arm)


class ShownRun:
    """A run directory that is read and never written to. Raises RunError and ConfigError where it is none."""

    def __init__(self, path: Path, name: str):
        require(path)
        self.path, self.name, self.experiment = path, name, experiment_of(path)

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Of the exams, by id. Raises ConfigError where their files are not here."""
        tasks, first_turn_tasks = exam_tasks(self.experiment)
        # Tasks that only first turns are asked on may bear the id of one that is sat in whole, in another wording.
        return {task.id: task for task in [*first_turn_tasks, *tasks]}

    @property
    def names(self) -> tuple[str, ...]:
        """Whose talks there may be, in the order of the config's conditions."""
        return (*UNTRAINED, *self.experiment.conditions)

    def files(self) -> list[tuple[Kind, Path]]:
        """Of all that is shown, by `names`."""
        made = [dialogues_path(self.path, name) for name in self.names]
        played = [file for name in self.names for file in said_files(self.path, name, "episodes")]
        return [("dialogue", file) for file in made if file.is_file()] + [("exam", file) for file in played]

    def case_files(self) -> list[Path]:
        """Of the cases of exams, of each student and seed."""
        return [file for folder in sorted((self.path / "results").glob("*")) for file in case_files(folder)]

    def talk(self, kind: Kind, file: Path, place: int, read: bytes) -> Talk:
        """What stands in the line that begins there (bytes); its turns were `read` before, as READINGS."""
        with file.open("rb") as lines:
            lines.seek(place)
            talk = self._of_line(kind, file, lines.readline())
        return talk._replace(dialogue=_with_readings(talk.dialogue, READINGS.validate_json(read)))

    def talks(self, kind: Kind, file: Path, start: int) -> Iterator[tuple[int, int, Talk]]:
        """From a place on (bytes) the whole lines of a file: where each begins, where it ends, and what it holds.

        Raises StoreError for a line that is broken.
        """
        with file.open("rb") as lines:
            lines.seek(start)
            for line in lines:
                if not line.endswith(b"\n"):  # it is being written, or a kill left it
                    return
                talk = self._of_line(kind, file, line)
                read = _with_readings(talk.dialogue, readings(talk.dialogue))
                yield start, start + len(line), talk._replace(dialogue=read)
                start += len(line)

    def _of_line(self, kind: Kind, file: Path, line: bytes) -> Talk:
        if kind == "exam":
            return self._episode(file, line)
        try:
            dialogue = Dialogue.model_validate_json(line)
        except ValidationError:
            for _ in read(file, Dialogue):  # it says which line, why, and what to do
                pass
            raise
        [(_, dialogue)] = as_read(self.experiment, [(0, dialogue)])
        return Talk("dialogue", dialogue)

    def _episode(self, file: Path, line: bytes) -> Talk:
        try:
            stored = json.loads(line)
            return Talk("exam", self._played(file, stored), stored["arm"])
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, ConfigError | StoreError):
                raise
            raise StoreError(f"{file}: not an episode of an exam: {error!r}. `maieutic eval` makes it again.") from None

    def _played(self, file: Path, stored: dict[str, Any]) -> Dialogue:
        """An episode that was played in an exam, whose student and seed the file's name says."""
        name, seed = file.parent.name, seed_of(file)
        if stored["task"] not in self.tasks:
            raise StoreError(
                f"{file}: the config's exams have no task {stored['task']!r}: its files "
                f"have changed. Bring them back, or delete {self.experiment.run / 'results'}: `maieutic eval` makes it."
            )
        nothing = [None] * len(stored["turns"])
        read, heard = stored.get("readings", nothing), stored.get("heard", nothing)
        if self.experiment.readers[1] != "closed" and None in read:
            raise StoreError(f"{file}: episodes were stored without readings. `maieutic eval` makes them again.")
        turns = [
            Turn.model_validate({"party": party, "text": text, "reading": reading, "heard": heard_as})
            for (party, text), reading, heard_as in zip(stored["turns"], read, heard, strict=True)
        ]
        return Dialogue(
            id=digest(name, seed, stored["arm"], stored["task"], stored["sample"]),
            task=self.tasks[stored["task"]],
            condition_name=name,
            condition=ARMS[stored["arm"]].condition,
            seed=seed,
            sample=stored["sample"],
            turns=tuple(turns),
            stop=stored["stop"],
        )


def _with_readings(dialogue: Dialogue, read: Sequence[StudentReading | PartnerReading]) -> Dialogue:
    """The same, each turn with what was read of it: whoever asks next need not read again."""
    turns = zip(dialogue.turns, read, strict=True)
    return dialogue.model_copy(update={"turns": tuple(turn.model_copy(update={"reading": one}) for turn, one in turns)})
