"""How the natural readers are learned from labelled turns: LoRA on a sentence encoder, and heads.

    python -m evals.readers.turns.learn_reader data/readers/semantic data/reading/train.jsonl --tune OTHER.jsonl

Thresholds are those with the best F1 on the file of --tune, whose problems are not among those that were learned from.
Two hours or less on one core.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from evals.readers.turns.score_readings import f1
from evals.readers.turns.turns_file import LabelledRow, StudentLabels, read_turns
from pipeline.core.errors import ConfigError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.embedder import installed_model
from pipeline.reading.numbers.equality import equal
from pipeline.reading.semantic.features import plain_name
from pipeline.reading.semantic.natural_reader import (
    HUB_NAME,
    Scores,
    is_learned,
    load_learned,
    partner_of,
    scores_of_pieces,
    student_of,
)
from pipeline.reading.semantic.network import PARTNER_HEADS, STUDENT_HEADS, ReadingNetwork
from pipeline.reading.semantic.preparing import PreparedTurn, prepare
from pipeline.runs.progress import say

BATCH, RATE, HEAD_RATE, YES = 16, 5e-4, 1e-3, 2.0  # YES: what a true label weighs
OF_PAIRS = 1.5
# The class whose F1 a threshold is to make best.
BEST_FOR = {"asks": "asks_withheld", "request": "asks_any_withheld", "agrees": "stance", "disagrees": "stance",
            "right": "feedback", "wrong": "feedback",
            "stated": "reveals_stated", "derivable": "reveals_derivable"}  # fmt: skip
Example = tuple[PreparedTurn, LabelledRow]


def learn(rows: list[LabelledRow], network: ReadingNetwork, epochs: int, seed: int, share: float = 1.0) -> None:
    """Learn in place, at a share of the rates."""
    random.seed(seed)
    torch.manual_seed(seed)
    examples = [(prepare(row.turn, network.tokenizer), row) for row in rows]
    lora = [p for name, p in network.named_parameters() if "lora_" in name]
    heads = [p for name, p in network.named_parameters() if is_learned(name) and "lora_" not in name]
    steps = epochs * (len(_batches(examples)) + 2)
    rates = [share * RATE, share * HEAD_RATE]
    optimizer = torch.optim.AdamW([{"params": lora}, {"params": heads}], weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        network.train()
        network.frozen.eval()
        losses = []
        for batch in _batches(examples):
            loss = _loss(network, batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*lora, *heads], 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        say(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.4f}")
    network.eval()


def _batches(examples: list[Example]) -> list[list[Example]]:
    """Of one party each, and of about one length."""
    made = []
    for party in ("student", "partner"):
        of_party = [example for example in examples if example[1].kind == party]
        random.shuffle(of_party)
        for start in range(0, len(of_party), 10 * BATCH):
            part = sorted(of_party[start : start + 10 * BATCH], key=lambda example: example[0].length)
            made += [part[i : i + BATCH] for i in range(0, len(part), BATCH)]
    random.shuffle(made)
    return made


def _loss(network: ReadingNetwork, batch: list[Example]) -> Tensor:
    logits, yes = network([prepared for prepared, _ in batch]), torch.tensor(YES)
    loss = cross_entropy(logits.turn, torch.tensor([_heads(row) for _, row in batch]), pos_weight=yes)
    if logits.pair is not None:
        truth = torch.tensor([pair for _, row in batch for pair in _pairs(row)])
        loss = loss + OF_PAIRS * cross_entropy(logits.pair, truth, pos_weight=yes)
    if logits.span is not None:
        truth = torch.tensor([hit for prepared, row in batch for hit in _spans(prepared, row)])
        weight = torch.tensor([1 / math.sqrt(len(prepared.spans)) for prepared, _ in batch for _ in prepared.spans])
        each = cross_entropy(logits.span, truth, reduction="none", pos_weight=yes)
        loss = loss + (each * weight).sum() / len(batch)
    return loss


def _heads(row: LabelledRow) -> list[float]:
    truth = row.truth
    if isinstance(truth, StudentReading):
        named = {"agrees": truth.stance == "agrees", "disagrees": truth.stance == "disagrees"}
        return [float(named.get(name, getattr(truth, name, False))) for name in STUDENT_HEADS]
    named = {"right": truth.feedback == "right", "wrong": truth.feedback == "wrong",
             "stated": truth.reveals == "stated", "derivable": truth.reveals == "derivable"}  # fmt: skip
    return [float(named.get(name, getattr(truth, name, False))) for name in PARTNER_HEADS]


def _pairs(row: LabelledRow) -> list[list[float]]:
    labels = row.labels
    if isinstance(labels, StudentLabels):
        return [[float(fact.id in labels.asks)] for fact in row.facts]
    return [[float(fact.id in labels.tells), float(fact.id in labels.tells_wrong)] for fact in row.facts]


def _spans(prepared: PreparedTurn, row: LabelledRow) -> list[float]:
    """1 at the last span that is the labelled answer."""
    answer = row.labels.attempt if isinstance(row.labels, StudentLabels) else None
    hits = [i for i, (span, _, _) in enumerate(prepared.spans) if answer is not None and _same(row, span.value, answer)]
    return [float(i == hits[-1]) if hits else 0.0 for i in range(len(prepared.spans))]


def _same(row: LabelledRow, value: str, answer: str) -> bool:
    return equal(value, answer) if row.turn.numeric else value == plain_name(answer)


def tune(rows: list[LabelledRow], network: ReadingNetwork) -> dict[str, float]:
    """The threshold of each head, of asks, tells, tells_wrong, attempt and requests with the best F1 on these rows."""
    read = all_scores(rows, network)
    names = [*STUDENT_HEADS, *PARTNER_HEADS, "asks", "tells", "tells_wrong", "attempt", "request"]
    least = dict.fromkeys(names, 0.5) | {"request": math.inf}  # it is for what the others leave
    thresholds = [round(0.1 + 0.05 * i, 2) for i in range(17)]
    for name in names:
        reached = np.array(
            [f1(rows, readings(rows, read, {**least, name: each}), BEST_FOR.get(name, name)) for each in thresholds]
        )
        # The middle of three neighbours with the best mean: a lone peak on few turns is chance.
        middles = (reached[:-2] + reached[1:-1] + reached[2:]) / 3
        if np.isnan(middles).any():
            say(f"threshold of {name}: {least[name]}, since no turn to tune on is labelled {BEST_FOR.get(name, name)}")
            continue
        least[name] = thresholds[1 + int(middles.argmax())]
    return least


def all_scores(rows: list[LabelledRow], network: ReadingNetwork) -> list[list[Scores]]:
    """In the order of the rows, those of each turn's pieces."""
    by_row: dict[int, list[Scores]] = {}
    for party in ("student", "partner"):
        chosen = [i for i, row in enumerate(rows) if row.kind == party]
        by_row |= dict(zip(chosen, scores_of_pieces(network, [rows[i].turn for i in chosen]), strict=True))
    return [by_row[i] for i in range(len(rows))]


def readings(
    rows: list[LabelledRow], read: list[list[Scores]], least: dict[str, float]
) -> list[StudentReading | PartnerReading]:
    return [
        (student_of if row.kind == "student" else partner_of)(row.turn, parts, least)
        for row, parts in zip(rows, read, strict=True)
    ]


def main(
    into: Path,
    files: list[Path],
    tune_on: Annotated[Path, typer.Option("--tune")],
    lower: int = 3,
    similar: bool = True,
    epochs: int = 7,
    rank: int = 16,
    seed: int = 0,
    start: Annotated[
        Path | None, typer.Option(help="the folder of a reader to go on from, at a third of the rates")
    ] = None,
) -> None:
    torch.set_num_threads(1)
    learned_from, tuned_on = [row for file in files for row in read_turns(file)], read_turns(tune_on)
    if both := {row.question for row in learned_from} & {row.question for row in tuned_on}:
        raise ConfigError(f"--tune: {tune_on}: {len(both)} of its questions are learned from, too, as {min(both)!r}")
    torch.manual_seed(seed)  # LoRA's and the heads' first weights
    network = ReadingNetwork(installed_model() or HUB_NAME, lower, similar, rank)
    if start:
        load_learned(network, start)
    learn(learned_from, network, epochs, seed, 1 / 3 if start else 1.0)
    settings = {"lower": lower, "similar": similar, "rank": rank, "thresholds": tune(tuned_on, network)}
    into.mkdir(parents=True, exist_ok=True)
    learned = {name: p.to(torch.bfloat16).contiguous() for name, p in network.state_dict().items() if is_learned(name)}
    save_file(learned, into / "weights.safetensors")
    (into / "reader.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    say(f"wrote {into}")


if __name__ == "__main__":
    typer.run(main)
