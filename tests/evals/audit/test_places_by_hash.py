"""What the audit finds by hashes is what it would find with everything in its hands."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.audit import near_duplicates as near
from evals.audit.places_by_hash import IdPlaces, first_places, is_last, together
from pipeline.core.id_set import hashes_of
from pipeline.core.schema import Turn
from pipeline.runs.dialogue_pool import Place
from pipeline.tasks.talks import Talk

WORDS = st.lists(st.sampled_from("abcdef"), max_size=20)


@given(WORDS)
def test_the_first_and_the_last_of_equals_and_who_is_together(words):
    hashes = hashes_of(words)
    assert first_places(hashes).tolist() == [words.index(word) for word in words]
    assert is_last(hashes).tolist() == [word not in words[i + 1 :] for i, word in enumerate(words)]
    kinds = [[i for i, other in enumerate(words) if other == word] for word in set(words)]
    assert sorted(kind.tolist() for kind in together(hashes)) == sorted(kind for kind in kinds if len(kind) > 1)


@given(WORDS)
def test_an_id_is_found_where_its_last_record_stands(words):
    placed = [(word, Place(i, i - 1, 2 * i)) for i, word in enumerate(words)]
    places, last = IdPlaces(iter(placed)), dict(placed)
    assert [places.of(word) for word in "abcdefg"] == [last.get(word) for word in "abcdefg"]


@pytest.mark.parametrize(("block", "at_once"), [(512, 4096), (3, 1), (1, 10)])
def test_a_near_duplicate_is_the_first_alike_with_the_same_numbers_and_other_words(monkeypatch, block, at_once):
    rng = np.random.default_rng(0)
    vectors = {i: vector / np.linalg.norm(vector) for i, vector in enumerate(rng.normal(size=(60, 2)))}
    texts = [f"{'abc'[i % 3]}{i // 7} costs {i % 4}" for i in range(60)]
    texts[30:40] = texts[:10]
    talks = [Talk(id=str(i), turns=(Turn(party="student", text=text),)) for i, text in enumerate(texts)]
    by_text = {text: vectors[texts.index(text)] for text in texts}
    monkeypatch.setattr(near, "BLOCK", block)
    monkeypatch.setattr(near, "EMBEDDED", at_once)
    monkeypatch.setattr(near, "TEXTS", 7)

    def embed(texts: list[str]) -> np.ndarray:
        return np.array([by_text[text] for text in texts])

    numbers = [re.findall(r"\d+$", text)[0] for text in texts]
    expected = [
        next(
            (
                j
                for j in range(i)
                if numbers[j] == numbers[i] and texts[j] != texts[i] and by_text[texts[i]] @ by_text[texts[j]] >= 0.9
            ),
            -1,
        )
        for i in range(60)
    ]

    def found(split: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        hashes = hashes_of(numbers), hashes_of(texts), np.arange(60) < split
        return near.near_duplicates(talks, *hashes, lambda talk: talk.turns[0].text, embed, 0.9)

    others, elsewhere, looked_at = found()
    assert others.tolist() == expected and 5 < sum(j >= 0 for j in expected) < 60
    assert looked_at.all() and (elsewhere == -1).all()
    within, across, _ = found(split=30)
    assert [max(pair) for pair in zip(within[:30], across[:30], strict=True)] == expected[:30]
    assert all(j < 0 or j >= 30 for j in within[30:]) and all(j < 30 for j in across[30:])
    assert [j for j in across[30:].tolist() if j >= 0] == [j for j in expected[30:] if 0 <= j < 30] != []
    monkeypatch.setattr(near, "MOST", 20)  # of 60, 15 of each set of numbers
    others, _, looked_at = found()
    whole = {number: {bool(looked_at[i]) for i in range(60) if numbers[i] == number} for number in numbers}
    assert all(len(looked) == 1 for looked in whole.values())
    assert np.array_equal(others[looked_at], np.array(expected)[looked_at]) and (others[~looked_at] == -1).all()
    assert looked_at.sum() == (60 if at_once == 4096 else 30)
