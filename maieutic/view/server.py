"""The pages on this machine alone: a server on loopback that only reads.

`aiohttp` is here already, for the engines behind HTTP. No other site can read the pages: a request by any name but this
machine's own is refused (DNS rebinding), and no page says who links to it. The text of models is escaped; were a tag of
it ever to slip through, the Content-Security-Policy lets nothing of it run or be fetched.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from evals.report.rendering import SCHEME
from maieutic.view.addresses import CSP, Served
from maieutic.view.pages import LISTS, PAIRS, Pages, page_number
from maieutic.view.queries import FIELDS, Filters, found
from maieutic.view.talk_index import TalkIndex
from pipeline.core.errors import MaieuticError, RunError
from pipeline.runs.progress import say

TEMPLATES = Path(__file__).parent / "templates"
FILES = {"scheme.css": SCHEME, "view.css": TEMPLATES / "view.css", "view.js": TEMPLATES / "view.js"}
TYPES = {".css": "text/css", ".js": "text/javascript"}
HOSTS = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": CSP.format(own="'self'") + "; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
EVERY = 5.0  # seconds after which a run that goes on is looked at again
TO = Served()


class Indexing(threading.Thread):
    """Brings the index up to date, again every few seconds; `state` says what is still to be done, or what broke."""

    def __init__(self, index: TalkIndex):
        super().__init__(daemon=True)
        self.index = index
        self.state, self.stopped = "The dialogues are being read.", threading.Event()
        self.whole = threading.Event()  # all that was there has been read once

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                self.index.update(self._progress)
                self.state = ""
            except (MaieuticError, OSError, sqlite3.Error) as error:
                gone = isinstance(error, sqlite3.Error)
                told = f"{self.index.path}: {error}. Start `maieutic view` again." if gone else str(error)
                if self.state != told:
                    say(told)
                self.state = told
            self.whole.set()
            self.stopped.wait(EVERY)

    def _progress(self, talks: int, left: int) -> None:
        if self.stopped.is_set():
            raise SystemExit  # of this thread
        self.state = (
            f"{talks:,} dialogues are read, {left / 1e6:,.1f} MB are left: lists and counts still grow." if left else ""
        )


def application(index: TalkIndex, indexing: Indexing) -> web.Application:
    """The pages of an index, while it grows."""
    pages = Pages(index.runs)
    connection = index.connect()

    def html(text: str | None) -> web.Response:
        if text is None:
            raise web.HTTPNotFound(text="404: there is no such page. It may be of another run.")
        return web.Response(body=text.encode("utf-8", "replace"), content_type="text/html", charset="utf-8")

    async def first(request: web.Request) -> web.Response:
        raise web.HTTPFound("/dialogue")

    async def listed(request: web.Request) -> web.Response:
        kind = request.match_info["kind"]
        page = page_number(request.query.get("page", ""))
        return html(pages.list_page(connection, TO, kind, _filters(request), page, indexing.state))

    async def talk(request: web.Request) -> web.Response:
        run, kind, id = (request.match_info[name] for name in ("run", "kind", "id"))
        row = found(connection, int(run), kind, id)
        return html(pages.talk(connection, TO, row, _filters(request)) if row else None)

    async def whole_text(request: web.Request) -> web.Response:
        run, kind, id, turn, part = (request.match_info[name] for name in ("run", "kind", "id", "turn", "part"))
        row = found(connection, int(run), kind, id)
        text = pages.text(connection, row, int(turn), part) if row else None
        if text is None:
            return html(None)
        return web.Response(body=text.encode("utf-8", "replace"), content_type="text/plain", charset="utf-8")

    async def same(request: web.Request) -> web.Response:
        return html(pages.same(connection, TO, request.match_info["same"], request.query.getall("c", [])))

    async def pairs(request: web.Request) -> web.Response:
        return html(pages.pairs(connection, TO, request.match_info["page"], request.query, indexing.state))

    async def cases(request: web.Request) -> web.Response:
        page = page_number(request.query.get("page", ""))
        return html(pages.cases(connection, TO, _filters(request), page, indexing.state))

    async def file(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        text = FILES[name].read_text(encoding="utf-8")
        return web.Response(text=text, content_type=TYPES[FILES[name].suffix], charset="utf-8")

    app = web.Application(middlewares=[_guard])
    app.add_routes([
        web.get("/", first),
        web.get(f"/{{kind:{'|'.join(LISTS)}}}", listed),
        web.get(f"/{{page:{'|'.join(PAIRS)}}}", pairs),
        web.get("/cases", cases),
        web.get(f"/{{kind:{'|'.join(LISTS)}}}/{{run:\\d{{1,6}}}}/{{id}}", talk),
        web.get(f"/text/{{kind:{'|'.join(LISTS)}}}/{{run:\\d{{1,6}}}}/{{id}}/{{turn:\\d{{1,6}}}}/{{part}}", whole_text),
        web.get("/same/{same}", same),
        web.get(f"/file/{{name:{'|'.join(FILES)}}}", file),
    ])  # fmt: skip

    async def close(app: web.Application) -> None:
        connection.close()

    app.on_cleanup.append(close)
    return app


def _filters(request: web.Request) -> Filters:
    known = (*FIELDS, "q", "metric", "task")
    return {name: value for name, value in request.query.items() if name in known and value}


@web.middleware
async def _guard(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse what does not come by this machine's own name, and say of every answer what a browser may do with it."""
    if request.host.rpartition(":")[0].lower() not in HOSTS and request.host.lower() not in HOSTS:
        return web.Response(status=403, text="Open this page by the address that the command printed.", headers=HEADERS)
    try:
        response = await handler(request)
    except web.HTTPException as error:
        error.headers.update(HEADERS)
        raise
    except (MaieuticError, OSError, sqlite3.Error) as error:
        response = web.Response(status=500, text=f"{error}")
    response.headers.update(HEADERS)
    return response


def serve(index: TalkIndex, port: int) -> None:
    """Until it is stopped. Port 0 is any that is free. Raises RunError where a port is taken."""
    indexing = Indexing(index)
    asyncio.run(_serve(index, indexing, port))


async def _serve(index: TalkIndex, indexing: Indexing, port: int) -> None:
    runner = web.AppRunner(application(index, indexing), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        raise RunError(f"port {port}: {error.strerror}. Take another, or --port 0, any that is free") from error
    indexing.start()
    try:
        say(f"http://127.0.0.1:{runner.addresses[0][1]}/   (Ctrl-C ends it; on another machine: ssh -L)")
        await asyncio.Event().wait()
    finally:
        indexing.stopped.set()
        await runner.cleanup()
