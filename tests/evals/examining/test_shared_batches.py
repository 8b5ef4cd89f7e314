"""Students that sit in one loop, behind a server: they share its batches, and each is counted for itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zlib import crc32

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evals.examining.examine import is_done
from evals.examining.students import TOGETHER, share_batches, sit_on_one_base
from pipeline.engines.model import EngineDown
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs.store import read
from pipeline.runs.student_files import results_path
from pipeline.runs.usage import Usage
from tests.builders import small_experiment

LINES = ("How many pens does Tom have?", "The answer is 12.", "I have read it.")


class Server:
    """Answers by what it was asked, and counts how many wait at a time; after `limit` answers it refuses."""

    def __init__(self, limit: int):
        self.left, self.waiting, self.most = limit, 0, 0

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.waiting, self.left = self.waiting + 1, self.left - 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0.01)
        self.waiting -= 1
        if self.left < 0:
            return web.Response(status=418)
        message = {"role": "assistant", "content": LINES[crc32(body) % len(LINES)]}
        usage = {"prompt_tokens": len(body), "completion_tokens": 5}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def asked(out: Path, url: str, seeds: list[int], **dialogue: object) -> Experiment:
    return small_experiment(
        out,
        engine={"kind": "openai", "url": url},
        seeds=seeds,
        dialogue=dialogue,
        tasks={"exam": {"full": 2, "underspecified": 2}},
        exams={"include": ["asking"], "samples": 1, "episodes": 1},
    )


def sit(out: Path, seeds: list[int], limit: int = 10**6, **dialogue: object) -> tuple[list[Cell], Server]:
    """The base under these seeds, and the server that answered for it."""
    server = Server(limit)

    async def run() -> list[Cell]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.answer)
        async with TestServer(app) as http:
            made = asked(out, str(http.make_url("/v1")), seeds, **dialogue)
            due = cells(made, ["base"], 0)
            await sit_on_one_base(made, due, exam_tasks(made))
            return due

    out.mkdir(exist_ok=True)
    return asyncio.run(run()), server


def answers(run: Path) -> dict[int, int]:
    """The student's, by seed."""
    return {usage.seed: usage.answers for usage in read(run / "usage.jsonl", Usage) if usage.role == "student"}


def test_students_of_one_server_sit_at_a_time_and_say_what_each_says_alone(tmp_path: Path) -> None:
    together, shared = sit(tmp_path / "together", [1, 2, 3])
    counted = answers(tmp_path / "together")
    most = []
    for cell in together:
        [other], alone = sit(tmp_path / f"alone{cell.seed}", [cell.seed])
        assert is_done(cell, None)
        assert results_path(cell).read_bytes() == results_path(other).read_bytes()
        assert counted[cell.seed] == answers(tmp_path / f"alone{cell.seed}")[cell.seed] > 0
        most.append(alone.most)
    assert shared.most > max(most)
    assert len({results_path(cell).read_bytes() for cell in together}) > 1


@pytest.mark.parametrize("concurrency", [1, 3, 5])
def test_all_who_sit_ask_no_more_at_a_time_than_the_config_says(tmp_path: Path, concurrency: int) -> None:
    _, server = sit(tmp_path / "run", [1, 2, 3, 4, 5], concurrency=concurrency)
    assert 1 <= server.most <= concurrency


def test_a_lone_student_asks_as_much_at_a_time_as_the_config_says(tmp_path: Path) -> None:
    _, server = sit(tmp_path / "run", [1], concurrency=4)
    assert server.most == 4


def test_a_server_that_gives_up_stops_all_and_the_next_call_goes_on(tmp_path: Path) -> None:
    whole, _ = sit(tmp_path / "whole", [1, 2, 3])
    needed = sum(answers(tmp_path / "whole").values())
    with pytest.raises(EngineDown, match="the engine failed at"):
        sit(tmp_path / "run", [1, 2, 3], limit=needed // 2)
    due, again = sit(tmp_path / "run", [1, 2, 3], limit=needed)
    assert again.left > needed // 3
    for cell, other in zip(due, whole, strict=True):
        assert results_path(cell).read_bytes() == results_path(other).read_bytes()


def test_students_sit_one_by_one_where_no_batch_is_shared(tmp_path: Path) -> None:
    assert share_batches(asked(tmp_path, "http://localhost/v1", [1])) == TOGETHER
    made = small_experiment(tmp_path, engine={"kind": "transformers"}, student={"model": "embedded"})
    assert share_batches(made) == 1
