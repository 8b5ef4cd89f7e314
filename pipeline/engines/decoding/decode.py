"""The decode loop of the transformers engine: one padded batch of requests to its ends.

Equal prompts share one prefill, finished rows leave the batch, and a prompt that goes on from an earlier
prompt and its answer is read from there on: what `generate` does not do.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from pipeline.engines.decoding import attention
from pipeline.engines.decoding.room import BLOCK, Room, roomy
from pipeline.engines.model import Completion, Sampling

# A beginning of so many tokens, of so many prompts, is worth reading on its own.
LONG, MANY = 64, 8
# Cutting finished rows out copies the cache: worth it once this share of the rows is done.
CUT = 0.25
# Tokens that are read at once on a CPU, and numbers of float64 that a draw works on at once: what fits its caches.
PART, NUMBERS = 1024, 2**18


class Past(NamedTuple):
    """What a model computed of `tokens` tokens: keys and values [heads, tokens, width] of each layer."""

    tokens: int = 0
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...] = ()


class Answer(NamedTuple):
    """A completion with the tokens that it was decoded from."""

    ids: list[int]  # as they were sampled, the end token included
    completion: Completion
    scores: list[float] | None = None  # log-probabilities at temperature 1, where the engine says them


class Request(NamedTuple):
    """A prompt, as token ids, that waits for its answer."""

    prompt: tuple[int, ...]
    sampling: Sampling
    answer: asyncio.Future[Answer]
    past: Past = Past()  # of the prompt's first tokens


class Generated(NamedTuple):
    """What one row of a batch came to."""

    ids: list[int]  # the end token included
    past: Past  # of the prompt and all of `ids` but the last


class PrefixCache:
    """The pasts of prompts and their answers, up to `limit` bytes of them. Those that a dialogue has gone on from are
    dropped first, then those used longest ago."""

    def __init__(self, ends: set[int], limit: int):
        self.ends, self.limit, self.size = ends, limit, 0
        self.kept: OrderedDict[tuple[int, ...], Past] = OrderedDict()

    def longest(self, prompt: tuple[int, ...]) -> Past:
        """The past of as much of a prompt as is known, up to the end of one of its turns."""
        for i in range(len(prompt) - 1, 0, -1):
            if prompt[i] in self.ends and prompt[:i] in self.kept:
                self.kept.move_to_end(prompt[:i])
                return self.kept[prompt[:i]]
        return Past()

    def keep(self, prompt: tuple[int, ...], generated: Generated, went_on_from: int = 0) -> None:
        """`went_on_from`: the tokens of the prompt whose past was read from here."""
        ids, past = (*prompt, *generated.ids[:-1]), generated.past
        if not past.layers or ids in self.kept:
            return
        if prompt[:went_on_from] in self.kept:
            self.kept.move_to_end(prompt[:went_on_from], last=False)
        self.kept[ids] = past
        self.size += _size(past)
        while self.size > self.limit:
            self.size -= _size(self.kept.popitem(last=False)[1])


def remembers(model: PreTrainedModel) -> bool:
    """Whether every layer keeps the keys and values of all tokens, so that a past can be cut out of a batch."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)


def shared_beginnings(prompts: Collection[tuple[int, ...]], ends: set[int]) -> set[tuple[int, ...]]:
    """The longest beginnings, up to the end of a turn, that prompts share."""
    cuts = {prompt: [i for i, token in enumerate(prompt) if token in ends and i >= LONG] for prompt in prompts}
    counts = Counter(prompt[:i] for prompt, places in cuts.items() for i in places)
    shared = ([prompt[:i] for i in places if counts[prompt[:i]] >= MANY] for prompt, places in cuts.items())
    return {beginnings[-1] for beginnings in shared if beginnings}


@torch.inference_mode()
def read(model: PreTrainedModel, ids: Sequence[int]) -> Past:
    """What a model computes of a text."""
    cache = DynamicCache(config=model.config)
    model(input_ids=torch.tensor([ids], device=model.device), past_key_values=cache, logits_to_keep=1)
    return _past(cache, 0, torch.ones(len(ids), device=model.device))


@torch.inference_mode()
def score(model: PreTrainedModel, ids: Sequence[int], scored: int, past: Past) -> float:
    """Log-probability of the last `scored` ids, each after all before it, in nats at temperature 1.

    `past` is of the first ids, and ends before the one that the first scored one follows on. Ids without text, where
    the model has more than its tokenizer, have their share, as they have while it learns.
    """
    fresh = torch.tensor([ids[past.tokens :]], device=model.device)
    position = torch.arange(past.tokens, len(ids), device=model.device)[None]
    cache = _joined(model, [past], len(ids))
    mask = torch.ones((1, len(ids)), dtype=torch.long, device=model.device)
    logits = model(
        input_ids=fresh, attention_mask=mask, position_ids=position, past_key_values=cache, logits_to_keep=scored + 1
    ).logits[0, :-1]
    return float(torch.log_softmax(logits.double(), -1).gather(1, fresh[0, -scored:, None]).sum())


@torch.inference_mode()
def generate(
    model: PreTrainedModel, vocabulary: int, ends: set[int], requests: list[Request], keep: bool
) -> list[Generated]:
    """The answers. Ids from `vocabulary` on are never drawn. Pasts are filled in where `keep`."""
    device, limits = model.device, torch.tensor([request.sampling.max_tokens for request in requests])
    unique = {request.prompt: request for request in requests}
    pasts = [request.past for request in unique.values()]
    fresh = [prompt[past.tokens :] for prompt, past in zip(unique, pasts, strict=True)]
    known = max(past.tokens for past in pasts)
    width, steps = max(map(len, fresh)), int(limits.max())
    ids = torch.tensor([[0] * (width - len(new)) + list(new) for new in fresh])
    mask = torch.tensor(
        [
            [0] * (known - past.tokens) + [1] * past.tokens + [0] * (width - len(new)) + [1] * (len(new) + steps)
            for new, past in zip(fresh, pasts, strict=True)
        ]
    ).to(device)
    position = (mask[:, : known + width].cumsum(1) - 1).clamp(min=0)[:, known:]
    # Elsewhere what is empty is not read, and to widen would but cost copies.
    ours = model.config._attn_implementation == attention.NAME and remembers(model)
    cache = _joined(model, pasts, known + width + (min(steps, BLOCK) if ours else steps))
    width += known
    logits = _prefill(model, cache, ids.to(device), mask[:, :width], position, [len(new) for new in fresh])
    order = {prompt: i for i, prompt in enumerate(unique)}
    index = torch.tensor([order[request.prompt] for request in requests], device=device)
    if len(unique) < len(requests):
        cache.batch_select_indices(index)
    logits, mask, position = logits[index], mask[index], position[index, -1:]
    # One mask for all layers, where our attention reads it; elsewhere the library makes its own of each step.
    rooms = [layer for layer in cache.layers if isinstance(layer, Room)]
    seen = attention.added(mask[:, None, None].bool()) if ours else None
    if seen is not None:
        seen[..., width:] = -torch.inf
    for room in rooms:
        room.whole = ours
    uniforms = torch.stack([stream(request.sampling.seed, steps) for request in requests]).to(device)
    heat = torch.tensor([request.sampling.temperature for request in requests], dtype=torch.float64, device=device)
    cuts = Cuts.of([request.sampling for request in requests], device)
    limits, stop = limits.to(device), torch.tensor(sorted(ends), device=device)
    out = torch.full((len(requests), steps), -1, device=device)
    remembered = [Past()] * len(requests)
    rows = torch.arange(len(requests), device=device)  # of `out`, for each row still in the batch
    done = torch.zeros(len(requests), dtype=torch.bool, device=device)
    for step in range(steps):
        token = draw(logits[:, :vocabulary], uniforms[rows, step], heat[rows], cuts and cuts.rows(rows))
        out[rows, step] = torch.where(done, -1, token)
        ending = ~done & (torch.isin(token, stop) | (limits[rows] == step + 1))
        done |= ending
        if keep:
            for i in ending.nonzero()[:, 0].tolist():
                remembered[int(rows[i])] = _past(cache, i, mask[i, : width + step])
        live = (~done).nonzero()[:, 0]
        if not len(live):
            break
        if len(live) <= (1 - CUT) * len(rows):
            cache.batch_select_indices(live)
            rows, token, mask, position, done = rows[live], token[live], mask[live], position[live], done[live]
            seen = None if seen is None else seen[live]
        position, columns = position + 1, width + step + 1
        if rooms and columns > rooms[0].columns:
            for room in rooms:
                room.widen(min(columns + BLOCK - 1, mask.shape[1]))
        if seen is not None:
            seen[..., columns - 1] = 0
        logits = model(
            input_ids=token[:, None],
            attention_mask=mask[:, :columns] if seen is None else seen[..., : rooms[0].columns],
            position_ids=position,
            past_key_values=cache,
        ).logits[:, -1]
    answers = [[token for token in row if token >= 0] for row in out.tolist()]
    return [Generated(answer, past) for answer, past in zip(answers, remembered, strict=True)]


def _joined(model: PreTrainedModel, pasts: list[Past], columns: int) -> DynamicCache:
    """One cache of many pasts, the shorter ones padded on the left, with room for `columns` tokens."""
    cache = roomy(model, len(pasts), columns)
    known = max(past.tokens for past in pasts)
    example = next((past for past in pasts if past.tokens), Past())
    for layer, pair in enumerate(example.layers):
        both = []
        for part, tensor in enumerate(pair):  # keys, then values
            joined = tensor.new_zeros((len(pasts), tensor.shape[0], known, tensor.shape[2]))
            for i, past in enumerate(pasts):
                if past.tokens:
                    joined[i, :, known - past.tokens :] = past.layers[layer][part]
            both.append(joined)
        cache.update(both[0], both[1], layer)
    return cache


def _prefill(
    model: PreTrainedModel,
    cache: DynamicCache,
    ids: torch.Tensor,
    mask: torch.Tensor,
    position: torch.Tensor,
    lengths: list[int],
) -> torch.Tensor:
    """The logits after each row of `ids`, which is padded on the left and has `lengths` tokens; `mask` also covers what
    the cache knows. On a CPU some rows after others: what is computed of PART tokens stays near its core."""
    rows, width = ids.shape
    rooms = [layer for layer in cache.layers if isinstance(layer, Room)]
    apart = ids.device.type == "cpu" and len(rooms) == len(cache.layers)
    logits, first = [], 0
    while first < rows:
        last = first + 1 if apart else rows
        while last < rows and (last + 1 - first) * max(lengths[first : last + 1]) <= PART:
            last += 1
        part = slice(first, last)
        skip = width - max(lengths[part]) if apart else 0
        for layer in rooms if apart else ():
            layer.at(part, mask.shape[1] - width + skip)
        read = model(input_ids=ids[part, skip:], attention_mask=mask[part], position_ids=position[part, skip:],
                     past_key_values=cache, logits_to_keep=1)  # fmt: skip
        logits.append(read.logits[:, -1])
        first = last
    for layer in rooms if apart else ():
        layer.at(slice(0, rows), mask.shape[1])
    return torch.cat(logits)


def _past(cache: DynamicCache, row: int, mask: torch.Tensor) -> Past:
    """A copy of one row of a batch without its padding."""
    columns = mask.nonzero()[:, 0]
    first, last = int(columns[0]), int(columns[-1]) + 1
    whole = last - first == len(columns)  # no padding within: a slice is copied faster than chosen columns
    layers = []
    for layer in cache.layers:
        assert isinstance(layer, DynamicLayer) and layer.keys is not None and layer.values is not None
        keys, values = (
            part[row, :, first:last].clone(memory_format=torch.contiguous_format) if whole else part[row][:, columns]
            for part in (layer.keys, layer.values)
        )
        layers.append((keys, values))
    return Past(len(columns), tuple(layers))


def _size(past: Past) -> int:
    return sum(part.nbytes for pair in past.layers for part in pair)


class Cuts(NamedTuple):
    """Which unlikely tokens each row never draws; all [rows]."""

    top_p: torch.Tensor
    top_k: torch.Tensor  # 0: all tokens
    min_p: torch.Tensor

    @staticmethod
    def of(samplings: list[Sampling], device: torch.device) -> Cuts | None:
        """None where no request cuts anything off."""
        if all((each.top_p, each.top_k, each.min_p) == (1.0, 0, 0.0) for each in samplings):
            return None
        return Cuts(
            torch.tensor([each.top_p for each in samplings], dtype=torch.float64, device=device),
            torch.tensor([each.top_k for each in samplings], device=device),
            torch.tensor([each.min_p for each in samplings], dtype=torch.float64, device=device),
        )

    def rows(self, rows: torch.Tensor) -> Cuts:
        return Cuts(self.top_p[rows], self.top_k[rows], self.min_p[rows])

    def keep(self, shares: torch.Tensor) -> torch.Tensor:
        """The shares [rows, vocabulary] with 0 in place of those that are cut off, in vLLM's order: of those with
        min_p of the likeliest the likeliest top_k, and of these the fewest that have top_p of their sum."""
        ordered, order = shares.sort(dim=-1, descending=True, stable=True)
        ordered = torch.where(ordered >= self.min_p[:, None] * ordered[:, :1], ordered, 0.0)
        rank = torch.arange(shares.shape[1], device=shares.device)
        limit = torch.where(self.top_k > 0, self.top_k, shares.shape[1])
        ordered = torch.where(rank < limit[:, None], ordered, 0.0)
        before = ordered.cumsum(-1) - ordered
        ordered = torch.where(before < self.top_p[:, None] * ordered.sum(-1, keepdim=True), ordered, 0.0)
        return torch.zeros_like(shares).scatter(-1, order, ordered)


def draw(logits: torch.Tensor, uniforms: torch.Tensor, heat: torch.Tensor, cuts: Cuts | None = None) -> torch.Tensor:
    """One token a row by inverse CDF in float64: the first whose cumulative share exceeds the row's uniform.
    `logits` [rows, vocabulary]; `uniforms` and the temperatures `heat` [rows]; temperature 0 is argmax."""
    if not heat.any():
        return logits.argmax(-1)
    rows = torch.arange(len(logits), device=logits.device)
    at_once = max(1, NUMBERS // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    drawn = torch.cat(
        [_drawn(logits[part], uniforms[part], heat[part], cuts and cuts.rows(part)) for part in rows.split(at_once)]
    )
    # Over a vocabulary in bfloat16, argmax takes a CPU longer than all else here: only where a row asks for it.
    return drawn if heat.all() else torch.where(heat > 0, drawn, logits.argmax(-1))


def _drawn(logits: torch.Tensor, uniforms: torch.Tensor, heat: torch.Tensor, cuts: Cuts | None) -> torch.Tensor:
    shares = torch.softmax(logits.double() / torch.where(heat > 0, heat, 1.0)[:, None], -1)
    shares = (shares if cuts is None else cuts.keep(shares)).cumsum(-1)
    drawn = torch.searchsorted(shares, (uniforms * shares[:, -1])[:, None], right=True)[:, 0]
    return drawn.clamp(max=logits.shape[1] - 1)


def stream(seed: int, n: int) -> torch.Tensor:
    """The first `n` uniforms in [0, 1) of a request's own stream, float64."""
    return torch.from_numpy(np.random.Generator(np.random.Philox(key=seed % 2**128)).random(n))
