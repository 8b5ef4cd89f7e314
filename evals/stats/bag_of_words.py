"""A linear guess from a bag of words: counts, folds and a logistic regression.

scikit-learn has all three, and takes 100 MiB and a second to import, in every comparison and audit. They are held
against it in tests.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

FOLDS = 5
# Words of any script; where none stand apart, as in Chinese, Japanese and Thai, single characters.
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
WORDS = re.compile(rf"[{UNSPACED}]|[^\W\d_{UNSPACED}]+")


def bags_of_words(texts: Iterable[str]) -> csr_array:
    """How often each text has each word and pair of neighbouring words, in lower case: [texts, words and pairs]."""
    columns: dict[str, int] = {}
    data, indices, starts = array("d"), array("i"), array("i", [0])
    for text in texts:
        words = WORDS.findall(text.lower())
        pairs = [f"{first} {second}" for first, second in pairwise(words)]
        for part, count in Counter([*words, *pairs]).items():
            indices.append(columns.setdefault(part, len(columns)))
            data.append(count)
        starts.append(len(indices))
    return csr_array(
        (np.frombuffer(data), np.frombuffer(indices, np.intc), np.frombuffer(starts, np.intc)),
        shape=(len(starts) - 1, len(columns)),
    )


def folds(groups: Sequence[str]) -> NDArray[np.intp]:
    """The fold of each row, of FOLDS. Rows of one group share one: the largest group goes first, into the emptiest."""
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    rows, fold = np.zeros(FOLDS, dtype=int), np.zeros(len(sizes), dtype=np.intp)
    for each in np.argsort(sizes, kind="stable")[::-1]:
        fold[each] = rows.argmin()
        rows[fold[each]] += sizes[each]
    return fold[group]


def logistic(counts: csr_array, kind: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
    """Weights and bias of a logistic regression of `kind` [rows] on `counts` [rows, columns]. Both kinds weigh as much,
    and half the square of the weights is added to the loss (C of 1)."""
    from scipy.optimize import minimize  # heavy: not for every report and audit that reads wordings

    sign = np.where(kind, 1.0, -1.0)
    share = len(kind) / 2 / np.where(kind, kind.sum(), (~kind).sum())

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (counts @ at[:-1] + at[-1])
        slope = -share * sign * expit(-margin)
        value = share @ np.logaddexp(0, -margin) + at[:-1] @ at[:-1] / 2
        return value / len(kind), np.append(counts.T @ slope + at[:-1], slope.sum()) / len(kind)

    found = minimize(loss, np.zeros(counts.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    return found.x[:-1], float(found.x[-1])
