"""How fast does `maieutic train` learn by playing, beside a bare GRPOTrainer with the same settings?

Talks are of one turn, alone, on full problems, since TRL alone has no partner: one prompt, a group of answers, a reward
where one is right. Each training is a process of its own on one thread, and they take turns. Tokens are all that were
sampled, seconds are those of the processor in the whole loop, sampling and learning; ours writes a checkpoint after
every step, the bare one none. What is sampled differs, so rewards (of the first and the last fifth) and lengths stand
beside it, and have to be alike.

    python -m benchmarks.grpo                   # the embedded base
    python -m benchmarks.grpo --base smollm2
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from statistics import median

from datasets import Dataset
from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from benchmarks.training import Run, command
from pipeline.datasets.dataset_files import read_rows
from pipeline.engines.weights import weights_at
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.directory import adapter_path
from pipeline.runs.student_files import RECORD
from pipeline.tasks.loading import load_tasks
from training.inputs.job import in_bf16, rows_per_step

ROUNDS, ALIKE = 2, 0.2  # lengths (a share of the bare trainer's) and rewards may be so far apart, being samples
SIZES = {"embedded": (96, 4, 64, "embedded"), "smollm2": (8, 2, 40, "lookup")}  # tasks, of a step, tokens, source


def experiment_on(base: str, folder: str) -> Experiment:
    tasks, of_step, most, source = SIZES[base]
    return Experiment.model_validate({
        "name": "grpo", "out": f"{folder}/run", "seeds": [1],
        "tasks": {"source": source, "train": {"full": tasks}, "exam": {"full": 1}},
        "student": {"model": base}, "engine": {"kind": "transformers"},
        "dialogue": {"turns": 1, "max_tokens": most, "temperature": 1.0, "per_task": 8},
        "conditions": {"solo": {"partition": "solo", "method": "grpo"}},
        "training": {"learning_rate": 1e-3, "grpo": {"group": 8, "tasks_per_step": of_step}},
    })  # fmt: skip


def timed(*arguments: str) -> Run:
    """What one training took, and what it says of itself."""
    output, took = command("benchmarks.timed", *arguments)
    said = [json.loads(line) for line in output.splitlines() if line.startswith('{"')]
    return {key: value for each in said for key, value in each.items()} | took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", choices=SIZES, default="embedded")
    base = parser.parse_args().base
    ours, bare = list[Run](), list[Run]()
    with tempfile.TemporaryDirectory() as folder:
        experiment, config = experiment_on(base, folder), Path(folder, "config.yaml")
        config.write_text(dump(experiment), encoding="utf-8")
        command("maieutic", "build", str(config))
        answers = {task.id: task.answer for task in load_tasks(experiment.tasks, "train")[0]}
        rows = [{"prompt": row["prompt"], "answer": answers[row["task_id"]]} for row in read_rows(experiment, "solo")]
        Dataset.from_list(rows).to_parquet(f"{folder}/prompts.parquet")
        made = adapter_path(Cell(experiment, "solo", 1))
        for _ in range(ROUNDS):
            shutil.rmtree(experiment.run / "adapters", ignore_errors=True)
            took = timed("maieutic", "train", str(config))
            said = json.loads((made / RECORD).read_text(encoding="utf-8"))
            reward = (said["reward_first"] + said["reward_last"]) / 2
            ours.append(took | {"sampled_tokens": said["sampled_tokens"], "reward": reward})
            same = {
                "seed": 1, "max_steps": int(took["steps"]), "learning_rate": experiment.training.learning_rate,
                "num_generations": experiment.training.grpo.group, "temperature": 1.0,
                "per_device_train_batch_size": rows_per_step(experiment, "grpo"), "bf16": in_bf16(experiment),
                "max_completion_length": experiment.dialogue.max_tokens,
                "model_init_kwargs": {"dtype": "bfloat16" if in_bf16(experiment) else "float32"},
            }  # fmt: skip
            last = [f"{folder}/prompts.parquet", f"{folder}/bare", json.dumps(same)]
            bare.append(timed("benchmarks.bare_grpo", weights_at(experiment.base), *last))
    found = {name: figures(some, bare) for name, some in (("maieutic train", ours), ("bare", bare))}
    table = Table("", *found["bare"])
    for name, row in found.items():
        table.add_row(name, *map(str, row.values()))
    Console().print(table)
    mine, theirs = found.values()
    apart = abs(mine["tokens_a_step"] / theirs["tokens_a_step"] - 1), abs(mine["reward"] - theirs["reward"])
    if mine["steps"] != theirs["steps"] or max(apart) > ALIKE:
        raise SystemExit("these are not the same training")
    record(f"grpo on {base}", found)


def figures(some: list[Run], beside: list[Run]) -> dict[str, float]:
    """Of one trainer; ratios are to what ran beside it in the same round."""

    def rate(run: Run) -> float:
        return run["sampled_tokens"] / run["loop_s"]

    return {
        "steps": some[0]["steps"],
        "reward": round(median(run["reward"] for run in some), 3),
        "tokens_a_step": round(median(run["sampled_tokens"] / run["steps"] for run in some), 1),
        "tokens_per_s": round(median(map(rate, some))),
        "loop_ratio": round(median(rate(a) / rate(b) for a, b in zip(some, beside, strict=True)), 3),
        "command_s": round(median(run["command_s"] for run in some), 1),
    }


if __name__ == "__main__":
    main()
