"""What servers that speak the same protocol still differ in: words, reasoning, keys and pace."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pipeline.core.errors import ConfigError
from pipeline.dialogue.episode import OnlyReasoning, silent
from pipeline.engines.model import EngineError, Sampling
from tests.pipeline.engines.odd_server import USAGE, opened, say


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


@pytest.mark.parametrize(("reason", "finished"), [("stop", True), ("length", False), ("model_length", False)])
def test_an_answer_that_was_cut_is_not_finished_whatever_the_server_calls_it(reason: str, finished: bool) -> None:
    body = {"choices": [{"message": {"content": "12"}, "finish_reason": reason}], "usage": USAGE}
    assert opened()._read(json.dumps(body)).finished is finished


@pytest.mark.parametrize("reason", ["abort", "insufficient_system_resource"])
def test_an_answer_that_the_server_gave_up_is_no_turn(reason: str) -> None:
    body = {"choices": [{"message": {"content": "The ans"}, "finish_reason": reason}], "usage": USAGE}
    with pytest.raises(EngineError, match=f"gave the answer up .*{reason}"):
        opened()._read(json.dumps(body))


def test_a_hidden_thought_that_was_cut_is_a_thought_without_words() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 40}}
    for message in ({"content": None}, {}, {"content": ""}):
        body = {"choices": [{"message": message, "finish_reason": "length"}], "usage": usage}
        said = opened()._read(json.dumps(body))
        assert (said.text, said.reasoning_tokens, said.finished) == ("", 40, False)
        with pytest.raises(OnlyReasoning, match="reasoned for 40 tokens"):
            silent(said, "student")


def test_thoughts_that_are_counted_beside_the_answer_are_counted_with_it() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 317}}
    body = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}], "usage": usage}
    assert opened()._read(json.dumps(body)).tokens == 2
    body["usage"] = {**usage, "total_tokens": 328}
    assert opened()._read(json.dumps(body)).tokens == 319


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
