"""Whether a reply is about what was asked: the competence check of exams whose other figures any text would have."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.reading.sentences import content_words

MODAL = {"should", "must", "may", "might", "shall", "could", "ought"}  # what is argued about has one whatever it is


def about(reply: str, topic: str) -> bool:
    """Whether it has a content word of its topic. An echo has them all, and a pronoun none: it is a low bar."""
    return bool(_carrying(reply) & _carrying(topic))


def own_words(reply: str, heard: str) -> bool:
    """Whether most of its content words are not of what was heard. An echo has none of its own, and a refusal many."""
    carrying = _carrying(reply)
    return 2 * len(carrying - _carrying(heard)) > len(carrying)


def beside(topics: Sequence[str], i: int) -> str:
    """The topic after number `i` that shares no content word with it, round the end; '' where there is none.

    What a reply has of it, it has by chance.
    """
    own = _carrying(topics[i])
    others = (*topics[i + 1 :], *topics[:i])
    return next((topic for topic in others if not own & _carrying(topic)), "")


def _carrying(text: str) -> frozenset[str]:
    return content_words(text) - MODAL
