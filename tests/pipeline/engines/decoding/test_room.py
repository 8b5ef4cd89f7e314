from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache

from pipeline.engines.decoding import attention, decode
from pipeline.engines.decoding.decode import Past, Request, draw, generate, stream
from pipeline.engines.decoding.room import BLOCK, Room, roomy
from pipeline.engines.model import Sampling

NOBODY: Any = None


def requests(n: int, tokens: int) -> list[Request]:
    prompts = (tuple(5 + (7 * i + j) % 90 for j in range(4 + i % 9)) for i in range(n))
    return [Request(prompt, Sampling(tokens, 0.7, seed=i), NOBODY) for i, prompt in enumerate(prompts)]


@pytest.fixture(scope="module")
def weights(model_dir: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(model_dir).eval()


def test_a_cache_with_room_holds_what_the_librarys_holds(weights: Any) -> None:
    torch.manual_seed(0)
    library, ours = DynamicCache(config=weights.config), roomy(weights, 5, 12)
    for tokens in (4, 1, 1):
        keys, values = torch.randn(2, 5, 2, tokens, 3)
        for found, expected in zip(ours.update(keys, values, 0), library.update(keys, values, 0), strict=True):
            assert torch.equal(found, expected)
    for cache in (library, ours):
        cache.layers = cache.layers[:1]
        cache.batch_select_indices(torch.tensor([3, 0]))
    keys, values = torch.randn(2, 2, 2, 1, 3)
    for found, expected in zip(ours.update(keys, values, 0), library.update(keys, values, 0), strict=True):
        assert torch.equal(found, expected)
    assert ours.get_seq_length() == library.get_seq_length() == 7


def test_a_room_that_is_widened_holds_what_it_held_and_zeros() -> None:
    room, states = Room(3, 2), torch.randn(3, 1, 2, 4)
    room.update(states, states)
    room.widen(5)
    assert room.both is not None and room.keys is not None
    assert room.keys.untyped_storage().data_ptr() == room.both[0].data_ptr(), "what it was before is let go of"
    room.whole = True
    keys, values = room.update(states[:, :, :1], -states[:, :, :1])
    for found, last in ((keys, states), (values, -states)):
        assert torch.equal(found[:, :, :2], states) and torch.equal(found[:, :, 2:3], last[:, :, :1])
        assert found.is_contiguous() and not found[:, :, 3:].any()
    assert room.get_seq_length() == 3


def test_rows_that_are_read_apart_hold_what_they_hold_together() -> None:
    room, whole = Room(4, 6), torch.arange(24.0).reshape(4, 1, 6, 1)
    for rows in (slice(0, 1), slice(1, 4)):
        room.at(rows, 2)
        room.update(whole[rows, :, 2:], whole[rows, :, 2:])
    room.at(slice(0, 4), 6)
    assert room.keys is not None and torch.equal(room.keys[:, :, 2:], whole[:, :, 2:])
    assert not room.keys[:, :, :2].any(), "padding is a number"


@pytest.mark.parametrize("part", (1, 10, 25))
def test_prompts_that_are_read_in_parts_are_answered_as_when_read_at_once(
    weights: Any, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = requests(24, 8)
    expected = generate(weights, 100, {4}, asked, keep=True)
    monkeypatch.setattr(decode, "PART", part)
    found = generate(weights, 100, {4}, asked, keep=True)
    assert [answer.ids for answer in found] == [answer.ids for answer in expected]
    for one, other in zip(found, expected, strict=True):
        for ours, theirs in zip(one.past.layers, other.past.layers, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_what_is_kept_of_a_row_is_a_copy_of_its_own_tokens(weights: Any) -> None:
    for request, answer in zip(asked := requests(9, 5), generate(weights, 100, {4}, asked, keep=True), strict=True):
        assert isinstance(answer.past, Past) and answer.past.tokens == len(request.prompt) + len(answer.ids) - 1
        for layer in answer.past.layers:
            assert all(part.untyped_storage().nbytes() == part.nbytes for part in layer), "not the whole batch's"


def test_our_attention_draws_what_the_librarys_draws(model_dir: Path, weights: Any) -> None:
    other = AutoModelForCausalLM.from_pretrained(model_dir).eval()
    other.set_attn_implementation(attention.NAME)
    asked = requests(24, 3 * BLOCK)
    found, expected = (generate(each, 100, {4}, asked, keep=True) for each in (other, weights))
    assert [answer.ids for answer in found] == [answer.ids for answer in expected]
    assert max(len(answer.ids) for answer in found) > 2 * BLOCK, "the room was widened twice"
    for one, two in zip(found, expected, strict=True):
        assert one.past.tokens == two.past.tokens
        for ours, theirs in zip(one.past.layers, two.past.layers, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_rows_drawn_a_few_at_a_time_draw_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    logits, uniforms = torch.randn(13, 50), stream(1, 13)
    heat = torch.tensor([0.7, 0.0, 1.0] * 4 + [0.5], dtype=torch.float64)
    cuts = decode.Cuts.of([Sampling(1, top_k=1 + i) for i in range(13)], torch.device("cpu"))
    expected = [draw(logits, uniforms, heat, each) for each in (None, cuts)]
    for numbers in (1, 120, 150):
        monkeypatch.setattr(decode, "NUMBERS", numbers)
        assert [draw(logits, uniforms, heat, each).tolist() for each in (None, cuts)] == [e.tolist() for e in expected]
