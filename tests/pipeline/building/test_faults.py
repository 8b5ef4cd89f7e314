"""A build against a real server on loopback that fails three requests in ten, each in a way of its own."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from typer.testing import CliRunner

from maieutic.cli import app
from pipeline.building.build import Counts, build, planned_dialogues
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Sampling
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.scripted import ScriptedModel
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.store import read
from pipeline.tasks.loading import load_tasks

FAULTS = ("500", "429", "hang", "cut connection", "truncated JSON", "no choices", "not UTF-8", "wrong length")


class FaultyServer:
    """Answers as the scripted model does, but for a share of its requests."""

    def __init__(self, share: float):
        self.share, self.rng, self.faults = share, random.Random(7), Counter[str]()
        self.model = ScriptedModel()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = await self.model.complete(
            body["messages"], Sampling(body["max_tokens"], temperature=1.0, seed=body["seed"])
        )
        text = json.dumps({
            "choices": [{"message": {"content": said.text}, "finish_reason": "stop"}],
            "usage": {"completion_tokens": said.tokens, "prompt_tokens": said.prompt_tokens},
        })  # fmt: skip
        if self.rng.random() >= self.share:
            return web.Response(text=text)
        fault = self.rng.choice(FAULTS)
        self.faults[fault] += 1
        return await fail(request, fault, text)


async def fail(request: web.Request, fault: str, text: str) -> web.StreamResponse:
    """What `text` was to be, and how it goes wrong; some faults say the key again."""
    if fault in ("500", "429"):
        return web.Response(status=int(fault), headers={"Retry-After": "0"}, text=request.headers["Authorization"])
    if fault == "hang":
        await asyncio.sleep(3600)
    assert request.transport is not None
    if fault == "cut connection":
        request.transport.close()
        return web.Response()
    if fault == "wrong length":
        response = web.StreamResponse(headers={"Content-Length": str(len(text) + 9)})
        await response.prepare(request)
        await response.write(text.encode())
        request.transport.close()
        return response
    broken = {
        "truncated JSON": text[:-9].encode(),
        "no choices": json.dumps({"choices": [], "for": request.headers["Authorization"]}).encode(),
        "not UTF-8": b'{"\xff\xfe": 1}',
    }
    return web.Response(body=broken[fault], content_type="application/json", charset="utf-8")


def test_nothing_is_lost_or_doubled_where_three_requests_in_ten_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")  # which the server says again in some of its errors
    exp = Experiment.model_validate({
        "name": "faults", "out": str(tmp_path), "seeds": [1], "engine": {"kind": "scripted"},
        "dialogue": {"concurrency": 64, "turns": 3},
        "tasks": {"train": {"full": 150, "underspecified": 150}, "exam": {"full": 1}},
        "conditions": {"facts": {"partition": "facts"}},
    })  # fmt: skip
    tasks, _ = load_tasks(exp.tasks, "train")
    models: list[OpenAIModel] = []

    async def run(share: float, timeout: float) -> tuple[Counts, Counter[str]]:
        server, app = FaultyServer(share), web.Application()
        app.router.add_post("/v1/chat/completions", server.answer)
        async with TestServer(app) as http:
            engine = Engine(kind="openai", url=str(http.make_url("/v1")), retries=2, timeout=timeout)
            # Kept until the loop has ended, which closes its connections.
            models.append(OpenAIModel(engine, "any", pause=0.001))
            return await build(Cell(exp, "facts", 1), tasks, [], Cast(models[-1]), lambda: None), server.faults

    counts, faults = asyncio.run(run(0.3, timeout=0.3))
    print(json.dumps({"dialogues": counts.made, "failures": counts.failed, **faults}))
    assert set(faults) == set(FAULTS)
    assert counts.made + counts.failed == 300 and counts.failed > 20
    failures = list(read(tmp_path / "failures.jsonl", Failure))
    assert {failure.kind for failure in failures} == {"engine_error"} and len(failures) == counts.failed
    assert any("[key]" in failure.message for failure in failures)
    assert not any(b"sk-planted" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    counts, _ = asyncio.run(run(0.0, timeout=5))
    assert (counts.made, counts.failed) == (len(failures), 0)
    assert list(read(tmp_path / "failures.jsonl", Failure)) == []
    stored = [dialogue.id for dialogue in read(tmp_path / "dialogues" / "facts.jsonl", Dialogue)]
    assert sorted(stored) == sorted(job.id for job in planned_dialogues(Cell(exp, "facts", 1), tasks))


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_the_build_in_words_and_what_is_stored_stays(tmp_path: Path) -> None:
    exp = Experiment.model_validate({
        "name": "full", "out": str(tmp_path / "run"), "seeds": [1], "engine": {"kind": "scripted"},
        "tasks": {"train": {"full": 100}, "exam": {"full": 1}}, "conditions": {"facts": {"partition": "facts"}},
    })  # fmt: skip
    config = tmp_path / "full.yaml"
    config.write_text(dump(exp))
    command = [sys.executable, "-m", "maieutic", "build", str(config)]

    def small_disk() -> None:  # no file may grow beyond this; a write that would is cut short, as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    full = subprocess.run(command, preexec_fn=small_disk, capture_output=True, text=True)
    assert full.returncode == 2 and "Traceback" not in full.stderr
    assert "facts.jsonl" in full.stderr and "the same command goes on from here" in " ".join(full.stderr.split())
    path = tmp_path / "run" / "dialogues" / "facts.jsonl"
    before = path.read_bytes()
    assert 0 < before.count(b"\n") < 100 and before.endswith(b"\n")
    assert CliRunner().invoke(app, ["build", str(config)]).exit_code == 0
    assert path.read_bytes().startswith(before)
    stored = [dialogue.id for dialogue in read(path, Dialogue)]
    assert len(stored) == len(set(stored)) == 100
