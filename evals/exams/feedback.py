"""Does the student make use of what it is told?

The informative partner volunteers the missing facts, so that asking is not needed; `chatter` restates
public ones in the same turns. `gain` and `uptake` are differences between the two (evals.metrics.catalog). For
verdicts, the control is the partner that says nothing useful.
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting.sitting import Case, ExamEpisode, tally
from pipeline.reading.correctness import is_right


def feedback(episodes: Iterable[ExamEpisode], turns: int) -> list[Case]:
    """P(right after | wrong before) around each partner turn; accuracy at the end and by student turn, to `turns`."""
    found = []
    for episode in episodes:
        task, position = episode.task, 0
        # Of the last answer so far, and of this turn's; None where there is none.
        standing: bool | None = None
        now: bool | None = None
        kind = "under" if task.missing else task.specification
        for turn in episode.played.turns:
            if turn.party == "partner":
                continue
            # In these turns the informative partner has told a fact, or judged an attempt; the control in the same.
            informed = 0 < position <= len(task.missing) if task.missing else now is not None
            now = is_right(task, turn)
            wrong_before = standing is False
            standing = standing if now is None else now
            right = bool(standing)
            if wrong_before and informed:
                found.append((task.id, f"uptake_{kind}@{episode.arm}", float(right)))
            position += 1
            found.append((task.id, f"accuracy_{kind}_turn{position}@{episode.arm}", float(right)))
        # Whoever stopped early keeps the answer that it stopped with.
        right = bool(standing)
        found.append((task.id, f"accuracy_{kind}@{episode.arm}", float(right)))
        for later in range(position + 1, turns + 1):
            found.append((task.id, f"accuracy_{kind}_turn{later}@{episode.arm}", float(right)))
    return tally("feedback", found)
