"""Where the base of hidden items begins: heads that look options up, placed by hand; learning moves them freely.

    tokenizer, model = ...; look_back(model); look_options_up(model, tokenizer)

What follows a word in an option, and which option has the words that were told, are lookups of two and three steps.
Models find their circuits late (Olsson et al., arXiv 2209.11895), and one of this size did not in 4 M tokens of
drills: it copied the word that it was told to its place, and drew the other words at random (.2 right, with five to
choose from). With these heads .9 of other words were right after 3.4 M tokens.
"""

from __future__ import annotations

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

HEAD = 32
# Of a head's 16 rotary pairs those that turn by less than a radian over a hundred tokens: what lies in them is compared
# alike at any distance.
SLOW = (*range(9, 16), *range(25, 32))
SLOWEST = 15
WRITTEN = 0.18  # how strongly heads that look back write, so that the word itself stays as loud as its neighbours


def look_options_up(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """After `training.embedded.base.look_back`, whose heads write the tokens 1, 2 and 3 places back.

    Layer 1, head 0: the token after an equal one. Head 1: all tokens after "is", which are what is known of the item.
    Layer 2, heads 0 and 1: the place whose three tokens before are most of these, the option's noun; its words.
    """
    width = model.config.hidden_size
    words = model.model.embed_tokens.weight.data.normal_(0, width**-0.5)
    first = model.model.layers[0].self_attn
    seen = _orthonormal(width)  # [32, width]: what heads read of a word
    for i in range(3):
        first.v_proj.weight.data[_rows(i)] = seen
    back = [first.o_proj.weight.data[:, _rows(i)].T.clone() for i in range(3)]  # [32, width]: reads that place again
    first.o_proj.weight.data[:, : 3 * HEAD] *= WRITTEN
    copied, told = _orthonormal(width), _orthonormal(width)
    _place(model, 1, 0, _compared(seen), _compared(back[0]), copied, copied)

    is_before = seen @ words[tokenizer.encode(" is", add_special_tokens=False)[0]]
    key, always = torch.zeros(HEAD, width), torch.zeros(HEAD)
    key[SLOWEST], always[SLOWEST] = 4 * (is_before / is_before.dot(is_before)) @ back[0], 3.0
    _place(model, 1, 1, torch.zeros(HEAD, width), key, seen, told)
    model.model.layers[1].self_attn.q_proj.bias.data[_rows(1)] = always

    option = back[0] + back[1] + back[2]
    for head, start in enumerate((0, len(SLOW))):
        query, key = (_compared(each, start, 3.0) for each in (told, option))
        _place(model, 2, head, query, key, option, seen)


def _place(
    model: LlamaForCausalLM,
    layer: int,
    head: int,
    query: torch.Tensor,
    key: torch.Tensor,
    reads: torch.Tensor,
    writes: torch.Tensor,
) -> None:
    """All [32, width]; what `reads` reads is written where `writes` reads it again."""
    attention, rows = model.model.layers[layer].self_attn, _rows(head)
    attention.q_proj.weight.data[rows], attention.k_proj.weight.data[rows] = query, key
    attention.v_proj.weight.data[rows], attention.o_proj.weight.data[:, rows] = reads, 0.5 * writes.T


def _compared(reads: torch.Tensor, start: int = 0, gain: float = 2.0) -> torch.Tensor:
    """As many of its rows as there are slow places, from `start` on, in these places [32, width]."""
    placed = torch.zeros_like(reads)
    placed[list(SLOW)] = gain * reads[start : start + len(SLOW)]
    return placed


def _orthonormal(width: int) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(width, HEAD))[0].T


def _rows(head: int) -> slice:
    return slice(head * HEAD, (head + 1) * HEAD)
