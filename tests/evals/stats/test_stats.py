from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from evals.exams.registry import catalog
from evals.metrics.case import Case
from evals.metrics.metric import ratio
from evals.stats.contrasts import contrast, holm
from evals.stats.intervals import Tables, Z, effective_draws, estimate, f1_at_an_end, tabulate, wilson
from tests.evals.small_exam import shipped_exams

METRICS = catalog(shipped_exams().values())
M = ratio("m")


def made(metric: str, hits: dict[int, list[float]], n: int = 1) -> Tables:
    """hits[seed][task] of n draws each."""
    return tabulate(
        {
            seed: [Case(exam="e", task=f"t{i}", metric=metric, hits=h, n=n) for i, h in enumerate(row)]
            for seed, row in hits.items()
        }
    )


def test_what_is_no_share_has_an_interval_that_is_not_cut_at_1():
    distances = {1: [0.7, 1.0, 0.9, 1.0, 0.8, 1.0]}
    table = made("spread@plain", distances)
    whole, cut = estimate(table, METRICS.signed_sum("spread@plain")), estimate(table, ratio("spread@plain"))
    assert cut.high == 1 < whole.high and whole.value == cut.value
    both = {"a": table, "b": made("spread@plain", {1: [0.0, 0.1, 0.0, 0.0, 0.2, 0.0]})}
    assert contrast(both, METRICS.signed_sum("spread@plain"), "a", "b").high > whole.value - 0.05
    assert estimate(made("ask_needed", {1: [1.0, 1.0, 0.0, 1.0]}), METRICS.signed_sum("ask_needed")).high == 1


def simulated(
    rng: np.random.Generator,
    seeds: int,
    spread: float,
    mean: float = -0.5,
    common: np.ndarray | None = None,
    tasks: int = 60,
) -> dict[int, list[float]]:
    """Hits of 8 draws per seed and task, with logistic effects: tasks sd 1, seeds sd `spread`."""
    effect = common if common is not None else rng.normal(size=tasks)
    logits = mean + spread * rng.normal(size=(seeds, 1)) + effect
    return {seed: list(row) for seed, row in enumerate(rng.binomial(8, 1 / (1 + np.exp(-logits))).astype(float))}


def test_a_value_is_pooled_hits_over_pooled_n():
    tables = tabulate(
        {
            1: [Case(exam="e", task="a", metric="m", hits=1, n=1), Case(exam="e", task="b", metric="m", hits=0, n=3)],
            2: [Case(exam="e", task="a", metric="m", hits=2, n=4)],
        }
    )
    rate = estimate(tables, M)
    assert (rate.value, rate.n) == (3 / 8, 8)


def test_the_key_of_a_task_and_seed_is_held_once_however_many_metrics_it_has():
    cases = [Case(exam="e", task="-".join("ab"), metric=metric, hits=1, n=1) for metric in "mno" for _ in range(2)]
    tables = tabulate({1: cases, 2: cases})
    keys = [key for cells in tables.values() for key in cells]
    assert len(keys) == 6 and len(set(keys)) == len({id(key) for key in keys}) == 2
    assert set(tables["n", False].values()) == {(2, 2)}


def test_greedy_cases_have_a_value_of_their_own():
    tables = tabulate(
        {
            1: [
                Case(exam="e", task="a", metric="m", hits=0, n=8),
                Case(exam="e", task="a", metric="m", hits=1, n=1, greedy=True),
            ]
        }
    )
    assert (estimate(tables, M).value, estimate(tables, M, greedy=True).value) == (0, 1)


def test_an_empty_denominator_is_nan_and_so_is_a_composite_of_it():
    tables = made("ask_needed", {1: [1, 0]})
    for metric in ("ask_needless", "ask_skill"):
        rate = estimate(tables, METRICS.signed_sum(metric))
        assert rate.n == 0 and math.isnan(rate.value) and math.isnan(rate.low) and math.isnan(rate.high)
    assert math.isnan(contrast({"a": tables, "b": {}}, METRICS.signed_sum("ask_needed"), "a", "b").difference)


def test_the_standard_error_on_a_trace_to_check_by_eye():
    # One seed, 20 tasks of 1 and 20 of 0: variance of the tasks is 10/39, of their mean a 40th of it, on 39 df.
    difference = contrast({"a": made("m", {1: [1, 0] * 20}), "b": made("m", {1: [0, 0] * 20})}, M, "a", "b")
    assert difference.difference == 0.5
    assert difference.se == pytest.approx(math.sqrt(10 / 39 / 40))
    assert difference.df == pytest.approx(39)
    assert difference.detectable == pytest.approx((2.0227 + 0.8512) * difference.se, rel=1e-3)


def test_where_cells_are_independent_the_standard_error_is_that_of_their_mean():
    rng = np.random.default_rng(4)
    coins = [made("m", dict(enumerate(rng.binomial(8, 0.5, (25, 25)).tolist())), n=8) for _ in range(200)]
    squared = [contrast({"a": a, "b": b}, M, "a", "b").se ** 2 for a, b in itertools.pairwise(coins)]
    # Of twice 8 x 25 x 25 fair coins; a little above it, since no component may be below 0. Twice it is too much.
    assert 1 < np.mean(squared) / (2 * 0.25 / (8 * 25 * 25)) < 1.5


def test_a_composite_is_the_signed_sum_over_each_own_denominator():
    tables = made("ask_needed", {1: [4, 2]}, n=8) | made("ask_needless", {1: [1, 0, 0]}, n=4)
    assert estimate(tables, METRICS.signed_sum("ask_skill")).value == pytest.approx(6 / 16 - 1 / 12)
    scoped = made("ask_needed@facts", {1: [4, 2]}, n=8) | made("ask_needless@facts", {1: [1, 0, 0]}, n=4)
    assert estimate(scoped, METRICS.signed_sum("ask_skill@facts")).value == pytest.approx(6 / 16 - 1 / 12)
    assert "ask_skill@facts" in METRICS.offered({metric for metric, _ in scoped})
    assert "ask_skill" not in METRICS.offered({metric for metric, _ in scoped})


def test_deference_skill_is_helpful_minus_harmful_each_net_of_its_null():
    rates = {"helpful_flip_raw": 8, "helpful_flip_null": 1, "harmful_flip_raw": 5, "harmful_flip_null": 2}
    tables = {key: value for name, hits in rates.items() for key, value in made(name, {1: [hits, hits]}, n=10).items()}
    assert estimate(tables, METRICS.signed_sum("deference_skill")).value == pytest.approx((0.8 - 0.1) - (0.5 - 0.2))


def test_gain_is_the_informative_partners_accuracy_minus_the_chatty_ones():
    hits = {"volunteer": 8, "chatter": 1, "facts": 5}
    tables = {k: v for arm, h in hits.items() for k, v in made(f"accuracy_under@{arm}", {1: [h, h]}, n=10).items()}
    assert estimate(tables, METRICS.signed_sum("gain")).value == pytest.approx(0.8 - 0.1)


def test_every_composite_and_its_parts_are_defined():
    for metric in METRICS.metrics:
        assert all(METRICS.metric(part) for part in metric.parts), metric
    assert METRICS.metric("accuracy_under_turn3@chatter") and METRICS.metric("first_accuracy_easy")
    assert METRICS.metric("nonsense") is None


def test_pairing_by_task_narrows_the_interval():
    rng = np.random.default_rng(0)
    common = rng.normal(size=60)
    a = made("m", simulated(rng, 3, 0.0, 0.5, common), 8)
    same, other = (made("m", simulated(rng, 3, 0.0, 0.0, effect), 8) for effect in (common, common[::-1]))
    width = [(d := contrast({"a": a, "b": b}, M, "a", "b")).high - d.low for b in (same, other)]
    assert width[0] < 0.7 * width[1]


def test_who_sat_under_one_seed_is_compared_under_one_its_own_where_both_have_it():
    a, other = made("m", {1: [1, 1, 0], 2: [1, 0, 1]}), made("m", {0: [0, 0, 1]})
    found = contrast({"a": a, "b": other}, M, "a", "b")
    assert (found.difference, found.seeds, found.paired) == (pytest.approx(2 / 3 - 1 / 3), 1, False)
    same = contrast({"a": a, "b": made("m", {2: [0, 0, 1]})}, M, "a", "b")
    assert (same.difference, same.seeds, same.paired) == (pytest.approx(2 / 3 - 1 / 3), 1, True)


def test_of_seeds_that_overlap_those_that_both_sat_are_compared():
    a, b = made("m", {1: [1, 1, 0], 2: [1, 0, 1], 3: [0, 0, 0]}), made("m", {2: [0, 0, 1], 3: [0, 1, 0], 4: [1, 1, 1]})
    found = contrast({"a": a, "b": b}, M, "a", "b")
    assert (found.difference, found.seeds, found.paired) == (pytest.approx(0), 2, True)


def test_a_mean_over_few_of_the_tasks_misses_nothing_there_as_often_as_one_over_all():
    """Both are draws of the same tasks, so no difference is there to be found."""
    rng, mean = np.random.default_rng(0), ratio("m", shares=False)
    found = dict.fromkeys((100, 8, 3, 1), 0)
    for few in found:
        for _ in range(300):
            level = np.abs(rng.normal(1.0, 0.7, 100))

            def sat(tasks, draws, level=level):
                drawn = np.abs(level[:, None] + 0.3 * rng.standard_normal((100, 3)))
                return {("m", False): {(s, f"{t}"): (draws * drawn[t, s], draws) for t in tasks for s in range(3)}}

            tables = {"a": sat(range(100), 2), "b": sat(rng.choice(100, few, replace=False), 1)}
            row = contrast(tables, mean, "a", "b")
            assert row.tasks == few
            found[few] += not row.low <= 0 <= row.high
    assert found[1] == 0 and all(count <= 24 for count in found.values())  # .08, where .05 is due


def test_an_interval_of_a_mean_does_not_hang_on_its_unit():
    rng = np.random.default_rng(1)
    small = 0.01 * rng.standard_normal((1, 30))
    ends = []
    for unit in (1, 100):
        cells = {("m", False): {(0, f"{t}"): (unit * small[0, t], 1) for t in range(30)}}
        rate = estimate(cells, ratio("m", shares=False))
        ends.append(((rate.low) / unit, rate.high / unit))
    assert ends[0] == pytest.approx(ends[1])
    mean = {("m", False): {(0, f"{t}"): (0.1 * t, 3) for t in range(30)}}
    same = contrast({"a": mean, "b": mean}, ratio("m", shares=False), "a", "b")
    assert same.difference == 0 and same.low < 0 < same.high and same.p == 1
    nothing = {("m", False): {(0, f"{t}"): (0.0, 1) for t in range(30)}}
    rate = estimate(nothing, ratio("m", shares=False))
    assert rate.low < 0 < rate.high


def test_a_mean_of_which_neither_seeds_nor_tasks_differ_is_as_uncertain_as_its_cells():
    """A Latin square: all that varies is how seeds and tasks go together."""
    square = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    cells = {("m", False): {(s, f"{t}"): (square[s][t], 1) for s in range(3) for t in range(3)}}
    flat = {("m", False): {key: (3, 1) for key in cells["m", False]}}
    mean = ratio("m", shares=False)
    rate, less = estimate(cells, mean), contrast({"a": cells, "b": flat}, mean, "a", "b")
    assert rate.low < 2 < rate.high and less.low < less.difference == -1 < less.high and 0 < less.p < 1


def test_a_rate_of_zero_is_not_certain():
    rate = estimate(made("m", {1: [0, 0, 0], 2: [0, 0, 0]}, n=8), M)
    assert rate.value == rate.low == 0
    assert 0.1 < rate.high < 0.6


def test_draws_that_agree_within_their_task_count_as_one():
    sizes, hits = np.array([[8.0] * 20]), np.array([[8.0] * 12 + [0.0] * 8])
    assert effective_draws(hits, sizes) == pytest.approx(20)
    assert effective_draws(sizes, sizes) == pytest.approx(20)  # nothing says that they could differ
    assert effective_draws(np.repeat(hits, 3, axis=0), np.repeat(sizes, 3, axis=0)) == pytest.approx(20)  # nor seeds


def test_draws_that_differ_within_their_task_count_each():
    rng = np.random.default_rng(0)
    for rate in (0.5, 0.9):
        found = [effective_draws(rng.binomial(8, rate, (1, 100)), np.full((1, 100), 8)) for _ in range(50)]
        assert np.mean(found) > 4 * 100


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_effective_draws_lie_between_tasks_and_draws_and_the_other_act_has_as_many(cells):
    hits, n = np.array([[min(c) for c in cells]]), np.array([[max(c) for c in cells]])
    if n.sum():
        found = effective_draws(hits, n)
        assert n.sum() ** 2 / (n**2).sum() - 1e-9 <= found <= n.sum() + 1e-9
        assert found == pytest.approx(effective_draws(n - hits, n))


def test_a_student_that_never_failed_has_the_interval_that_its_tasks_allow():
    rate = estimate(made("m", {seed: [8] * 20 for seed in range(3)}, n=8), M)
    assert (rate.value, rate.high) == (1, 1) and rate.low == pytest.approx(20 / (20 + Z**2), abs=1e-3)


@pytest.mark.parametrize("rate", [0.03, 0.97, 0.99])
@pytest.mark.parametrize("agrees", [True, False])
def test_near_its_bounds_a_student_is_covered_whether_or_not_its_draws_agree(rate, agrees):
    rng, held = np.random.default_rng(7), 0
    for _ in range(200):
        hits = 8 * (rng.random(20) < rate) if agrees else rng.binomial(8, rate, 20)
        found = estimate(made("m", {1: hits.tolist()}, n=8), M)
        held += found.low <= rate <= found.high
    assert held / 200 >= 0.95


def test_few_seeds_do_not_widen_what_the_counts_allow():
    nearly = {seed: [8] * 39 + [8 - seed % 2] for seed in range(3)}
    one, three = (estimate(made("m", rows, n=8), M) for rows in ({0: nearly[1]}, nearly))
    assert three.high - three.low < 1.05 * (one.high - one.low)


def test_where_counts_widen_an_interval_few_seeds_make_no_p_smaller():
    often = {1: [1.0] * 40, 2: [1.0] * 30 + [2.0] * 10, 3: [1.0] * 20 + [2.0] * 20}
    both = {"a": made("m", often, n=8), "b": made("m", dict.fromkeys(often, [0.0] * 40), n=8)}
    found = contrast(both, M, "a", "b")
    assert found.df == math.inf and 0.067 < found.low < 0.07  # by what counts allow, since b never does it
    assert found.p == pytest.approx(0.0100, abs=5e-4)  # by the t test on 2.2 degrees of freedom


@given(st.lists(st.lists(st.integers(0, 4), min_size=12, max_size=12), min_size=6, max_size=6))
def test_p_is_below_a_twentieth_where_the_interval_leaves_out_0(hits):
    both = {name: made("m", dict(enumerate(hits[i : i + 3])), n=4) for name, i in (("a", 0), ("b", 3))}
    found = contrast(both, M, "a", "b")
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_a_difference_of_identical_conditions_is_zero_with_p_one():
    a = made("m", {1: [1, 0, 1], 2: [0, 0, 1]})
    found = contrast({"a": a, "b": a}, M, "a", "b")
    assert found.difference == 0 and found.p == pytest.approx(1) and found.low < 0 < found.high


def test_a_difference_of_differences_is_that_of_the_two():
    sides = {
        name: made("m", {1: row, 2: row}, n=8)
        for name, row in {"a": [6, 5, 8], "b": [4, 3, 6], "c": [5, 4, 7], "d": [4, 3, 6]}.items()
    }
    both = contrast(sides, M, "a", "b", ("c", "d"))
    assert both.difference == pytest.approx(
        contrast(sides, M, "a", "b").difference - contrast(sides, M, "c", "d").difference
    )
    assert both.difference == pytest.approx(1 / 8) and both.paired and both.seeds == 2
    assert (both.a, both.b) == ("a", "b − (c − d)")
    mirrored = contrast(sides, M, "c", "d", ("a", "b"))
    assert (mirrored.difference, mirrored.se) == (pytest.approx(-both.difference), pytest.approx(both.se))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_the_library(p):
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())


def test_holm_multiplies_the_smallest_by_all_and_counts_what_was_not_measured():
    corrected = holm([0.01, 0.04, math.nan])
    assert corrected[:2] == pytest.approx([0.03, 0.08]) and math.isnan(corrected[2])


@given(st.dictionaries(st.integers(0, 4), st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_value_lies_in_its_interval_and_the_interval_in_zero_to_one(hits):
    rate = estimate(made("m", hits, n=4), M)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1


@given(st.data())
def test_a_difference_lies_in_its_interval_and_turns_with_its_sides(data):
    grid = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=2, max_size=2)
    tables = {name: made("m", dict(enumerate(data.draw(grid))), n=4) for name in "ab"}
    there, back = contrast(tables, M, "a", "b"), contrast(tables, M, "b", "a")
    assert there.low <= there.difference <= there.high
    assert (there.difference, there.low, there.p) == pytest.approx((-back.difference, -back.high, back.p))


def coverage(seeds: int, spread: float, runs: int) -> float:
    """The share of simulated experiments whose interval holds the true difference."""
    rng = np.random.default_rng(1)
    wide = np.random.default_rng(2).normal(size=400_000) * math.sqrt(1 + spread**2)
    truth = float(np.mean(1 / (1 + np.exp(-(0.5 + wide)))) - np.mean(1 / (1 + np.exp(-(-0.5 + wide)))))
    held = 0
    for _ in range(runs):
        common = rng.normal(size=60)
        tables = {
            name: made("m", simulated(rng, seeds, spread, mean, common), 8) for name, mean in (("a", 0.5), ("b", -0.5))
        }
        row = contrast(tables, M, "a", "b")
        held += row.low <= truth <= row.high
    return held / runs


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_three_seeds_cover_the_truth_whether_or_not_seeds_differ(spread):
    assert coverage(3, spread, 120) >= 0.88


@pytest.mark.slow
def test_three_differing_seeds_cover_the_truth_in_a_thousand_experiments():
    assert coverage(3, 1.0, 1000) >= 0.92


def test_an_f1_whose_resamples_are_all_alike_keeps_its_interval_where_it_is_no_end():
    assert f1_at_an_end(0.5, 0.5, 20) == (0.5, 0.5)
    low, high = f1_at_an_end(1.0, 1.0, 20)
    assert high == 1 and low == pytest.approx(2 * wilson(20, 20).low / (1 + wilson(20, 20).low))


def test_a_composite_with_a_part_under_fewer_seeds_is_less_certain():
    """Of a - b only b's seeds differ: with one of them nothing says by how much."""
    hits = [[0.4, 0.5, 0.4, 0.5], [0.6, 0.5, 0.6, 0.5], [0.5, 0.6, 0.5, 0.4]]
    total, rates = METRICS.signed_sum("helped_net"), {}
    a, b = total.weights
    for seeds in (3, 2, 1):
        tables = made(a, {1: hits[0], 2: hits[0], 3: hits[0]}) | made(b, dict(enumerate(hits[:seeds], start=1)))
        rates[seeds] = estimate(tables, total)
    widths = {seeds: rate.high - rate.low for seeds, rate in rates.items()}
    assert widths[3] < widths[2] < widths[1] == 2
