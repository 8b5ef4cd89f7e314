"""The check that an engine applies each adapter: passed by PEFT's own scores, failed by any mix-up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from pipeline.engines import parity
from pipeline.engines.model import EngineDown
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import load, load_tokenizer


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two that changed, and one as it is before training."""
    made = []
    torch.manual_seed(0)
    for name, fresh in (("one", False), ("two", False), ("untrained", True)):
        config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=fresh)
        tuned = get_peft_model(AutoModelForCausalLM.from_pretrained("data/base"), config)
        made.append(str(tmp_path_factory.mktemp("adapters") / name))
        tuned.save_pretrained(made[-1])
    return made


@pytest.fixture(scope="module")
def asked() -> list[list[int]]:
    return parity.prompts(load_tokenizer("data/base"), 4096)


@pytest.fixture(scope="module")
def wanted(adapters: list[str], asked: list[list[int]]) -> parity.Wanted:
    return parity.expected("data/base", adapters[:2], "float32", asked)


def said(wanted: torch.Tensor, off: float = 0.0) -> list[tuple[int, float]]:
    """What an engine with these log-probabilities says."""
    best = wanted.max(-1)
    return [(int(token), float(score) + off) for score, token in zip(*best, strict=True)]


def test_what_is_expected_is_what_the_weights_with_the_adapter_merged_in_say(
    adapters: list[str], asked: list[list[int]], wanted: parity.Wanted
) -> None:
    assert len(asked) == 16 and asked[-1][: len(asked[3])] == asked[3]
    for adapter in (None, *adapters[:2]):
        model = load(Engine(kind="transformers"), "data/base", adapter).model
        for i in (0, 7, 15):
            with torch.inference_mode():
                merged = model(input_ids=torch.tensor([asked[i]])).logits[0, -1].log_softmax(-1)
            assert torch.allclose(merged, wanted[adapter][i], atol=1e-3)


def test_an_engine_may_round_otherwise_and_may_not_take_another_adapter(
    adapters: list[str], wanted: parity.Wanted
) -> None:
    one, two = adapters[:2]
    sound = {name: said(scores, 0.001) for name, scores in wanted.items()}
    parity.require_parity("engine", sound, wanted, "float32")
    for name, other in ((one, None), (one, two), (None, two)):
        for dtype in ("float32", "bfloat16"):
            like = f"of (adapter )?{name or 'the base'} .* nearest are those of {other or 'the base'}"
            with pytest.raises(EngineDown, match=like):
                parity.require_parity("engine", sound | {name: said(wanted[other])}, wanted, dtype)
    with pytest.raises(EngineDown, match=r"nan nats"):
        parity.require_parity("engine", sound | {one: said(wanted[one], float("nan"))}, wanted, "float32")


def test_an_adapter_that_changes_nothing_is_named(adapters: list[str], asked: list[list[int]]) -> None:
    wanted = parity.expected("data/base", adapters[2:], "float32", asked)
    with pytest.raises(EngineDown, match="untrained changes no log-probability"):
        parity.require_parity("engine", {name: said(scores) for name, scores in wanted.items()}, wanted, "float32")


def test_several_that_ask_at_a_time_load_the_base_one_by_one(adapters: list[str], asked: list[list[int]]) -> None:
    alone = parity.expected("data/base", adapters[:1], "float32", asked)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: parity.expected("data/base", adapters[:1], "float32", asked), range(4)))
    assert all(torch.equal(each[name], scores) for each in found for name, scores in alone.items())
