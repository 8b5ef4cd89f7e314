"""Against a server that misbehaves: what is tried again, what fails one request, and what ends a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.openai import Passing, _seconds
from pipeline.engines.settings import Engine
from tests.pipeline.engines.odd_server import BODIES, PASSING, USAGE, Server, ask, choice, opened, say, talk


def test_an_answer_carries_text_and_the_servers_counts_and_the_request_its_sampling() -> None:
    answer, server = say("fine")
    assert answer == Completion("The answer is 12.", tokens=3, prompt_tokens=7, finished=True)
    (body,) = server.seen
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("student", 5, 0.5)
    assert 0 <= body["seed"] < 2**63
    for text in ("cut", "filtered"):
        assert say(text)[0] == Completion("The answer", tokens=3, prompt_tokens=7, finished=False)


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


@pytest.mark.parametrize(
    "text", ["bad request", "echo", *(name for name in BODIES if name not in ("fine", "cut", "filtered"))]
)
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
        return opened(pause=0.5)._pause(Passing("busy", after), 1)

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
