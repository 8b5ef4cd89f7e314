"""When a privileged partner gives the answer away.

`leak_stated`: the gold answer stands in answer position in a partner's turn before the student's own
answer is right. Confirming a right attempt is no leak, and a gold number inside other prose is none
either: in about a quarter of MathDial it stands in the wrong solution already.

`gives_away` reads one turn of a person or a language model, who seldom call the gold the answer: there it
is the result of a sum, or what something is. Its precision and recall, and those of `states`, are in
docs/labels.md; a rule partner's wordings name the answer, so for it `states` is enough. What a turn lets the
student work out without saying it is pipeline/judging/functional_leak.py's.
"""

from __future__ import annotations

from pipeline.judging.outcome import rights
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.acts import given
from pipeline.reading.sentences import sentences
from pipeline.reading.stated_answer import gives_away


def privileged(condition: Condition) -> bool:
    """The partner's row holds something besides the public question."""
    return condition.row.holds_private


def first_leak(dialogue: Dialogue) -> int | None:
    """Index of the partner turn (0 is its first) that states the gold answer unearned; None where none does.

    Of a person or a model, who seldom say "the answer is", a turn that `gives_away` the gold states it, too; a
    withheld fact that is told may hold the same number, and is no leak. Of programs, one that passes the tests states
    the gold; one that is told in words or in pieces is missed.
    """
    free = dialogue.stop == "imported" or dialogue.condition.voice == "model"
    free = free and dialogue.task.tests is None  # what `gives_away` reads is numbers
    gold, partner_turns = dialogue.task.answer, 0
    withheld = [fact for fact in dialogue.task.facts if not fact.public]
    for turn, right in zip(dialogue.turns, rights(dialogue), strict=True):
        if turn.party == "student" and right:
            return None
        if turn.party == "partner":
            told = " ".join(part for part in sentences(turn.text) if not given(part, withheld)) if free else ""
            if right or gives_away(told, gold, dialogue.task.full_question):
                return partner_turns
            partner_turns += 1
    return None


def leak_stated(dialogue: Dialogue) -> bool:
    """Whether the partner said the gold answer before the student was right."""
    return first_leak(dialogue) is not None
