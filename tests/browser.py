"""A real browser without a window, by its DevTools protocol: pages are opened in it as a user would."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no browser: apt-get install chromium"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run",
    "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
STARTS, LOADS = 60.0, 60.0  # seconds, at most


class Browser:
    """One page."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: aiohttp.ClientWebSocketResponse):
        self.loop, self.socket, self.sent = loop, socket, 0
        self.loads = 0  # pages
        self.said: list[str] = []  # refusals of the page's policy, and errors of its scripts

    def do(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to a command. Raises RuntimeError where it refuses."""
        self.sent += 1
        self.loop.run_until_complete(self.socket.send_json({"id": self.sent, "method": method, "params": params}))
        while (message := self._next()).get("id") != self.sent:
            self._note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return dict(message["result"])

    def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.loop.run_until_complete(self.socket.receive_str(timeout=LOADS)))
        return message

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Page.loadEventFired":
            self.loads += 1
        if message.get("method") == "Log.entryAdded":
            self.said.append(message["params"]["entry"]["text"])
        if message.get("method") == "Runtime.exceptionThrown":
            self.said.append(json.dumps(message["params"]["exceptionDetails"]))

    def open(self, address: str) -> None:
        """Go there, and wait until it is loaded."""
        before = self.loads
        self.do("Page.navigate", url=address)
        self.loaded(before)

    def loaded(self, before: int) -> None:
        """Wait for a page more than there were: it may have come while a command was answered."""
        while self.loads == before:
            self._note(self._next())

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, text: str, loads: bool = False) -> None:
        """Press keys; `loads` waits for the page that the last of them opens."""
        before = self.loads
        for key in [text] if text in ("Enter", "Escape") else text:
            said = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = {"Enter": 13, "Escape": 27}.get(key, 0)
            self.do("Input.dispatchKeyEvent", type="keyDown", key=key, text=said, windowsVirtualKeyCode=code)
            self.do("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        if loads:
            self.loaded(before)

    def click(self, selector: str) -> None:
        """On a link or button that opens a page."""
        before = self.loads
        self.js(f"document.querySelector({json.dumps(selector)}).click()")
        self.loaded(before)

    def size(self, width: int, height: int = 900, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.do("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """It runs while the block does."""
    assert CHROMIUM, MISSING
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        loop = asyncio.new_event_loop()
        session = socket = None
        try:
            session = loop.run_until_complete(_session())
            socket = loop.run_until_complete(_page(session, Path(folder)))
            page = Browser(loop, socket)
            for domain in ("Page", "Runtime", "Log"):
                page.do(f"{domain}.enable")
            yield page
        finally:
            for each in (socket, session):
                if each is not None:
                    loop.run_until_complete(each.close())
            loop.run_until_complete(asyncio.sleep(0.05))  # for connections to close
            loop.close()
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _page(session: aiohttp.ClientSession, folder: Path) -> aiohttp.ClientWebSocketResponse:
    port, until = folder / "DevToolsActivePort", time.monotonic() + STARTS
    while not (port.exists() and port.read_text().strip()):
        assert time.monotonic() < until, "the browser did not start"
        await asyncio.sleep(0.1)
    async with session.get(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as answer:
        pages = [target for target in await answer.json() if target["type"] == "page"]
    return await session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)
