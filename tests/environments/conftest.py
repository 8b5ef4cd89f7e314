"""A student behind an OpenAI-compatible server, within the process or on loopback, and experiments to play it in."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.building.build import planned_dialogues, play_planned
from pipeline.core.schema import Message, Task, digest
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.exam_settings import Exams
from pipeline.experiment.experiment import Experiment, dump
from pipeline.experiment.roles import Partner
from pipeline.experiment.roles import Student as StudentSettings
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.prompts.prompts import Prompts
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.settings import Tasks

LINES = ("Hello.", "Is it 98765?", "The answer is 40.", "How many pens does Tom have?", "I am done.")


class Student:
    """Asks, guesses, solves or ends, by a hash of what it reads; it keeps all that it read."""

    def __init__(self, tasks: list[Task]):
        self.tasks, self.seen = tasks, list[list[Message]]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.seen.append(messages)
        lines = list(LINES)
        for task in self.tasks:
            if task.question in messages[1]["content"]:
                lines += [f"The answer is {task.answer}.", *(fact.ask for fact in task.facts)]
        said = lines[int(digest(messages), 16) % len(lines)]
        prompt = sum(self.count_tokens(message["content"]) for message in messages)
        return Completion(said, tokens=self.count_tokens(said), prompt_tokens=prompt, finished=said != "Hello.")

    def count_tokens(self, text: str) -> int:
        return len(re.findall(r"\w+|[^\w\s]", text))


class Server:
    """Answers chat completions as a server of the OpenAI protocol would; `seen` is what it was sent."""

    def __init__(self, model: Any):
        self.model, self.bodies = model, list[dict[str, Any]]()

    @property
    def seen(self) -> list[list[Message]]:
        # verifiers sends null for what an assistant message has not (tool calls, reasoning).
        return [[{k: v for k, v in m.items() if v is not None} for m in body["messages"]] for body in self.bodies]

    async def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        said = await self.model.complete(self.seen[-1], Sampling(48))
        usage = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.tokens,
                 "total_tokens": said.prompt_tokens + said.tokens}  # fmt: skip
        choice = {"index": 0, "message": {"role": "assistant", "content": said.text},
                  "finish_reason": "stop" if said.finished else "length"}  # fmt: skip
        return {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice],
                "usage": usage}  # fmt: skip

    def client(self) -> Any:
        """The OpenAI library's own client, answered without a network."""
        import httpx
        from openai import AsyncOpenAI

        async def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json=await self.answer(json.loads(request.content)))

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        return AsyncOpenAI(base_url="http://student/v1", api_key="-", http_client=http)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its address on loopback."""

        async def answer(request: web.Request) -> web.Response:
            return web.json_response(await self.answer(await request.json()))

        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        async with TestServer(app) as server:
            yield str(server.make_url("/v1"))


CONDITIONS: list[dict[str, Any]] = [
    {"partition": "solo"},
    {"partition": "symmetric"},
    {"partition": "symmetric", "label": "teacher"},
    {"partition": "verifier"},
    {"partition": "answer"},
    {"partition": "facts"},
    {"partition": "facts", "disclosure": "volunteer"},
    {"partition": "facts", "manner": "erring"},
    {"partition": "jigsaw"},
    {"partition": "misled"},
    {"partition": "mindreader"},
    {"partition": "facts", "voice": "model"},
    {"partition": "facts", "specifications": ["underspecified"]},
]


def name(condition: dict[str, Any]) -> str:
    return "-".join(map(str, condition.values()))


def experiment(**condition: Any) -> Experiment:
    """Eight tasks to train on and eight to examine, one condition."""
    eight = {"full": 3, "underspecified": 5}
    return Experiment(
        name="played", seeds=(7,), conditions={"ours": Condition(**condition)}, engine=Engine(kind="scripted"),
        student=StudentSettings(prompts="chat"), partner=Partner(prompts="chat"),
        tasks=Tasks(train=eight, exam=eight), dialogue=DialogueSettings(turns=3, per_task=2),
        exams=Exams(episodes=2, turns=5),
    )  # fmt: skip


def hidden(dialogue: Dialogue) -> list[str]:
    """What the student's row does not hold: facts, the solution, the gold answer as it would be told."""
    condition, task = dialogue.condition, dialogue.task
    facts = [fact.text for fact in task.facts if fact not in known(task, condition, "student").facts]
    return [*facts, f"answer is {task.answer}.", *([task.solution] if task.solution else [])]


def untold(dialogue: Dialogue, requests: list[dict[str, Any]]) -> str:
    """The requests without what the partner said."""
    told = {turn.text for turn in dialogue.turns if turn.party == "partner"}
    kept = [body | {"messages": [m for m in body["messages"] if m["content"] not in told]} for body in requests]
    return json.dumps(kept, ensure_ascii=False)


async def build(played: Experiment, model: Student) -> list[Any]:
    """What the pipeline makes of the same condition with the same student."""
    cast = Cast(
        student=model, partner=ScriptedModel(), student_prompts=Prompts("chat"), partner_prompts=Prompts("chat")
    )
    tasks, _ = load_tasks(played.tasks, "train")
    return [await play_planned(plan, cast) for plan in planned_dialogues(Cell(played, "ours", 7), tasks)]


def student(played: Experiment) -> Student:
    return Student([task for split in ("train", "exam") for task in load_tasks(played.tasks, split)[0]])


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Experiment], str]:
    """Writes an experiment's config and gives its path."""

    def write(played: Experiment) -> str:
        path = tmp_path / "played.yaml"
        path.write_text(dump(played))
        return str(path)

    return write
