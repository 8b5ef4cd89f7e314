"""The student's loss is TRL's own, up to rounding, from the learned positions alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, PrinterCallback
from trl import SFTConfig, SFTTrainer

from pipeline.engines.transformers import load_tokenizer
from training.inputs.masks import IGNORE, Encoded
from training.trainers.learned_loss import StudentTrainer

# Rows of unequal length and with unequally many learned tokens, one of them in two stretches.
ROWS: list[Encoded] = [
    {"input_ids": [9, 10, 11, 12], "labels": [IGNORE, IGNORE, 11, 12]},
    {"input_ids": [9, 13, 14, 15, 16, 17, 18], "labels": [IGNORE, 13, 14, IGNORE, IGNORE, 17, 18]},
    {"input_ids": [20, 21], "labels": [IGNORE, 21]},
    {"input_ids": [22, 23, 24, 25, 26], "labels": [IGNORE, IGNORE, IGNORE, IGNORE, 26]},
]


def trained(kind: type[SFTTrainer], base: Path, out: Path, micro: int, **settings: Any) -> tuple[float, torch.Tensor]:
    """Mean loss and LoRA weights after two epochs of steps of four rows."""
    torch.manual_seed(1)
    trainer = kind(
        model=AutoModelForCausalLM.from_pretrained(base),
        args=SFTConfig(
            str(out), per_device_train_batch_size=micro, gradient_accumulation_steps=4 // micro, num_train_epochs=2,
            learning_rate=1e-2, max_length=None, dataset_kwargs={"skip_prepare_dataset": True}, save_strategy="no",
            report_to="none", disable_tqdm=True, dataloader_pin_memory=False, use_cpu=True,
            **({"bf16": False, "gradient_checkpointing": False} | settings),
        ),
        train_dataset=Dataset.from_list([dict(row) for row in ROWS]), processing_class=load_tokenizer(str(base)),
        peft_config=LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    loss = trainer.train().training_loss
    weights = [weight.detach().flatten() for name, weight in trainer.model.named_parameters() if "lora_" in name]
    return loss, torch.cat(weights)


def test_in_bf16_the_loss_is_that_of_a_plain_trainer_up_to_rounding(embedded, tmp_path):
    ours, theirs = (trained(kind, embedded, tmp_path, 2, bf16=True) for kind in (StudentTrainer, SFTTrainer))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-4)
    assert (ours[1] - theirs[1]).norm() < 0.05 * theirs[1].norm()


@pytest.mark.parametrize(("micro", "settings"), [(4, {}), (2, {}), (1, {}), (2, {"gradient_checkpointing": True})])
def test_training_is_that_of_a_plain_trainer(embedded, tmp_path, micro, settings):
    ours, theirs = (trained(kind, embedded, tmp_path, micro, **settings) for kind in (StudentTrainer, SFTTrainer))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-6)
    assert torch.allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-6)


def test_the_head_is_given_the_learned_positions_alone(embedded, tmp_path, monkeypatch):
    seen: list[torch.Size] = []
    head = torch.nn.Linear.forward

    def spied(self: torch.nn.Linear, states: torch.Tensor) -> torch.Tensor:
        if self.out_features == vocabulary:
            seen.append(states.shape)
        return head(self, states)

    vocabulary = len(load_tokenizer(str(embedded)))
    monkeypatch.setattr(torch.nn.Linear, "forward", spied)
    trained(StudentTrainer, embedded, tmp_path, 4)
    assert seen == [(8, 32)] * 2
