"""POST requests to one address over a session's connections, without most of what aiohttp does for each.

A fifth of the client's CPU for a turn asked over HTTP was aiohttp putting together the same headers, cookies and
redirects anew. Here it does that once for an address, and its connector and parser do what has to be done for every
request: connections that are kept, names, TLS, chunks, compression. Redirects and cookies are left to the session.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiohttp
from aiohttp.http import HttpProcessingError
from yarl import URL

REDIRECTS = (301, 302, 303, 307, 308)


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def needs_a_session(self) -> bool:
        """Whether it asks for what `DirectPost` does not do with the requests after it."""
        return self.status in REDIRECTS or "Set-Cookie" in self.headers


class DirectPost:
    """One address, asked over the connections of a session, in whose event loop it was made."""

    def __init__(self, session: aiohttp.ClientSession, address: URL):
        self.session = session
        # It is never sent: connections are opened for it, and its headers are those of every request.
        self.request = aiohttp.ClientRequest(
            "POST", address, headers=session.headers, session=session,
            loop=asyncio.get_running_loop(), response_class=aiohttp.ClientResponse,
        )  # fmt: skip
        headers = {key: value for key, value in self.request.headers.items() if key != "Content-Length"}  # of no body
        headers["Content-Type"] = "application/json"
        self.head = f"POST {address.raw_path_qs} HTTP/1.1\r\n{_lines(headers)}"

    async def ask(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        """The server's reply, a redirect too. Raises TimeoutError, and what a session's `post` raises."""
        sent = json.dumps(body).encode()
        head = f"{self.head}{_lines(headers)}Content-Length: {len(sent)}\r\n\r\n"
        async with asyncio.timeout(self.session.timeout.total):
            return await self._exchange(head.encode() + sent)

    async def _exchange(self, sent: bytes) -> Reply:
        assert self.session.connector is not None
        connection = await self.session.connector.connect(self.request, [], self.session.timeout)
        try:
            if connection.protocol is None or connection.transport is None:  # closed since it was taken
                raise aiohttp.ServerDisconnectedError
            connection.protocol.set_response_params(read_until_eof=True)
            connection.transport.write(sent)
            message, payload = await connection.protocol.read()
            while 100 <= message.code < 200 and message.code != 101:  # the answer comes after it
                message, payload = await connection.protocol.read()
            text = (await payload.read()).decode("utf-8", errors="replace")
        except HttpProcessingError as error:
            connection.close()
            raise aiohttp.ClientResponseError(
                self.request.request_info, (), status=error.code, message=error.message, headers=error.headers
            ) from error
        except BaseException:  # also a timeout, after which the answer may still come
            connection.close()
            raise
        connection.release()
        return Reply(message.code, message.headers, text)


def direct_post(session: aiohttp.ClientSession, url: str) -> DirectPost | None:
    """None where only the session itself can tell what is wrong with an address, or does what more it asks for."""
    try:
        address = URL(url)
        named = address.user or address.password
        return DirectPost(session, address) if address.scheme in ("http", "https") and not named else None
    except ValueError:
        return None


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{key}: {value}\r\n" for key, value in headers.items())
