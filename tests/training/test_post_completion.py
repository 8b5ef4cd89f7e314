"""The check behind an answer is learned, on right and on wrong dialogues, and is never sampled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.rows import Row
from pipeline.engines.model import Sampling
from pipeline.engines.transformers import TransformersModel, load_tokenizer
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from training.inputs.job import TrainingJob
from training.inputs.masks import IGNORE, encode
from training.inputs.untrained import NothingToTrain
from training.student import train
from training.trainers.post_completion import CHECKS, encode_row

BASE = Path("data/base")  # the shipped one: a student that can say something
ASKED = "Tom has 12 hats. How many?"
SAID = {True: "The answer is 12.", False: "The answer is 3."}


def row(number: int, right: bool) -> Row:
    return {
        "id": f"d{number}", "task_id": f"t{number}", "specification": "full", "seed": 1, "round": 0,
        "prompt": [{"role": "user", "content": ASKED}],
        "completion": [{"role": "assistant", "content": SAID[right]}],
        "learn": [True],
        "label": right,
    }  # fmt: skip


def experiment(model: Path, out: Path, rows: list[Row]) -> Experiment:
    made = Experiment.model_validate(
        {
            "name": "tiny",
            "out": str(out),
            "student": {"model": str(model)},
            "conditions": {"checks": {"partition": "facts", "method": "post_completion"}},
            "training": {"bf16": False, "lora": {"r": 8}, "batch": 4, "learning_rate": 1e-2, "epochs": 25},
        }
    )
    write_rows(dataset_path(made, "checks"), rows, FORMATS["unpaired_preference"])
    return made


def opened(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder)


@pytest.mark.parametrize("right", [True, False])
def test_loss_falls_on_the_turns_of_right_dialogues_and_on_every_check(embedded, tmp_path, right):
    tokenizer = load_tokenizer(str(embedded))
    job = TrainingJob(
        Cell(experiment(embedded, tmp_path, [row(0, right)]), "checks", 1), opened(embedded), tokenizer, None
    )
    (sequence,) = encode_row(job, row(0, right))
    learned = tokenizer.decode([label for label in sequence["labels"] if label != IGNORE])
    assert learned == (f"{SAID[True]}<|end|>{CHECKS[True]}" if right else CHECKS[False])
    assert tokenizer.decode(sequence["input_ids"]).endswith(f"{SAID[right]}<|end|>{CHECKS[right]}")


def test_a_check_stands_behind_the_student_alone(base_tokenizer):
    messages = [{"role": "user", "content": ASKED}]
    with pytest.raises(ValueError, match="the last message is not the student's"):
        encode(base_tokenizer, messages, [False], 100, "d1", after=CHECKS[True])


def test_the_check_is_learned_and_no_sampled_answer_holds_it(tmp_path):
    adapter = train(Cell(experiment(BASE, tmp_path, [row(i, i % 2 == 0) for i in range(8)]), "checks", 1))
    student = PeftModel.from_pretrained(opened(BASE), adapter).merge_and_unload().eval()
    tokenizer = load_tokenizer(str(BASE))
    ids = {right: tokenizer(check, add_special_tokens=False)["input_ids"] for right, check in CHECKS.items()}

    def likelihood(said: bool, check: bool) -> float:
        """Of a check behind an answer."""
        messages = [*row(0, said)["prompt"], *row(0, said)["completion"]]
        (sequence,) = encode(tokenizer, messages, [False, False], 200, "d", after=CHECKS[check])
        with torch.inference_mode():
            scores = student(torch.tensor([sequence["input_ids"]])).logits[0].log_softmax(-1)
        behind = ids[check]
        places = range(len(sequence["input_ids"]) - len(behind) - 1, len(sequence["input_ids"]) - 1)
        return float(sum(scores[place, token] for place, token in zip(places, behind, strict=True)).exp())

    assert likelihood(said=True, check=True) > 0.5 > likelihood(said=True, check=False)
    assert likelihood(said=False, check=False) > 0.5 > likelihood(said=False, check=True)

    async def sampled() -> list[list[int]]:
        engine = TransformersModel(student, tokenizer, 8)
        prompt = tokenizer.apply_chat_template(row(0, True)["prompt"], add_generation_prompt=True, return_dict=False)
        samplings = [Sampling(max_tokens=30, temperature=1.0, seed=seed) for seed in range(32)]
        return [list((await engine.complete_ids(prompt, sampling))[0]) for sampling in samplings]

    answers = asyncio.run(sampled())
    end = tokenizer.eos_token_id
    ended = [answer for answer in answers if end in answer]
    assert len(ended) > 24  # it learned to end its turns, so that what stands behind them could have been said
    assert all(answer.index(end) == len(answer) - 1 for answer in ended)
    texts = [tokenizer.decode(answer) for answer in answers]
    assert not any(check.strip() in text for text in texts for check in CHECKS.values())
    assert not any(token in answer for answer in answers for token in (ids[True][-2], ids[False][-2]))


def test_checks_that_are_all_the_same_are_not_learned(embedded, tmp_path):
    with pytest.raises(NothingToTrain, match="8 of 8 dialogues ended right"):
        train(Cell(experiment(embedded, tmp_path, [row(i, True) for i in range(8)]), "checks", 1))
