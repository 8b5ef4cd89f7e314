"""Any server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, a hosted model.

What may pass by itself (429, 5xx, timeouts, broken connections) is retried with jitter, nothing else.
The key comes from the environment alone (key_env) and stands in no error text. One connection is open per
waiting request: with dialogue.concurrency 1024 the limit on open files (`ulimit -n`) must be above that.

    engines: {api: {kind: openai, url: https://api.example.com/v1, key_env: EXAMPLE_KEY, requests_per_minute: 600,
                    max_tokens_field: max_completion_tokens, temperature: when_set}}

Reasoning is told apart where the server says it beside the answer (reasoning_content, reasoning), where it is a part of
the answer (Mistral's list of parts), and where it stands in the answer between tags.

vLLM's server loads our adapters while it runs, so that base and students sit their exams in one engine:

    VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve MODEL --enable-lora --max-loras 8 --max-lora-rank 16 \\
        --enable-prompt-tokens-details     # on a CPU, more --max-loras than there will be students
    engine: {kind: openai, url: http://127.0.0.1:8000/v1}      # and student: {model: MODEL}
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
import zlib
from collections.abc import AsyncGenerator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.schema import Message
from pipeline.engines.direct_post import REDIRECTS, DirectPost, Reply, direct_post
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling, check_adapter
from pipeline.engines.pace import pace_of
from pipeline.engines.reasoning import Said, parted
from pipeline.engines.settings import Engine
from pipeline.engines.weights import weights_id

CHAT = "chat/completions"
LONG = 2**20  # tokens: the server knows its own context
CUT = ("length", "model_length", "content_filter", "repetition")  # why an answer ends that is not whole
GIVEN_UP = ("abort", "error", "insufficient_system_resource")  # and by no fault of its own
SHORTEST_KEY = 8  # what is shorter is no secret but a word, such as EMPTY
NO_ADDRESS = "{key}.url: {url!r} is no address. Expected one such as http://127.0.0.1:8000/v1."
LONGEST_PAUSE = 120.0  # seconds, whatever Retry-After asks for
# What a server refuses of a request, by the word that it uses for it, and what to set in its engine then.
REFUSED = {
    "max_tokens": "{key}.max_tokens_field: max_completion_tokens, with which the same run goes on",
    "temperature": "{key}.temperature: when_set, and none in the role's sampling, in another `out` (--set out=DIR), "
    "since it may change what is sampled",
}
WORDS_AND_SIGNS = re.compile(r"\w+|[^\w\s]")
TOO_LONG = re.compile(r"context.?(length|size|window)|maximum (model|input|sequence) length|prompt is too long", re.I)


class Passing(MaieuticError):
    """A failure that may pass by itself; `after` seconds where the server said when to come back."""

    def __init__(self, message: str, after: float = 0.0):
        super().__init__(message)
        self.after = after


class NotThere(MaieuticError):
    """The server knows no such model, or no such route (status 404)."""


class NoSchema(MaieuticError):
    """The server takes no JSON schema."""


class OpenAIModel:
    """One model name on one server, or an adapter's directory on it. `pause` in seconds, before the first retry."""

    def __init__(self, engine: Engine, model: str, adapter: str | None = None, pause: float = 0.5):
        self.engine, self.url, self.model = engine, engine.url.rstrip("/"), model
        self.adapter, self.pause, self.attempts = adapter, pause, engine.retries + 1
        self.pace = pace_of(self.url, engine.key_env, engine.requests_per_minute)
        # Named by content: the server may hold an older one of the same directory.
        self.name = model if adapter is None else f"{Path(adapter).name}-{weights_id(adapter)}"
        self.loading: asyncio.Task[None] | None = None
        self.key = engine.server_key()
        self.answered = False  # a server that has answered once has the model, and takes the key
        self.takes_schemas = True
        self.loop: asyncio.AbstractEventLoop | None = None
        self.direct: DirectPost | None = None

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        """Answer one chat. Raises ContextOverflow or EngineError for this request only, ConfigError where no
        request can succeed: an unknown model, a refused key."""
        if sampling.scored is not None:
            raise EngineError(f"{self.url}: chats are answered there, and give no log-probability of a text")
        if self.adapter is not None:
            await self._session()
            if self.loading is None or (self.loading.done() and self.loading.exception() is not None):
                self.loading = asyncio.create_task(self._load(self.adapter))
            await self.loading
        body = self._body(messages, sampling)
        try:
            completion = self._read(await self._ask(CHAT, body, self._rank(messages)))
            self.answered = True
            return completion
        except NoSchema:
            self.takes_schemas = False
            return await self.complete(messages, sampling)
        except NotThere as error:
            served = await self._served()
            if self.answered or served is None or self.name in served:  # it was away for a moment
                hint = "" if self.answered or served else f"; does {self.engine.config_key}.url end in /v1?"
                raise EngineError(f"{self.url}: {error}, when it was asked for {self.name!r}{hint}") from None
            raise ConfigError(
                f"model: {self.url} does not serve {self.name!r}. It serves: {', '.join(served)}."
                if served
                else f"model: {self.url} does not serve {self.name!r}, and lists no models; does "
                f"{self.engine.config_key}.url end in /v1?"
            ) from None

    def _body(self, messages: list[Message], sampling: Sampling) -> dict[str, Any]:
        """A request in the server's dialect. What cuts nothing off is not sent: not every server knows it."""
        body: dict[str, Any] = {
            "model": self.name,
            "messages": messages,
            self.engine.max_tokens_field: sampling.max_tokens,
            "seed": sampling.seed % 2**63,
        }
        if self.engine.temperature == "always" or sampling.temperature_is_set:
            body["temperature"] = sampling.temperature
        cuts = {"top_p": (sampling.top_p, 1.0), "top_k": (sampling.top_k, 0), "min_p": (sampling.min_p, 0.0)}
        body |= {key: value for key, (value, without) in cuts.items() if value != without}
        if sampling.schema and self.takes_schemas:
            held = {"name": "answer", "schema": json.loads(sampling.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": held}
        return body | self.engine.extra_body

    async def _ask(self, route: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> str:
        failed = 0
        while True:
            try:
                return await self._post(route, body, headers)
            except Passing as error:
                failed += 1
                if failed == self.attempts:
                    raise EngineError(f"{self.url}: {error}, after {self.attempts} attempts") from None
                await asyncio.sleep(self._pause(error, failed))

    def count_tokens(self, text: str) -> int:
        """Words and signs: the server's tokenizer is not at hand."""
        return len(WORDS_AND_SIGNS.findall(text))

    def _pause(self, error: Passing, failed: int) -> float:
        """Seconds before the next attempt, after so many that failed."""
        return min(LONGEST_PAUSE, error.after + random.uniform(0, self.pause * 2**failed))

    async def _post(self, route: str, body: dict[str, Any], headers: dict[str, str] | None) -> str:
        session = await self._session()
        await self.pace.wait()
        try:
            reply = await self._reply(session, route, body, headers or {})
        except (TimeoutError, aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            hint = " (raise ulimit -n, or lower dialogue.concurrency)" if "Too many open files" in str(error) else ""
            raise Passing(self._clean(f"{type(error).__name__} {error}{hint}".strip())) from None
        except aiohttp.InvalidUrlRedirectClientError as error:
            raise EngineError(f"{self.url}: it redirects to no address, {self._clean(str(error))[:300]}") from None
        except aiohttp.InvalidURL:
            raise ConfigError(NO_ADDRESS.format(key=self.engine.config_key, url=self.url)) from None
        except aiohttp.ClientError as error:  # not HTTP, or redirects without end
            raise EngineError(f"{self.url}: {type(error).__name__} {self._clean(str(error))[:300]}") from None
        status, text = reply.status, self._clean(reply.text)
        if status == 200:
            return text
        refusal = f"status {status}: {text[:300]}"
        if status == 429 or status >= 500:
            raise Passing(refusal, _seconds(reply.headers.get("Retry-After", "")))
        if status == 400 and TOO_LONG.search(text):
            raise ContextOverflow(refusal)
        if status in (400, 422) and "response_format" in body and re.search(r"response_format|schema", text):
            raise NoSchema(refusal)
        if status == 404:
            raise NotThere(refusal)
        if status in (401, 403) and not self.answered:
            held = "was refused" if self.key else "is not set"
            raise ConfigError(
                f"{self.url} wants a key, and the environment's {self.engine.key_env} {held}. Set it (export "
                f"{self.engine.key_env}=...), or name another variable in {self.engine.config_key}.key_env."
            )
        takes_none = next((word for word in REFUSED if status in (400, 422) and word in body and word in text), None)
        told = REFUSED[takes_none].format(key=self.engine.config_key) if takes_none else ""
        raise EngineError(f"{self.url}: {refusal}" + (f" If it takes no {takes_none}, set {told}" if told else ""))

    async def _reply(
        self, session: aiohttp.ClientSession, route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> Reply:
        if self.direct is not None and route == CHAT and not len(session.cookie_jar):  # which the session would send
            reply = await self.direct.ask(body, headers)
            if reply.needs_a_session:
                self.direct = None
            if reply.status not in REDIRECTS:
                return reply
        async with session.post(f"{self.url}/{route}", json=body, headers=headers) as response:
            return Reply(response.status, response.headers, await response.text("utf-8", errors="replace"))

    async def _load(self, adapter: str) -> None:
        """Have vLLM load the adapter, once, and check that it answers as PEFT does with it."""
        from pipeline.engines import parity
        from pipeline.engines.transformers import load_tokenizer

        try:
            await self._ask("load_lora_adapter", {"lora_name": self.name, "lora_path": adapter})
        except (NotThere, EngineError) as error:
            if "attempts" in str(error):  # it may be there later
                raise
            if "already" not in str(error):
                raise ConfigError(
                    f"adapter: {self.url} did not load {adapter!r} ({error}). Start vLLM's server with --enable-lora, "
                    "--max-lora-rank of at least training.lora.r, and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 in its "
                    f"environment, where it sees this path; or set {self.engine.config_key}.kind: transformers or vllm."
                ) from None
        asked = parity.prompts(load_tokenizer(self.model), LONG)
        wanted = await asyncio.to_thread(parity.expected, self.model, [adapter], self.engine.fixed_dtype, asked)
        names = {None: self.model, adapter: self.name}
        try:
            scores = await asyncio.gather(*(self._greedy_scores(name, asked) for name in names.values()))
            parity.require_parity(self.url, dict(zip(names, scores, strict=True)), wanted, self.engine.fixed_dtype)
        except (NotThere, ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise ConfigError(
                f"adapter: what {self.url} does with {adapter!r} cannot be checked ({error!r}): token_ids and logprobs "
                f"were expected of its /completions, as vLLM gives them. Set {self.engine.config_key}.kind: "
                "transformers or vllm."
            ) from None

    async def _greedy_scores(self, name: str, asked: list[list[int]]) -> list[tuple[int, float]]:
        body = {
            "model": name,
            "prompt": asked,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 0,
            "return_token_ids": True,
        }
        choices = json.loads(await self._ask("completions", body))["choices"]
        choices.sort(key=lambda choice: choice["index"])
        if len(choices) != len(asked):
            raise ValueError(f"{len(choices)} choices for {len(asked)} prompts")
        return [(int(each["token_ids"][0]), float(each["logprobs"]["token_logprobs"][0])) for each in choices]

    def _rank(self, messages: list[Message]) -> dict[str, str]:
        """The same for all turns of a dialogue, and for all dialogues that begin alike, which share a prefix."""
        if self.engine.ranks == 1:
            return {}
        roles = [message["role"] for message in messages]
        opening = json.dumps(messages[: roles.index("user") + 1]).encode()
        return {"X-data-parallel-rank": str(zlib.crc32(opening) % self.engine.ranks)}

    def _read(self, text: str) -> Completion:
        try:
            body = json.loads(text)
            choice, usage = body["choices"][0], body["usage"]
            reason = choice["finish_reason"]
            if reason in GIVEN_UP:
                raise EngineError(f"{self.url}: the server gave the answer up (finish_reason {reason!r})")
            prompts, generated = (usage.get(f"{kind}_tokens_details") or {} for kind in ("prompt", "completion"))
            cached, reasoned = prompts.get("cached_tokens"), generated.get("reasoning_tokens")
            said = _said(choice["message"], hidden=bool(reasoned) and reason in CUT)
            prompt, tokens = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
            if reasoned and usage.get("total_tokens") == prompt + tokens + int(reasoned):  # counted beside the answer
                tokens += int(reasoned)
            return Completion(
                text=said.answer,
                tokens=tokens,
                prompt_tokens=prompt,
                finished=reason not in CUT,
                cached_tokens=None if cached is None else int(cached),
                reasoning=said.reasoning,
                # Some servers reason and show nothing of it, others show it and do not count it.
                reasoning_tokens=self.count_tokens(said.reasoning) if reasoned is None else int(reasoned),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            expected = "choices[0].message.content, choices[0].finish_reason and usage"
            malformed = f"{error!r} in {text[:300]!r}"
            raise EngineError(f"{self.url}: malformed answer, expected {expected}: {malformed}") from None

    async def _served(self) -> list[str] | None:
        """The models that the server lists; None where it did not say."""
        session = await self._session()
        try:
            async with session.get(f"{self.url}/models") as response:
                body = json.loads(self._clean(await response.text("utf-8", errors="replace")))
            return sorted(str(row["id"]) for row in body["data"])
        except (TimeoutError, aiohttp.ClientError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _clean(self, text: str) -> str:
        """A server's words without the key, which some servers repeat."""
        return text.replace(self.key, "[key]") if len(self.key) >= SHORTEST_KEY else text

    async def _session(self) -> aiohttp.ClientSession:
        if self.loop is not asyncio.get_running_loop():
            self.loop, self.sessions, self.loading = asyncio.get_running_loop(), self._open(), None
            self.session = await anext(self.sessions)
            self.direct = direct_post(self.session, f"{self.url}/{CHAT}")
        return self.session

    async def _open(self) -> AsyncGenerator[aiohttp.ClientSession]:
        # A generator, because asyncio.run closes those that are open when it ends: nobody has to close the model.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        timeout = aiohttp.ClientTimeout(total=self.engine.timeout)
        async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
            yield session


def _said(message: dict[str, Any], hidden: bool = False) -> Said:
    """Reasoning and answer of a message; `hidden`: it was cut in a thought that the server does not show.

    Half an emoji, where an answer was cut, is no text that could be stored.
    """
    beside, content = message.get("reasoning_content") or message.get("reasoning") or "", message.get("content")
    if isinstance(content, list):
        thoughts = [part["thinking"] for part in content if part["type"] == "thinking"]
        beside += "".join(map(_text, thoughts))
        content = _text([part for part in content if part["type"] != "thinking"])
    if (beside or hidden) and content is None:  # it only reasoned
        return Said(_storable(beside).strip(), "")
    said = parted(_storable(message["content"] if content is None else content))
    if not beside:
        return said
    return said._replace(reasoning="\n".join(part for part in (_storable(beside).strip(), said.reasoning) if part))


def _text(parts: str | list[dict[str, Any]]) -> str:
    """The words of parts in a row. A reference to a source has none; another part without any is malformed."""
    if isinstance(parts, str):
        return parts
    return "".join(part["text"] for part in parts if part["type"] != "reference")


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _seconds(after: str) -> float:
    """Retry-After as seconds from now: a number or a date (RFC 9110); 0 where absent or unreadable."""
    if re.fullmatch(r"\d+(\.\d+)?", after):
        return float(after)
    try:
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def load(engine: Engine, model: str, adapter: str | None = None) -> OpenAIModel:
    """A model's name on the server, and a LoRA directory that the server can read. Raises ConfigError."""
    if not engine.url.startswith(("http://", "https://")):
        raise ConfigError(NO_ADDRESS.format(key=engine.config_key, url=engine.url))
    if adapter is not None:
        check_adapter(adapter)
        adapter = os.path.abspath(adapter)
    return OpenAIModel(engine, model, adapter)
