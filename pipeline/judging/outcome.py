"""The outcome of a dialogue: final answers, and whether they are right. Computed afterwards, never in the loop."""

from __future__ import annotations

from pipeline.core.schema import Party
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.reading.acts import given
from pipeline.reading.attempt import attempt
from pipeline.reading.correctness import judged
from pipeline.reading.numbers.equality import equal


def attempts(dialogue: Dialogue) -> list[str | None]:
    """`attempt` of each turn, of both parties. In imported talk, which is people's, closing sentences count too."""
    question = dialogue.task.full_question if dialogue.stop == "imported" else ""
    return [attempt(turn.text, question, dialogue.task.entry) for turn in dialogue.turns]


def rights(dialogue: Dialogue) -> list[bool | None]:
    """Of each turn, of both parties; None where it commits to nothing."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    return [None if answer is None else judged(dialogue.task, turn, answer) for turn, answer in answered]


def final_answer(dialogue: Dialogue, party: Party = "student") -> str | None:
    """The last answer that a party committed to."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    return next((answer for turn, answer in reversed([*answered]) if turn.party == party and answer is not None), None)


def is_correct(dialogue: Dialogue) -> bool:
    """Whether the student's last answer is right; False where it gave none."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    own = [(turn, answer) for turn, answer in answered if turn.party == "student" and answer is not None]
    return bool(own) and judged(dialogue.task, *own[-1])


def is_grounded(dialogue: Dialogue) -> bool:
    """Every needed fact was in the student's row, or stated by the partner, before the final answer."""
    condition = dialogue.condition
    has = {fact.id for fact in known(dialogue.task, condition, "student").facts}
    if condition.row.student_reads_partner:
        has |= {fact.id for fact in known(dialogue.task, condition, "partner").facts}
    final = [
        i for i, answer in enumerate(attempts(dialogue)) if answer is not None and dialogue.turns[i].party == "student"
    ][-1:]
    for turn in dialogue.turns[: final[0] if final else 0]:
        if turn.party == "partner":
            has |= set(given(turn.text, dialogue.task.facts))
    return all(fact.id in has for fact in dialogue.task.facts if fact.needed)


def agrees(dialogue: Dialogue) -> bool:
    """Whether both parties answered, and the same, right or wrong."""
    ours, theirs = final_answer(dialogue), final_answer(dialogue, "partner")
    return ours is not None and theirs is not None and equal(ours, theirs)
