"""The log-probability of a text behind a chat, beside a plain forward pass; and who cannot say it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling, Scored
from pipeline.engines.open_model import open_model
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import TransformersModel, encode, encode_scored

CHAT = [{"role": "user", "content": "How many pens has Tom?"}]


@pytest.fixture(scope="module")
def model(model_dir: Path) -> TransformersModel:
    opened = open_model(Engine(batch=8, dtype="float32"), str(model_dir))
    assert isinstance(opened, TransformersModel)
    return opened


def score(model: TransformersModel, chat: list[dict[str, str]], begins: str, rest: str) -> Completion:
    return asyncio.run(model.complete(chat, Sampling(0, scored=Scored(begins, rest))))


def test_a_score_is_the_sum_of_a_plain_forward_pass(model: TransformersModel, model_dir: Path) -> None:
    said = score(model, CHAT, "The answer is", " 42.")
    prompt = encode(model.tokenizer, CHAT)
    rest = model.tokenizer.encode("The answer is 42.", add_special_tokens=False)
    begins = len(model.tokenizer.encode("The answer is", add_special_tokens=False))
    plain = AutoModelForCausalLM.from_pretrained(model_dir)
    with torch.inference_mode():
        logits = plain(torch.tensor([prompt + rest])).logits[0].double().log_softmax(-1)
    places = range(len(prompt) + begins, len(prompt) + len(rest))
    wanted = sum(float(logits[i - 1, (prompt + rest)[i]]) for i in places)
    assert said.score == pytest.approx(wanted, abs=1e-4)
    assert (said.tokens, said.prompt_tokens) == (0, len(prompt) + len(rest)) and said.text == "The answer is 42."


def test_what_was_read_before_changes_no_score() -> None:
    opened, fresh = (open_model(Engine(batch=batch, dtype="float32"), "data/base") for batch in (9, 10))
    first = asyncio.run(opened.complete(CHAT, Sampling(60, temperature=0.0)))
    assert first.finished
    longer = [*CHAT, {"role": "assistant", "content": first.text}, {"role": "user", "content": "Okay."}]
    again, anew = (score(model, longer, "The answer is", " 7.") for model in (opened, fresh))
    assert anew.cached_tokens == 0 < again.cached_tokens and again.score == pytest.approx(anew.score, abs=1e-4)


def test_a_token_that_spans_the_beginning_and_the_rest_is_scored_whole(model: TransformersModel) -> None:
    merged = Tokenizer(BPE({" ": 0, "a": 1, "b": 2, "ab": 3}, [("a", "b")]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=merged, eos_token=" ")
    tokenizer.chat_template = "{{ messages[-1].content }}"
    ids, last = encode_scored(tokenizer, [{"role": "user", "content": "a"}], Scored("a", "b"))
    assert (ids, last) == ([1, 3], 1)


def test_behind_a_thought_that_the_template_opens_it_is_closed_first() -> None:
    merged = Tokenizer(BPE({sign: i for i, sign in enumerate(sorted(set("<think>/\nab")))}, []))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=merged, eos_token="a")
    tokenizer.chat_template = "{{ messages[-1].content }}<think>"
    ids, last = encode_scored(tokenizer, [{"role": "user", "content": "a"}], Scored("b", "a"))
    assert "".join(tokenizer.convert_ids_to_tokens(ids)) == "a<think>\n\n</think>\n\nba" and last == 1


@given(st.text("abc 1.", min_size=1, max_size=6), st.text("abc 1.", min_size=1, max_size=6))
def test_scores_of_two_parts_add_up_where_no_token_spans_them(model, first: str, second: str) -> None:
    ids, last = encode_scored(model.tokenizer, CHAT, Scored("So", first + second))
    if last != sum(encode_scored(model.tokenizer, CHAT, each)[1] for each in parts(first, second)):
        return  # a token spans them
    apart = [score(model, CHAT, *each).score for each in parts(first, second)]
    whole = score(model, CHAT, "So", first + second)
    assert whole.score == pytest.approx(sum(apart), abs=1e-3) and whole.prompt_tokens == len(ids)


def parts(first: str, second: str) -> list[Scored]:
    ends = ["So", f"So{first}", f"So{first}{second}"]
    return [Scored(begun, ended[len(begun) :]) for begun, ended in pairwise(ends)]


def test_scores_beyond_the_context_and_of_nothing_are_refused(model: TransformersModel) -> None:
    with pytest.raises(ContextOverflow, match="exceed the context"):
        score(model, CHAT, "x " * model.context, "y")
    with pytest.raises(EngineError, match="no token"):
        score(model, CHAT, "The answer is", "")


def test_a_server_says_that_it_scores_nothing() -> None:
    server = OpenAIModel(Engine(kind="openai", url="http://127.0.0.1:9/v1"), "any")
    with pytest.raises(EngineError, match="log-probability of a text"):
        asyncio.run(server.complete(CHAT, Sampling(0, scored=Scored("The answer is", " 7."))))
