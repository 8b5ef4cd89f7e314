"""What a rule partner says to a closed question on the options of a task ("Is it red?").

Who holds the answer, or believes to, says yes or no to whatever that decides. Who holds facts says what those say of
one attribute at a time. It does not work out which option it is, nor which it is not: then it would hold the answer or
the verdict, and partitions would differ in nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core.schema import Fact
from pipeline.knowledge.known import Known


def to_closed_question(knows: Known, facts: Iterable[Fact], words: frozenset[str]) -> str:
    """The move, a key of `rule_partner.WORDINGS`. `facts` are those that it may tell, `words` what is to be confirmed:
    values, or names of options.
    """
    match _decided(knows, facts, words):
        case None:
            return "checks" if knows.verdicts else "cannot_tell"
        case decided:
            return "yes" if decided else "no"


def _decided(knows: Known, facts: Iterable[Fact], words: frozenset[str]) -> bool | None:
    choice = knows.choice
    assert choice is not None
    if knows.answer:
        return any(choice.fits(option, words) for option in choice.options if choice.name(option) == knows.answer)
    stated = {choice.attribute(fact.value): fact.value for fact in facts if fact.value}
    asked = {choice.attribute(word) for word in words}
    said = [stated[attribute] in words if attribute in stated else None for attribute in asked]
    # None in `asked`: names of options.
    return None if None in asked else False if False in said else None if None in said else True
