"""The monologue: a dialogue rewritten as one problem that says all, and one solution in the student's own words.

What a partner told stands in the problem, and nothing else that it said is left. What the student asked, and how it
took its leave, is gone with the partner that it was said to.

    maieutic run configs/methods.yaml     # facts_monologue, the control of facts
"""

from __future__ import annotations

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Message, Task
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import final_answer, readings
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view


def solution(dialogue: Dialogue) -> list[int]:
    """The turns that a monologue joins: the student's, up to the first that commits to its final answer.

    Left out are those that commit to no answer and ask, say what is missing, or say that the work is over; later ones
    defend the answer to a partner that is not there. Empty where the student commits to none.
    """
    read, final = readings(dialogue), final_answer(dialogue)
    if final is None:
        return []
    own = [(i, turn) for i, turn in enumerate(read) if isinstance(turn, StudentReading)]
    last = next(i for i, turn in own if turn.attempt == final)
    return [i for i, turn in own if i <= last and (turn.attempt is not None or not _is_only_talk(turn))]


def _is_only_talk(turn: StudentReading) -> bool:
    return turn.asks_anything or bool(turn.whether) or turn.says_missing or turn.done


def problem(dialogue: Dialogue, before: int) -> Task | None:
    """The task with what the partner told before the turn number `before`: the whole problem where nothing is left to
    tell, else the facts behind the question. None where it told one wrongly, which no problem says."""
    said = [turn for turn in readings(dialogue)[:before] if isinstance(turn, PartnerReading)]
    if any(turn.tells_wrong for turn in said):
        return None
    task, told = dialogue.task, {fact for turn in said for fact in turn.tells}
    private = [fact for fact in task.facts if not fact.public]
    # The full question says what all private facts say, needed or not: it is nobody's to read before all were told.
    if private and all(fact.id in told for fact in private):
        return task.told_at_once()
    behind = [fact.text for fact in private if fact.id in told]
    return task.model_copy(update={"question": " ".join([task.question, *behind])})


def monologue_messages(experiment: Experiment, dialogue: Dialogue) -> list[Message] | None:
    """The opening of `problem`, and the `solution` as its answer. None where there is none, or a turn of it was cut,
    since it would have no end."""
    turns = solution(dialogue)
    if not turns or not all(dialogue.turns[i].finished for i in turns):
        return None
    told = problem(dialogue, turns[-1])
    if told is None:
        return None
    prompt = view(told, dialogue.condition, [], "student", experiment.prompts("student"))
    return [*prompt, {"role": "assistant", "content": spoken(dialogue, turns)}]


def spoken(dialogue: Dialogue, turns: list[int]) -> str:
    """What the student said in these turns, as one text; thoughts, which come before one answer, are not in it."""
    return " ".join(dialogue.turns[i].text for i in turns)
