"""One build whose student is here, and whose partner and judge are asked from two servers of another dialect.

The dialect refuses max_tokens and any temperature, says its reasoning beside the answer, and counts cached and
reasoning tokens.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from maieutic.cli import app
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.store import read
from pipeline.runs.usage import Usage
from tests.pipeline.building.test_faults import FAULTS, fail
from tests.servers import serving
from tests.test_machine_faults import unpacked

KEYS = {"PARTNER_KEY": "planted-partner-key", "JUDGE_KEY": "planted-judge-key"}
THOUGHT = "They hide the number from me."
LOCAL = "vllm" if importlib.util.find_spec("vllm") else "transformers"


class Dialect:
    """Serves one model, for one key, and logs what it answered; each fault of `FAULTS` once, where it `fails`."""

    def __init__(self, model: str, key: str, fails: bool = True):
        self.model, self.key = model, key
        self.faults = list(FAULTS) if fails else []
        self.refused: list[str] = []
        self.read: list[str] = []  # all that it was sent
        self.log: Counter[str] = Counter()

    def app(self) -> web.Application:
        served = web.Application()
        served.router.add_post("/v1/chat/completions", self.answer)
        return served

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.read.append(json.dumps(body))
        for key in ("max_tokens", "temperature", "top_k", "min_p"):
            if key in body:
                self.refused.append(key)
                return web.Response(status=400, text=f"Unsupported parameter: '{key}' is not supported here.")
        if (body["model"], request.headers["Authorization"]) != (self.model, f"Bearer {self.key}"):
            return web.Response(status=401, text=f"wrong key {request.headers['Authorization']}")
        assert body["reasoning_effort"] == "low" and body["max_completion_tokens"] > 1000
        form = body.get("response_format")
        text = json.dumps(nothing(form["json_schema"]["schema"])) if form else "I do not know. How do you see it?"
        usage = {
            "prompt_tokens": 20 + len(self.read),
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 12},
        }
        message = {"role": "assistant", "content": text, "reasoning_content": THOUGHT}
        whole = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        if self.faults and len(self.read) % 2 == 0:
            return await fail(request, self.faults.pop(), whole)
        counted = {"prompt_tokens": usage["prompt_tokens"], "cached_tokens": 16, "reasoning_tokens": 12}
        self.log.update({"answers": 1, "generated_tokens": 30, **counted})
        return web.Response(text=whole)


def nothing(schema: dict[str, Any]) -> dict[str, Any]:
    """An answer to a form that says of a turn that it does nothing."""
    empty = {"boolean": False, "array": []}
    return {
        key: next((word for word in field["enum"] if word in ("none", "no")), None)
        if "enum" in field
        else empty.get(field.get("type", ""))
        for key, field in schema["properties"].items()
    }


def experiment(folder: Path, partner: str, judge: str) -> Experiment:
    api = {"kind": "openai", "max_tokens_field": "max_completion_tokens", "temperature": "when_set", "timeout": 10,
           "retries": 2, "extra_body": {"reasoning_effort": "low"}}  # fmt: skip
    return Experiment.model_validate({
        "name": "roles", "out": str(folder / "run"), "seeds": [1],
        "engines": {
            "local": {"kind": LOCAL},
            "api": {**api, "url": partner, "key_env": "PARTNER_KEY", "requests_per_minute": 6000},
            "review": {**api, "url": judge, "key_env": "JUDGE_KEY"},
        },
        "student": {"engine": "local"},
        "partner": {"model": "large", "engine": "api", "thinking": "drop"},
        "judge": {"model": "reviewer", "engine": "review", "thinking": "drop"},
        "reading": {"partner": "closed", "metrics": "judge"},
        "tasks": {"train": {"full": 6, "underspecified": 6}, "exam": {"full": 1}}, "dialogue": {"turns": 2},
        "conditions": {"peer": {"partition": "symmetric", "voice": "model", "selection": "none"}},
    })  # fmt: skip


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, dict[str, Dialect], list[int]]]:
    """The run of a build that was called until nothing was left, its servers, and the commands' statuses."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    servers = {"partner": Dialect("large", KEYS["PARTNER_KEY"]), "judge": Dialect("reviewer", KEYS["JUDGE_KEY"])}
    config, statuses = tmp_path / "roles.yaml", list[int]()
    with serving(servers["partner"].app()) as partner, serving(servers["judge"].app()) as judge:
        config.write_text(dump(experiment(tmp_path, partner, judge)))
        while not statuses or statuses[-1]:
            called = CliRunner().invoke(app, ["build", str(config)])
            statuses.append(called.exit_code)
            assert not any(key in called.output for key in KEYS.values())
            assert len(statuses) < 9
    yield tmp_path / "run", servers, statuses


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("default" if LOCAL == "vllm" else "error")  # vLLM's own
def test_each_role_is_asked_in_its_servers_dialect_and_counted_as_the_server_counts(
    built: tuple[Path, dict[str, Dialect], list[int]],
) -> None:
    run, servers, statuses = built
    assert [server.refused for server in servers.values()] == [[], []]
    assert [server.faults for server in servers.values()] == [[], []] and len(statuses) > 1
    counted: dict[str, Counter[str]] = {}
    for usage in read(run / "usage.jsonl", Usage):
        keys = ("answers", "prompt_tokens", "cached_tokens", "generated_tokens", "reasoning_tokens")
        counted.setdefault(usage.role, Counter()).update({key: getattr(usage, key) or 0 for key in keys})
    assert {role: counted[role] for role in servers} == {role: server.log for role, server in servers.items()}
    print(json.dumps({role: dict(counts) for role, counts in counted.items()}))

    dialogues = list(read(run / "dialogues" / "peer.jsonl", Dialogue))
    assert len(dialogues) == 12 and list(read(run / "failures.jsonl", Failure)) == []
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    assert {turn.reasoning for turn in turns if turn.party == "partner"} == {THOUGHT}
    assert {turn.reasoning for turn in turns if turn.party == "student"} == {""}

    assert not any(THOUGHT in sent for server in servers.values() for sent in server.read)
    files = [path for path in run.rglob("*") if path.is_file()]
    holding = {path.name for path in files if any(THOUGHT.encode() in part for part in unpacked(path))}
    assert holding == {"peer.jsonl"}  # the record alone: no dataset, no card
    found = [
        path.name for path in files for part in unpacked(path) if any(key.encode() in part for key in KEYS.values())
    ]
    assert found == [] and {"config.yaml", "train.parquet"} <= {path.name for path in files}
