"""DPO and KTO: what is scored is what was sampled, the student's own, and preferences are learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM

from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.rows import Row
from pipeline.engines.transformers import encode as prompt_ids
from pipeline.engines.transformers import load_tokenizer
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.runs.student_files import RECORD
from training.inputs.job import TrainingJob
from training.inputs.masks import IGNORE
from training.inputs.masks import encode as encode_row
from training.inputs.untrained import NothingToTrain
from training.student import train
from training.trainers import dpo
from training.trainers.dpo import dpo_trainer
from training.trainers.kto import _with_neighbour, kto_trainer

METHODS = {name: {"partition": "facts", "method": name} for name in ("dpo", "kto")}
METHODS["dpo_judge"] = {"partition": "facts", "voice": "model", "manner": "convincing", "method": "dpo_judge"}
BETTER, WORSE = "How many hats does Tom lose?", "The answer is 7."


def message(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def whence(number: int) -> Row:
    return {"id": f"r{number}", "task_id": f"t{number}", "seed": 1, "round": 0, "specification": "full"}


def pair(number: int) -> Row:
    prompt = [message("user", f"Tom has {number} hats. How many?")]
    if number % 2:
        prompt += [message("assistant", "I guess the answer is 3."), message("user", "Okay.")]
    return {
        **whence(number), "prompt": prompt, "margin": 1.0,
        "chosen": [message("assistant", BETTER)], "rejected": [message("assistant", WORSE)],
    }  # fmt: skip


def talk(number: int, resolved: bool) -> Row:
    said = BETTER if resolved else WORSE
    completion = [
        message("assistant", said),
        message("user", "Tom loses 2 hats."),
        message("assistant", "I am done."),
    ]
    prompt = [message("user", f"Tom has {number} hats. How many?")]
    return {
        **whence(number),
        "prompt": prompt,
        "completion": completion,
        "learn": [True, False, True],
        "label": resolved,
    }


def experiment(model: Path, out: Path, rows: list[Row], name: str, **settings: Any) -> Experiment:
    given = {"lora": {"r": 4}, "batch": 4, "micro_batch": 4, "learning_rate": 1e-2, "epochs": 4}
    made = Experiment.model_validate({
        "name": "tiny", "out": str(out), "student": {"model": str(model)}, "turn_values": {"siblings": 2},
        "conditions": {name: METHODS[name]}, "training": given | settings,
    })  # fmt: skip
    folder = dataset_path(made, name)
    write_rows(folder, rows, FORMATS[folder.name])
    return made


def job(model: Path, made: Experiment, name: str) -> TrainingJob:
    tokenizer = load_tokenizer(str(model))
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    lora = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    return TrainingJob(Cell(made, name, 1), AutoModelForCausalLM.from_pretrained(model), tokenizer, lora)


@torch.inference_mode()
def likelihood(model: Path, text: str, adapter: Path | None = None) -> float:
    """Log-probability of a first turn."""
    network: Any = AutoModelForCausalLM.from_pretrained(model)
    if adapter is not None:
        network = PeftModel.from_pretrained(network, adapter)
    messages = [message("user", "Tom has 4 hats. How many?"), message("assistant", text)]
    (one,) = encode_row(load_tokenizer(str(model)), messages, [False, True], 512)
    ids, labels = torch.tensor(one["input_ids"]), torch.tensor(one["labels"])
    scores = network(input_ids=ids[None]).logits[0, :-1].log_softmax(-1)
    own = labels[1:] != IGNORE
    return float(scores[own].gather(1, labels[1:][own][:, None]).sum())


def lean(model: Path, adapter: Path | None = None) -> float:
    return likelihood(model, BETTER, adapter) - likelihood(model, WORSE, adapter)


@pytest.mark.parametrize("kind", ["embedded", "qwen3"])
def test_a_pair_is_scored_after_the_ids_a_sampler_reads_up_to_the_turns_end(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    made = job(model, experiment(model, tmp_path, [pair(1)], "dpo"), "dpo")
    for row in (pair(1), pair(2)):
        found = dpo._encode_pair(made, row)
        assert found["prompt_ids"] == prompt_ids(made.tokenizer, row["prompt"])
        for side, text in (("chosen", BETTER), ("rejected", WORSE)):
            said = made.tokenizer.encode(text, add_special_tokens=False)
            assert found[f"{side}_ids"] == [*said, made.tokenizer.eos_token_id]


@pytest.mark.parametrize("name", ["dpo", "dpo_judge"])  # of a student, and of a partner
def test_dpo_prefers_what_has_more_value_and_scores_pairs_of_unseen_tasks(embedded, tmp_path, name):
    made = experiment(embedded, tmp_path, [pair(n) for n in range(16)], name, held_out=0.3, beta=0.1)
    adapter = train(Cell(made, name, 1))
    record = json.loads((adapter / RECORD).read_text())
    assert lean(embedded, adapter) > lean(embedded) + 1
    assert record["method"] == name and record["rows"] == 16
    assert record["sequences"] + record["held_out"]["pairs"] == 16 and record["held_out"]["pairs"] > 1
    assert record["held_out"]["accuracy"] > 0.9


def test_a_pair_of_which_one_turn_reasons_is_left_out_since_its_prompts_differ(qwen3, tmp_path, capsys):
    thought = message("assistant", f"<think>\nHe lost some.\n</think>\n\n{BETTER}")
    rows = [pair(1) | {"chosen": [thought]}, pair(2)]
    made = experiment(qwen3, tmp_path, rows, "dpo")
    made = made.model_copy(update={"student": made.student.model_copy(update={"thinking": "keep"})})
    ready = dpo_trainer(job(qwen3, made, "dpo"), rows)
    assert ready.sequences == 1 and "1 of 2 pairs are left out" in capsys.readouterr().out


@pytest.mark.parametrize("pairs", [9, 7, 8])
def test_held_out_pairs_weigh_alike_however_many_there_are(embedded, tmp_path, pairs):
    """Of 9 in batches of 8 the last one would count for half."""
    rows = [pair(n) for n in range(200)]
    made = experiment(embedded, tmp_path, rows, "dpo", held_out=0.5)
    held = [row for row in rows if int(digest("held out", row["task_id"], length=8), 16) < 2**31][:pairs]
    ready = dpo_trainer(job(embedded, made, "dpo"), [*held, *(row for row in rows if row not in held)][: pairs + 60])
    size = ready.trainer.args.per_device_eval_batch_size
    assert len(ready.held_out) % size == 0 and (size > 1 or len(ready.held_out) > 8)


def test_no_dialogue_is_its_own_neighbour(embedded, tmp_path):
    rows = [talk(n, bool(n % 2)) for n in range(9)]
    ready = kto_trainer(job(embedded, experiment(embedded, tmp_path, rows, "kto"), "kto"), rows)
    assert ready.sequences == len(ready.trainer.train_dataset) == 8
    batch = {"completion_ids": [[1], [2], [3]], "learned": [[1], [0], [1]]}
    assert _with_neighbour(batch) == {"KL_completion_ids": [[3], [1], [2]], "KL_learned": [[1], [1], [0]]}


def test_the_rarer_kind_weighs_as_much_as_the_other(embedded, tmp_path):
    rows = [talk(n, n % 4 == 0) for n in range(16)]
    weights = kto_trainer(job(embedded, experiment(embedded, tmp_path, rows, "kto"), "kto"), rows).trainer.args
    assert (weights.desirable_weight, weights.undesirable_weight) == (3, 1)


def test_no_task_stands_on_both_sides_of_the_split(embedded, tmp_path):
    rows = [{**pair(n), "id": f"{n}-{copy}"} for n in range(20) for copy in range(3)]
    made = experiment(embedded, tmp_path, rows, "dpo", held_out=0.3)
    ready = dpo_trainer(job(embedded, made, "dpo"), rows)
    assert ready.held_out is not None
    learned, held = (
        {tuple(one["prompt_ids"]) for one in part} for part in (ready.trainer.train_dataset, ready.held_out)
    )
    assert learned and held and not learned & held
    assert len(learned | held) == 20


def test_dpo_that_holds_nothing_out_learns_every_pair(embedded, tmp_path):
    rows = [pair(n) for n in range(20)]
    ready = dpo_trainer(job(embedded, experiment(embedded, tmp_path, rows, "dpo", held_out=0), "dpo"), rows)
    assert (ready.sequences, ready.held_out) == (20, None)


def test_kto_scores_what_the_student_said_and_nothing_that_its_partner_said(embedded, tmp_path):
    rows = [talk(n, n % 2 == 0) for n in range(8)]
    made = experiment(embedded, tmp_path, rows, "kto")
    ready = kto_trainer(job(embedded, made, "kto"), rows)
    batch = next(iter(ready.trainer.get_train_dataloader()))
    tokenizer = load_tokenizer(str(embedded))
    for prefix in ("", "KL_"):
        for ids, mask in zip(batch[f"{prefix}input_ids"], batch[f"{prefix}completion_mask"], strict=True):
            said = tokenizer.decode(ids[mask.bool()])
            assert said.split(tokenizer.eos_token) in ([first, "I am done.", ""] for first in (BETTER, WORSE))
    whole = tokenizer.decode(batch["input_ids"][0])
    assert "Tom loses 2 hats." in whole and "Tom has" in whole
    assert ready.tokens == sum(len(tokenizer.encode(s, add_special_tokens=False)) for s in (BETTER, WORSE)) * 4 + 8 * (
        len(tokenizer.encode("I am done.", add_special_tokens=False)) + 2
    )


def test_kto_comes_to_prefer_dialogues_like_those_that_were_resolved(embedded, tmp_path):
    made = experiment(embedded, tmp_path, [talk(n, n % 4 == 0) for n in range(16)], "kto")
    adapter = train(Cell(made, "kto", 1))
    assert lean(embedded, adapter) > lean(embedded) + 0.5
    assert json.loads((adapter / RECORD).read_text())["sequences"] == 16


@pytest.mark.parametrize("name", ["dpo", "kto"])
def test_one_seed_gives_the_same_bytes(embedded, tmp_path, name):
    rows = [pair(n) if name == "dpo" else talk(n, n % 2 == 0) for n in range(8)]
    first, again = (train(Cell(experiment(embedded, tmp_path / out, rows, name, epochs=1), name, 1)) for out in "ab")
    weights = "adapter_model.safetensors"
    assert (first / weights).read_bytes() == (again / weights).read_bytes()


def test_a_method_can_have_a_rate_and_epochs_of_its_own(embedded, tmp_path):
    made = experiment(
        embedded, tmp_path, [pair(0)], "dpo", methods={"dpo": {"learning_rate": 0.5}, "kto": {"epochs": 9}}
    )
    arguments = job(embedded, made, "dpo").arguments()
    assert (arguments["learning_rate"], arguments["num_train_epochs"]) == (0.5, 4)


def test_of_rows_that_leave_one_alone_the_commoner_kind_gives_one_up(embedded, tmp_path):
    rows = [talk(n, n > 0) for n in range(9)]
    for seed in range(1, 7):
        made = experiment(embedded, tmp_path / f"{seed}", rows, "kto", micro_batch=2)
        one = job(embedded, made, "kto")
        learned = kto_trainer(one._replace(cell=Cell(made, "kto", seed)), rows).trainer.train_dataset
        assert sorted(learned["label"]) == [False, *[True] * 7]


def test_what_cannot_be_compared_is_told_in_words(embedded, tmp_path):
    same = [talk(n, True) for n in range(4)]
    with pytest.raises(NothingToTrain, match="4 of 4 dialogues were resolved, and KTO needs both kinds"):
        train(Cell(experiment(embedded, tmp_path / "a", same, "kto"), "kto", 1))
    both = [talk(n, n % 2 == 0) for n in range(4)]
    with pytest.raises(ConfigError, match=r"training\.micro_batch: 1: KTO compares rows of one pass"):
        train(Cell(experiment(embedded, tmp_path / "b", both, "kto", micro_batch=1), "kto", 1))
    with pytest.raises(NothingToTrain, match="no pairs to learn among 1"):
        train(Cell(experiment(embedded, tmp_path / "c", [pair(0)], "dpo", held_out=0.999), "dpo", 1))
