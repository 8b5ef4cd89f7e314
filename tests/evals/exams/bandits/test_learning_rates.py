"""Learning rates of learners whose rates are known; what choices do not tell is said."""

import asyncio
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from evals.exams.bandits.bandits import played_by
from evals.exams.bandits.games import FRAMES
from evals.exams.bandits.learners import ALIKE, LEARNERS, Learner
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


def test_what_was_left_moves_its_own_machine_by_a_rate_of_its_own():
    one = plays(KNOWN, "full", games=8, rounds=2)
    total, _ = likelihood(np.array([[0.6, 0.2, 0.3, 0.5, 6.0, 0.0]]), one)
    own = np.where(one.paid[:, 0] == 1, 0.6, 0.2) * (one.paid[:, 0] - 0.5)
    left = np.where(one.left[:, 0] == 1, 0.3, 0.5) * (one.left[:, 0] - 0.5)
    gap = (own - left) * np.where(one.machine[:, 0] == one.machine[:, 1], 1, -1)
    assert set(one.left[:, 0]) == {0, 1} and np.allclose(total[0], math.log(0.5) - np.log1p(np.exp(-6.0 * gap)))


@pytest.mark.parametrize("frame", FRAMES)
def test_the_slopes_are_those_of_the_likelihood(frame):
    one = plays(KNOWN, frame, games=4, rounds=8)
    at = np.array([*(0.5, 0.3, 0.4, 0.2)[: len(one.rates)], 4.0, 0.8])
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


def test_who_hardly_ever_names_a_machine_has_no_rate_however_well_it_chose():
    one = plays(KNOWN, games=8, rounds=8)
    better = np.argmax(one.better >= 0)
    once = np.full_like(one.machine, -1)
    once[better, 0] = one.better[better]
    found = learned(one._replace(machine=once), resamples=20)
    assert found.why.startswith("not identified: an answer names a machine in 0.") or found.better.low < 0.5
    assert found.better.value == 1 and found.better.low < 1 and math.isnan(found.beta.value)


def test_who_names_no_machine_has_no_fit():
    one = plays(KNOWN, games=4, rounds=4)
    found = learned(one._replace(machine=np.full_like(one.machine, -1)), resamples=10)
    assert found.why == "not identified: no answer named a machine" and math.isnan(found.better.value)


@pytest.mark.parametrize(
    ("frame", "of"), [("free", {"own"}), ("agency", {"own", "imposed"}), ("full", {"own", "unchosen"})]
)
def test_a_frame_has_the_rates_of_what_happens_in_it_and_no_other(frame, of):
    known = LEARNERS["learns from what confirms"]
    found = learned(plays(known, frame, games=48), resamples=20)
    rates = {name for name in RATES if name.partition("@")[2] in of}
    there = rates | {name for name, signs in DIFFERENCES.items() if signs.keys() <= rates}
    assert found.why == "" and {name for name, rate in found.rates.items() if not math.isnan(rate.value)} == there
    for name in there - rates:
        signed = [sign * found.rates[rate].value for rate, sign in DIFFERENCES[name].items()]
        assert found.rates[name].value == pytest.approx(sum(signed))


# alpha+ and alpha- of own choices, then of what was left.
@pytest.mark.parametrize(
    "known",
    [(0.6, 0.2, 0.2, 0.6), (0.2, 0.6, 0.6, 0.2), (0.6, 0.2, 0.6, 0.2), (0.4, 0.4, 0.4, 0.4), (0.5, 0.5, 0.0, 0.0)],
    ids=["confirms", "doubts", "optimist", "alike", "blind to what it left"],
)
def test_rates_of_what_was_left_are_found_and_who_learns_alike_has_no_asymmetry(known):
    paid, unpaid, left_paid, left_unpaid = known
    learner = Learner(paid=paid, unpaid=unpaid, beta=6.0, left_paid=left_paid, left_unpaid=left_unpaid, habit=0.5)
    *rates, beta, habit = likeliest(plays(learner, "full", games=120))
    assert np.allclose(rates, known, atol=0.15) and abs(beta - 6) < 1 and abs(habit - 0.5) < 0.3
    own, unchosen = rates[0] - rates[1], rates[2] - rates[3]
    assert abs(own - (paid - unpaid)) < 0.2 and abs(unchosen - (left_paid - left_unpaid)) < 0.2


@pytest.mark.parametrize(
    ("who", "signs"), [("learns from what confirms", [1, -1, 1]), ("learns alike from both", [0, 0, 0])]
)
def test_a_reversal_is_shown_by_whole_intervals_of_who_has_it_alone(who, signs):
    found = learned(plays(LEARNERS[who], "full", games=96), resamples=60).rates
    shown = [found[name] for name in ("asymmetry@own", "asymmetry@unchosen", "confirmation")]
    assert [int(rate.low > 0) - int(rate.high < 0) for rate in shown] == signs and not any(map(math.isnan, shown[0]))


@pytest.mark.slow
def test_intervals_hold_the_true_rates_about_as_often_as_they_should():
    fits = [learned(plays(KNOWN, seed=seed), resamples=80) for seed in range(30)]
    for name, truth in (("alpha+@own", 0.6), ("alpha-@own", 0.2), ("asymmetry@own", 0.4)):
        held = [found.rates[name].low <= truth <= found.rates[name].high for found in fits]
        assert sum(held) >= 24, name  # of a nominal .95; with .9 below 24 is one case in a hundred


@pytest.mark.slow
def test_intervals_hold_true_asymmetries_with_full_feedback_too():
    confirms, alike = LEARNERS["learns from what confirms"], replace(ALIKE, beta=4.0, habit=1.5)
    for learner, own, unchosen in ((confirms, 0.4, -0.4), (alike, 0.0, 0.0)):
        fits = [learned(plays(learner, "full", seed=seed), resamples=80).rates for seed in range(10)]
        for name, truth in (("asymmetry@own", own), ("asymmetry@unchosen", unchosen)):
            assert sum(fit[name].low <= truth <= fit[name].high for fit in fits) >= 7, name
    assert not any(fit["asymmetry@own"].low > 0 > fit["asymmetry@unchosen"].high for fit in fits)


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
