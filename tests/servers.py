"""Servers on loopback for tests, in threads of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web


@contextmanager
def serving(app: web.Application) -> Iterator[str]:
    """The address of an application, up to and including /v1, while it runs."""
    loop, ports = asyncio.new_event_loop(), list[int]()

    async def start() -> web.AppRunner:
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        return runner

    async def stop(runner: web.AppRunner) -> None:
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}  # requests that hang
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield f"http://127.0.0.1:{ports[0]}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(stop(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
