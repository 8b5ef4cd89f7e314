"""Shares of very many cases: the same figures, bit by bit, as of those that are held."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.bootstrap import cluster_bootstrap, resampled_sums
from evals.stats.cell_sums import pooled_cases
from evals.stats.intervals import pooled
from evals.stats.wording_shortcut import Wording, Wordings, first_by_hash, youden_j
from pipeline.core.schema import digest

CASES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcdé"), st.booleans()), max_size=60)


@given(CASES)
def test_a_share_summed_on_disk_is_that_of_cells_in_memory(cases):
    n = Counter((seed, task) for seed, task, _ in cases)
    cells = {cell: (float(sum(hit for *where, hit in cases if tuple(where) == cell)), n[cell]) for cell in n}
    assert repr(pooled_cases(iter(cases))) == repr(pooled(cells))


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (40, 3)])
def test_resamples_one_at_a_time_are_those_of_all_at_once(shape):
    sums = np.random.default_rng(1).integers(0, 9, shape).astype(float)
    at_once = cluster_bootstrap(len(sums), resamples=50) @ sums
    assert np.array_equal(resampled_sums(sums, 50).reshape(at_once.shape), at_once)


def wordings(n: int) -> dict[str, Wording]:
    """Of n problems, each as twins."""
    return {
        f"{kind}-{i}": Wording(kind, f"{'All. ' * (kind == 'full')}How many are {i}?", f"All of {i}?", kind != "full")
        for kind in ("full", "underspecified")
        for i in range(n)
    }


@pytest.mark.parametrize("most", [15, 40, 1000])
def test_of_many_wordings_those_are_held_that_are_gone_through(monkeypatch, most):
    monkeypatch.setattr("evals.stats.wording_shortcut.MOST", most)
    made, held, parts = wordings(30), Wordings(), [Wordings(), Wordings()]
    for i, (task, read) in enumerate([*made.items(), *made.items()]):
        held.add(task, read)
        parts[i % 60 >= 20].add(task, read)
    rows = list(made.values())
    drawn = sorted(rows, key=lambda row: digest(row.full_question))[:most] if most < len(rows) else rows
    assert list(held) == drawn and repr(youden_j(held)) == repr(youden_j(rows))
    parts[0].update(parts[1])
    assert list(parts[0]) == drawn
    alphabetical = sorted(rows)
    assert repr(youden_j(first_by_hash(iter(alphabetical)))) == repr(youden_j(alphabetical))


def test_a_date_in_a_question_is_a_number():
    dated = Wording("full", "It was on 12.05.2021, at 1.2.3.4. How many?", "whole", lacks=False)
    rows = [dated._replace(full_question=f"{i}", lacks=i % 2 == 0) for i in range(20)]
    assert youden_j(rows) <= 0.2
