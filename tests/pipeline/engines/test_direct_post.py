"""A request that goes past most of aiohttp is answered as one that goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.engines.direct_post import DirectPost, Reply, direct_post
from pipeline.engines.model import Completion
from tests.pipeline.engines.odd_server import BODIES, ask, opened

FINE = Completion("The answer is 12.", tokens=3, prompt_tokens=7, finished=True)
CHAT = "/v1/chat/completions"


def served(answer: Callable[[web.Request], Awaitable[web.StreamResponse]], then: Callable[[str], Any]) -> Any:
    async def run() -> Any:
        app = web.Application()
        app.router.add_post("/{path:.*}", answer)
        async with TestServer(app) as at:
            return await then(str(at.make_url("")).rstrip("/"))

    return asyncio.run(run())


async def twice(url: str, seconds: float = 5, body: str = "") -> tuple[list[Reply], list[Reply]]:
    """The replies to two requests by a session, and to two past it."""
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer key"}, timeout=timeout) as session:
        through = []
        for _ in range(2):
            async with session.post(f"{url}/a%20b?c=d", json={"é": body}, headers={"X-Rank": "3"}) as response:
                through.append(Reply(response.status, response.headers, await response.text("utf-8", "replace")))
        direct = direct_post(session, f"{url}/a%20b?c=d")
        assert direct is not None
        return through, [await direct.ask({"é": body}, {"X-Rank": "3"}) for _ in range(2)]


def test_a_request_and_its_reply_are_those_of_a_session() -> None:
    seen = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        port = request.transport.get_extra_info("peername")[1]
        seen.append((request.path_qs, dict(request.headers), await request.read(), port))
        return web.Response(status=418, headers={"Retry-After": "7"}, body=b"a\xff")

    through, direct = served(answer, twice)
    assert [(reply.status, reply.text, reply.headers["Retry-After"]) for reply in direct] == [(418, "a\ufffd", "7")] * 2
    assert [(reply.status, reply.text) for reply in through] == [(418, "a\ufffd")] * 2
    assert seen[0] == seen[1] == seen[2] == seen[3]  # over one connection too


@pytest.mark.parametrize("how", ["chunks", "compressed", "until it closes", "empty"])
def test_a_body_is_read_however_it_is_sent(how: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if how == "empty":
            return web.Response(status=204)
        if how == "compressed":
            response = web.Response(text="word " * 9)
            response.enable_compression()
            return response
        stream = web.StreamResponse(headers={"Connection": "close"} if how == "until it closes" else {})
        await stream.prepare(request)
        for _ in range(9):
            await stream.write(b"word ")
        return stream

    through, direct = served(answer, twice)
    assert [reply.text for reply in direct] == [reply.text for reply in through]
    assert direct[0].text == ("" if how == "empty" else "word " * 9)


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_are_followed(status: int) -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == CHAT:
            return web.Response(status=status, headers={"Location": "/there"})
        return web.Response(text=BODIES["fine"])

    async def then(url: str) -> list[Any]:
        model = opened(f"{url}/v1", retries=0)
        return [await ask(model, "fine") for _ in range(2)]

    assert served(answer, then) == [FINE, FINE]
    assert asked == [CHAT, CHAT, "/there", CHAT, "/there"]  # asked again by the session, and by it alone from then on


def test_cookies_are_sent_back() -> None:
    cookies = []

    async def answer(request: web.Request) -> web.Response:
        cookies.append(request.cookies.get("server"))
        return web.Response(text=BODIES["fine"], headers={"Set-Cookie": "server=3"})

    async def then(url: str) -> None:
        model = opened(f"{url.replace('127.0.0.1', 'localhost')}/v1")  # aiohttp keeps none of an IP address
        for _ in range(3):
            assert await ask(model, "fine") == FINE

    served(answer, then)
    assert cookies == [None, None, "3"]


def test_a_late_answer_is_not_taken_for_that_of_the_next_request() -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) == 1:
            await asyncio.sleep(0.2)
        return web.Response(text=str(len(asked)) if len(asked) > 1 else "late")

    async def then(url: str) -> list[str]:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.1)) as session:
            direct = direct_post(session, url)
            assert isinstance(direct, DirectPost)
            with pytest.raises(TimeoutError):
                await direct.ask({}, {})
            return [(await direct.ask({}, {})).text for _ in range(2) if not await asyncio.sleep(0.15)]

    assert served(answer, then) == ["2", "3"]


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999/v1", "http://name:word@127.0.0.1/v1", "ftp://a"])
def test_what_a_session_has_to_see_to_is_left_to_it(url: str) -> None:
    async def run() -> DirectPost | None:
        async with aiohttp.ClientSession() as session:
            return direct_post(session, url)

    assert asyncio.run(run()) is None
