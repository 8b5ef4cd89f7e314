from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers import AutoModelForCausalLM, AutoTokenizer

from pipeline.core.errors import ConfigError
from pipeline.engines.decoding.decode import (
    LONG,
    MANY,
    Cuts,
    Generated,
    Past,
    PrefixCache,
    Request,
    draw,
    generate,
    shared_beginnings,
    stream,
)
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import MEMORY, TransformersModel, encode

ENGINE = Engine(kind="transformers", dtype="float32")


@pytest.fixture(scope="session")
def model(model_dir: Path) -> TransformersModel:
    torch.set_num_threads(1)
    opened = open_model(Engine(batch=8, dtype="float32"), str(model_dir))
    assert isinstance(opened, TransformersModel)
    return opened


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def together(*asks: Coroutine[Any, Any, Any]) -> list[Any]:
    async def gather() -> list[Any]:
        return await asyncio.gather(*asks, return_exceptions=True)

    return asyncio.run(gather())


def test_the_same_seed_gives_the_same_text_whatever_else_is_in_the_batch(model: TransformersModel) -> None:
    target = chat("How many?"), Sampling(20, 1.0, seed=5)
    (alone,) = together(model.complete(*target))
    others = [model.complete(chat("x" * n), Sampling(3 + n, 0.7, seed=n)) for n in range(1, 24)]
    mixed = together(*others[:9], model.complete(*target), *others[9:])
    assert mixed[9] == alone
    assert len({completion.text for completion in mixed}) > 20


def test_a_batch_of_one_draws_from_exactly_the_logits_of_its_own_prompt(model_dir: Path) -> None:
    one = open_model(Engine(batch=8, dtype="float32"), str(model_dir), deterministic=True)
    asks = [(chat("y" * (n % 5)), Sampling(12, 1.3, seed=n)) for n in range(16)]
    apart = [together(one.complete(*ask))[0] for ask in asks]
    assert together(*(one.complete(*ask) for ask in asks)) == apart
    assert together(*(one.complete(*ask) for ask in reversed(asks))) == apart[::-1]
    assert isinstance(one, TransformersModel) and one.batch == 1


def test_every_token_is_the_one_that_a_plain_forward_pass_would_draw(model: TransformersModel, model_dir: Path) -> None:
    """Left padding, positions, shared prefill and cutting rows out change nothing: checked by recomputation."""
    plain, tokenizer = AutoModelForCausalLM.from_pretrained(model_dir), AutoTokenizer.from_pretrained(model_dir)
    asks = [(chat("ab" * (n % 7)), Sampling(6 + n, [1.0, 0.0, 0.5][n % 3], seed=n)) for n in range(21)]
    answers = together(*(model.complete(*ask) for ask in asks))
    for (messages, sampling), answer in zip(asks, answers, strict=True):
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids, uniforms, drawn = tokenizer.encode(text, add_special_tokens=False), stream(sampling.seed, 30), []
        prompt = len(ids)
        while len(drawn) < sampling.max_tokens and drawn[-1:] != [tokenizer.eos_token_id]:
            with torch.no_grad():
                logits = plain(torch.tensor([ids + drawn])).logits[:, -1, : len(tokenizer)]
            heat = torch.tensor([sampling.temperature], dtype=torch.float64)
            drawn.append(int(draw(logits, uniforms[len(drawn)][None], heat)[0]))
        said = tokenizer.decode(drawn, skip_special_tokens=True).strip()
        assert answer == Completion(
            said, tokens=len(drawn), prompt_tokens=prompt, finished=drawn[-1] == tokenizer.eos_token_id, cached_tokens=0
        )
    assert {answer.finished for answer in answers} == {True, False}


def test_draws_follow_the_softmax() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0, -40.0])
    n = 20_000
    uniforms = torch.cat([stream(seed, 1) for seed in range(n)])
    for temperature in (1.0, 0.5):
        drawn = draw(logits.expand(n, -1), uniforms, torch.full((n,), temperature, dtype=torch.float64))
        counts = torch.bincount(drawn, minlength=5)
        expected = torch.softmax(logits.double() / temperature, 0) * n
        assert counts[4] == 0 and chisquare(counts[:4], expected[:4] / expected[:4].sum() * n).pvalue > 0.001


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=8), st.floats(0, 1, exclude_max=True))
@settings(max_examples=100, deadline=None)
def test_temperature_zero_is_argmax_and_a_draw_is_always_a_possible_token(row: list[float], uniform: float) -> None:
    logits, u = torch.tensor([row, row]), torch.tensor([uniform, uniform], dtype=torch.float64)
    greedy, drawn = draw(logits, u, torch.tensor([0.0, 1.0], dtype=torch.float64)).tolist()
    assert row[greedy] == max(row)
    assert 0 <= drawn < len(row)


def test_a_stream_belongs_to_its_seed_and_its_start_does_not_depend_on_its_length() -> None:
    assert torch.equal(stream(3, 4), stream(3, 9)[:4])
    assert not torch.equal(stream(3, 4), stream(4, 4))


def test_a_prompt_that_does_not_fit_fails_alone_and_says_by_how_much(model: TransformersModel) -> None:
    short, long = together(model.complete(chat("hi"), Sampling(4)), model.complete(chat("h" * 80), Sampling(30)))
    assert isinstance(short, Completion)
    assert isinstance(long, ContextOverflow)
    assert str(long) == "prompt of 83 tokens + max_tokens 30 exceed the context of 96"


def test_a_failing_batch_reaches_each_of_its_waiters_and_the_engine_lives_on(model_dir: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    weights = AutoModelForCausalLM.from_pretrained(model_dir)
    tokenizer.add_tokens([f"<|{i}|>" for i in range(60)])  # the last of them lies beyond the embeddings
    engine = TransformersModel(weights, tokenizer, batch=2)
    asks = [engine.complete(chat(text), Sampling(2)) for text in ("a", "b", "longer <|59|>", "longer still")]
    answers = together(*asks)
    assert [type(answer) for answer in answers] == [Completion, Completion, EngineError, EngineError]
    assert isinstance(together(engine.complete(chat("a"), Sampling(2)))[0], Completion)


def test_tokens_count_the_end_and_the_prompt_counts_its_template(model: TransformersModel) -> None:
    answers = together(*(model.complete(chat("abc"), Sampling(60, temperature=1.0, seed=seed)) for seed in range(40)))
    assert {answer.prompt_tokens for answer in answers} == {1 + 3 + 1 + 1}
    assert any(answer.finished for answer in answers)
    assert all(answer.finished or answer.tokens == 60 for answer in answers)
    assert model.count_tokens("abc <|end|>") == 5


def test_batches_side_by_side_say_what_one_core_says(model_dir: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    said = []
    for cores in (1, 2, 3):
        engine = TransformersModel(AutoModelForCausalLM.from_pretrained(model_dir), tokenizer, batch=32)
        engine.cores = cores
        said.append(
            together(*(engine.complete(chat(f"a{i}"), Sampling(8, temperature=1.0, seed=i)) for i in range(100)))
        )
    assert said[0] == said[1] == said[2]
    assert len({answer.text for answer in said[0]}) > 50


def test_a_chat_is_answered_as_its_ids_are(model: TransformersModel) -> None:
    asks = [(chat("ab" * n), Sampling(20, 1.0, seed=n)) for n in range(8)]
    said = together(*(model.complete(*ask) for ask in asks))
    answers = together(*(model.complete_ids(encode(model.tokenizer, ask[0]), ask[1]) for ask in asks))
    assert [answer.completion._replace(cached_tokens=0) for answer in answers] == [
        one._replace(cached_tokens=0) for one in said
    ]
    for answer in answers:
        assert answer.completion.tokens == len(answer.ids) and answer.completion.finished == (
            answer.ids[-1] in model.ends
        )
        assert model.tokenizer.decode(answer.ids, skip_special_tokens=True).strip() == answer.completion.text


def test_whoever_stops_waiting_is_left_out(model: TransformersModel) -> None:
    async def leave() -> Completion:
        gone = asyncio.create_task(model.complete(chat("gone"), Sampling(5)))
        await asyncio.sleep(0)
        gone.cancel()
        return await model.complete(chat("here"), Sampling(5))

    assert asyncio.run(leave()).tokens <= 5
    assert model.waiting == []


def test_an_adapter_is_merged_into_the_weights(model_dir: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    tuned = get_peft_model(AutoModelForCausalLM.from_pretrained(model_dir),
                           LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False))  # fmt: skip
    tuned.save_pretrained(tmp_path)
    plain, merged = (
        open_model(ENGINE, str(model_dir)),
        open_model(ENGINE, str(model_dir), str(tmp_path)),
    )
    assert isinstance(merged, TransformersModel)
    assert not any("lora" in name for name, _ in merged.model.named_parameters())
    ids = torch.tensor([[7, 8, 9]])
    with torch.no_grad():
        assert torch.allclose(merged.model(ids).logits, tuned(ids).logits, atol=1e-4)
    ask = chat("hello"), Sampling(20, temperature=1.0, seed=1)
    assert together(plain.complete(*ask)) != together(merged.complete(*ask))


def test_unusable_weights_are_config_errors_that_say_what_was_expected(model_dir: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(model_dir, bare)
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match=r"bare' has no chat template\. Expected a file chat_template\.jinja"):
        open_model(ENGINE, str(bare))
    with pytest.raises(ConfigError, match="'nowhere' is not a directory"):
        open_model(ENGINE, "nowhere")
    with pytest.raises(ConfigError, match="is not a directory"):
        open_model(ENGINE, str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match=r"adapter: .* holds no adapter_config\.json"):
        open_model(ENGINE, str(model_dir), str(tmp_path))
    (tmp_path / "adapter_config.json").touch()  # a run that was sent without its weights
    with pytest.raises(ConfigError, match=r"adapter: .* holds no adapter_model\.safetensors"):
        open_model(ENGINE, str(model_dir), str(tmp_path))
    (bare / "config.json").unlink()
    (bare / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match="no tokenizer could be read"):
        open_model(ENGINE, str(bare))


def test_a_prompt_that_goes_on_is_answered_as_when_read_anew(model: TransformersModel) -> None:
    """Whatever is known of each prompt's beginning, little, much or nothing, in one batch."""
    future: Any = None
    prompts = [tuple(5 + (7 * i + j) % 90 for j in range(3 + i % 5)) for i in range(16)]
    memory, end = PrefixCache(model.ends, MEMORY), min(model.ends)
    for turn in range(3):
        anew = [
            Request(prompt, Sampling(9, temperature=1.0, seed=50 * turn + i), future)
            for i, prompt in enumerate(prompts)
        ]
        known = [request._replace(past=memory.longest(request.prompt)) for request in anew]
        assert (turn > 0) == any(request.past.tokens for request in known)
        expected = generate(model.model, len(model.tokenizer), model.ends, anew, keep=False)
        found = generate(model.model, len(model.tokenizer), model.ends, known, keep=True)
        assert [answer.ids for answer in found] == [answer.ids for answer in expected]
        for i, answer in enumerate(found):
            if (i + turn) % 3:
                memory.keep(prompts[i], answer)
            said = answer.ids[:-1] if i % 2 else answer.ids[:1]
            prompts[i] = (*prompts[i], *said, end, *range(6, 7 + i % 4))


def test_the_memory_holds_no_more_than_its_limit_and_drops_what_was_used_longest_ago() -> None:
    past = Past(2, ((torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)),))
    memory = PrefixCache({0}, limit=3 * 64)
    for first in (1, 2, 3):
        memory.keep((first,), Generated([5, 0], past))
    assert memory.longest((1, 5, 0, 7)) is past
    memory.keep((4,), Generated([5, 0], past))
    assert memory.longest((2, 5, 0, 7)) == Past()
    assert all(memory.longest((first, 5, 0, 7)) is past for first in (1, 3, 4))
    assert memory.longest((1, 5, 7)) == Past(), "no turn ends there"


def test_what_a_dialogue_has_gone_on_from_is_dropped_before_what_others_wait_with() -> None:
    """Two dialogues fill three places: the second's first turn stays, though it was used longest ago."""
    past = Past(2, ((torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)),))
    memory = PrefixCache({0}, limit=3 * 64)
    memory.keep((2,), Generated([5, 0], past))
    memory.keep((1,), Generated([5, 0], past))
    memory.keep((1, 5, 0, 7), Generated([6, 0], past), went_on_from=2)
    memory.keep((1, 5, 0, 7, 6, 0, 8), Generated([9, 0], past), went_on_from=5)
    assert memory.longest((2, 5, 0, 7)) is past
    assert memory.longest((1, 5, 0, 7, 6, 0, 8, 9, 0, 3)) is past
    assert len(memory.kept) == 3


def test_unlikely_tokens_are_cut_off_as_vllm_cuts_them_off() -> None:
    shares = torch.tensor([[0.05, 0.4, 0.3, 0.15, 0.1]], dtype=torch.float64)

    def kept(**cut: float) -> list[int]:
        found = Cuts.of([Sampling(1, **{"top_p": 1.0, "top_k": 0, "min_p": 0.0, **cut})], torch.device("cpu"))
        return [] if found is None else sorted(found.keep(shares).nonzero()[:, 1].tolist())

    assert kept() == []  # nothing is cut: the draw is untouched
    assert kept(top_k=2) == [1, 2]
    assert kept(top_p=0.69) == [1, 2] and kept(top_p=0.71) == [1, 2, 3]
    assert kept(min_p=0.3) == [1, 2, 3]
    assert kept(top_k=3, top_p=0.5, min_p=0.9) == [1]
    assert kept(top_p=0.8) == [1, 2, 3] and kept(top_p=0.8, min_p=0.5) == [1, 2]  # of what min_p leaves
    assert kept(top_p=0.55) == [1, 2] and kept(top_p=0.55, min_p=0.5) == [1]


def test_a_row_that_cuts_nothing_off_draws_as_it_would_alone(model: TransformersModel) -> None:
    target = chat("How many?"), Sampling(12, 1.0, seed=5)
    (alone,) = together(model.complete(*target))
    beside = together(
        model.complete(*target), model.complete(chat("x"), Sampling(12, temperature=1.0, seed=6, top_k=1))
    )
    (greedy,) = together(model.complete(chat("x"), Sampling(12, 0.0)))
    assert beside[0].text == alone.text and beside[1].text == greedy.text


def test_what_many_prompts_begin_with_is_read_once_and_changes_no_answer(model: TransformersModel) -> None:
    remembering, forgetful = (TransformersModel(model.model, model.tokenizer, batch=8) for _ in range(2))
    forgetful.memory.limit = 0
    begin = (*(5 + i % 90 for i in range(LONG)), min(remembering.ends))
    prompts = [(*begin, *range(5, 8 + i)) for i in range(MANY)] + [(5, 6, 7)]
    found, expected = (
        together(*(each.complete_ids(prompt, Sampling(9, 1.0, seed=i)) for i, prompt in enumerate(prompts)))
        for each in (remembering, forgetful)
    )
    assert [answer.ids for answer in found] == [answer.ids for answer in expected]
    assert [answer.completion.cached_tokens for answer in found] == [LONG] * MANY + [0]


def test_long_beginnings_that_many_share_up_to_a_turns_end_are_read() -> None:
    end, body = 0, (1,) * LONG
    many = {(*body, end, 2, end, 3, i) for i in range(MANY)}
    assert shared_beginnings(many, {end}) == {(*body, end, 2)}
    assert shared_beginnings(sorted(many)[1:], {end}) == set(), "too few"
    assert shared_beginnings({prompt[1:] for prompt in many}, {end}) == {(*body, end, 2)[1:]}
    assert shared_beginnings({prompt[2:] for prompt in many}, {end}) == {(*body, end, 2)[2:]}
    assert shared_beginnings({(*body, 2, 3, i) for i in range(1, MANY + 1)}, {end}) == set(), "no turn ends in it"
