"""What a task source is: one descriptor, `SOURCE` in a module of this folder or in a file outside the repository.

Everything that depends on where tasks come from asks the descriptor, and nobody compares names. A new source is one
file: a reader, and what holds of its tasks.

    SOURCE = Source("mine", ("full",), read=read, licence=Licence("mit", "Problems are mine (MIT)."))
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeline.core.schema import Specification, Task
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks

# base: for the warm-up of a base, or its making, and for no student.
Split = Literal["base", "train", "exam"]
Reader = Callable[[Tasks], tuple[list[Task], list[BadRow]]]
Maker = Callable[[Tasks, Split], Collection[Task]]
Importer = Callable[[Tasks, str, Condition, int], tuple[list[Dialogue], list[BadRow]]]


class Licence(NamedTuple):
    """Of the rows of a dataset: an identifier of SPDX, and what it asks of whoever passes them on."""

    spdx: str
    asks: str


UNKNOWN = Licence(
    "unknown", "Nothing is known here of the rights in these tasks. Find out before passing the rows on, and say it."
)


@dataclass(frozen=True)
class Source:
    """Where tasks come from, and what holds of them. Either `read` or `make` is given."""

    name: str  # that its tasks bear
    specifications: tuple[Specification, ...]
    read: Reader | None = None  # all tasks of tasks.path, of either split; raises ConfigError where there is none
    make: Maker | None = None  # from a seed: their wording is planted here
    licence: Licence = UNKNOWN
    has_facts: bool = False  # questions lack facts that a partner can tell
    has_steps: bool = False  # an expert's solution comes in steps
    has_first_solutions: bool = False  # a wrong solution stands in the question, and what is wrong there is known
    has_programs: bool = False  # answers are programs, which have to be run
    has_options: bool = False  # questions name the options that the answer is one of (Task.choice)
    closed: bool = False  # all is said in the closed language of the embedded base
    worded: bool = False  # facts are told in words, dates and times
    kinds: tuple[str, ...] = ()  # of problems, that tasks.held_out may name
    has_base: bool = False  # `make` has tasks of split base, so many as `train` counts
    # What only first turns are asked on beside the exam's own tasks: so many in a held-out wording, and of held-out
    # kinds, of each specification.
    unlike: Callable[[Tasks, int, int], list[Task]] | None = None
    # People's dialogues on its tasks, as those of a condition, its name and a seed.
    dialogues: Importer | None = None
    limits: tuple[str, ...] = ()  # of people's dialogues on its tasks, as cards say them
    at_path: Callable[[str], Source] | None = None  # what it is instead where tasks.path is set: to that

    def __post_init__(self) -> None:
        if (self.read is None) == (self.make is None):
            raise TypeError(f"source {self.name!r}: either read or make is expected, not both or none")

    @property
    def made_here(self) -> bool:
        """Its wording is planted: nothing about it is evidence on real text."""
        return self.make is not None
