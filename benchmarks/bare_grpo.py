"""What one writes with TRL alone: a LoRA student that learns by GRPO whether its single answers are right.

benchmarks/grpo.py times it.

    python -m benchmarks.bare_grpo BASE PROMPTS.parquet OUT '{"max_steps": 8}'

The last argument is what GRPOConfig is given besides.
"""

from __future__ import annotations

import json
import sys

from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer


def reward(completions: list[list[dict[str, str]]], answer: list[str], **_: object) -> list[float | None]:
    """1 where the last word but for a full stop is the answer."""
    ends = [completion[-1]["content"].rstrip(". \n").lower() for completion in completions]
    return [float(end.endswith(right.lower())) for end, right in zip(ends, answer, strict=True)]


def main(base: str, prompts: str, out: str, settings: str) -> None:
    trainer = GRPOTrainer(
        model=base,
        reward_funcs=reward,
        args=GRPOConfig(
            out, use_cpu=True, gradient_checkpointing=False, save_strategy="no", report_to="none", logging_steps=1,
            dataloader_pin_memory=False, disable_tqdm=True, **json.loads(settings),
        ),
        train_dataset=load_dataset("parquet", data_files=prompts, split="train"),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(out)
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    of_step = trainer.args.per_device_train_batch_size
    sampled = of_step * sum(step["completions/mean_length"] for step in steps)
    fifth = max(1, len(steps) // 5)  # as a student's training.json has it
    rewards = [step["reward"] for step in [*steps[:fifth], *steps[-fifth:]]]
    print(json.dumps({"sampled_tokens": sampled, "reward": sum(rewards) / len(rewards)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
