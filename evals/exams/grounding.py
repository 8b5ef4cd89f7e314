"""Which grounding acts does the student use, at which position, and after what?

Rates are P(act | position) over the student's turns in whole episodes with the `facts` exam partner,
standardised over positions 1 to 3 with equal weights (evals.metrics.catalog), so that longer talks do not count
as more grounding. `repair@garbled` is P(repair | the partner's turn made no sense).
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting.sitting import OPENING, Case, ExamEpisode, Sitting, tally
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak, stream
from pipeline.knowledge.view import view
from pipeline.reading.acts import ACTS, given, questions
from pipeline.reading.context import TurnInContext

LAST = 3  # position that is counted
GARBLED = ("Well the one is the.", "It was for the how.")


async def grounding(sitting: Sitting, episodes: Iterable[ExamEpisode]) -> list[Case]:
    """One hit or miss per act and student turn, by position (1 is the first turn)."""
    turns: list[TurnInContext] = []
    places: list[tuple[str, int]] = []
    for episode in episodes:
        if episode.arm != "facts":
            continue
        told: set[str] = set()
        position, asked_before, before = 0, False, ""
        for turn in episode.played.turns:
            if turn.party == "partner":
                told |= set(given(turn.text, episode.task.facts))
            else:
                position += 1
                if position <= LAST:
                    facts = episode.task.facts
                    turns.append(TurnInContext(turn.text, before, False, facts, frozenset(told), asked_before))
                    places.append((episode.task.id, position))
                asked_before |= bool(questions(turn.text))
            before = turn.text
    seen = zip(places, await sitting.acts(turns), strict=True)
    found = [
        (task, f"{act}/{position}", float(act in done))
        for (task, position), done in seen
        if done is not None
        for act in ACTS
    ]
    return tally("grounding", found)


async def repair(sitting: Sitting) -> list[Case]:
    """The student's turn after a garbled one."""

    async def one(task: Task, i: int) -> list[tuple[str, str, float]]:
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
        [seen] = await sitting.acts([TurnInContext(turns[-1].text, turns[-2].text, False, task.facts)])
        return [] if seen is None else [(task.id, "repair@garbled", float("repair" in seen))]

    found = await sitting.all([one(task, i) for i, task in enumerate(sitting.tasks)])
    return tally("grounding", [hit for hits in found for hit in hits])
