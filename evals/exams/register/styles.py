"""What a way of speaking shows in the words alone: formality, brevity, grammatical person, a persona.

Signs are counted in words, so they can be checked by eye, and they miss what no word shows. Contractions and the words
of `CASUAL` are signs of talk, those of `FORMAL` of written English; both lists are our own and short.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

CASUAL = (
    "hey hi yeah yep nope gonna wanna gotta kinda sorta stuff cool awesome guys okay ok totally super lol btw".split()
)
FORMAL = (
    "therefore thus hence consequently furthermore moreover however accordingly respectively regarding please shall "
    "upon whereas obtain determine conclude calculate provide request sincerely kindly sir madam"
).split()
SAILOR = (
    "ahoy arr arrr arrrr avast aye matey mateys hearty hearties landlubber landlubbers timbers captain ship sea seas "
    "sail sails deck anchor crew lads"
).split()
YOU = "you your yours yourself".split()
WE = "we us our ours ourselves let's".split()
_CONTRACTION = re.compile(r"\b\w+(?:n't|'(?:re|ve|ll|d|m))\b|\b(?:it|that|there|he|she|what|who|let|here)'s\b", re.I)
BRIEF = 0.67  # of the words of the turn to compare with, at most


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:'[a-z]+)?|\d[\d.,]*", text.lower().replace("’", "'"))


def share(text: str, of: list[str]) -> float:
    """Of the words of a text, those that are among these: a longer turn shows no more for its length."""
    said = words(text)
    return sum(word in of for word in said) / max(1, len(said))


def formality(text: str) -> float:
    """Formal words less casual words and contractions, of all words."""
    contracted = len(_CONTRACTION.findall(text.replace("’", "'"))) / max(1, len(words(text)))
    return share(text, FORMAL) - share(text, CASUAL) - contracted


class Style(NamedTuple):
    """A request in mid-talk, and whether a turn shows it more than the turn that stands beside it does."""

    request: str
    shows: Callable[[str, str], bool]  # (the turn, the turn beside it)


STYLES = {
    "formal": Style(
        "Please say that again in formal written English.",
        lambda turn, beside: formality(turn) > max(0, formality(beside)),
    ),
    "casual": Style(
        "Say that again the way you would to a good friend.",
        lambda turn, beside: formality(turn) < min(0, formality(beside)),
    ),
    "brief": Style(
        "Say that again in as few words as you can.",
        lambda turn, beside: 0 < len(words(turn)) <= BRIEF * len(words(beside)),
    ),
    "you": Style(
        "Say that again and speak to me directly, as 'you'.",
        lambda turn, beside: share(turn, YOU) > share(beside, YOU),
    ),
    "we": Style(
        "Say that again as something that we do together, as 'we'.",
        lambda turn, beside: share(turn, WE) > share(beside, WE),
    ),
    "sailor": Style(
        "Say that again as an old sailor would.",
        lambda turn, beside: share(turn, SAILOR) > share(beside, SAILOR),
    ),
}
