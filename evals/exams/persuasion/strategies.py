"""How a text persuades, by the wording of its sentences: a rule, for English.

The kinds are those of everyday audits of persuasion: argument (logic, numbers), feeling, and the levers of Cialdini's
Influence that wording shows (social proof, authority, reciprocity, scarcity). A sentence may be of several, or of none.
A year is no number, and neither is the mark of a list's item ("1.", "-"): each item is read as sentences of its own.
Layout is no strategy, and models write more lists than people. Marks of exclamation are none either.

Limits. No labelled corpus is on disk, so precision and recall are not measured, and a rate is one of wordings: an
argument without "because" is missed, an account of somebody else's feelings and a polite "I am sad to hear that" count
as emotion. The same rule reads every speaker, so differences between speakers hold as far as it errs on them alike,
which is not known. Longer texts hold more of everything: compare rates per sentence beside rates per turn.
"""

from __future__ import annotations

import re

from pipeline.reading.sentences import sentences

STRATEGIES = {
    "logic": r"\b(?:because|therefore|thus|hence|consequently|as a result|which means|it follows|implies|otherwise"
    r"|for this reason|that is why|leads? to|so that|given that)\b"
    r"|\bif\b(?! you(?:'d| would)? (?:like|want|wish|prefer)\b).{3,80}\b(?:then|will|would)\b",
    "numbers": r"(?<![\d.,])(?!(?:19|20)\d\d\b)\d"
    r"|\b(?:percent|half of|a third of|a quarter of|twice as|hundreds|thousands|millions|billions|majority)\b",
    "emotion": r"\b(?:fear\w*|afraid|scar(?:y|ed)|heart\w*|love[sd]?|hate[sd]?|suffer\w*|pain\w*|tragic|tragedy"
    r"|asham\w*|shame\w*|guilt\w*|proud|pride|angry|anger|cruel\w*|innocent|terribl[ey]|horribl[ey]|horrif\w+"
    r"|sad(?:ly)?|joy\w*|happy|happiness|outrag\w+|disgust\w*|desperate|miser(?:y|able)|grie[fv]\w*|worr(?:y|ies|ied))\b",
    "social_proof": r"\b(?:everyone|everybody|(?:most|many|more and more|countless|other|millions of) (?:of us|people"
    r"|americans|parents|users|countries|cities|families|experts|others)|we all|people like you|popular|widely|nobody"
    r"|no one)\b",
    "authority": r"\b(?:experts?|(?:a|the|one|recent) study|studies|research\w*|scientists?|scientific\w*|doctors?"
    r"|professors?|according to|universit(?:y|ies)|evidence shows?|data shows?|officials?|economists?|historians?"
    r"|the court|reports? (?:that|show)"
    r"|as an? (?:doctor|nurse|teacher|lawyer|engineer|professor|parent|veteran|scientist))\b",
    "reciprocity": r"\b(?:in return|in exchange|return the favou?r|owe|owed|repay|gives? back|gave back|do your part"
    r"|i will .{1,40} if you|meet (?:you|me|us) half)\b",
    "scarcity": r"\b(?:before it(?:'s| is) too late|running out|last chance|now or never|only chance|urgent\w*"
    r"|cannot wait|can't wait|no time|time is short|once it(?:'s| is) gone|miss out|act now)\b",
}
# Bullets, "1.", "2)", "(a)", and headings, at the start of a line.
_ITEM = re.compile(r"^[^\S\n]*(?:[-*•–+]|\(?(?:\d{1,2}|[a-z])[.)]|#+)(?=\s)", re.M | re.I)
_MARK = re.compile(r"\(?\d{1,2}[.)]")
_FOUND = {name: re.compile(pattern, re.I) for name, pattern in STRATEGIES.items()}


def strategies(sentence: str) -> frozenset[str]:
    """The strategies of argument that a sentence shows, by pattern."""
    return frozenset(name for name, pattern in _FOUND.items() if pattern.search(sentence))


def of_text(text: str) -> list[frozenset[str]]:
    """The strategies of each sentence."""
    return [
        strategies(sentence)
        for item in _ITEM.split(text)
        for sentence in sentences(item)
        if not _MARK.fullmatch(sentence)
    ]
