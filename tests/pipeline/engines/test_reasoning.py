"""Reasoning told apart from an answer, in text, in ids and in the words of servers."""

from __future__ import annotations

import pytest

from pipeline.engines.reasoning import Said, parted, read_ids
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import EMBEDDED


@pytest.mark.parametrize(("text", "opened", "said"), [
    ("Yes.", False, Said("", "Yes.")),
    ("<think>\nIs it?\n</think>\n\nYes.", False, Said("Is it?", "Yes.")),
    ("<think>\n\n</think>\n\nYes.", False, Said("", "Yes.")),
    ("Is it?\n</think>\n\nYes.", True, Said("Is it?", "Yes.")),
    ("Is it?\n</think>\n\nYes.", False, Said("Is it?", "Yes.")),  # a server whose template opened it
    ("<think>\nIs it? I", False, Said("Is it? I", "")),
    ("Is it? I", True, Said("Is it? I", "")),
    ("", True, Said("", "")),
    ("\n<thinking>\nIs it?\n</thinking>\n\nYes.", False, Said("Is it?", "Yes.")),
    ("Is it?\n</thinking>\n\nYes.", False, Said("Is it?", "Yes.")),
    ("<thinking>\nIs it? I", False, Said("Is it? I", "")),
    ("<think>\nNo </thinking> yet.\n</think>\n\nYes.", False, Said("No </thinking> yet.", "Yes.")),
    ("I was thinking: yes.", False, Said("", "I was thinking: yes.")),
])  # fmt: skip
def test_a_text_is_parted_where_its_thought_ends(text: str, opened: bool, said: Said) -> None:
    assert parted(text, opened) == said


@pytest.mark.parametrize("word", ["think", "thinking"])
def test_the_first_ids_up_to_the_closing_tag_are_the_reasoning(word: str) -> None:
    base_tokenizer = load_tokenizer(EMBEDDED)

    def ids(text: str) -> list[int]:
        return base_tokenizer.encode(text, add_special_tokens=False)

    thought, answer = f"<{word}>\nTom has 12.\n</{word}>", "\n\nHow many hats?"
    prompt, whole = ids("How many?"), [*ids(thought), *ids(answer)]
    sampled = read_ids(base_tokenizer, prompt, whole)
    assert sampled.said == Said("Tom has 12.", "How many hats?")
    told = sampled.reasoning_tokens
    decode = base_tokenizer.decode
    assert f"</{word}>" in decode(whole[:told]) and f"</{word}>" not in decode(whole[: told - 1])
    assert read_ids(base_tokenizer, prompt, ids("How many?")).reasoning_tokens == 0
    inside = read_ids(base_tokenizer, ids("Well. <think>\n"), ids("Tom has 12"))
    assert inside == (Said("Tom has 12", ""), len(ids("Tom has 12")))
