"""A solver in inspect_ai, whose log holds the dialogues, on disk.

Without its display, realtime events, scores, servers and raw requests, and with one write of the log at the end: each
of these is a setting of `eval`.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator

from common import MAX_TOKENS, TEMPERATURE, TURNS, Messages, Play, compare
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from transport import http_client


@solver
def dialogue(lines: list[str]) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for turn in range(TURNS):
            if turn:
                state.messages.append(ChatMessageUser(content=random.choice(lines)))
            state = await generate(state)
        return state

    return solve


def ready(url: str, concurrency: int, openings: list[str], lines: list[str]) -> Play:
    task = Task(dataset=MemoryDataset([Sample(input=opening) for opening in openings]), solver=dialogue(lines))

    def play() -> Iterator[Messages]:
        [log] = eval(
            task, model="openai-api/local/any", model_base_url=url,
            model_args={"http_client": http_client(concurrency)},
            max_tokens=MAX_TOKENS, temperature=TEMPERATURE, max_connections=concurrency, max_samples=concurrency,
            display="none", log_level="error", log_level_transcript="error",
            log_dir=tempfile.mkdtemp(dir=FOLDER.name), log_header_only=True, log_realtime=False, log_model_api=False,
            log_buffer=len(openings), score=False, acp_server=False, ctl_server=False,
        )  # fmt: skip
        if log.status != "success":
            raise SystemExit(f"inspect_ai: {log.error}")
        return stored(log.location)

    return play


def stored(path: str) -> Iterator[Messages]:
    for sample in read_eval_log(path).samples or []:
        yield [{"role": message.role, "content": message.text} for message in sample.messages]


FOLDER = tempfile.TemporaryDirectory()
os.environ["LOCAL_API_KEY"] = "none"  # openai-api/local/... wants one
compare(ready)
