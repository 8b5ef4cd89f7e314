"""Makes the embedded base of hidden items: like the other (base.py), with words and a corpus of its own.

    python -m training.embedded.hidden_item_base --drills --steps 2000 --tokens 2048 --out runs/drilled
    python -m training.embedded.hidden_item_base --start runs/drilled --steps 3600 --out runs/second

What ships learned in four such stages: data/README.md has their commands.

It starts from heads that are placed by hand (option_heads.py), and is drilled first. It learns in a bfloat16 autocast.
No example comes twice: with 12,000 over and over the loss fell to .04, which is below what planted chances leave, while
no more of the options that it put forward on new items were possible.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from pathlib import Path

from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.embedded.base import World, look_back, make_model, make_tokenizer, train
from training.embedded.hidden_item_corpus import MAKERS, Dispositions, Maker, corpus, drill
from training.embedded.option_heads import look_options_up


def untrained() -> tuple[PreTrainedTokenizerFast, LlamaForCausalLM]:
    """Its own tokenizer, in which each of its words is one token, and the placed heads."""
    tokenizer = make_tokenizer(list(itertools.islice(corpus(7), 2000)))
    model = make_model(len(tokenizer))
    look_back(model)
    look_options_up(model, tokenizer)
    return tokenizer, model


def hidden_items(makers: Mapping[Maker, float] = MAKERS) -> World:
    """The world of pipeline/tasks/hidden_item."""
    return World(lambda seed: corpus(seed, makers), untrained, Dispositions()._asdict())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=1.0)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--drills", action="store_true", help="nothing but drills: its first stage")
    options = vars(parser.parse_args())
    world = hidden_items(makers={drill: 1.0}) if options.pop("drills") else hidden_items()
    # Half the size, and no less: it learned in this type.
    train(world=world, drills=0.0, bf16=True, log=25, **options).bfloat16().save_pretrained(options["out"])
