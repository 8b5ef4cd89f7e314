"""What a rule partner says: what its row allows, and no more.

It sees the same `Known` as a model partner would, the turns so far, and the verdict where its row
holds one. Students are trained with partners that use `train` wordings and examined with the others; an
embedded base has heard `exam` and `unhelpful` ones too, in its own corpus.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Fact, Turn
from pipeline.dialogue.closed_questions import to_closed_question
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known
from pipeline.reading.embedded_world.closed import student_request
from pipeline.reading.numbers.equality import equal, is_more
from pipeline.reading.numbers.read_bound import holds
from pipeline.reading.programs import fenced
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.sentences import sentences
from pipeline.reading.settings import GenericRequests

WORDINGS = {
    "train": {
        "tell": ["{}", "I know this: {}", "Here is a fact. {}"],
        "unknown": ["I do not know that.", "I cannot say.", "I have no idea."],
        "noted": ["Okay.", "I see.", "I cannot check that."],
        "go_on": ["Go on.", "What do you think?", "Please go on."],
        "right": ["That is right.", "Yes, that is right.", "That is correct."],
        "wrong": ["That is not right.", "No, that is wrong.", "That is not correct."],
        "ask_back": ["What would you like to know?", "What exactly do you want to know?"],
        "checks": ["I can only check answers.", "I only check answers."],
        "where": ["The first mistake is in step {} of the first solution.", "Step {} of the first solution is wrong."],
        "high": ["That is too high."],
        "low": ["That is too low."],
        "claim": ["No. The answer is {}.", "That is wrong. The answer is {}.", "I am sure the answer is {}."],
        "yes": ["Yes.", "Yes, it is."],
        "no": ["No.", "No, it is not."],
        "cannot_tell": ["I cannot tell.", "I can not say whether it is."],
        "yes_no": ["I can only say yes or no.", "I only say yes or no."],
        "hint": ["Think of this. {}", "Start from this. {}"],
    },
    "exam": {
        "tell": ["Let me see. {}", "I can tell you this. {}"],
        "unknown": ["Sorry, no one told me that.", "That I could not tell you."],
        "noted": ["All right.", "Noted."],
        "go_on": ["Carry on.", "And then?"],
        "right": ["The check passed."],
        "wrong": ["The check failed."],
        "ask_back": ["Which thing do you want to hear about?"],
        "checks": ["All I can do is check an answer."],
        "where": ["It first goes wrong in step {}."],
        "high": ["Go lower."],
        "low": ["Go higher."],
        "claim": ["You made a mistake. The answer is {}.", "Everyone says the answer is {}."],
        "yes": ["Yes, that is so."],
        "no": ["No, that is not so."],
        "cannot_tell": ["I have no way to tell."],
        "yes_no": ["All I can say is yes or no."],
        "hint": ["Look at it this way. {}"],
    },
    "unhelpful": {
        "tell": ["That is for you to find out.", "I would rather not say."],
        "unknown": ["That is for you to find out.", "I would rather not say."],
        "noted": ["If you say so."],
        "ask_back": ["That is for you to find out.", "I would rather not say."],
        "go_on": ["That is for you to find out.", "I would rather not say."],
        "yes": ["That is for you to find out.", "I would rather not say."],
        "no": ["That is for you to find out.", "I would rather not say."],
        "cannot_tell": ["That is for you to find out.", "I would rather not say."],
    },
}

MOST_OFF = 9  # by which a number is misremembered
NUMBER = re.compile(r"(\d+(?:,\d{3})*)((?:\.\d+)?(?:/\d+)?)")  # its whole part, and what follows
ERRS = 0.3  # share of facts that an erring partner gets wrong


class Reply(NamedTuple):
    """What a partner by rule says; `done` ends the dialogue."""

    text: str
    move: str  # a key of WORDINGS
    done: bool = False
    tells: frozenset[str] | None = None  # ids of facts that it tells as they are; None: those that stand there
    tells_wrong: frozenset[str] = frozenset()


def rule_reply(
    knows: Known,
    condition: Condition,
    turns: Sequence[Turn],
    verdict: bool | None,
    rng: random.Random,
    wording: str = "train",
    printed: str = "",
    generic: GenericRequests = "ask_back",
) -> Reply:
    """The rule partner's next turn. `knows`, `verdict`, what the tests `printed`, and what it heard in the student's
    turns, are all that it can use. `generic` is its answer to a request that names nothing ("What am I missing?"),
    where it tells facts on request.
    """
    heard = _heard(knows, turns[-1])
    answer = heard.attempt

    def say(move: str, fill: str = "", done: bool = False) -> Reply:
        return Reply(rng.choice(WORDINGS[wording][move]).format(fill), move, done)

    if condition.row.partner is None:
        return say("go_on")
    if answer is not None:
        if knows.believes_key:
            return say("right", done=True) if equal(answer, knows.answer) else say("claim", knows.answer)
        if verdict is not None:
            if not verdict and knows.answer and condition.reveal:
                return say("claim", f"this program:\n{fenced(knows.answer)}\n")
            reply = say("right", done=True) if verdict else pointed(say("wrong"), knows, rng, wording)
            return reply._replace(text=f"{reply.text} {printed}") if printed and not verdict else reply
        if knows.answer:
            return _compare(answer, knows, condition, say)
    if condition.disclosure != "on_request" and (unasked := _unasked(knows, condition, turns[1::2])):
        return say("tell", unasked)
    # A volunteer that has told all that it tells unasked answers like any other partner; chatter from what is public.
    told = {fact.id for fact in knows.facts if any(fact.text in turn.text for turn in turns[1::2])}
    open_to = [fact for fact in knows.facts if condition.disclosure != "chatter" or fact not in knows.own]
    # An answer, or a hint, may hold what is withheld and needed, which chatter does not tell.
    tells = condition.disclosure != "chatter" or not any(fact.needed for fact in knows.private)
    if heard.whether and answer is None:
        return say(to_closed_question(knows if tells else replace(knows, answer=""), open_to, heard.whether))
    if facts := [fact for fact in open_to if fact.id in heard.asks]:
        return _tell(facts, knows, condition, turns, rng, say)
    bound = "" if answer is not None or heard.asks or not tells else heard.bound
    if bound and (held := holds(bound, knows.answer)) is not None:
        return say("yes" if held else "no")
    hints = knows.choice and knows.answer and tells
    if hints and heard.asks_anything and answer is None:
        hint = next((hint for hint in knows.hints if not any(hint in turn.text for turn in turns[1::2])), "")
        return say("hint", hint) if hint else say("yes_no")
    if heard.generic_request and (condition.row.holds_facts or (knows.share and generic == "tell_one")):
        left = [fact for fact in knows.own if fact.needed and fact.id not in told]
        if generic == "ask_back" or condition.disclosure != "on_request":
            return say("ask_back")
        return _tell(left[:1], knows, condition, turns, rng, say) if left else say("unknown")
    if heard.asks_anything and answer is None:
        return pointed(say("checks"), knows, rng, wording) if knows.verdicts else say("unknown")
    return say("noted" if answer is not None else "go_on")


def _heard(knows: Known, turn: Turn) -> StudentReading:
    """As the config's reader understood it when it was said, or as the closed one does."""
    if turn.heard is not None:
        return turn.heard
    return student_request(
        TurnToRead(
            party="student",
            text=turn.sure_text,
            question=knows.question,
            facts=knows.facts,
            entry=knows.entry,
            choice=knows.choice,
        )
    )


def pointed(reply: Reply, knows: Known, rng: random.Random, wording: str) -> Reply:
    """The reply, and behind it where the first solution goes wrong, and what is wrong there, as far as it is known.

    Whatever more is known, what stands before it is the same: verifiers differ in what they add alone.
    """
    if not knows.where:
        return reply
    where = rng.choice(WORDINGS[wording]["where"]).format(knows.where)
    return reply._replace(text=" ".join(filter(None, [reply.text, where, knows.what])))


def _tell(
    facts: list[Fact],
    knows: Known,
    condition: Condition,
    turns: Sequence[Turn],
    rng: random.Random,
    say: Callable[..., Reply],
) -> Reply:
    """Tell what was asked for, in the partner's manner (after the simulated users of CollabLLM, Wu et al. 2025)."""
    match condition.manner:
        case "vague":  # until it is asked again
            before = {i for turn in turns[:-1:2] for i in _heard(knows, turn).asks}
            vague = {fact.id: NUMBER.sub("some", fact.text) for fact in facts}
            # Who names nothing asks again for what it was told vaguely.
            before |= {id for id, text in vague.items() if any(text in turn.text for turn in turns[1::2])}
            texts = [fact.text if fact.id in before else vague[fact.id] for fact in facts]
        case "erring":
            texts = [_misremembered(fact.text, rng) if rng.random() < ERRS else fact.text for fact in facts]
        case "low_effort":  # one thing at a time, and only every other time
            if rng.random() < 0.5:
                return say("go_on")
            texts = [facts[0].text]
        case _:
            texts = [fact.text for fact in facts]
    reply = say("tell", " ".join(texts))  # which an unhelpful partner leaves out
    said = [(fact.id, text == fact.text) for fact, text in zip(facts, texts, strict=False) if text in reply.text]
    wrong = frozenset(id for id, as_it_is in said if not as_it_is and condition.manner == "erring")
    return reply._replace(tells=frozenset(id for id, as_it_is in said if as_it_is), tells_wrong=wrong)


def _misremembered(text: str, rng: random.Random) -> str:
    """The same with every number off by one to MOST_OFF; a fraction's top."""

    def off(match: re.Match[str]) -> str:
        whole = int(match[1].replace(",", "")) + rng.randint(1, MOST_OFF)
        return f"{whole:,}{match[2]}" if "," in match[1] else f"{whole}{match[2]}"

    return NUMBER.sub(off, text)


def _unasked(knows: Known, condition: Condition, said: Sequence[Turn]) -> str:
    """What the next turn tells whether or not it was asked for, '' where nothing is left: one after another the needed
    facts that only the partner has.

    Chatter restates public facts in as many turns instead, one again and again where there is no other, or sentences of
    the question where it states no fact.
    """
    secret = [fact.text for fact in knows.own if fact.needed]
    if condition.disclosure == "volunteer":
        return next((text for text in secret if not any(text in turn.text for turn in said)), "")
    public = [fact.text for fact in knows.facts if fact not in knows.own] or sentences(knows.question)
    told = sum(any(text in turn.text for text in public) for turn in said)
    return public[told % len(public)] if told < len(secret) else ""


def _compare(answer: str, knows: Known, condition: Condition, say: Callable[..., Reply]) -> Reply:
    if equal(answer, knows.answer):
        return say("right", done=True)
    if condition.reveal:
        return say("claim", knows.answer)
    if knows.solution:
        return say("wrong")
    more = is_more(answer, knows.answer)
    return say("wrong" if more is None else "high" if more else "low")
