"""Makes the embedded base of hidden items: like the other (base.py), with words and a corpus of its own.

    python -m training.embedded.hidden_item_base --steps 3000 --out data/hidden_item_base

It starts from the layers of the base that ships, which read off whose is what, and from its embeddings of the words
that both know; other words begin at random. It learns in a bfloat16 autocast. The corpus of a seed is `DISTINCT`
examples, over and over: to make one takes as long as to learn from it.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from pipeline.engines.weights import EMBEDDED, weights_at
from training.embedded.base import World, make_model, make_tokenizer, train
from training.embedded.hidden_item_corpus import Dispositions, corpus
from training.embedded.training_example import TrainingExample

DISTINCT = 12_000


def untrained() -> tuple[PreTrainedTokenizerFast, LlamaForCausalLM]:
    """Its own tokenizer, in which each of its words is one token, and the shipped base's layers."""
    tokenizer = make_tokenizer(list(itertools.islice(corpus(7), 2000)))
    model, start = make_model(len(tokenizer)), weights_at(EMBEDDED)
    shipped = LlamaForCausalLM.from_pretrained(start)
    theirs = PreTrainedTokenizerFast.from_pretrained(start).get_vocab()
    learned = shipped.state_dict()
    words = learned["model.embed_tokens.weight"]
    table = words.std() * torch.randn(len(tokenizer), words.shape[1])
    for token, place in tokenizer.get_vocab().items():
        if token in theirs:
            table[place] = words[theirs[token]]
    model.load_state_dict(learned | {"model.embed_tokens.weight": table, "lm_head.weight": table})
    return tokenizer, model


def hidden_items(how: Dispositions = Dispositions()) -> World:
    """The world of pipeline/tasks/hidden_item."""

    def repeated(seed: int) -> Iterator[TrainingExample]:
        return itertools.cycle(itertools.islice(corpus(seed, how), DISTINCT))

    return World(repeated, untrained, how._asdict())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=1.0)
    parser.add_argument("--start", type=Path)
    options = vars(parser.parse_args())
    # Half the size, and no less: it learned in this type.
    train(world=hidden_items(), drills=0.0, bf16=True, log=25, **options).bfloat16().save_pretrained(options["out"])
