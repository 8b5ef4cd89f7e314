"""Makes an embedded base: tokenizer, chat template and a small Llama trained from nothing.

    python -m training.embedded.base --steps 4500 --decay 1 --drills 0.25 --out runs/base1
    ... --start data/base --seed 2 --rate 1e-3 --steps 400 --decay 1 --drills 0.1 --ask 0.3 --out runs/ask30  # a prior

The rate falls linearly to zero over the last `--decay` of the steps. data/README.md has the whole recipe of what ships.
One seed gives one stream of examples; on a GPU the same script runs there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pipeline.core.files import write_whole, written_whole
from training.embedded.corpus import Dispositions, corpus, drill
from training.embedded.muon import Muon
from training.embedded.training_example import TrainingExample

TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}<|assistant|>"
    "{% generation %}{{ message.content }}<|end|>{% endgeneration %}"
    "{% else %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
VOCABULARY, TOP_NUMBER = 2048, 330
CHECKPOINT, CHECKPOINT_EVERY = "checkpoint.pt", 100  # steps
PERIODS = (2, 5, 10, 20, 50, 100, 200, 400, 800)


def make_tokenizer(examples: Iterable[TrainingExample] | None = None) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which the world's words are single tokens, and whole numbers where no examples are given."""
    text = [m["content"] for example in examples or itertools.islice(corpus(7), 4000) for m in example.messages]
    words = sorted({word for line in text for word in _pieces(line)})
    numbers = [] if examples else [str(n) for n in range(TOP_NUMBER)]
    lines = [*words, *(" " + word for word in words), *(" " + n for n in numbers)] * 50
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(lines, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        chat_template=TEMPLATE,
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )


def _pieces(line: str) -> list[str]:
    return [word.strip(".,?:()") for word in line.split() if not any(c.isdigit() for c in word)]


def make_model(vocabulary: int, hidden: int = 160, layers: int = 4) -> LlamaForCausalLM:
    """A Llama of these sizes, with random weights."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=hidden * 3,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 32,
        num_key_value_heads=hidden // 32,
        max_position_embeddings=4096,
        attention_bias=True,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=SPECIAL.index("<|end|>"),
    )
    return LlamaForCausalLM(config)


def place_numbers(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Start the numbers' embeddings on circles (Zhou et al., FoNE, arXiv 2502.09741); learning moves them freely.

    One trial each: after 48,000 bare equations .31 of the results were right, from random embeddings .12.
    """
    table = model.model.embed_tokens.weight.data
    basis = torch.linalg.qr(torch.randn(table.shape[1], 2 * len(PERIODS)))[0].T
    for n in range(TOP_NUMBER):
        angles = [wave(2 * math.pi * n / period) for period in PERIODS for wave in (math.cos, math.sin)]
        place = torch.tensor(angles) @ basis
        row = table[tokenizer.encode(f" {n}", add_special_tokens=False)[0]]
        row.mul_(0.3).add_(0.75 * place / place.norm())


def look_back(model: LlamaForCausalLM) -> None:
    """Start the first layer's first heads on the tokens 1, 2 and 3 places back; learning moves them freely.

    Whose number it is stands a few tokens before the number: induction circuits need such heads (Olsson et al.,
    arXiv 2209.11895) and a small model is slow to find them. One trial each, after 1.2 M tokens: .94 of the
    numbers were read off right, without this .76. Biases of queries and keys turn by rotary angles only, so a
    phase between them is a distance; the four fastest angles are used.
    """
    attention, width = model.model.layers[0].self_attn, model.config.hidden_size
    size = width // model.config.num_attention_heads
    theta = float(model.config.rope_parameters["rope_theta"])  # type: ignore[arg-type,index]
    angles = torch.tensor([theta ** (-2 * i / size) for i in range(4)])
    for head, offset in enumerate((1, 2, 3)):
        rows = slice(head * size, (head + 1) * size)
        key, query = attention.k_proj.bias.data[rows], attention.q_proj.bias.data[rows]
        key[:4] = 5.0
        query[:4] = 5.0 * torch.cos(offset * angles)
        query[size // 2 : size // 2 + 4] = -5.0 * torch.sin(offset * angles)
        attention.v_proj.weight.data[rows] = torch.linalg.qr(torch.randn(width, size))[0].T
        attention.o_proj.weight.data[:, rows] = torch.linalg.qr(torch.randn(width, size))[0]


class Encoder:
    """Examples to ids and loss masks; equal to the chat template's own encoding (tests/training/embedded)."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast):
        self.tokenizer = tokenizer
        self.guess = self.text(" guess")[0]
        self.end = SPECIAL.index("<|end|>")

    def text(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def example(self, example: TrainingExample) -> tuple[list[int], list[float]]:
        """Ids, and each token's weight in the loss."""
        ids: list[int] = []
        learn: list[float] = []
        for i, message in enumerate(example.messages):
            body = [*self.text(message["content"]), self.end]
            ids += [SPECIAL.index(f"<|{message['role']}|>"), *body]
            learn += [0.0] + [float(i in example.learn)] * len(body)
        for i in range(4, len(ids)):
            # "I guess the answer is N": N is drawn blindly, so at full weight it is mostly noise in the gradient.
            if ids[i - 4] == self.guess:
                learn[i] *= 0.1
        return ids, learn

    def drill(self, rng: random.Random) -> tuple[list[int], list[float]]:
        ids, learn = [SPECIAL.index("<|assistant|>")], [0.0]
        for left, result in zip(*drill(rng), strict=True):
            head, tail = self.text(f" {left}"), self.text(f" {result}")
            ids += [*head, *tail, *self.text(".")]
            learn += [0.0] * len(head) + [1.0] * len(tail) + [0.0]
        return ids, learn


def batches(
    encoder: Encoder, seed: int, examples: Iterator[TrainingExample], tokens: int, drills: float
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of about `tokens` tokens, padded on the right to a multiple of 16."""
    rng = random.Random(f"batches-{seed}")
    while True:
        rows = [encoder.drill(rng) if rng.random() < drills else encoder.example(next(examples)) for _ in range(1024)]
        rows.sort(key=lambda row: len(row[0]))
        made = []
        while rows:
            width = -(-len(rows[-1][0]) // 16) * 16
            part, rows = rows[-max(1, tokens // width) :], rows[: -max(1, tokens // width)]
            ids, learn = torch.zeros(len(part), width, dtype=torch.long), torch.zeros(len(part), width)
            for i, (row, mask) in enumerate(part):
                ids[i, : len(row)], learn[i, : len(row)] = torch.tensor(row), torch.tensor(mask)
            made.append((ids, learn))
        rng.shuffle(made)
        yield from made


def untrained() -> tuple[PreTrainedTokenizerFast, LlamaForCausalLM]:
    """Tokenizer and model before the first step, in which numbers and the look back at words are placed by hand."""
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    place_numbers(model, tokenizer)
    look_back(model)
    return tokenizer, model


class World(NamedTuple):
    """What a base is made for: endless examples of a seed, what is there before the first step, what was planted."""

    corpus: Callable[[int], Iterator[TrainingExample]]
    untrained: Callable[[], tuple[PreTrainedTokenizerFast, LlamaForCausalLM]]
    dispositions: dict[str, float]


def word_problems(how: Dispositions = Dispositions()) -> World:
    """The world of pipeline/tasks/word_problems.py."""
    return World(lambda seed: corpus(seed, how), untrained, how._asdict())


def optimizers_of(model: LlamaForCausalLM, rate: float) -> list[tuple[torch.optim.Optimizer, float]]:
    """Muon of the matrices and Adam of all else, each with its full learning rate."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    muon = Muon(matrices, lr=rate * 5)
    adam = torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    return [(muon, rate * 5), (adam, rate)]


def loss_of(model: LlamaForCausalLM, ids: torch.Tensor, learn: torch.Tensor) -> torch.Tensor:
    """The mean over a batch's learned tokens, by their weight; both are [rows, tokens]."""
    hidden, weight, target = model.model(input_ids=ids).last_hidden_state[:, :-1], learn[:, 1:], ids[:, 1:]
    scores = model.lm_head(hidden[weight > 0])
    losses = torch.nn.functional.cross_entropy(scores, target[weight > 0], reduction="none")
    return (losses * weight[weight > 0]).sum() / weight.sum()


def train(
    out: Path,
    seed: int = 0,
    steps: int = 5000,
    tokens: int = 4096,
    rate: float = 3e-3,
    decay: float = 0.25,
    drills: float = 0.2,
    start: Path | None = None,
    log: int = 100,
    world: World | None = None,
    bf16: bool = False,
) -> LlamaForCausalLM:
    """Train the base on a world's corpus and save it to `out` with its recipe. `tokens` are those of one step.

    Every 100 steps what it needs to go on lies in `out`, and the same call goes on: to the same weights, on the same
    machine. A call with another recipe begins anew.
    """
    world = world or word_problems()
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recipe: dict[str, Any] = {
        "seed": seed,
        "steps": steps,
        "tokens_per_step": tokens,
        "rate": rate,
        "drills": drills,
        "start": start.name if start else None,
        "dispositions": world.dispositions,
    }
    made = recipe | {"decay": decay, "bf16": bf16, "start": str(start.resolve()) if start else None}
    left = torch.load(out / CHECKPOINT) if (out / CHECKPOINT).is_file() else {}
    left = left if left.get("made") == made else {}
    if start is None:
        tokenizer, model = world.untrained()
    else:
        tokenizer, model = (
            PreTrainedTokenizerFast.from_pretrained(start),
            LlamaForCausalLM.from_pretrained(start, dtype=torch.float32),
        )
    if left:
        model.load_state_dict(left["model"])
    model.train()
    model.to(torch.device(device))  # type: ignore[arg-type]
    optimizers = optimizers_of(model, rate)
    for (optimizer, _), state in zip(optimizers, left.get("optimizers", ()), strict=False):
        optimizer.load_state_dict(state)
    done, seen = left.get("done", 0), left.get("seen", 0)
    began, total, count = time.monotonic() - left.get("seconds", 0.0), 0.0, 0
    stream = itertools.islice(batches(Encoder(tokenizer), seed, world.corpus(seed), tokens, drills), done, None)
    for step in range(done, steps):
        scale = min(1.0, (step + 1) / 100, (steps - step) / (decay * steps) if decay else 1.0)
        for optimizer, full_rate in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = full_rate * scale
        ids, learn = (part.to(device) for part in next(stream))
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            loss = loss_of(model, ids, learn)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen, total, count = seen + ids.numel(), total + loss.item(), count + 1
        if (step + 1) % log == 0:
            print(
                f"step {step + 1}/{steps} loss {total / count:.4f} tokens {seen / 1e6:.1f}M "
                f"{seen / (time.monotonic() - began):.0f}/s {time.monotonic() - began:.0f}s",
                flush=True,
            )
            total, count = 0.0, 0
        if (step + 1) % CHECKPOINT_EVERY == 0:
            with written_whole(out / CHECKPOINT) as path:
                states = {"model": model.state_dict(), "optimizers": [each.state_dict() for each, _ in optimizers]}
                taken = {"done": step + 1, "seen": seen, "seconds": time.monotonic() - began}
                torch.save({"made": made} | states | taken, path)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    recipe |= {"tokens": seen, "minutes": round((time.monotonic() - began) / 60, 1)}
    write_whole(out / "recipe.json", json.dumps(recipe, indent=1) + "\n")
    (out / CHECKPOINT).unlink(missing_ok=True)
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--decay", type=float, default=0.25)
    parser.add_argument("--drills", type=float, default=0.2, help="share of rows that are bare equations")
    parser.add_argument("--ask", type=float, default=Dispositions().ask)
    parser.add_argument("--ask-full", type=float, default=Dispositions().ask_full)
    parser.add_argument("--start", type=Path)
    options = vars(parser.parse_args())
    how = Dispositions(ask=options.pop("ask"), ask_full=options.pop("ask_full"))
    train(world=word_problems(how), **options)
