"""What one party can see of a dialogue, as chat messages.

`view` shows a model nothing but what `known` returns (pipeline/knowledge/known.py), in the words of
pipeline/knowledge/briefing.py, and the text of the turns. Generation, training rows and exams all pass through here, so
the tests over `known` and `view` cover them all. Views are append-only: the view after a turn starts with the view
before it, and prefix caches stay warm.

    maieutic preview configs/quickstart.yaml     # prints both views of one dialogue per condition
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.schema import Message, Party, Task, Turn
from pipeline.knowledge.briefing import check_note, opening, script_opening
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import printed, verdict


def view(task: Task, condition: Condition, turns: Sequence[Turn], party: Party, system: str = "") -> list[Message]:
    """The dialogue as `party` sees it: its own turns are `assistant`, the other's are `user`.

    The partner's first message joins its opening and the student's first turn, so that roles alternate.
    """
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": opening(task, condition, party)})
    for i, turn in enumerate(turns):
        text = turn.text
        if party == "partner" and turn.party == "student":
            right = verdict(task, condition, turns[: i + 1])
            if right is not None:
                tests = printed(task, condition, turns[: i + 1])
                text += f"\n{check_note(right, tests)}"
        if turn.party == party:
            messages.append({"role": "assistant", "content": turn.own_text})
        elif messages[-1]["role"] == "user":
            messages[-1] = {"role": "user", "content": messages[-1]["content"] + "\n\n" + text}
        else:
            messages.append({"role": "user", "content": text})
    return messages


def script_view(task: Task, condition: Condition, system: str = "") -> list[Message]:
    """What the one model reads that writes both sides (Zhou et al., arXiv 2403.05020)."""
    messages = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": script_opening(task, condition)}]


def probe(messages: list[Message], question: str) -> list[Message]:
    """A view with a private question at its end, for a belief that never enters the transcript."""
    if messages[-1]["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": messages[-1]["content"] + "\n\n" + question}]
    return [*messages, {"role": "user", "content": question}]
