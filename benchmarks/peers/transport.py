"""The HTTP client under every peer: the fastest that the OpenAI SDK documents, its aiohttp transport.

The SDK keeps no more than 100 idle connections, and opens others anew for each request. Here each dialogue under
way may keep one, so that no peer is measured by that cap.
"""

from __future__ import annotations

import httpx2
from openai import DefaultAioHttpClient


def http_client(concurrency: int) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    return DefaultAioHttpClient(limits=limits)
