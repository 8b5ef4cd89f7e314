"""What one writes with TRL alone: a LoRA student on a Parquet file of messages, or of tokens and labels.

benchmarks/training.py times it.

    python -m benchmarks.bare_sft BASE ROWS.parquet OUT '{"num_train_epochs": 1}'

The last argument is what SFTConfig is given besides.
"""

from __future__ import annotations

import json
import sys

from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


def main(base: str, rows: str, out: str, settings: str) -> None:
    dataset = load_dataset("parquet", data_files=rows, split="train")
    trainer = SFTTrainer(
        model=base,
        args=SFTConfig(
            out, assistant_only_loss="messages" in dataset.column_names, use_cpu=True,
            gradient_checkpointing=False, save_strategy="no", report_to="none", dataloader_pin_memory=False,
            **json.loads(settings),
        ),
        train_dataset=dataset,
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
