"""The linear guess from words against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from evals.stats.bag_of_words import FOLDS, WORDS, bags_of_words, folds, logistic

TEXTS = st.lists(st.text("ab cÄ3.,-りん", max_size=12), min_size=3, max_size=20)


@given(TEXTS)
def test_counts_are_those_of_scikit_learn(texts):
    theirs = CountVectorizer(token_pattern=WORDS.pattern, ngram_range=(1, 2))
    if not any(WORDS.search(text) for text in texts):
        assert bags_of_words(texts).shape == (len(texts), 0)
        return
    expected, counts = theirs.fit_transform(texts).toarray(), bags_of_words(texts).toarray()
    assert sorted(counts.T.tolist()) == sorted(expected.T.tolist())


@given(st.lists(st.sampled_from("abcdefgh"), min_size=20, max_size=60).filter(lambda groups: len(set(groups)) >= FOLDS))
def test_folds_are_those_of_scikit_learn(groups):
    expected = np.zeros(len(groups), dtype=int)
    for i, (_, held_out) in enumerate(GroupKFold(FOLDS).split(groups, groups=groups)):
        expected[held_out] = i
    assert folds(groups).tolist() == expected.tolist()


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_regression_guesses_as_scikit_learns_does(share):
    random = np.random.default_rng(0)
    kind = random.random(400) < share
    texts = [
        " ".join(random.choice(list("abcdefghij"), 6)) + " given" * (not k and i % 3 > 0) for i, k in enumerate(kind)
    ]
    counts = bags_of_words(texts)
    weights, bias = logistic(counts, kind)
    theirs = LogisticRegression(max_iter=1000, tol=1e-8, class_weight="balanced").fit(counts, kind)
    assert np.abs(counts @ weights + bias - theirs.decision_function(counts)).max() < 0.01


def test_a_row_without_words_gets_the_bias_alone():
    counts = bags_of_words(["one two", "3", "two"])
    weights, bias = logistic(counts, np.array([True, False, False]))
    assert (counts @ weights + bias)[1] == bias
