"""A student behind an OpenAI-compatible server that answers within the process, and experiments to play it in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import config
from pipeline.config import DialogueSettings, Engine, Exams, Experiment, Tasks, dump
from pipeline.models import Completion, Sampling
from pipeline.partition import Condition
from pipeline.schema import Task, digest
from pipeline.tasks import load_tasks
from pipeline.view import Message

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
        return Completion(said, self.count_tokens(said), prompt, finished=said != "Hello.")

    def count_tokens(self, text: str) -> int:
        return len(re.findall(r"\w+|[^\w\s]", text))


class Server:
    """Answers chat completions as a server of the OpenAI protocol would; `bodies` are the requests."""

    def __init__(self, model: Any):
        self.model, self.bodies = model, list[dict[str, Any]]()

    def client(self) -> Any:
        """A client of verifiers, on the real client of the OpenAI library."""
        import httpx
        import verifiers.legacy as vf
        from openai import AsyncOpenAI

        async def answer(request: httpx.Request) -> httpx.Response:
            body = json.loads(request.content)
            # verifiers sends null for what an assistant message has not (tool calls, reasoning).
            body["messages"] = [{k: v for k, v in m.items() if v is not None} for m in body["messages"]]
            self.bodies.append(body)
            said = await self.model.complete(body["messages"], Sampling(body["max_completion_tokens"]))
            message = {"role": "assistant", "content": said.text}
            usage = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.tokens,
                     "total_tokens": said.prompt_tokens + said.tokens}  # fmt: skip
            choice = {"index": 0, "message": message, "finish_reason": "stop" if said.finished else "length"}
            return httpx.Response(200, json={"id": "1", "object": "chat.completion", "created": 0,
                                             "model": body["model"], "choices": [choice], "usage": usage})  # fmt: skip

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        return vf.OpenAIChatCompletionsClient(AsyncOpenAI(base_url="http://student/v1", api_key="-", http_client=http))


def experiment(**axes: Any) -> Experiment:
    """Eight tasks to train on and eight to examine, one condition."""
    eight = {"full": 3, "underspecified": 5}
    return Experiment(
        name="played", seeds=(7,), conditions={"ours": Condition(**axes)}, engine=Engine(kind="scripted"),
        student=config.Student(system="Learn."), partner=config.Partner(system="Help."),
        tasks=Tasks(train=eight, exam=eight), dialogue=DialogueSettings(turns=3, per_task=2), exams=Exams(episodes=2),
    )  # fmt: skip


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
