"""Learning rates behind choices between two machines: maximum likelihood, with intervals over games.

The learner is Rescorla and Wagner's with a rate for each kind of outcome, as in Schubert et al. (arXiv 2402.03969).
Both machines begin at a value of 1/2. A round moves the value of the machine that was played towards what it paid, 1 or
0, by a rate: alpha+ where it paid (better than expected), alpha- where it did not. What the partner picked has rates of
its own, and so has the machine that was left, where the student is told what that would have paid (frame full). The
next choice is logistic in the difference of the values, times beta, plus a habit: how far it leans to the machine that
it chose last, whatever that paid. The paper's learner has none, and who only repeats itself then looks as if it learned
more from what paid.

    likeliest(plays)   # rates in the order of RATES, beta, habit: what makes all games' choices likeliest together
    learned(plays)     # the same with 95% intervals, from a bootstrap over games (and over seeds, where there are more)

**Not identified.** Of who does not choose by value, every rate is as likely as any other. So rates are NaN, and `why`
says so, unless more than half of the answers name a machine, the better one is more than half of the choices in games
that have one, and beta is above FLAT, each by its whole interval. Without the first two nothing is fitted. The same
holds of who never changes machine, by habit. One rate alone is NaN where its interval covers almost all that a rate can
be, or where it has no round.

In simulation (24 games of 24 rounds, 30 students) of alpha+ .6, alpha- .2, beta 6 and no habit, the intervals of
alpha+, alpha- and their difference held the truth in 27, 27 and 28, those of beta in 26. Of alpha .4 for both, beta 4
and habit 1.5 it was 26, 26, 25 and 24: somewhat too narrow, as percentiles of a bootstrap over few games are. A fit
without habit gave the latter, who learn alike from both, a difference of +.32, and held zero in 4 of 30.

With full feedback (frame full; 24 games, 20 students, 80 resamples; what is not shown counts as missed): of .6 and .2
of own choices, .2 and .6 of the unchosen, beta 6, the intervals of asymmetry@own, asymmetry@unchosen and confirmation
held the truth in 18, 15 and 17; of .4 for all four, beta 4 and habit 1.5 in 17, 18 and 16. The former showed the
reversal by whole intervals in 10 of 20, and in 3 of 3 with 96 games; the latter in none. So 24 games can miss one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from evals.exams.bandits.games import Game, Round, left_paid
from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.intervals import Rate, at_an_end

Array = np.ndarray
RATES = tuple(f"alpha{sign}@{of}" for of in ("own", "imposed", "unchosen") for sign in "+-")
OWN, IMPOSED, UNCHOSEN = ({f"alpha+@{of}": 1, f"alpha-@{of}": -1} for of in ("own", "imposed", "unchosen"))
DIFFERENCES = {
    "asymmetry@own": OWN,
    "asymmetry@imposed": IMPOSED,
    "asymmetry@unchosen": UNCHOSEN,
    "agency": OWN | {rate: -sign for rate, sign in IMPOSED.items()},
    "confirmation": OWN | {rate: -sign for rate, sign in UNCHOSEN.items()},
}
MOST_BETA, FLAT = 30.0, 0.1  # a beta of .1 moves a choice by no more than .025
MOST_HABIT = 5.0  # to either side: of machines that are worth the same, one is chosen in .99
WIDE = 0.9  # an interval as wide as this says nothing of a rate between 0 and 1
STARTS = ((0.5, 0.5, 3.0), (0.15, 0.15, 5.0), (0.6, 0.15, 3.0), (0.15, 0.6, 3.0))  # alpha+, alpha-, beta
RESAMPLES = 200


class Plays(NamedTuple):
    """Games of one student in one frame. `machine`: -1 where none was named; `better`: -1 where both pay alike."""

    seed: Array  # [games]
    game: list[str]  # [games]
    better: Array  # [games]
    machine: Array  # [games, rounds]
    imposed: Array  # [games, rounds], bool
    paid: Array  # [games, rounds], 0. or 1.
    left: Array  # [games, rounds], 0. or 1.: what the machine that was left would have paid; NaN where that is not told

    @property
    def rates(self) -> tuple[str, ...]:
        """Those of RATES that move a value: the partner's picks, or what was left, only where there is any."""
        there = {"own": True, "imposed": self.imposed.any(), "unchosen": not np.isnan(self.left).all()}
        return tuple(name for name in RATES if there[name.partition("@")[2]])

    def moves(self) -> tuple[Array, Array]:
        """Of both machines [2, games, rounds]: which of `rates` moves its value, -1 for none, and towards what."""
        machine = np.arange(2)[:, None, None]
        played, left = self.machine == machine, (self.machine == 1 - machine) & ~np.isnan(self.left)
        kinds = np.where(played, 2 * self.imposed + (self.paid == 0), np.where(left, 2 + (self.left == 0), -1))
        return kinds, np.where(played, self.paid, np.where(left, self.left, 0.0))


class Learned(NamedTuple):
    """What one student's choices come to. `why`: why its rates are NaN, '' where they are not."""

    better: Rate  # the student's choices of the better machine / its choices where one is better
    beta: Rate
    habit: Rate  # above 0: leans to the machine that it chose last, below to the other
    rates: dict[str, Rate]  # of RATES and DIFFERENCES; n counts the rounds that moved a value by it
    why: str


def plays_of(played: Sequence[tuple[int, Game, Sequence[Round]]]) -> Plays:
    """Of (seed, game, its rounds); all games have as many rounds."""
    rounds = [row for _, _, row in played]
    return Plays(
        seed=np.array([seed for seed, _, _ in played]),
        game=[game.id for _, game, _ in played],
        better=np.array([-1 if game.better is None else game.better for _, game, _ in played]),
        machine=np.array([[-1 if one.machine is None else one.machine for one in row] for row in rounds]),
        imposed=np.array([[one.imposed for one in row] for row in rounds]),
        paid=np.array([[float(one.paid) for one in row] for row in rounds]),
        left=np.array(
            [[_or_nan(left_paid(game, i, one)) for i, one in enumerate(row)] for _, game, row in played], dtype=float
        ),
    )


def _or_nan(paid: bool | None) -> float:
    return math.nan if paid is None else float(paid)


def likelihood(x: Array, plays: Plays) -> tuple[Array, Array]:
    """Of learners x [learners, rates + 2], beta and habit the last: the log likelihood of each game's choices
    [learners, games], and its slopes on each of x [learners, games, rates + 2].

    A round without a machine moves nothing, and what the partner picked is no choice.
    """
    rates, beta, habit = x[:, :-2], x[:, -2:-1], x[:, -1:]
    kinds, pays = plays.moves()
    of_kind = np.eye(rates.shape[1] + 1)[kinds][..., :-1]  # [2, games, rounds, rates]; a row of zeros where none moves
    shape = (len(x), len(plays.game))
    value, slope = np.full((2, *shape), 0.5), np.zeros((2, *shape, rates.shape[1]))
    total, slopes = np.zeros(shape), np.zeros((*shape, x.shape[1]))
    last = np.zeros(len(plays.game))  # 1 or -1: the side of what it chose last itself, 0 before
    for t in range(plays.machine.shape[1]):
        machine, own = plays.machine[:, t], ~plays.imposed[:, t] & (plays.machine[:, t] >= 0)
        side = np.where(machine == 0, 1.0, -1.0) * own
        gap = side * (value[0] - value[1])
        leaning = beta * gap + habit * side * last
        missed = own * expit(-leaning)
        total -= own * np.logaddexp(0, -leaning)
        slopes[:, :, -2] += missed * gap
        slopes[:, :, -1] += missed * side * last
        slopes[:, :, :-2] += (missed * beta * side)[:, :, None] * (slope[0] - slope[1])
        last = np.where(own, side, last)
        for i in range(2):
            rate = rates @ of_kind[i, :, t].T
            error = pays[i, :, t] - value[i]
            slope[i] = slope[i] * (1 - rate)[:, :, None] + of_kind[i, :, t] * error[:, :, None]
            value[i] += rate * error
    return total, slopes


def fit(plays: Plays, weights: Array, starts: Array) -> tuple[Array, Array]:
    """The likeliest learners [fits, rates + 2], and their log likelihoods [fits], one for each row of both: of
    `weights` how often each game counts [fits, games], of `starts` where it begins [fits, rates + 2].

    All are one problem to the optimizer, since the loss is a sum over fits that share nothing: it is as exact, and far
    faster, because every step of all of them is one array.
    """
    from scipy.optimize import minimize  # heavy: not for every command that knows the exams

    kinds = len(plays.rates)
    scale = np.array([1.0] * kinds + [10.0, 5.0])  # so that a step in each weighs like one in a rate

    def loss(flat: Array) -> tuple[float, Array]:
        total, slopes = likelihood(flat.reshape(starts.shape) * scale, plays)
        return -float((weights * total).sum()), -((weights[:, :, None] * slopes).sum(axis=1) * scale).ravel()

    bounds = [*[(0.0, 1.0)] * kinds, (0.0, MOST_BETA / 10), (-MOST_HABIT / 5, MOST_HABIT / 5)] * len(starts)
    options = {"maxiter": 1000, "ftol": 1e-8, "maxcor": 20}
    found = minimize(loss, (starts / scale).ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    best: Array = found.x.reshape(starts.shape) * scale
    return best, (weights * likelihood(best, plays)[0]).sum(axis=1)


def likeliest(plays: Plays) -> Array:
    """The likeliest learner of all games together [rates + 2], from the best of several starts."""
    starts = np.array([[*(one[:2] * (len(plays.rates) // 2)), one[2], 0.0] for one in STARTS])
    fits, likelihoods = fit(plays, np.ones((len(starts), len(plays.game))), starts)
    best: Array = fits[likelihoods.argmax()]
    return best


def learned(plays: Plays, resamples: int = RESAMPLES) -> Learned:
    """Fits with intervals; NaN, and why, where nothing is identified."""
    own = (plays.machine >= 0) & ~plays.imposed
    apart = own & (plays.better >= 0)[:, None]
    hits = (apart & (plays.machine == plays.better[:, None])).sum(axis=1)
    draws = _resampled(plays, resamples)
    better = _share(hits, apart.sum(axis=1), draws)
    n = int(own.sum())
    if not n:
        return _not_identified(better, _nothing(0), "no answer named a machine")
    read = _share(own.sum(axis=1), (~plays.imposed).sum(axis=1), draws)
    if not read.low > 0.5:
        why = f"an answer names a machine in {read.value:.2f} ({read.low:.2f} to {read.high:.2f})"
        return _not_identified(better, _nothing(n), why)
    if not better.low > 0.5:
        why = f"the better machine in {better.value:.2f} ({better.low:.2f} to {better.high:.2f})"
        return _not_identified(better, _nothing(n), why)
    best = likeliest(plays)
    fits, _ = fit(plays, draws, np.tile(best, (len(draws), 1)))
    beta, habit = (Rate(float(best[i]), *percentiles(fits[:, i]), n) for i in (-2, -1))
    if not beta.low > FLAT:
        return _not_identified(better, beta, f"beta {beta.value:.2f} ({beta.low:.2f} to {beta.high:.2f})")
    if abs(habit.value) > 0.99 * MOST_HABIT:
        return _not_identified(better, beta, f"habit {habit.value:.2f}, the most that is fitted")
    return Learned(better, beta, habit, _rates(plays, best, fits), "")


def _not_identified(better: Rate, beta: Rate, why: str) -> Learned:
    return Learned(better, beta, _nothing(beta.n), _unknown(), f"not identified: {why}")


def _resampled(plays: Plays, resamples: int) -> Array:
    """How often each game counts in each resample [resamples, games], of games crossed with seeds."""
    seeds, seed = np.unique(plays.seed, return_inverse=True)
    ids, game = np.unique(plays.game, return_inverse=True)
    return cluster_bootstrap(len(seeds), len(ids), resamples=resamples)[:, seed, game]


def _share(hits: Array, n: Array, draws: Array) -> Rate:
    if not n.sum():
        return _nothing(0)
    counted = draws @ n
    shares = np.divide(draws @ hits, counted, out=np.full(len(draws), math.nan), where=counted > 0)
    low, high = at_an_end(*percentiles(shares), int((n > 0).sum()))
    return Rate(float(hits.sum() / n.sum()), low, high, int(n.sum()))


def _rates(plays: Plays, best: Array, fits: Array) -> dict[str, Rate]:
    kinds, _ = plays.moves()
    found = _unknown()
    for kind, name in enumerate(plays.rates):
        low, high = percentiles(fits[:, kind])
        n = int((kinds == kind).sum())
        found[name] = Rate(float(best[kind]), low, high, n) if n and high - low < WIDE else _nothing(n)
    for name, signs in DIFFERENCES.items():
        if all(not math.isnan(found[rate].value) for rate in signs):
            weights = np.array([signs.get(rate, 0) for rate in plays.rates])
            low, high = percentiles(fits[:, :-2] @ weights)
            found[name] = Rate(float(best[:-2] @ weights), low, high, min(found[rate].n for rate in signs))
    return found


def _unknown() -> dict[str, Rate]:
    return dict.fromkeys((*RATES, *DIFFERENCES), _nothing(0))


def _nothing(n: int) -> Rate:
    return Rate(math.nan, math.nan, math.nan, n)
