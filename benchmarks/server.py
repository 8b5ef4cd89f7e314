"""A server of the OpenAI chat protocol that thinks for a fixed time and says the same words to everybody.

python -m benchmarks.server LATENCY     # seconds; prints its port on loopback
"""

from __future__ import annotations

import asyncio
import json
import sys

from aiohttp import web

ANSWER = json.dumps(
    {
        "choices": [{"message": {"role": "assistant", "content": "What do you think?"}, "finish_reason": "stop"}],
        "usage": {"completion_tokens": 5, "prompt_tokens": 50},
    }
)


async def main(latency: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(latency)
        return web.Response(text=ANSWER, content_type="application/json")

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
    asyncio.run(main(float(sys.argv[1])))
