"""A small server on loopback that misbehaves as the request's text tells it to, and how to ask it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.engines.model import Sampling
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine

USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def choice(text: Any, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}], "usage": USAGE}


BODIES: dict[str, str] = {
    "fine": json.dumps(choice(" The answer is 12. ")),
    "cut": json.dumps(choice("The answer", "length")),
    "filtered": json.dumps(choice("The answer", "content_filter")),
    "not json": "<html>",
    "no choices": json.dumps({"choices": [], "usage": USAGE}),
    "no content": json.dumps(choice(None)),
    "no usage": json.dumps({"choices": choice("x")["choices"]}),
    "a list": "[]",
    "no number": json.dumps({"choices": choice("x")["choices"], "usage": USAGE | {"completion_tokens": "sk-secret"}}),
    "nested": "[" * 200_000,
    "infinite": json.dumps(choice("x")).replace("3", "1e999"),
}
STATUSES = {
    "too long": (400, "This model's maximum context length is 64 tokens. However, you requested 70."),
    "bad request": (400, "temperature must be below 2"),
    "old word": (400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
    "refused": (401, "Incorrect API key provided: sk-secret"),
    "echo": (422, "your key sk-secret is odd"),
}
PASSING = {"busy": 429, "broken": 500, "overloaded": 503}


class Server:
    """Counts what it was asked; `busy`, `broken` and `overloaded` pass at the third attempt."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.seen: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.open = self.most = 0
        self.gate = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        text = body["messages"][-1]["content"]
        self.asked[text] += 1
        self.seen.append(body)
        self.headers.append(request.headers.get("Authorization"))
        if body["model"] != "student":
            return web.Response(status=404, text="no such model")
        if text == "away":
            return web.Response(status=404, text="no backend")
        if text == "takes no schema" and "response_format" in body:
            return web.Response(status=400, text="response_format is not supported")
        if text in PASSING and self.asked[text] < 3:
            return web.Response(status=PASSING[text], headers={"Retry-After": "0"})
        if text == "always broken":
            return web.Response(status=500, text="sk-secret")
        if text in ("hang", "always hang") and (self.asked[text] < 2 or text == "always hang"):
            await asyncio.sleep(5)
        if text == "hang up" and self.asked[text] < 3:
            assert request.transport is not None
            request.transport.close()
        if text in STATUSES:
            return web.Response(status=STATUSES[text][0], text=STATUSES[text][1])
        if text == "all at once":
            self.open += 1
            self.most = max(self.most, self.open)
            if self.open == 150:
                self.gate.set()
            await self.gate.wait()
        return web.Response(text=BODIES.get(text, BODIES["fine"]))

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "student"}, {"id": "other"}]})


def talk(then: Callable[[Server, str], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        server = Server()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.answer)
        app.router.add_get("/v1/models", server.models)
        async with TestServer(app) as http:
            return await then(server, str(http.make_url("/v1")))

    return asyncio.run(run())


def opened(
    url: str = "", name: str = "student", pause: float = 0.001, adapter: str | None = None, **engine: Any
) -> OpenAIModel:
    return OpenAIModel(Engine(kind="openai", url=url, **engine), name, adapter, pause)


async def ask(model: OpenAIModel, text: str) -> Any:
    (answer,) = await asyncio.gather(
        model.complete([{"role": "user", "content": text}], Sampling(5, temperature=0.5, seed=2**70 + 1)),
        return_exceptions=True,
    )
    return answer


def say(text: str, name: str = "student", **options: Any) -> tuple[Any, Server]:
    async def then(server: Server, url: str) -> tuple[Any, Server]:
        return await ask(opened(url, name, **options), text), server

    return talk(then)
