"""What a rule partner says: what its row allows, and no more.

It sees the same `Known` as a model partner would, the turns so far, and the verdict where its row
holds one. `train` wordings are heard in training, `exam` wordings only in exams.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.acts import asked, attempt, given
from pipeline.partition import Condition
from pipeline.schema import Turn
from pipeline.verify import equal, number
from pipeline.view import Known

WORDINGS = {
    "train": {
        "tell": ["{}", "I know this: {}", "Here is a fact. {}"],
        "unknown": ["I do not know that.", "I cannot say.", "I have no idea."],
        "noted": ["Okay.", "I see.", "I cannot check that."],
        "go_on": ["Go on.", "What do you think?", "Please go on."],
        "right": ["That is right.", "Yes, that is right.", "That is correct."],
        "wrong": ["That is not right.", "No, that is wrong.", "That is not correct."],
        "checks": ["I can only check answers.", "I only check answers."],
        "high": ["That is too high."],
        "low": ["That is too low."],
        "claim": ["No. The answer is {}.", "That is wrong. The answer is {}.", "I am sure the answer is {}."],
    },
    "exam": {
        "tell": ["Let me see. {}", "I can tell you this. {}"],
        "unknown": ["Sorry, no one told me that.", "That I could not tell you."],
        "noted": ["All right.", "Noted."],
        "go_on": ["Carry on.", "And then?"],
        "right": ["The check passed."],
        "wrong": ["The check failed."],
        "checks": ["All I can do is check an answer."],
        "high": ["Go lower."],
        "low": ["Go higher."],
        "claim": ["You made a mistake. The answer is {}.", "Everyone says the answer is {}."],
    },
    "unhelpful": {
        "tell": ["That is for you to find out.", "I would rather not say."],
        "unknown": ["That is for you to find out.", "I would rather not say."],
        "noted": ["If you say so."],
        "go_on": ["That is for you to find out.", "I would rather not say."],
    },
}


class Reply(NamedTuple):
    text: str
    move: str  # a key of WORDINGS
    done: bool = False


def rule_reply(
    knows: Known,
    condition: Condition,
    turns: Sequence[Turn],
    verdict: bool | None,
    rng: random.Random,
    wording: str = "train",
) -> Reply:
    """The rule partner's next turn. `knows` and `verdict` are all that it can use."""
    said = turns[-1].text
    answer = attempt(said)

    def say(move: str, fill: str = "", done: bool = False) -> Reply:
        return Reply(rng.choice(WORDINGS[wording][move]).format(fill), move, done)

    if condition.row.partner is None:
        return say("go_on")
    if answer is not None:
        if knows.believes_false_key:
            return say("right", done=True) if equal(answer, knows.answer) else say("claim", knows.answer)
        if verdict is not None:
            return say("right", done=True) if verdict else say("wrong")
        if knows.answer:
            return _compare(answer, knows, condition, say)
    if condition.terms == "on_request":
        wanted = asked(said, knows.facts)
        texts = [fact.text for fact in knows.facts if fact.id in wanted]
        if texts:
            return say("tell", " ".join(texts))
    else:
        pool = (
            [f for f in (knows.private or knows.facts) if f.needed]
            if condition.terms == "volunteer"
            else [f for f in knows.facts if f not in knows.private]
        )
        told = {i for turn in turns if turn.party == "partner" for i in given(turn.text, pool)}
        rest = [fact.text for fact in pool if fact.id not in told]
        if rest:
            return say("tell", rest[0])
    if "?" in said and answer is None:
        return say("checks" if knows.verdicts else "unknown")
    return say("noted" if answer is not None else "go_on")


def _compare(answer: str, knows: Known, condition: Condition, say: Callable[..., Reply]) -> Reply:
    if equal(answer, knows.answer):
        return say("right", done=True)
    if condition.reveal:
        return say("claim", knows.answer)
    if knows.solution:
        return say("wrong")
    ours, gold = number(answer), number(knows.answer)
    if ours is None or gold is None:
        return say("wrong")
    return say("high" if ours > gold else "low")
