"""How fast does `maieutic train` train, beside a bare SFTTrainer on the same data with the same settings?

The data is the quickstart's `volunteer` condition of one seed, trained for one epoch; or that of a run that was
built, such as one of SmolLM2, trained for some steps. Every training is a process of its own, and they take
turns. With one thread the seconds of the processor are those of the clock on an idle machine, and neighbours
disturb them least: ratios are of these, the median over rounds. By the clock the fastest round counts. Tokens are
all that are read, padding aside. The variants, run in the first round alone, say what other batching brings; where
one changes which rows share a step, its loss is another.

    python -m benchmarks.training
    python -m benchmarks.training --run runs/lookup_smollm2 --condition volunteer --steps 10
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from datasets import Dataset
from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.datasets.dataset_files import read_rows
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import weights_at
from pipeline.experiment.experiment import Experiment, dump, load
from pipeline.runs.directory import experiment_of
from training.inputs.job import in_bf16
from training.trainers.sft import encode_rows

ROOT = Path(__file__).parent.parent
ROUNDS, SEED = 2, 4
GROUPED = {"train_sampling_strategy": "group_by_length"}
BARE: dict[str, dict[str, Any]] = {
    "bare": GROUPED,
    "bare, random order": {},
    "bare, padding-free": {**GROUPED, "padding_free": True},
    # Two packs of 1024 tokens are about sixteen rows, so that a step has as much to learn.
    "bare, packed": {"packing": True, "max_length": 1024, "per_device_train_batch_size": 2},
}
Run = dict[str, float]


def quickstart(folder: str) -> Experiment:
    """One condition and seed of the quickstart, its dialogues made and exported."""
    whole = load(ROOT / "configs" / "quickstart_full.yaml")
    experiment = whole.model_copy(
        update={
            "out": f"{folder}/run", "seeds": (SEED,), "compare": None,
            "conditions": {"volunteer": whole.conditions["volunteer"]},
            "training": whole.training.model_copy(update={"epochs": 1}),
        }
    )  # fmt: skip
    Path(folder, "config.yaml").write_text(dump(experiment), encoding="utf-8")
    command("maieutic", "build", f"{folder}/config.yaml")
    return experiment


def built(folder: str, run: Path, condition: str, steps: int) -> Experiment:
    """One condition and seed of a run that was built, linked into a folder of its own."""
    whole = experiment_of(run)
    experiment = whole.model_copy(
        update={
            "out": f"{folder}/run", "seeds": whole.seeds[:1], "compare": None,
            "conditions": {condition: whole.conditions[condition]},
            "training": whole.training.model_copy(update={"steps": steps}),
        }
    )  # fmt: skip
    experiment.run.mkdir()
    for part in ("warmup", "datasets", "dialogues", "failures.jsonl"):
        if (run / part).exists():
            (experiment.run / part).symlink_to((run / part).resolve())
    Path(folder, "config.yaml").write_text(dump(experiment), encoding="utf-8")
    return experiment


def command(*arguments: str) -> tuple[str, Run]:
    """What a module prints, and the seconds that its process takes, of the processor and by the clock."""
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    clock, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, {"command_s": used, "clock_s": clock}


def trained(*arguments: str) -> Run:
    output, took = command("benchmarks.timed", *arguments)
    return json.loads(next(line for line in output.splitlines() if line.startswith('{"steps"'))) | took


def ratio(some: list[Run], beside: list[Run], key: str) -> float:
    """How many times faster than what ran beside it in the same round."""
    return round(median(b[key] / a[key] for a, b in zip(some, beside[: len(some)], strict=True)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--condition", default="volunteer")
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    variants = {"bare": GROUPED} if options.run else BARE
    runs: dict[str, list[Run]] = {name: [] for name in ("maieutic train", *variants)}
    with tempfile.TemporaryDirectory() as folder:
        if options.run:
            experiment = built(folder, options.run, options.condition, options.steps)
        else:
            experiment = quickstart(folder)
        training, model, (condition,) = experiment.training, weights_at(experiment.base), experiment.conditions
        (seed,) = experiment.seeds
        rows = sorted(read_rows(experiment, condition), key=lambda row: row["id"])
        rows = [row for row in rows if row["seed"] == seed]
        encoded = encode_rows(load_tokenizer(model), rows, training.max_length)
        passes = training.steps * training.batch / len(rows) if training.steps else training.epochs
        tokens = passes * sum(len(row["input_ids"]) for row in encoded)
        # A model's own template need not mark what the assistant says, which TRL then refuses: it is given the tokens.
        read = [dict(each) for each in encoded] if options.run else [{"messages": row["messages"]} for row in rows]
        Dataset.from_list(read).to_parquet(f"{folder}/rows.parquet")
        same = {
            "seed": seed, "num_train_epochs": training.epochs, "max_steps": training.steps or -1,
            "learning_rate": training.learning_rate, "per_device_train_batch_size": training.batch, "max_length": None,
            "bf16": in_bf16(experiment),
            "model_init_kwargs": {"dtype": "bfloat16" if in_bf16(experiment) else "float32"},
        }  # fmt: skip
        for i in range(ROUNDS):
            shutil.rmtree(experiment.run / "adapters", ignore_errors=True)
            runs["maieutic train"].append(trained("maieutic", "train", f"{folder}/config.yaml"))
            for name, settings in variants.items() if i == 0 else [("bare", GROUPED)]:
                last = [f"{folder}/rows.parquet", f"{folder}/bare", json.dumps(same | settings)]
                runs[name].append(trained("benchmarks.bare_sft", model, *last))
    ours, bare = runs["maieutic train"][0], runs["bare"][0]
    apart = 1e-2 if in_bf16(experiment) else 1e-5  # bfloat16 has three digits, and the two round at other places
    if ours["steps"] != bare["steps"] or abs(ours["loss"] / bare["loss"] - 1) > apart:
        raise SystemExit(f"these are not the same training: {ours} and {bare}")
    figures = {
        name: {
            "steps": some[0]["steps"],
            "loss": round(some[0]["loss"], 6),
            "tokens_per_s": round(median(tokens / run["loop_s"] for run in some)),
            "loop_ratio": ratio(some, runs["bare"], "loop_s"),
            "command_s": round(median(run["command_s"] for run in some), 1),
            "command_ratio": ratio(some, runs["bare"], "command_s"),
            "clock_ratio": round(min(b["clock_s"] for b in runs["bare"]) / min(a["clock_s"] for a in some), 3),
        }
        for name, some in runs.items()
    }
    table = Table("", "steps", "loss", "tokens/s", "to bare", "whole command, s", "to bare", "by the clock")
    for name, row in figures.items():
        table.add_row(name, *(str(value) for value in row.values()))
    Console().print(table)
    record(f"training on {options.run.name}" if options.run else "training", figures)


if __name__ == "__main__":
    main()
