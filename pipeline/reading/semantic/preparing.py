"""A turn as the network takes it: its tokens, those of the question and of each fact, and what was counted of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.reading.protocol import TurnToRead
from pipeline.reading.semantic.features import (
    MARKS,
    Span,
    marks,
    pair_features,
    said_last,
    span_features,
    spans,
    turn_features,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LONGEST_TURN, LONGEST_BEFORE, LONGEST_ANSWER = 2_000, 200, 80  # characters; of turns the last ones
# A piece, beside what was said before, is at most about half of what the tokenizer leaves: it is cut nowhere.
MOST_TOKENS, MOST_OF_A_PIECE, MOST_OF_A_FACT = 224, 110, 64
MOST_SENTENCES = 8
_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?]+(?=\s|$)|[。！？]+|(?=\n|$))")


@dataclass
class PreparedTurn:
    """`ids`, `types`: the other party's last turn and the turn itself; `own`: 1.0 at the turn's own tokens.

    `beside`: the texts that are laid beside it: the question's last sentence, in a partner's turn the answer, and the
    facts. `sentences`: of the turn, the whole first.
    """

    turn: TurnToRead
    ids: list[int]
    types: list[int]
    own: list[float]
    marked: list[list[float]]  # by token, MARKS wide: see `features.marks`
    beside: list[str]
    sentences: list[str]
    features: list[float]
    pair_features: list[list[float]]
    spans: list[tuple[Span, int, int]]  # with the first and the last token
    span_features: list[list[float]]
    kept: dict[str, list] = field(default_factory=dict)  # what the frozen encoder says of it, once it was asked

    @property
    def facts(self) -> list[str]:
        return self.beside[self.before_facts :]

    @property
    def length(self) -> int:
        """About how many tokens it takes, with what lies beside it."""
        return len(self.ids) + sum(map(len, self.beside)) // 4

    @property
    def before_facts(self) -> int:
        """How many of `beside` are no facts."""
        return len(self.beside) - len(self.turn.facts)


def pieces(turn: TurnToRead, tokenizer: PreTrainedTokenizerBase) -> list[TurnToRead]:
    """The end of a turn in runs of whole sentences, each about as long as the turns that readers learned from; most
    turns are one. A sentence that is longer is cut into several."""
    text = turn.text[-LONGEST_TURN:]
    if turn.entry or len(_places(text, tokenizer)) <= MOST_OF_A_PIECE:  # a program is found whole, by rule
        return [turn]
    bounds, room = list[tuple[int, int]](), 0
    for start, end, length in reversed([*_short_enough(text, tokenizer)]):  # from the end, where answers stand
        if bounds and length <= room:
            bounds[-1] = start, bounds[-1][1]
        else:
            bounds.append((start, end))
            room = MOST_OF_A_PIECE
        room -= length
    return [replace(turn, text=text[start:end]) for start, end in reversed(bounds)] or [turn]


def _short_enough(text: str, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[int, int, int]]:
    """Sentences, or parts of long ones: where each begins and ends, and how many tokens it has."""
    for sentence in _SENTENCE.finditer(text):
        places = _places(sentence[0], tokenizer)
        for first in range(0, len(places), MOST_OF_A_PIECE):
            own = places[first : first + MOST_OF_A_PIECE]
            yield sentence.start() + own[0][0], sentence.start() + own[-1][1], len(own)


def _places(text: str, tokenizer: PreTrainedTokenizerBase) -> list[tuple[int, int]]:
    """Where each token begins and ends."""
    return tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]


def prepare(turn: TurnToRead, tokenizer: PreTrainedTokenizerBase) -> PreparedTurn:
    """A turn, or a piece of one, as one sequence."""
    other = said_last(turn, "partner" if turn.party == "student" else "student")[-LONGEST_BEFORE:]
    if not turn.entry:  # a program is found whole, by rule
        turn = replace(turn, text=turn.text[-LONGEST_TURN:])
    text = turn.text[-LONGEST_TURN:]
    shift = len(turn.text) - len(text)
    tokens = tokenizer(
        f"{turn.party}: {other}", text, truncation="longest_first", max_length=MOST_TOKENS, return_offsets_mapping=True
    )
    whose, places = tokens.sequence_ids(), tokens["offset_mapping"]
    of_turn = [(i, start + shift, end + shift) for i, (who, (start, end)) in enumerate(zip(whose, places, strict=True))
               if who == 1]  # fmt: skip
    placed = []
    for span in spans(turn):
        covered = [i for i, start, end in of_turn if start < span.end and end > span.start]
        if covered:
            placed.append((span, covered[0], covered[-1]))
    marked = [[0.0] * MARKS for _ in whose]
    for first, last, kind in marks(turn):
        for i, start, end in of_turn:
            if start < last and end > first:
                marked[i][kind] = 1.0
    answer = [f"answer: {turn.answer[:LONGEST_ANSWER]}"] if turn.party == "partner" else []
    return PreparedTurn(
        turn=turn,
        ids=tokens["input_ids"],
        types=tokens["token_type_ids"],
        own=[float(who == 1) for who in whose],
        marked=marked,
        beside=[_goal(turn.question), *answer, *(fact.text for fact in turn.facts)],
        sentences=[text, *_sentences(text)],
        features=turn_features(turn),
        pair_features=[pair_features(turn, fact) for fact in turn.facts],
        spans=placed,
        span_features=[span_features(turn, span) for span, _, _ in placed],
    )


def _goal(question: str) -> str:
    """What is asked: the last sentence with a question mark, else the last one."""
    parts = re.split(r"(?<=[.!?])\s+", question.strip())
    return next((part for part in reversed(parts) if "?" in part), parts[-1])


def _sentences(text: str) -> list[str]:
    parts = [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if len(part.split()) > 1]
    return parts[:MOST_SENTENCES] or [text]
