"""Does the student make use of what it is told?

The informative partner volunteers the missing facts, so that asking is not needed; `chatter` restates
public ones in the same turns. `gain` and `uptake` are differences between the two (evals.metrics). For
verdicts, the control is the partner that says nothing useful.
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting import Case, Episode, tally
from pipeline.acts import attempt
from pipeline.verify import equal


def feedback(episodes: Iterable[Episode], turns: int) -> list[Case]:
    """P(right after | wrong before) around each partner turn; accuracy at the end and by student turn, to `turns`."""
    found = []
    for episode in episodes:
        task, answer, position, said = episode.task, None, 0, None
        kind = "under" if task.missing else task.specification
        for turn in episode.played.turns:
            if turn.party == "partner":
                continue
            # In these turns the informative partner has told a fact, or judged an attempt; the control in the same.
            informed = 0 < position <= len(task.missing) if task.missing else said is not None
            said = attempt(turn.text)
            wrong_before = answer is not None and not equal(answer, task.answer)
            answer = said if said is not None else answer
            right = answer is not None and equal(answer, task.answer)
            if wrong_before and informed:
                found.append((task.id, f"uptake_{kind}@{episode.arm}", float(right)))
            position += 1
            found.append((task.id, f"accuracy_{kind}_turn{position}@{episode.arm}", float(right)))
        # Whoever stopped early keeps the answer that it stopped with.
        right = answer is not None and equal(answer, task.answer)
        found.append((task.id, f"accuracy_{kind}@{episode.arm}", float(right)))
        for later in range(position + 1, turns + 1):
            found.append((task.id, f"accuracy_{kind}_turn{later}@{episode.arm}", float(right)))
    return tally("feedback", found)
