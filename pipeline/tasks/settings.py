"""What a config says of its tasks: where they come from, and how many of each specification."""

from __future__ import annotations

from pydantic import NonNegativeInt

from pipeline.core.config_reading import Section, Seed
from pipeline.core.schema import Specification


class Tasks(Section):
    """Where problems come from. Counts are per specification; twins of one number share a world."""

    source: str = "embedded"  # a module of pipeline/tasks, or file.py:NAME (pipeline/tasks/sources.py)
    path: str = ""  # a file, or a hub name where the source has one; $VARIABLES are expanded
    train: dict[Specification, NonNegativeInt] = {"full": 300, "underspecified": 300}
    exam: dict[Specification, NonNegativeInt] = {"full": 100, "underspecified": 100}
    # Distinct problems that each condition plays, shared evenly among its specifications; 0: all that there are. Then
    # conditions differ in their specifications alone, not in how many problems they see.
    per_condition: NonNegativeInt = 0
    # Kinds of embedded problems or look-ups, such as price, or attributes of hidden items, such as colour, that are
    # neither trained on nor among the exam's own tasks.
    held_out: tuple[str, ...] = ()
    seed: Seed = 0
    # Tasks of another source: conditions say which they play, and students are asked first turns on both (@SOURCE).
    second: Tasks | None = None

    @property
    def parts(self) -> tuple[Tasks, ...]:
        """Of each source."""
        return (self, self.second) if self.second else (self,)
