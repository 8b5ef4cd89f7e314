"""A server of the OpenAI chat protocol that thinks for a fixed time and says one text after another.

python -m benchmarks.server LATENCY alike     # seconds; or `unlike`, see `texts`; prints its port on loopback
"""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

# None asks for a fact of a task, so that any partner has the same to say; several, so that each turn has to be read.
QUESTIONS = ("What do you think?", "Why is that so?", "What comes next?", "Where do we begin?", "Is there more to it?")


def _answer(text: str) -> str:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": "any",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"completion_tokens": 5, "prompt_tokens": 50, "total_tokens": 55},
        }
    )


def texts(unlike: bool) -> list[str]:
    """Five questions, which a reader remembers, or 4,096 answers with their working, which it reads each time."""
    if not unlike:
        return list(QUESTIONS)
    pairs = itertools.product(range(2, 66), repeat=2)
    return [f"There are {a} boxes. Each box holds {b} plums. I get {a} x {b} = {a * b}. The answer is {a * b}."
            for a, b in pairs]  # fmt: skip


@contextmanager
def serving(latency: float, unlike: bool = False) -> Iterator[str]:
    """The address of such a server, in a process of its own, which ends with the context."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a connection needs a descriptor, here and in the server
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server", str(latency), "unlike" if unlike else "alike"],
        cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait()


async def main(latency: float, unlike: bool) -> None:
    answers = itertools.cycle([_answer(text) for text in texts(unlike)])

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(latency)
        return web.Response(text=next(answers), content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    assert runner.addresses
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2] == "unlike"))
