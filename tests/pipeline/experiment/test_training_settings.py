"""What a config may say of training: PEFT's own fields, 4 bits and trackers where they can run."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.lora import DEFAULT
from pipeline.experiment.preflight import preflight


def made(training: dict[str, Any], **sections: Any) -> Experiment:
    conditions = {"facts": {"partition": "facts"}}
    return Experiment.model_validate({"name": "x", "conditions": conditions, "training": training} | sections)


def test_any_field_of_pefts_lora_config_is_taken_by_its_name():
    given = {"r": 8, "lora_dropout": 0.05, "use_rslora": True, "target_modules": ["q_proj", "v_proj"],
             "init_lora_weights": "gaussian", "rank_pattern": {"q_proj": 4}}  # fmt: skip
    assert made({"lora": given}, engine={"kind": "transformers"}).training.lora == {"lora_alpha": 32} | given
    assert made({}).training.lora == DEFAULT
    assert made({"lora": {"lora_dropout": "5e-2"}}).training.lora["lora_dropout"] == 0.05  # text, as YAML reads it


@pytest.mark.parametrize(
    ("lora", "reason"),
    [
        ({"rank": 8}, r"training\.lora[\s\S]*rank: not a field of PEFT's LoraConfig.*Did you mean 'r'\?"),
        ({"lora_dropuot": 0.1}, "lora_dropuot: .*Did you mean 'lora_dropout'"),
        ({"task_type": "SEQ_CLS"}, "task_type: not a field .* that a config may set"),
        ({"r": "many"}, "r: 'many': Input should be a valid integer"),
        ({"r": 0}, "r: 0: the rank is 1 or more"),
        ({"lora_dropout": 1.5}, "lora_dropout: 1.5: a share"),
        ({"bias": "some"}, "bias: 'some': Input should be 'none', 'all' or 'lora_only'"),
        ({"bias": "all"}, "bias: 'all': it trains biases of the base itself"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights: 'pissa' is none of true, false, gaussian"),
        ({"target_modules": "(["}, "target_modules: '\\(\\[' is no regular expression"),
        ({"layers_to_transform": [0]}, "LoraConfig refuses that: `layers_to_transform` cannot be used"),
    ],
)
def test_what_peft_would_not_take_is_refused_with_its_key(lora, reason):
    with pytest.raises(ValidationError, match=reason):
        made({"lora": lora})


@pytest.mark.parametrize("key", ["target_modules", "modules_to_save"])
def test_modules_that_the_base_has_not_are_refused_before_anything_runs(key):
    engine = {"kind": "transformers"}
    preflight(made({"lora": {key: ["q_proj", "c_attn"]}}, engine=engine))  # a list that serves several architectures
    with pytest.raises(ConfigError, match=rf"lora\.{key}: \['nope'\] names no module of 'embedded'. It has: .*q_proj"):
        preflight(made({"lora": {key: ["nope"]}}, engine=engine))


def test_modules_may_be_named_by_a_regular_expression():
    engine = {"kind": "transformers"}
    preflight(made({"lora": {"target_modules": r".*\.[qv]_proj"}}, engine=engine))
    with pytest.raises(ConfigError, match="names no module of 'embedded'"):
        preflight(made({"lora": {"target_modules": "q_proj"}}, engine=engine))


@pytest.mark.parametrize("lora", [{"use_dora": True}, {"r": 1024}, {"rank_pattern": {"q_proj": 4}}])
def test_an_adapter_that_vllm_cannot_serve_is_refused_with_vllm(lora):
    (key,) = lora
    assert made({"lora": lora}, engine={"kind": "transformers"}).training.lora[key] == lora[key]
    with pytest.raises(ValidationError, match=rf"training\.lora\.{key}: .* vLLM cannot serve"):
        made({"lora": lora}, engine={"kind": "vllm"})


def test_four_bits_need_bitsandbytes_and_a_gpu_and_say_which_is_not_there(monkeypatch):
    quantized, there = made({"load_in_4bit": True, "bf16": True}), importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else there(name))
    with pytest.raises(ConfigError, match=r"training\.load_in_4bit: true needs bitsandbytes.*maieutic\[qlora\]"):
        preflight(quantized)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True if name == "bitsandbytes" else there(name))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"training\.load_in_4bit: true needs a CUDA GPU"):
        preflight(quantized)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    preflight(quantized)


def test_four_bits_go_with_bfloat16_and_not_with_vllm_beside_a_playing_student():
    with pytest.raises(ValidationError, match=r"Set training\.bf16: true"):
        made({"load_in_4bit": True})
    plays = {"conditions": {"one": {"partition": "facts", "method": "grpo"}}}
    made({"load_in_4bit": True, "bf16": True}, engine={"kind": "transformers"}, **plays)
    with pytest.raises(ValidationError, match=r"conditions\.one\.method: 'grpo'"):
        made({"load_in_4bit": True, "bf16": True}, engine={"kind": "vllm"}, **plays)


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "tensorboard"])
def test_a_tracker_that_is_not_installed_is_named_before_anything_runs(tracker, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == tracker else there(name))
    with pytest.raises(ConfigError, match=rf"training\.report_to: '{tracker}'.*pip install 'maieutic\[{tracker}\]'"):
        preflight(made({"report_to": tracker}))
