"""vLLM for real, in process and as a server on loopback: `make test-vllm`, in an environment of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from transformers import AutoModelForCausalLM

from maieutic.doctor import engines_of
from pipeline.building.build import Counts, build
from pipeline.core.errors import ConfigError
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import Completion, ContextOverflow, EngineDown, Model, Sampling, Scored
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.engines.weights import weights_id
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.experiment.open_role import memory_said, open_role
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import read
from pipeline.runs.usage import Usage
from pipeline.tasks.loading import load_tasks

LIBRARIES = 3 * 2**29  # bytes that the processes of one engine take besides; measured 1 GiB
HERE = importlib.util.find_spec("vllm") is not None
ENGINE, BASE = Engine(kind="vllm"), "data/base"
PLAIN = Engine(kind="transformers", dtype="float32")  # as vLLM's engines are, whatever type a processor is faster in


def needs_vllm(test: Any) -> Any:
    for mark in (
        pytest.mark.slow,
        pytest.mark.timeout(1800),
        pytest.mark.skipif(not HERE, reason="vLLM is not installed: the vLLM engine is NOT tested in this run"),
        pytest.mark.filterwarnings("default"),  # vLLM's own
    ):
        test = mark(test)
    return test


@pytest.mark.skipif(HERE, reason="vLLM is installed")
def test_without_vllm_the_error_says_what_to_install_and_transformers_is_the_default() -> None:
    with pytest.raises(ConfigError, match=r"engine\.kind: 'vllm' is not installed here .*pip install vllm=="):
        open_model(ENGINE, BASE)
    assert Engine().kind == "transformers"


def adapter(base: str | Path, folder: Path, name: str) -> str:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(len(name))
    config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(base), config).save_pretrained(folder / name)
    return str(folder / name)


async def greedy(model: Model, chats: list[list[dict[str, str]]]) -> list[Completion]:
    """What was said, but for what was cached."""
    found = await asyncio.gather(*(model.complete(chat, Sampling(12, 0.0)) for chat in chats))
    return [completion._replace(cached_tokens=None) for completion in found]


async def scores(models: Iterable[Model], chats: list[list[dict[str, str]]]) -> list[float]:
    """Log-probabilities of one text behind each chat, by each model."""
    asked = Sampling(0, scored=Scored("ab", "cab."))
    found = await asyncio.gather(*(model.complete(chat, asked) for model in models for chat in chats))
    return [completion.score or math.nan for completion in found]


@needs_vllm
def test_two_models_run_beside_each_other_each_in_its_own_memory(tmp_path: Path) -> None:
    other = shutil.copytree(BASE, tmp_path / "other")
    weights = AutoModelForCausalLM.from_pretrained(BASE)
    weights.lm_head.weight.data *= 0.5  # it is less sure of what it says
    weights.save_pretrained(other)
    exp = Experiment.model_validate({
        "name": "two", "out": str(tmp_path), "seeds": [1], "engine": {"kind": "vllm", "max_model_len": 512},
        "student": {"model": BASE}, "partner": {"model": str(other), "sampling": {"top_k": 5, "top_p": 0.9}},
        "reading": {"partner": "closed", "metrics": "closed"}, "dialogue": {"turns": 2},
        "tasks": {"train": {"underspecified": 8}, "exam": {"full": 1}},  # students ask of these, so that both speak
        "conditions": {"peer": {"partition": "symmetric", "voice": "model"}},
    })  # fmt: skip
    assert memory_said(exp) == f"vLLM on a CPU: 1 GiB of keys and values for each of {BASE}, {other}"
    cell, (tasks, _) = Cell(exp, "peer", 1), load_tasks(exp.tasks, "train")
    casting, roles = Casting(exp), ("student", "partner")
    engines: list[Any] = [open_role(exp, name).model for name in roles]  # type: ignore[arg-type]
    assert engines[0].shared is not engines[1].shared

    async def run() -> tuple[Counts, list[Any], int]:
        counts = await build(cell, tasks, [], casting.cast(cell), lambda: None)
        resident = sum(each.memory_full_info().uss for each in psutil.Process().children(recursive=True))
        return counts, [each.shared.engine.vllm_config for each in engines], resident

    counts, configs, resident = asyncio.run(run())
    assert resident < 2 * (2**30 + LIBRARIES)
    assert (counts.made, counts.failed) == (8, 0)
    assert [config.model_config.max_model_len for config in configs] == [512, 512]
    assert [config.cache_config.kv_cache_memory_bytes for config in configs] == [2**30, 2**30]
    spoken = Counter(turn.party for d in read(tmp_path / "dialogues" / "peer.jsonl", Dialogue) for turn in d.turns)
    assert {role: tally.answers for role, tally in casting.meter.roles.items()} == spoken


@needs_vllm
def test_base_and_adapters_answer_as_transformers_does_and_repeat_by_seed(model_dir: Path, tmp_path: Path) -> None:
    adapters: list[str | None] = [None, *(adapter(model_dir, tmp_path, name) for name in ("one", "second"))]
    models = [open_model(ENGINE, str(model_dir), name) for name in adapters[:2]]
    plain = [open_model(PLAIN, str(model_dir), name) for name in adapters]
    chats = [[{"role": "user", "content": "ab" * n}] for n in range(8)]

    async def everything() -> None:
        both = await asyncio.gather(*(greedy(model, chats) for model in models))  # one mixed batch
        assert both == [await greedy(model, chats) for model in plain[:2]]
        assert both[0] != both[1]
        asks = [(chat, Sampling(12, temperature=1.0, seed=seed)) for chat in chats for seed in (1, 2)]
        sampled = [await asyncio.gather(*(models[0].complete(*ask) for ask in asks)) for _ in range(2)]
        assert [a[:4] for a in sampled[0]] == [a[:4] for a in sampled[1]]
        assert len({completion.text for completion in sampled[0]}) == len(asks)
        with pytest.raises(ContextOverflow, match="prompt of 83 tokens"):
            await models[0].complete([{"role": "user", "content": "h" * 80}], Sampling(30))
        late = open_model(ENGINE, str(model_dir), adapters[2])  # the engine starts anew with both
        mixed = await asyncio.gather(*(greedy(model, chats) for model in (*models, late)))
        assert mixed == [await greedy(model, chats) for model in plain]
        nats = [await scores((*models, late), chats), await scores(plain, chats)]
        assert torch.allclose(*map(torch.tensor, nats), atol=0.01)
        assert len({round(each, 2) for each in nats[0]}) > len(chats)  # of each model others

    async def in_another_loop() -> None:
        for model, known in zip(models, plain, strict=False):
            assert await greedy(model, chats) == await greedy(known, chats)

    asyncio.run(everything())
    asyncio.run(in_another_loop())


@needs_vllm
def test_a_whole_experiment_runs_on_vllm_by_default_and_its_prefix_cache_pays(tmp_path: Path) -> None:
    text = """
        name: vllm
        seeds: [1]
        tasks: {train: {full: 20, underspecified: 20}, exam: {full: 4, underspecified: 4}}
        dialogue: {turns: 4, max_tokens: 64}
        conditions: {facts: {partition: facts, selection: none}, symmetric: {partition: symmetric, voice: model}}
        training: {batch: 16, learning_rate: 1.0e-3, epochs: 1}
        exams: {include: [asking, collapse], samples: 2, episodes: 1, beliefs: 2}
        compare: {primary: {metric: ask_skill, a: facts, b: symmetric}}
    """
    config = tmp_path / "vllm.yaml"
    config.write_text(text + f"\n        out: {tmp_path / 'run'}\n")
    done = subprocess.run([sys.executable, "-m", "maieutic", "run", str(config)], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["problems"] == [] and set(report["conditions"]) == {"base", "facts", "symmetric"}
    usage = list(read(tmp_path / "run" / "usage.jsonl", Usage))
    assert {each.engine for each in usage} == {"vllm"} and {each.stage for each in usage} == {"build", "examine"}
    built = [each for each in usage if each.stage == "build"]
    hits = sum(each.cached_tokens or 0 for each in built) / sum(each.prompt_tokens for each in built)
    print(json.dumps({"share of prompt tokens from the prefix cache": round(hits, 3)}))
    assert hits > 0.3


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two adapters of the embedded base."""
    folder = tmp_path_factory.mktemp("adapters")
    return adapter(BASE, folder, "one"), adapter(BASE, folder, "second")


@pytest.fixture(scope="module")
def url(swapped: tuple[str, str]) -> Iterator[str]:
    """vLLM's own server with the embedded base; it takes the first adapter's name for the second's weights."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lie = f"{Path(swapped[0]).name}-{weights_id(swapped[0])}={swapped[1]}"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", BASE, "--host", "127.0.0.1",
        "--port", str(port), "--dtype", "float32", "--enforce-eager", "--block-size", "32",
        "--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192", "--enable-prompt-tokens-details",
        "--enable-lora", "--max-loras", "6", "--max-lora-rank", "16", "--lora-modules", lie,
    ]  # fmt: skip
    env = os.environ | {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    with subprocess.Popen(command, env=env) as process:
        for _ in range(180):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


def served(url: str) -> Engine:
    return Engine(kind="openai", url=url)


CHATS = [[{"role": "user", "content": f"Tom has {n} pens and Ana has 30. How many pens are there?"}] for n in range(8)]


@needs_vllm
def test_a_server_answers_as_transformers_does_with_the_base_and_an_adapter(url: str, swapped: tuple[str, str]) -> None:
    for name in (None, swapped[1]):
        models = [open_model(engine, BASE, name) for engine in (served(url), PLAIN)]
        there, here = (asyncio.run(greedy(model, CHATS)) for model in models)
        assert there == here
    with pytest.raises(ContextOverflow, match="status 400"):
        asyncio.run(open_model(served(url), BASE).complete([{"role": "user", "content": "1 " * 5000}], Sampling(8)))
    with pytest.raises(ConfigError, match=f"does not serve 'studnet'. It serves: .*{BASE}"):
        asyncio.run(open_model(served(url), "studnet").complete(CHATS[0], Sampling(8)))


@needs_vllm
def test_a_server_that_takes_another_adapter_is_found_out_before_its_first_answer(
    url: str, swapped: tuple[str, str]
) -> None:
    model = open_model(served(url), BASE, swapped[0])
    with pytest.raises(EngineDown, match=f"log-probabilities of adapter {swapped[0]} are .* nats from PEFT's"):
        asyncio.run(model.complete(CHATS[0], Sampling(8)))


@needs_vllm
def test_a_whole_experiment_runs_over_http_with_the_students_in_the_bases_server(url: str, tmp_path: Path) -> None:
    exp = Experiment.model_validate({
        "name": "http", "out": str(tmp_path / "run"), "seeds": [1], "engine": {"kind": "openai", "url": url},
        "student": {"model": BASE},
        "tasks": {"train": {"full": 20, "underspecified": 20}, "exam": {"full": 4, "underspecified": 4}},
        "conditions": {"symmetric": {"partition": "symmetric", "voice": "model", "selection": "none"}},
        "training": {"batch": 16, "learning_rate": 1e-3}, "exams": {"include": ["asking"], "samples": 2, "episodes": 1},
    })  # fmt: skip
    assert [found.state for found in engines_of(exp)] == ["ok"]
    missing = exp.model_copy(update={"student": exp.student.model_copy(update={"model": "other"})})
    assert [found.state for found in engines_of(missing)] == ["broken"]
    config = tmp_path / "http.yaml"
    config.write_text(dump(exp))
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "maieutic", "run", str(config)], check=True)
    made = list(read(tmp_path / "run" / "dialogues" / "symmetric.jsonl", Dialogue))
    assert len({dialogue.id for dialogue in made}) == len(made) == 40
    *builds, base, student = read(tmp_path / "run" / "usage.jsonl", Usage)
    spoken = Counter(turn.party for dialogue in made for turn in dialogue.turns)
    assert {usage.role: usage.answers for usage in builds} == spoken
    assert [base.condition_name, student.condition_name] == ["base", "symmetric"]
    hits = sum(usage.cached_tokens or 0 for usage in builds) / sum(usage.prompt_tokens for usage in builds)
    print(json.dumps({"share of prompt tokens from the prefix cache": round(hits, 3)}))
    assert hits > 0.3
