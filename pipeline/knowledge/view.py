"""What one party can see of a dialogue, as chat messages.

`view` shows a model nothing but what `known` returns (pipeline/knowledge/known.py), in the words of its prompts
(pipeline/prompts/prompts.py), and the text of the turns. Generation, training rows and exams all pass through here, so
the tests over `known` and `view` cover them all. Views are append-only: the view after a turn starts with the view
before it, and prefix caches stay warm.

    maieutic preview configs/quickstart.yaml     # prints both views of one dialogue per condition
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.schema import Message, Party, Task, Turn
from pipeline.knowledge.briefing import briefing, check_note, question_request, script_briefing
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import printed, verdict
from pipeline.prompts.prompts import CLOSED_PROMPTS, Briefing, Prompts


def view(
    task: Task, condition: Condition, turns: Sequence[Turn], party: Party, prompts: Prompts = CLOSED_PROMPTS
) -> list[Message]:
    """The dialogue as `party` sees it: its own turns are `assistant`, the other's are `user`.

    The partner's first message joins its opening and the student's first turn, so that roles alternate.
    """
    return continued(opening(task, condition, party, prompts), task, condition, turns, party, prompts)


def opening(task: Task, condition: Condition, party: Party, prompts: Prompts = CLOSED_PROMPTS) -> list[Message]:
    """What a party reads before the first turn: every view of a dialogue begins with it."""
    return _begun(briefing(task, condition, party, prompts))


def continued(
    begun: list[Message], task: Task, condition: Condition, turns: Sequence[Turn], party: Party, prompts: Prompts
) -> list[Message]:
    """The `view` of a dialogue whose `opening` is there already."""
    messages = list(begun)
    for i, turn in enumerate(turns):
        text = turn.text
        if party == "partner" and turn.party == "student":
            right = verdict(task, condition, turns[: i + 1])
            if right is not None:
                tests = printed(task, condition, turns[: i + 1])
                text += f"\n{check_note(condition, right, tests, task.entry, prompts)}"
        if turn.party == party:
            messages.append({"role": "assistant", "content": turn.own_text})
        else:
            messages = _then(messages, text)
    return messages


def script_view(task: Task, condition: Condition, prompts: Prompts = CLOSED_PROMPTS) -> list[Message]:
    """What the one model reads that writes both sides (Zhou et al., arXiv 2403.05020)."""
    return _begun(script_briefing(task, condition, prompts))


def question_view(
    task: Task, condition: Condition, turns: Sequence[Turn], prompts: Prompts = CLOSED_PROMPTS
) -> list[Message]:
    """What the partner's model reads that writes a question in place of the last turn, a wrong attempt (Q-priming)."""
    seen = view(task, condition, turns, "partner", prompts)
    return probe(seen, question_request(condition, prompts))


def probe(messages: list[Message], question: str) -> list[Message]:
    """A view with a private question at its end, for a belief that never enters the transcript."""
    return _then(messages, question)


def _then(messages: list[Message], text: str) -> list[Message]:
    """The messages, and behind them what the user says."""
    if messages and messages[-1]["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": messages[-1]["content"] + "\n\n" + text}]
    return [*messages, {"role": "user", "content": text}]


def _begun(briefing: Briefing) -> list[Message]:
    messages = [{"role": "system", "content": briefing.system}] if briefing.system else []
    messages += briefing.demonstrations
    return [*messages, {"role": "user", "content": briefing.opening}] if briefing.opening else messages
