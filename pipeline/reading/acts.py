"""What a turn does, by rule: its acts, the facts that it asks for or gives; its answer is read in attempt.py.

Everything is read off the text, for every voice alike; nothing is taken from the speaker's internals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from pipeline.core.schema import Fact
from pipeline.reading.attempt import attempt
from pipeline.reading.lately import lately
from pipeline.reading.programs import prose
from pipeline.reading.sentences import content_words, sentences

# What opens a question that nobody marked as one: a question word with its verb, or a verb before its subject.
_LEAD = r"^(?:(?:so|and|but|well|okay|ok|oh|um|uh|now|wait|then|yeah|no|right|like|because)[,.]? )*"
_VERB = r"(?:is|are|was|were|do|does|did|can|could|will|would|should)"
_WHO = r"(?:i|you|we|they|he|she|it|this|that|these|those|there|the|my|your|our|his|her|their|any|anyone|anybody)"
_ASKS = re.compile(
    rf"{_LEAD}(?:(?:what|who|where|when|why|how)(?:'s|'re|'d|s)? "
    rf"(?:{_VERB}(?:n't)?|about|come|if|kind|else|many|much)\b"
    rf"|(?:what|which|whose) (?!{_WHO} )(?:\w+ ){{1,2}}{_VERB} "
    r"|(?:what|who|where|how)'s |(?:what|which|why|how|when|where)$"
    rf"|which (?:one|ones|way)\b|(?:{_VERB}|has|have)(?:n't)? {_WHO}\b)",
    re.I,
)
# Also inside signs: "**What is your budget?**".
_ENDS_ASKING = re.compile(r"[?？][!?.]*[\s*_\"')\]`]*$")
# Cut off: what it would have asked is unsaid.
_CUT = re.compile(r"\b(?:to|the|a|an|of|and|or|so|if|because)$", re.I)
_DIGITS = re.compile(r"\d+")
_DONE = re.compile(r"\bi am done\b", re.I)


def questions(text: str) -> list[str]:
    """The sentences that ask, without those that commit to an answer. Some people write no question marks."""
    return list(_questions(text))


@lately
def _questions(text: str) -> tuple[str, ...]:
    return tuple(part for part in sentences(prose(text)) if _asks(part) and attempt(part) is None)


def _asks(sentence: str) -> bool:
    if _ENDS_ASKING.search(sentence):
        return True
    if sentence.endswith((".", "!")):
        return False
    return bool(_ASKS.search(sentence)) and not _CUT.search(sentence)


def asked(text: str, facts: Iterable[Fact]) -> list[str]:
    """Ids of the facts that the questions in a turn ask for, at most one per question.

    A question asks for the fact whose content words it shares most (Jaccard). A fact that knows its own
    question needs 0.9, or the problem's own question would pass for one; any other needs 0.3. In other words a
    question asks for the fact with most of whose topics a word of it begins, where facts know theirs.
    """
    return asked_for(questions(text), facts)


def asked_for(open_questions: Iterable[str], facts: Iterable[Fact]) -> list[str]:
    """The same of the `questions` of a turn."""
    facts = tuple(facts)
    ids = []
    for question in open_questions:
        words = content_words(question)
        scored = [(_overlap(words, fact), fact) for fact in facts]
        score, fact = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        if fact is not None and score >= (0.9 if fact.ask else 0.3):
            ids.append(fact.id)
        elif topical := _topical(question, facts):
            ids.append(topical)
    return ids


def _overlap(words: frozenset[str], fact: Fact) -> float:
    target = content_words(fact.ask or fact.text)
    return len(words & target) / max(1, len(words | target))


def _topical(question: str, facts: Iterable[Fact]) -> str | None:
    hits = {
        fact.id: sum(bool(re.search(rf"\b{re.escape(topic)}", question.lower())) for topic in fact.topics)
        for fact in facts
        if fact.topics
    }
    best = max(hits, key=hits.__getitem__, default=None)
    return best if best is not None and hits[best] else None


def given(text: str, facts: Iterable[Fact]) -> list[str]:
    """Ids of the facts that a turn states: all numbers of the fact and most of its content words in one sentence.

    Where facts know their own questions, their sentences are short and alike: then the sentence must hold
    little else ("31 more bells than Joy" does not state that Joy has 31 bells).

    Facts that know their topics are conventions, which differ in one word: nine tenths then, both ways.
    """
    said = _said(text)
    return [fact.id for fact in facts if any(_is_in(fact, numbers, words) for numbers, words in said)]


@lately
def _said(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """The numbers and the content words of each sentence that does not ask."""
    return tuple((digits(part), content_words(part)) for part in sentences(text) if not part.endswith("?"))


@lately
def digits(text: str) -> frozenset[str]:
    """The numbers of a text that stand in digits."""
    return frozenset(_DIGITS.findall(text))


def _is_in(fact: Fact, numbers: frozenset[str], spoken: frozenset[str]) -> bool:
    """Whether a sentence of these numbers and content words states a fact."""
    if not digits(fact.text) <= numbers:
        return False
    words = content_words(fact.text)
    same, least = len(words & spoken), 0.9 if fact.topics else 0.7
    return same >= least * len(words) and (not fact.ask or same >= least * len(spoken))


def done(text: str) -> bool:
    """The party says that it is done."""
    return bool(_DONE.search(text))


Act = Literal[
    "clarify",
    "other_question",
    "acknowledge",
    "follow_up",
    "repair",
    "restate",
    "attempt",
    "agree",
    "disagree",
    "hedge",
    "refuse",
]
ACTS: tuple[Act, ...] = get_args(Act)


_HEARD = (
    r"yeah|yep|yes|uh-?huh|mm-?hmm?|mhm|um-?hum|hm+|huh|oh|ah|aha|right|sure|okay|ok|wow|really|good|cool|i see|alright"
)
# One pattern per act that wording alone shows; the others need the task (see `acts`).
_WORDINGS: dict[Act, str] = {
    "acknowledge": r"^(?:thank(?:s| you)|okay|ok|i see(?! \w)|got it|all right|great)\b"
    rf"|^(?:(?:{_HEARD})[\s,.!-]*)+$",  # said with nothing else, these only show that one listens
    "repair": r"\bwhat do you mean\b|\bno, wait\b|\bi meant\b|\bdid you (?:mean|say)\b|\bsorry\?|\bpardon\b|^sorry\b"
    r"|^(?:so |oh )*you mean\b|\b(?:so|oh),? you(?:'re| are) (?:saying|talking about)\b|\byou(?:'re| are) saying\b.*\?$"
    r"|^(?:what|huh|excuse me|who|which one)\?$|\bsay (?:that |it )?again\b|\bwhat (?:was|is|were) (?:that|those)\?"
    r"|\bwhat did you say\b|\bwhat's that\?",
    "agree": r"(?<!sure )(?<!if )\bi agree\b|\byou are right\b|\byou're right\b|\bexactly(?:[.,!]|$)"
    r"|\bthat's (?:right|true|correct)\b|^(?:absolutely|definitely|of course|i think so|true)\b",
    "disagree": r"\bi disagree\b|\bi do not agree\b|\bi don't agree\b|\bthat(?: is|'s) (?:not right|wrong)\b"
    r"|\bthat is impossible\b|\bi don't think so\b"
    r"|^(?:no|nope|nah)(?:[.!,]*$|[.!,]* (?:no|nope|not|i|it|it's|that|that's|you|we|they|but|because)\b)",
    "hedge": r"\bi guess\b|\bmaybe\b|\bperhaps\b|\bprobably\b|\bnot sure\b",
    "refuse": r"\bi cannot tell\b|\bi can't tell\b|\bcannot be (?:solved|answered)\b|\bnot enough information\b",
}
# What denies an agreement in the same sentence.
_DENIES = re.compile(
    r"\b(?:(?:don't|do not|can't|cannot) (?:think|believe|say)|(?<!no )(?<!n't )doubt|not sure|whether)\b"
    r"[^.!?]*\b(?:right|true|correct)\b|\bnot exactly\b|^(?:absolutely|definitely|of course),? not\b",
    re.I,
)
_PATTERNS = {name: re.compile(wording, re.I) for name, wording in _WORDINGS.items()}


@lately
def shows(text: str, act: Act) -> bool:
    """Whether the wording of a turn alone shows an act, one of those that it can."""
    if _PATTERNS[act].search(text.strip()) is None:
        return False
    agreeing = [part for part in sentences(text) if _PATTERNS[act].search(part)] if act == "agree" else []
    return not agreeing or not all(_DENIES.search(part) for part in agreeing)


def acts(text: str, facts: Iterable[Fact], told: Iterable[str] = (), asked_before: bool = False) -> set[Act]:
    """The acts of one turn (after Shaikh et al., Grounding Gaps, arXiv 2311.09144, and the design's list).

    `told`: ids of facts that the other party has stated so far; `asked_before`: an earlier turn of this
    party asked. A clarification asks for a fact of the task, a follow-up asks again after an answer, a
    restatement repeats a fact that the other told.
    """
    facts, told = tuple(facts), set(told)
    labels, open_questions = {act for act in _PATTERNS if shows(text, act)}, questions(text)
    wanted = asked_for(open_questions, facts)
    if wanted:
        labels.add("clarify")
        if asked_before and told:
            labels.add("follow_up")
    elif open_questions and "repair" not in labels:
        labels.add("other_question")
    if attempt(text) is not None:
        labels.add("attempt")
    if told & set(given(text, facts)):
        labels.add("restate")
    return labels
