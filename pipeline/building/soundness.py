"""Whether a partner that is a model keeps to what it may know, before much is paid for its dialogues.

A build with `partner.sound` first plays FIRST dialogues of each such condition in which a partner speaks, by
themselves, and looks at them. It looks again whenever the number of the condition's dialogues, of all seeds and rounds,
has doubled, and where it goes on to another seed or resumes. It stops where the upper end of Wilson's 95% interval of
the share that kept to its knowledge is below `partner.sound`; with fewer than FIRST it never does. Dialogues under way
are ended and stored, and the same command goes on with a lower value. Branches, and what an online method plays, are
not looked at.

    maieutic build CONFIG --set partner.sound=0.9
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from pipeline.core.errors import MaieuticError
from pipeline.experiment.cell import Cell
from pipeline.judging.violations import KINDS, Kind, Violation, violations
from pipeline.judging.wilson import wilson_interval
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read

FIRST = 20  # dialogues that are played before others
SHOWN = 2  # examples of each kind of violation
Plan = TypeVar("Plan")


class UnsoundPartner(MaieuticError, RuntimeError):
    """A partner violated its knowledge constraint too often for its dialogues to be worth their price."""


class Soundness:
    """Counts in how many of the dialogues in which a partner spoke it kept to what it may know."""

    def __init__(self) -> None:
        self.n = 0
        self.kept = 0
        self.by_kind = Counter[Kind]()  # dialogues with a violation of the kind
        self.shown: dict[Kind, list[Violation]] = {}

    def add(self, dialogue: Dialogue) -> None:
        if all(turn.party != "partner" for turn in dialogue.turns):
            return
        found = violations(dialogue)
        self.count({violation.kind for violation in found})
        for violation in found:
            shown = self.shown.setdefault(violation.kind, [])
            if len(shown) < SHOWN:
                shown.append(violation)

    def count(self, kinds: Set[Kind]) -> None:
        """A dialogue in which the partner spoke, with violations of these kinds."""
        self.n += 1
        self.kept += not kinds
        self.by_kind.update(kinds)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the share that kept to it, dialogues taken as independent; (0, 1) without any."""
        return wilson_interval(self.kept, self.n) if self.n else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.n:
            return "no dialogue in which the partner spoke"
        low, high = self.interval
        kinds = ", ".join(f"{kind} in {self.by_kind[kind]}" for kind in KINDS if self.by_kind[kind])
        figure = f"{self.kept} of {self.n} dialogues kept to what the partner may know, {self.kept / self.n:.2f}"
        return f"{figure} (95% interval {low:.2f} to {high:.2f})" + (f"; violations: {kinds}" if kinds else "")

    @property
    def examples(self) -> list[str]:
        """A line for each violation that is shown: what the partner said, and what it may know."""
        return [
            f"{kind}: {' '.join(violation.text.split())!r}: {violation.knows}"
            for kind in KINDS
            for violation in self.shown.get(kind, [])
        ]


class Watch(Soundness):
    """The soundness of the dialogues of one condition, looked at while a build adds to them."""

    def __init__(self, sound: float, condition_name: str):
        super().__init__()
        self.sound, self.condition_name = sound, condition_name
        self.next_look, self.failed = FIRST, False

    def add(self, dialogue: Dialogue) -> None:
        super().add(dialogue)
        if self.n >= self.next_look:
            self.next_look = 2 * self.n
            self.look()

    def look(self) -> None:
        """Whether too few kept to it, as of now."""
        self.failed = self.n >= FIRST and self.interval[1] < self.sound

    def admitted(self, plans: Iterable[Plan]) -> Iterator[Plan]:
        """The plans, until too few kept to it."""
        return takewhile(lambda _: not self.failed, plans)

    def require(self) -> None:
        """Raises UnsoundPartner where too few kept to it."""
        if self.failed:
            examples = "".join(f"\n  {line}" for line in self.examples)
            raise UnsoundPartner(
                f"partner.sound: {self.sound} is asked for; conditions.{self.condition_name}: {self}.{examples}\n"
                "The build stops here, and what was played is stored. Mend the partner's prompts or name another "
                "model, in another `out`; or lower partner.sound, and the same command goes on."
            )


def watch_of(cell: Cell, *folders: Path) -> Watch | None:
    """The watch over a cell's condition, with its dialogues in the folders looked at; None where none is asked for."""
    sound = cell.experiment.partner.sound
    if sound is None or cell.condition.voice != "model":
        return None
    watch, there = Watch(sound, cell.condition_name), set[str]()
    for folder in folders:
        for dialogue in read(dialogues_path(folder, cell.condition_name), Dialogue):
            if dialogue.id not in there:
                there.add(dialogue.id)
                Soundness.add(watch, dialogue)
    watch.next_look = max(FIRST, 2 * watch.n)
    watch.look()
    return watch
