"""The network of the natural readers: a small sentence encoder, LoRA on it, and heads that were learned from labels.

A turn, the question's goal and the facts are encoded apart in the lower layers, and together in the upper ones, so that
what is the same in all turns of a task is computed once (after DeFormer, Cao et al. 2020, arXiv 2005.00697). With no
lower layer it is a cross-encoder.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoTokenizer

from pipeline.core.schema import Party
from pipeline.engines.dtype import WORTH_IT, bfloat16_gain
from pipeline.reading.semantic.features import MARKS, PAIR_FEATURES, SPAN_FEATURES, TURN_FEATURES
from pipeline.reading.semantic.preparing import MOST_OF_A_FACT, PreparedTurn

STUDENT_HEADS = ("generic_request", "repeats_question", "other_question", "says_missing", "tentative", "done", "agrees",
                 "disagrees")  # fmt: skip
PARTNER_HEADS = ("refuses", "off_role", "right", "wrong", "stated", "derivable")
HEADS: dict[Party, tuple[str, ...]] = {"student": STUDENT_HEADS, "partner": PARTNER_HEADS}
PAIRS: dict[Party, tuple[str, ...]] = {"student": ("asks",), "partner": ("tells", "tells_wrong")}
GOAL = STUDENT_HEADS.index("repeats_question")
LAYERS, WIDTH = 6, 384
HIDDEN = 160  # units of each head
MOST_KEPT = 20_000  # texts whose frozen states are kept
SIMILARITIES = {True: (12, 7), False: (0, 0)}  # of a turn and a fact, of a turn and the question


class Logits(NamedTuple):
    """Of a batch of n turns with p facts and s spans in all, in their order."""

    turn: Tensor  # (n, heads of the party)
    pair: Tensor | None  # (p, 1 of a student, 2 of a partner)
    span: Tensor | None  # (s,)


class FrozenText(NamedTuple):
    """A text by the encoder as it ships."""

    states: Tensor  # (tokens, WIDTH), behind the lower layers
    words: Tensor  # (tokens without the first and last, WIDTH), of length 1
    ids: list[int]


class ReadingNetwork(nn.Module):
    """`lower`: layers that encode apart. `similar`: whether it is told similarities of sentences and words, too."""

    def __init__(self, encoder: str | Path, lower: int, similar: bool, rank: int):
        super().__init__()
        self.lower, self.similar = lower, similar
        self.tokenizer = AutoTokenizer.from_pretrained(encoder)
        # On a CPU dropout of attention and the fused kernel's gradient would take half of the time of learning.
        shipped: Any = AutoModel.from_pretrained(encoder, attention_probs_dropout_prob=0.0, attn_implementation="eager")
        self.frozen = shipped.eval().requires_grad_(False)
        adapted = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["query", "key", "value", "dense"])
        self.tuned = get_peft_model(copy.deepcopy(self.frozen), adapted)
        self.merged: Any = None
        self.read_in: torch.dtype | None = None  # None: it learns
        of_pair, of_question = SIMILARITIES[similar]
        self.segment = nn.Parameter(torch.zeros(4, WIDTH))  # turn, question, answer, fact
        self.marks = nn.Parameter(torch.zeros(MARKS, WIDTH))
        self.rivalry = nn.Parameter(torch.tensor([0.3, 0.1, 0.1]))  # of facts, goal against fact, fact against goal
        self.pair = nn.ModuleDict(
            {party: _head(3 * WIDTH + PAIR_FEATURES + of_pair, len(names)) for party, names in PAIRS.items()}
        )
        self.turn = nn.ModuleDict(
            {party: _head(4 * WIDTH + TURN_FEATURES + of_question, len(names)) for party, names in HEADS.items()}
        )
        self.span = _head(3 * WIDTH + SPAN_FEATURES + 2, 1)
        self.kept: dict[str, FrozenText] = {}
        self.embedded: dict[str, Tensor] = {}

    def for_reading(self, exact: bool = True) -> ReadingNetwork:
        """With LoRA merged, in half precision where this processor is faster with it and not `exact`: no more to be
        trained."""
        self.merged = self.tuned.merge_and_unload()
        self.read_in = torch.bfloat16 if not exact and bfloat16_gain() >= WORTH_IT else torch.float32
        for encoder in (self.merged, self.frozen):
            encoder.to(self.read_in)
        return self.eval().requires_grad_(False)

    def forward(self, turns: Sequence[PreparedTurn]) -> Logits:
        """All turns are of one party."""
        party = turns[0].turn.party
        own = pad_sequence([torch.tensor(turn.own) for turn in turns], batch_first=True)
        states, places = self._together(turns)
        width = own.shape[1]
        of_turn = states[:, :width]
        mean = (of_turn * own[..., None]).sum(1) / own.sum(1, keepdim=True).clamp(min=1)
        most = of_turn.masked_fill(own[..., None] == 0, -9.0).amax(1)
        goal = torch.stack([states[i, slice(*spots[0])].mean(0) for i, spots in enumerate(places)])
        numbers = torch.tensor([turn.features for turn in turns])
        seen = [of_turn[:, 0], mean, most, goal, numbers]
        if self.similar:
            self.embed_all(turns)
            kept = [self._similarities(turn) for turn in turns]
            seen.append(torch.tensor([of_question for of_question, _ in kept]))
            of_pairs = [row for _, rows in kept for row in rows]
        else:
            of_pairs = [[] for turn in turns for _ in turn.turn.facts]
        of_turns = self.turn[party](torch.cat(seen, -1))
        owner, of_facts = self._pairs(turns, states, places, of_pairs)
        if party == "student" and of_facts is not None:
            of_turns, of_facts = self._rivals(of_turns, of_facts, owner)
        return Logits(of_turns, of_facts, self._spans(turns, states, mean) if party == "student" else None)

    def _pairs(
        self, turns: Sequence[PreparedTurn], states: Tensor, places: list, similarities: list
    ) -> tuple[Tensor, Tensor | None]:
        """Of which turn each fact is, and its logits."""
        owners, spots = [], []
        for i, (turn, all_spots) in enumerate(zip(turns, places, strict=True)):
            of_facts = all_spots[turn.before_facts :]
            owners += [i] * len(of_facts)
            spots += of_facts
        owner = torch.tensor(owners)
        if not spots:
            return owner, None
        counted = [row for turn in turns for row in turn.pair_features]
        seen = [
            torch.stack([states[i, start] for i, (start, _) in zip(owners, spots, strict=True)]),
            torch.stack([states[i, start:end].mean(0) for i, (start, end) in zip(owners, spots, strict=True)]),
            states[owner, 0],
            torch.tensor([a + b for a, b in zip(counted, similarities, strict=True)]),
        ]
        return owner, self.pair[turns[0].turn.party](torch.cat(seen, -1))

    def _rivals(self, of_turns: Tensor, of_facts: Tensor, owner: Tensor) -> tuple[Tensor, Tensor]:
        """A question mostly asks for one thing: what speaks for a fact speaks against the others and against the
        question's goal, and what speaks for the goal against all facts."""
        weights, soft = self.rivalry.relu(), nn.functional.softplus
        asked, repeats = of_facts[:, 0], of_turns[:, GOAL]
        same = owner[:, None] == owner[None]
        rivals = same & ~torch.eye(len(owner), dtype=torch.bool)
        facts = torch.logsumexp(asked[None].expand(len(owner), -1).masked_fill(~rivals, -30.0), 1)
        of_one = owner[None] == torch.arange(len(of_turns))[:, None]
        all_facts = torch.logsumexp(asked[None].expand(len(of_turns), -1).masked_fill(~of_one, -30.0), 1)
        against = weights[0] * soft(facts) + weights[1] * soft(repeats[owner])
        of_goal = nn.functional.one_hot(torch.tensor(GOAL), len(STUDENT_HEADS)) * weights[2]
        return of_turns - soft(all_facts)[:, None] * of_goal, of_facts - against[:, None]

    def _spans(self, turns: Sequence[PreparedTurn], states: Tensor, mean: Tensor) -> Tensor | None:
        spots = [(i, first, last) for i, turn in enumerate(turns) for _, first, last in turn.spans]
        if not spots:
            return None
        i, first, last = (torch.tensor(column) for column in zip(*spots, strict=True))
        counted = torch.tensor([row for turn in turns for row in turn.span_features])
        form = torch.tensor([[(b - a) / 5, float(turns[j].turn.numeric)] for j, a, b in spots])
        return self.span(torch.cat([states[i, first], states[i, last], mean[i], counted, form], -1)).squeeze(-1)

    def _together(self, turns: Sequence[PreparedTurn]) -> tuple[Tensor, list[list[tuple[int, int]]]]:
        """The last states of each turn and what is laid beside it, and where each text beside it stands."""
        self._frozen([text for turn in turns for text in turn.beside])
        ids = pad_sequence([torch.tensor(turn.ids) for turn in turns], batch_first=True)
        types = pad_sequence([torch.tensor(turn.types) for turn in turns], batch_first=True)
        mask = pad_sequence([torch.ones(len(turn.ids)) for turn in turns], batch_first=True)
        tuned: Any = self.tuned.get_base_model() if self.merged is None else self.merged
        apart = self._layers(tuned, tuned.embeddings(input_ids=ids, token_type_ids=types), mask, 0, self.lower)
        joined, places = [], []
        for i, turn in enumerate(turns):
            marked = torch.tensor(turn.marked) @ self.marks
            parts, spots, at = [apart[i, : len(turn.ids)] + self.segment[0] + marked], [], len(turn.ids)
            for j, text in enumerate(self._frozen(turn.beside)):
                kind = 3 if j >= turn.before_facts else 1 + j
                parts.append(text.states + self.segment[kind])
                spots.append((at, at + len(text.states)))
                at += len(text.states)
            joined.append(torch.cat(parts))
            places.append(spots)
        mask = pad_sequence([torch.ones(len(states)) for states in joined], batch_first=True)
        return self._layers(tuned, pad_sequence(joined, batch_first=True), mask, self.lower, LAYERS), places

    def _layers(self, model: Any, states: Tensor, mask: Tensor, start: int, end: int) -> Tensor:
        unseen = (1 - mask[:, None, None, :]) * torch.finfo(torch.bfloat16).min
        states = states if self.read_in is None else states.to(self.read_in)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.read_in is None):
            for layer in model.encoder.layer[start:end]:
                after = layer(states, attention_mask=unseen.to(states.dtype))
                states = after[0] if isinstance(after, tuple) else after
        return states.float()

    @torch.no_grad()
    def _frozen(self, texts: Sequence[str]) -> list[FrozenText]:
        new = [text for text in dict.fromkeys(texts) if text not in self.kept]
        if len(self.kept) > MOST_KEPT:
            self.kept.clear()
            new = list(dict.fromkeys(texts))
        if new:
            batch = self.tokenizer(new, truncation=True, max_length=MOST_OF_A_FACT, padding=True, return_tensors="pt")
            embeddings = self.frozen.embeddings
            mask = batch["attention_mask"]
            states = self._layers(self.frozen, embeddings(input_ids=batch["input_ids"]), mask.float(), 0, self.lower)
            words = self._words(batch["input_ids"])
            for text, state, word, ids, there in zip(new, states, words, batch["input_ids"], mask.bool(), strict=True):
                self.kept[text] = FrozenText(state[there], word[there][1:-1], ids[there][1:-1].tolist())
        return [self.kept[text] for text in texts]

    def _words(self, ids: Tensor) -> Tensor:
        return nn.functional.normalize(self.frozen.embeddings.word_embeddings.weight[ids].float(), dim=-1)

    def embed_all(self, turns: Sequence[PreparedTurn]) -> None:
        """At once, since what each turn asks for alone would be many small batches."""
        if self.similar:
            new = [turn for turn in turns if not turn.kept]
            self.embed([text for turn in new for text in (turn.beside[0], *turn.sentences, *turn.facts)])

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> Tensor:
        """Sentence embeddings of length 1 by the encoder as it ships, (texts, WIDTH)."""
        if len(self.embedded) > MOST_KEPT:
            self.embedded.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self.embedded]
        tokens = self.tokenizer(new, truncation=True, max_length=128)["input_ids"] if new else []
        # Of about one length, since a batch costs as much as its longest text would as often.
        order = sorted(range(len(new)), key=lambda i: len(tokens[i]))
        for start in range(0, len(new), 16):
            chosen = order[start : start + 16]
            batch = self.tokenizer.pad({"input_ids": [tokens[i] for i in chosen]}, return_tensors="pt")
            mask = batch["attention_mask"].float()
            states = self._layers(self.frozen, self.frozen.embeddings(input_ids=batch["input_ids"]), mask, 0, LAYERS)
            means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            self.embedded.update(zip([new[i] for i in chosen], nn.functional.normalize(means, dim=-1), strict=True))
        return torch.stack([self.embedded[text] for text in texts]) if texts else torch.zeros(0, WIDTH)

    @torch.no_grad()
    def _similarities(self, prepared: PreparedTurn) -> tuple[list[float], list[list[float]]]:
        """Of the turn with the question's goal, and with each fact: cosines of sentences and of words, and how far
        each lies before its best rival."""
        if not prepared.kept:
            facts = prepared.facts
            goal, *of_facts = self._frozen([prepared.beside[0], *facts])
            words = self._words(
                torch.tensor([id for id, own in zip(prepared.ids, prepared.own, strict=True) if own]).long()
            )
            cosines = self.embed([prepared.beside[0], *facts]) @ self.embed(prepared.sentences).T
            columns = [cosines[:, 0], cosines[:, 1:].amax(1), cosines[:, -1]]
            best = columns[1].tolist()
            rows = [
                [*lexical, *(value for column in columns for value in _margin(column[1:].tolist(), i)), best[0],
                 best[i + 1] - best[0]]
                for i, lexical in enumerate(_lexical(words, of_facts))
            ]  # fmt: skip
            top = max(best[1:], default=0.0)
            question = [*_lexical(words, [goal])[0][:2], *(column[0].item() for column in columns), top, best[0] - top]
            prepared.kept = {"question": question, "facts": rows}
        return prepared.kept["question"], prepared.kept["facts"]


def _head(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.GELU(), nn.Dropout(0.1), nn.Linear(HIDDEN, outputs))


def _margin(values: list[float], i: int) -> list[float]:
    return [values[i], values[i] - max(values[:i] + values[i + 1 :], default=0.0)]


def _lexical(words: Tensor, texts: Sequence[FrozenText]) -> list[list[float]]:
    """Of each text the mean over its tokens of the best cosine with a token of the turn: plain, and weighted by how few
    of the texts hold the token; then both before the best rival."""
    held = Counter(id for text in texts for id in set(text.ids))
    means = []
    for text in texts:
        if not len(words) or not text.ids:
            means.append((0.0, 0.0))
            continue
        best = (text.words @ words.T).amax(1)
        rare = torch.tensor([math.log((len(texts) + 1) / held[id]) + 0.05 for id in text.ids])
        means.append((best.mean().item(), ((best * rare).sum() / rare.sum()).item()))
    plain, rare_ones = [list(column) for column in zip(*means, strict=True)] or ([], [])
    pairs = [(_margin(plain, i), _margin(rare_ones, i)) for i in range(len(texts))]
    return [[a[0], b[0], a[1], b[1]] for a, b in pairs]
