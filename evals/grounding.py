"""Which grounding acts does the student use, at which position, and after what?

Rates are P(act | position) over the student's turns in whole episodes with the `facts` exam partner,
standardised over positions 1 to 3 with equal weights (evals.metrics), so that longer talks do not count
as more grounding. `repair@garbled` is P(repair | the partner's turn made no sense).
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting import OPENING, Case, Episode, Sitting, tally
from pipeline.acts import ACTS, acts, given, questions
from pipeline.episode import speak, stream
from pipeline.schema import Task, Turn
from pipeline.view import view

GARBLED = ("Well the one is the.", "It was for the how.")


def grounding(episodes: Iterable[Episode]) -> list[Case]:
    """One hit or miss per act and student turn, by position (1 is the first turn)."""
    found = []
    for episode in episodes:
        if episode.arm != "facts":
            continue
        told: set[str] = set()
        position, asked_before = 0, False
        for turn in episode.played.turns:
            if turn.party == "partner":
                told |= set(given(turn.text, episode.task.facts))
                continue
            position += 1
            seen = acts(turn.text, episode.task.facts, told, asked_before)
            asked_before |= bool(questions(turn.text))
            if position <= 3:
                found += [(episode.task.id, f"{act}/{position}", float(act in seen)) for act in ACTS]
    return tally("grounding", found)


async def repair(sitting: Sitting) -> list[Case]:
    """The student's turn after a garbled one."""

    async def one(task: Task, i: int) -> tuple[str, str, float]:
        settings = sitting.settings
        turns: list[Turn] = []
        for part in (0, 1):
            messages = view(task, OPENING, turns, "student", sitting.system)
            turns.append(
                await speak(
                    sitting.student, messages, "student", settings, stream(sitting.key(task.id, "garbled", part))
                )
            )
            if part == 0:
                turns.append(Turn(party="partner", text=GARBLED[i % len(GARBLED)]))
        return task.id, "repair@garbled", float("repair" in acts(turns[-1].text, task.facts))

    return tally("grounding", await sitting.all([one(task, i) for i, task in enumerate(sitting.tasks)]))
