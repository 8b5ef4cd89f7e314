"""Against a small server on loopback that misbehaves as the request's text tells it to."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import tenacity
from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.openai import OpenAIModel, Passing, _seconds
from pipeline.engines.settings import Engine

USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def choice(text: Any, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}], "usage": USAGE}


BODIES: dict[str, str] = {
    "fine": json.dumps(choice(" The answer is 12. ")),
    "cut": json.dumps(choice("The answer", "length")),
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


def test_an_answer_carries_text_and_the_servers_counts_and_the_request_its_sampling() -> None:
    answer, server = say("fine")
    assert answer == Completion("The answer is 12.", tokens=3, prompt_tokens=7, finished=True)
    (body,) = server.seen
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("student", 5, 0.5)
    assert 0 <= body["seed"] < 2**63
    assert say("cut")[0] == Completion("The answer", tokens=3, prompt_tokens=7, finished=False)


@pytest.mark.parametrize(("text", "held"), [("fine", [True, True]), ("takes no schema", [True, False, False])])
def test_an_answer_is_held_to_a_schema_where_the_server_takes_one(text: str, held: list[bool]) -> None:
    async def then(server: Server, url: str) -> list[dict[str, Any]]:
        model = opened(url)
        for _ in range(2):
            said = await model.complete([{"role": "user", "content": text}], Sampling(5, schema='{"type": "object"}'))
            assert said.text == "The answer is 12."
        return server.seen

    seen = talk(then)
    assert ["response_format" in body for body in seen] == held
    assert seen[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize("text", [*PASSING, "hang up"])
def test_what_may_pass_is_tried_again(text: str) -> None:
    answer, server = say(text)
    assert isinstance(answer, Completion)
    assert server.asked[text] == 3


def test_a_request_that_hangs_is_given_up_and_tried_again() -> None:
    answer, server = say("hang", timeout=0.1)
    assert isinstance(answer, Completion)
    assert server.asked["hang"] == 2
    answer, server = say("always hang", timeout=0.05, retries=1)
    assert isinstance(answer, EngineError) and "TimeoutError" in str(answer)


@pytest.mark.parametrize("text", ["bad request", "echo", *(name for name in BODIES if name not in ("fine", "cut"))])
def test_what_will_not_pass_is_asked_once_and_fails_that_request(text: str) -> None:
    answer, server = say(text)
    assert isinstance(answer, EngineError)
    assert server.asked[text] == 1


def test_a_prompt_that_is_too_long_is_an_overflow_with_the_servers_numbers() -> None:
    answer, server = say("too long")
    assert isinstance(answer, ContextOverflow) and "64 tokens" in str(answer)
    assert server.asked["too long"] == 1


def test_an_unknown_model_is_answered_with_what_the_server_serves() -> None:
    answer, _ = say("fine", name="studnet")
    assert isinstance(answer, ConfigError) and "does not serve 'studnet'. It serves: other, student." in str(answer)


def test_the_key_is_sent_and_stands_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert say("fine")[1].headers == [None]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert say("fine")[1].headers == ["Bearer sk-secret"]
    for text in ("refused", "echo", "always broken"):
        answer, _ = say(text, retries=1)
        assert isinstance(answer, (EngineError, ConfigError)) and "sk-secret" not in str(answer)


def test_all_turns_of_a_dialogue_go_to_one_rank_and_dialogues_to_all_of_them() -> None:
    model = opened("http://127.0.0.1:1/v1", ranks=4)
    ranks = set()
    for i in range(40):
        talk = [{"role": "system", "content": "Ask."}, {"role": "user", "content": f"Problem {i}"}]
        (rank,) = model._rank(talk).values()
        turns = [{"role": "assistant", "content": "How many?"}, {"role": "user", "content": "Three."}]
        assert model._rank([*talk, *turns]) == {"X-data-parallel-rank": rank}
        ranks.add(rank)
    assert ranks == {"0", "1", "2", "3"}
    assert opened("http://127.0.0.1:1/v1")._rank(talk) == {}


def test_more_than_a_hundred_requests_are_open_at_once_over_one_session() -> None:
    async def then(server: Server, url: str) -> tuple[int, int]:
        model = opened(url)
        answers = await asyncio.gather(*(ask(model, "all at once") for _ in range(150)))
        assert all(isinstance(answer, Completion) for answer in answers)
        return server.most, len(answers)

    assert talk(then) == (150, 150)


def test_one_model_serves_one_event_loop_after_another() -> None:
    model = opened()

    async def then(server: Server, url: str) -> Any:
        model.url = url
        return await ask(model, "fine")

    assert talk(then) == talk(then) == Completion("The answer is 12.", tokens=3, prompt_tokens=7, finished=True)


def test_a_server_that_is_not_there_is_an_engine_error() -> None:
    answer = asyncio.run(ask(opened("http://127.0.0.1:1/v1", retries=1), "fine"))
    assert isinstance(answer, EngineError) and "after 2 attempts" in str(answer)


def test_retry_after_is_seconds_or_a_date() -> None:
    assert _seconds("7") == 7
    assert _seconds("1.5") == 1.5
    assert _seconds("") == _seconds("soon") == _seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert _seconds("Wed, 21 Oct 2099 07:28:00 GMT") > 10**9


def test_the_pause_is_what_the_server_asked_for_and_a_little_more_within_bounds() -> None:
    def pause(after: float) -> float:
        state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
        state.set_exception((Passing, Passing("busy", after), None))
        return opened(pause=0.5)._pause(state)

    assert all(7 <= pause(7) <= 8 for _ in range(50)) and len({pause(7) for _ in range(50)}) > 1
    assert pause(10**6) == 120


def test_a_config_without_an_address_or_with_what_is_no_adapter_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"engine\.url: '' is no address"):
        open_model(Engine(kind="openai"), "student")
    with pytest.raises(ConfigError, match="holds no adapter_config"):
        open_model(Engine(kind="openai", url="http://127.0.0.1:1/v1"), "student", str(tmp_path))


def test_a_server_that_loads_no_adapters_is_answered_with_how_to_start_one() -> None:
    answer, server = say("fine", adapter="seed-1")
    assert isinstance(answer, ConfigError) and "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1" in str(answer)
    assert server.seen == []


def test_cached_tokens_are_the_servers_count_or_unknown() -> None:
    body = choice("x") | {"usage": USAGE | {"prompt_tokens_details": {"cached_tokens": 5}}}
    model = opened()
    assert model._read(json.dumps(body)).cached_tokens == 5
    assert model._read(BODIES["fine"]).cached_tokens is None
    assert (
        model._read(json.dumps(choice("x") | {"usage": USAGE | {"prompt_tokens_details": None}})).cached_tokens is None
    )


def test_an_answer_does_not_begin_with_an_empty_thought() -> None:
    said = json.dumps(choice("<think>\n\n</think>\n\nYes."))
    assert opened()._read(said).text == "Yes."


def test_half_an_emoji_is_text_that_can_be_stored() -> None:
    assert opened()._read(json.dumps(choice("So \ud83d"))).text == "So ?"


def test_a_key_that_the_server_says_again_stands_in_no_answer_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    BODIES["key"] = json.dumps(choice("You sent sk-secret."))
    answer, _ = say("key")
    assert answer.text == "You sent [key]."
    answer, _ = say("no number")
    assert isinstance(answer, EngineError) and "sk-secret" not in str(answer)
    monkeypatch.setenv("OPENAI_API_KEY", "sent")  # a word, not a secret
    assert say("key")[0].text == "You sent sk-secret."


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999/v1"])
def test_what_is_no_address_is_a_config_error(url: str) -> None:
    answer = asyncio.run(ask(opened(url, retries=0), "fine"))
    assert isinstance(answer, ConfigError) and "is no address" in str(answer)


def test_a_model_that_was_away_for_a_moment_fails_one_request_only() -> None:
    answer, _ = say("away")
    assert isinstance(answer, EngineError) and "when it was asked for 'student'" in str(answer)


def test_a_reply_that_is_not_http_fails_one_request_only() -> None:
    async def run() -> Any:
        async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(b"220 smtp ready\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await ask(opened(f"http://127.0.0.1:{port}", retries=1), "fine")

    assert isinstance(asyncio.run(run()), EngineError)


@pytest.mark.parametrize(
    "after",
    ["Mon, 01 Jan 2024 00:00:00 +99999999999999999", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "soon", ""],
)
def test_a_retry_after_that_is_no_time_is_no_pause(after: str) -> None:
    assert _seconds(after) == 0


def test_a_key_may_end_in_a_newline_and_has_to_fit_into_a_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\n")
    _, server = say("fine")
    assert server.headers == ["Bearer sk-secret"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\nsecret")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds control characters"):
        opened("http://127.0.0.1:1/v1")


@pytest.mark.parametrize("passing", ["refused", "away"])
def test_a_server_that_has_answered_once_is_not_given_up_for_one_odd_reply(passing: str) -> None:
    async def run() -> list[Any]:
        server = Server()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.answer)
        async with TestServer(app) as at:
            model = opened(str(at.make_url("/v1")), retries=0)
            return [await ask(model, text) for text in (passing, "fine", passing)]

    first, _, last = asyncio.run(run())
    assert isinstance(first, ConfigError if passing == "refused" else EngineError)
    assert isinstance(last, EngineError)


def test_a_redirect_to_no_address_fails_one_request_only() -> None:
    async def run() -> Any:
        async def away(request: web.Request) -> web.Response:
            return web.Response(status=307, headers={"Location": "http://[::1"})

        app = web.Application()
        app.router.add_post("/v1/chat/completions", away)
        async with TestServer(app) as at:
            return await ask(opened(str(at.make_url("/v1")), retries=0), "fine")

    answer = asyncio.run(run())
    assert isinstance(answer, EngineError) and "redirects to no address" in str(answer)


def test_a_request_is_in_the_servers_dialect() -> None:
    messages = [{"role": "user", "content": "Hi."}]
    plain = opened()._body(messages, Sampling(5, temperature=0.5, seed=7))
    assert plain == {"model": "student", "messages": messages, "max_tokens": 5, "temperature": 0.5, "seed": 7}
    dialect = opened(max_tokens_field="max_completion_tokens", temperature="when_set", extra_body={"effort": "low"})
    assert dialect._body(messages, Sampling(5, temperature=0.5, seed=7)) == {
        "model": "student", "messages": messages, "max_completion_tokens": 5, "seed": 7, "effort": "low"}  # fmt: skip
    assert dialect._body(messages, Sampling(5, temperature=0.5, seed=7, temperature_is_set=True))["temperature"] == 0.5
    cut = opened()._body(messages, Sampling(5, top_p=0.9, top_k=20, min_p=0.1))
    assert (cut["top_p"], cut["top_k"], cut["min_p"]) == (0.9, 20, 0.1)


@pytest.mark.parametrize(("message", "text", "reasoning"), [
    ({"content": "Yes.", "reasoning_content": " Is it? "}, "Yes.", "Is it?"),
    ({"content": "Yes.", "reasoning": "Is it?"}, "Yes.", "Is it?"),
    ({"content": "<think>\nIs it?\n</think>\n\nYes."}, "Yes.", "Is it?"),
    ({"content": None, "reasoning_content": "Is it?"}, "", "Is it?"),
    ({"content": "", "reasoning": "Is it?"}, "", "Is it?"),
    ({"reasoning_content": "Is it?"}, "", "Is it?"),
    ({"content": "<think>\nIs it?"}, "", "Is it?"),
    ({"content": "<thinking>\nIs it?\n</thinking>\n\nYes."}, "Yes.", "Is it?"),
    ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Is "}, {"type": "text", "text": "it?"}]},
                  {"type": "text", "text": "Y"}, {"type": "reference", "reference_ids": [1]},
                  {"type": "text", "text": "es."}]}, "Yes.", "Is it?"),
    ({"content": [{"type": "thinking", "thinking": "Is it?"}]}, "", "Is it?"),
])  # fmt: skip
def test_reasoning_is_told_apart_wherever_the_server_says_it(
    message: dict[str, Any], text: str, reasoning: str
) -> None:
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}
    said = opened()._read(json.dumps(body))
    assert (said.text, said.reasoning, said.reasoning_tokens) == (text, reasoning, 3)  # uncounted: words and signs
    body["usage"] = {**USAGE, "completion_tokens_details": {"reasoning_tokens": 2}}
    assert opened()._read(json.dumps(body)).reasoning_tokens == 2


@pytest.mark.parametrize("content", [[{"type": "image"}], [{"text": "Yes."}], ["Yes."], [{"type": "text", "text": 1}]])
def test_parts_of_an_answer_that_hold_no_words_are_malformed(content: list[Any]) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}], "usage": USAGE}
    with pytest.raises(EngineError, match="malformed answer"):
        opened()._read(json.dumps(body))


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("bad request", "If it takes no temperature, set engine.temperature: when_set, and none in the role's"),
        (
            "old word",
            "If it takes no max_tokens, set engine.max_tokens_field: max_completion_tokens, with which the same",
        ),
    ],
)
def test_a_word_that_a_server_refuses_is_answered_with_what_to_set(text: str, then: str) -> None:
    assert then in str(say(text)[0])
    other = {"max_tokens_field": "max_completion_tokens", "temperature": "when_set"}
    assert "If it takes" not in str(say(text, **other)[0])  # it was not sent


def test_each_engine_has_the_key_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OTHER_KEY", "sk-other-secret")
    assert say("fine", key_env="OTHER_KEY")[1].headers == ["Bearer sk-other-secret"]
    monkeypatch.delenv("OPENAI_API_KEY")
    assert say("fine")[1].headers == [None]  # many servers want none
    with pytest.raises(ConfigError, match=r"engine\.key_env: NO_KEY is not set in the environment. Set it"):
        opened("http://127.0.0.1:1/v1", key_env="NO_KEY")
    answer, _ = say("refused", key_env="OTHER_KEY")
    assert "OTHER_KEY was refused" in str(answer) and "sk-" not in str(answer).replace("sk-secret", "")


def test_requests_keep_the_pace_whichever_models_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = [100.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("pipeline.engines.pace.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("pipeline.engines.pace.asyncio.sleep", sleep)
    first, second = (opened("http://127.0.0.1:1/v1", name, requests_per_minute=120).pace for name in ("a", "b"))
    assert first is second and first is not opened("http://127.0.0.1:2/v1", requests_per_minute=120).pace
    for _ in range(3):
        asyncio.run(first.wait())
    clock[0] += 60  # a pause is made up for by nobody
    asyncio.run(second.wait())
    asyncio.run(second.wait())
    assert slept == [0.0, 0.5, 1.0, 0.0, 0.5]
