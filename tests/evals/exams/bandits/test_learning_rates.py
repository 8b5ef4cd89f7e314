"""Learning rates of learners whose rates are known; what choices do not tell is said."""

import asyncio
import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from evals.exams.bandits.bandits import played_by
from evals.exams.bandits.learners import Learner
from evals.exams.bandits.learning_rates import DIFFERENCES, RATES, fit, learned, likeliest, likelihood, plays_of
from evals.sitting.reference_rates import seated
from tests.builders import small_experiment

KNOWN = Learner(paid=0.6, unpaid=0.2, beta=6.0, watched_paid=0.4, watched_unpaid=0.4)


def plays(learner, frame="free", seed=0, **settings):
    experiment = small_experiment(exams={"include": ["bandits"], "bandits": settings}, seeds=[seed])
    played = asyncio.run(played_by(seated(experiment, learner, understands=True)))
    return plays_of([(seed, game, rounds) for game, rounds in played if game.frame == frame])


def test_the_likelihood_of_two_choices_is_what_the_learner_says():
    one = plays(KNOWN, games=4, rounds=2)
    total, _ = likelihood(np.array([[0.6, 0.2, 6.0, 0.7]]), one)
    moved = np.where(one.paid[:, 0] == 1, 0.6, 0.2) * (one.paid[:, 0] - 0.5)
    same = one.machine[:, 0] == one.machine[:, 1]
    gap = np.where(same, moved, -moved)  # of the machine that was chosen second, over the other
    assert np.allclose(total[0], math.log(0.5) - np.log1p(np.exp(-6.0 * gap - np.where(same, 0.7, -0.7))))


@pytest.mark.parametrize("frame", ["free", "agency"])
def test_the_slopes_are_those_of_the_likelihood(frame):
    one = plays(KNOWN, frame, games=4, rounds=8)
    at = np.array([*(0.5, 0.3, 0.4, 0.2)[: one.kinds], 4.0, 0.8])
    _, slopes = likelihood(at[None], one)
    found = approx_fprime(at, lambda x: likelihood(x[None], one)[0].sum(), 1e-6)
    assert np.allclose(slopes[0].sum(axis=0), found, rtol=1e-3, atol=1e-3)


def test_fits_that_are_made_together_are_those_that_are_made_apart():
    one = plays(KNOWN, games=12, rounds=12)
    weights = np.random.default_rng(1).multinomial(12, np.full(12, 1 / 12), size=6)
    starts = np.tile(likeliest(one), (6, 1))
    together, _ = fit(one, weights, starts)
    apart = np.vstack([fit(one, weights[i : i + 1], starts[i : i + 1])[0] for i in range(6)])
    assert np.allclose(together[:, :2], apart[:, :2], atol=0.01)


def test_who_chooses_by_lot_has_no_rate_and_the_reason_is_said():
    for seed in range(4):
        found = learned(plays(Learner(paid=0.5, unpaid=0.5, beta=0.0), seed=seed), resamples=200)
        assert found.why.startswith("not identified: the better machine in 0.")
        assert math.isnan(found.beta.value) and all(math.isnan(rate.value) for rate in found.rates.values())


def test_a_flat_beta_is_said_even_of_who_finds_the_better_machine():
    one = plays(KNOWN, games=8, rounds=8)
    # Chosen well, but never by what it was paid: every round paid nothing, so nothing is worth more.
    knowing = one._replace(machine=np.where(one.better < 0, 0, one.better)[:, None] + 0 * one.machine)
    found = learned(knowing._replace(paid=0 * one.paid), resamples=20)
    assert found.better.value == 1 and found.why.startswith("not identified: beta 0.00")


def test_who_never_changes_machine_has_no_rate_even_where_it_sits_at_the_better_one():
    one = plays(KNOWN, games=8, rounds=8)
    found = learned(one._replace(machine=np.where(one.better < 0, 0, one.better)[:, None] + 0 * one.machine), 20)
    assert found.better.value == 1 and found.why.startswith("not identified: ")
    assert all(math.isnan(rate.value) for rate in found.rates.values())


def test_who_names_no_machine_has_no_fit():
    one = plays(KNOWN, games=4, rounds=4)
    found = learned(one._replace(machine=np.full_like(one.machine, -1)), resamples=10)
    assert found.why == "not identified: no answer named a machine" and math.isnan(found.better.value)


def test_watched_rounds_have_rates_only_where_the_partner_picked():
    found = learned(plays(KNOWN), resamples=20)
    assert found.why == "" and not math.isnan(found.rates["asymmetry@own"].value)
    assert [name for name, rate in found.rates.items() if math.isnan(rate.value)] == [
        *RATES[2:],
        "asymmetry@imposed",
        "agency",
    ]


def test_a_difference_is_that_of_its_rates():
    found = learned(
        plays(Learner(paid=0.5, unpaid=0.2, beta=6.0, watched_paid=0.5, watched_unpaid=0.5), "agency", games=48),
        resamples=20,
    )
    rates = [found.rates[name].value for name in RATES]
    for name, signs in DIFFERENCES.items():
        assert found.rates[name].value == pytest.approx(sum(s * r for s, r in zip(signs, rates, strict=True)))


@pytest.mark.slow
def test_intervals_hold_the_true_rates_about_as_often_as_they_should():
    fits = [learned(plays(KNOWN, seed=seed), resamples=80) for seed in range(30)]
    for name, truth in (("alpha+@own", 0.6), ("alpha-@own", 0.2), ("asymmetry@own", 0.4)):
        held = [found.rates[name].low <= truth <= found.rates[name].high for found in fits]
        assert sum(held) >= 24, name  # of a nominal .95; with .9 below 24 is one case in a hundred


@pytest.mark.slow
def test_who_learns_from_its_own_choices_alone_is_told_from_who_learns_from_both():
    own = learned(plays(Learner(paid=0.5, unpaid=0.5, beta=6.0), "agency"), resamples=80)
    assert own.rates["alpha+@imposed"].high < 0.2 < own.rates["alpha+@own"].value
    both = learned(
        plays(Learner(paid=0.5, unpaid=0.5, beta=6.0, watched_paid=0.5, watched_unpaid=0.5), "agency"), resamples=80
    )
    assert both.rates["alpha+@imposed"].value > 0.2


@pytest.mark.slow
def test_who_repeats_itself_is_not_taken_for_one_who_learns_more_from_what_paid():
    fits = [
        learned(plays(Learner(paid=0.4, unpaid=0.4, beta=4.0, habit=1.5), seed=seed), resamples=80)
        for seed in range(10)
    ]
    assert not any(fit.why for fit in fits)
    held = [fit.rates["asymmetry@own"].low <= 0 <= fit.rates["asymmetry@own"].high for fit in fits]
    assert sum(held) >= 7 and min(fit.habit.low for fit in fits) > 0  # without habit in the fit 4 of 30 held zero
