"""TRL's own trainers take the exported formats as they are."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase
from trl import SFTConfig, SFTTrainer

from pipeline.datasets.rows import Row, replies
from pipeline.engines.transformers import load_tokenizer
from training.inputs.masks import IGNORE, encode

ROW: Row = {
    "id": "d",
    "messages": [
        {"role": "user", "content": "Tom has some hats. He loses 2 hats. How many hats does Tom have?"},
        {"role": "assistant", "content": "How many hats does Tom have at first?"},
        {"role": "user", "content": "Tom has 9 hats."},
        {"role": "assistant", "content": "The answer is 7."},
    ],
    "learn": [False, True, False, True],
}


@pytest.fixture
def tokenizer(embedded: Path) -> PreTrainedTokenizerBase:
    tokenizer = load_tokenizer(str(embedded))
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def test_prompt_completion_rows_carry_loss_on_the_tokens_that_our_own_masks_learn(embedded, tokenizer, tmp_path):
    arguments = SFTConfig(output_dir=str(tmp_path), use_cpu=True, report_to="none", completion_only_loss=True)
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(embedded),
        args=arguments,
        train_dataset=Dataset.from_list(replies(dict(ROW))),
        processing_class=tokenizer,
    )
    theirs = [[label for label in row["labels"] if label != IGNORE] for row in trainer.train_dataset]
    ours = [
        [label for label in one["labels"] if label != IGNORE]
        for mask in ([False, True, False, False], [False, False, False, True])
        for one in encode(tokenizer, ROW["messages"], mask, 512)
    ]
    ends = [tokenizer.eos_token_id, *tokenizer.encode("\n", add_special_tokens=False)]
    assert [[i for i in ids if i not in ends] for ids in theirs] == [[i for i in ids if i not in ends] for ids in ours]
    assert all(tokenizer.eos_token_id in ids for ids in theirs)


def test_a_self_distilling_trainer_takes_privileged_context(embedded, tokenizer, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is experimental, and says so
        from trl.experimental.sdft import SDFTConfig, SDFTTrainer

        rows = [{"id": "d", "prompt": ROW["messages"][:1], "privileged_context": "Tom has 9 hats."}] * 2
        trainer = SDFTTrainer(
            model=AutoModelForCausalLM.from_pretrained(embedded),
            args=SDFTConfig(
                output_dir=str(tmp_path), use_cpu=True, report_to="none", max_steps=1, num_generations=1,
                per_device_train_batch_size=2, max_completion_length=4, save_strategy="no", disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=LoraConfig(r=4, target_modules="all-linear"),
        )  # fmt: skip
        assert trainer.train().global_step == 1
