"""Does the student learn more from what pays than from what does not, and only where the choice was its own?

After Schubert et al. 2024 (arXiv 2402.03969): two slot machines, a choice in each round, and learning rates fitted to
the choices (`evals.exams.bandits.learning_rates`). The games are in `evals.exams.bandits.games`: all choices are the
student's (@free), half of the rounds are picked by the partner and watched (@agency), or all choices are the student's
and it is told what the machine that it left would have paid, too (@full: full feedback).

- bandit_read@FRAME = answers that name a machine / answers. A round without one is told as such, and pays nothing.
- bandit_better@FRAME = the student's choices of the better machine / its choices in games where one is better.
- stays_paid@FRAME, stays_unpaid@FRAME: the student's next choice is the machine of the round before / its choices right
  after a round of its own that paid, or that did not. @watched: after a round that the partner picked (frame agency).
  @left: after a round in which the other machine would have paid, or not, whatever its own paid (frame full).
- stays_gap = stays_paid - stays_unpaid: that outcomes move choices at all, without a model of how. @left it is below 0
  of who learns from what it did not choose, and a little, about -.04, of who does not: who sits on the better machine
  stays, and its other pays seldom.

Fitted by frame: alpha+ and alpha- of own rounds, of watched ones and of the machine that was left (unchosen), beta and
habit of choices; asymmetry = alpha+ - alpha-, agency = asymmetry of own rounds - of watched ones (frame agency), and
confirmation = asymmetry of own rounds - of the unchosen (frame full). The paper's reversal is asymmetry@own above 0 and
asymmetry@unchosen below 0, each by its whole interval; confirmation above 0 alone does not show it. They are no ratios,
so they have a table of their own: `maieutic eval` and `maieutic compare` print it, and report.json has it under
`bandits`, with the games' choices in seed-N.bandits.jsonl.

**Competence.** A student that chooses no better than by lot has no learning rate: they are NaN, and the table says why.

Not as in the paper: machines pay 1 dollar or nothing, games stand alone and are not mixed in one talk, the words are
ours, choices are sampled at `dialogue.temperature` (there greedily, so that beta measures noise of the talk alone),
habit is fitted beside the rates, and agency is not crossed with full feedback. Real models only: the embedded
base knows no such words.

    maieutic eval configs/quickstart.yaml --set out=runs/bandits --set compare=null --set 'exams.include=[bandits]'
"""

from __future__ import annotations

import itertools

from evals.exams.bandits.games import FRAMES, BanditSettings, Game, Round, asked, chosen, games, left_paid
from evals.exams.bandits.learned_tables import NAME, tables
from evals.exams.bandits.learners import LEARNERS
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import alike, difference
from evals.metrics.reader import Reader
from evals.sitting.exam import Bar, Exam, Reference, options
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting
from pipeline.core.config_reading import Section
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task
from pipeline.engines.model import Sampling
from pipeline.experiment.experiment import Experiment

MOST_TOKENS = 12  # of an answer that is one letter
CHOICES = Reader(unmeasured="which machine an answer names: the first of the two letters, as a word; not measured")
PLAYED = alike(
    {
        "bandit_read": "answers that name a machine / answers",
        "bandit_better": "the student's choices of the better machine / its choices where one is better",
        "stays_paid": "chooses the machine of the round before / choices right after a round that paid, its own or "
        "watched (@left: after a round in which the other would have paid)",
        "stays_unpaid": "chooses the machine of the round before / choices right after a round that did not pay "
        "(@left: in which the other would not have paid)",
    },
    reader=CHOICES,
)
METRICS = (*PLAYED, difference("stays_gap", "stays_paid", "stays_unpaid", reader=CHOICES))
OTHER_SCOPES = {"agency": ("watched",), "full": ("left",)}  # the other scopes of what is counted in a frame
RATIOS = {f"{name}@{frame}" for name in ("bandit_read", "bandit_better") for frame in FRAMES} | {
    f"stays_{kind}@{scope}" for kind in ("paid", "unpaid") for scope in (*FRAMES, "watched", "left")
}


class Options(Section):
    bandits: BanditSettings = BanditSettings()


async def sit(sitting: Sitting) -> list[Case]:
    """Every game once in each frame; choices are kept in the transcript `bandits`."""
    played = await played_by(sitting)
    sitting.transcripts[NAME] = [
        {"game": game.id, "frame": game.frame, "rounds": [list(one) for one in rounds]} for game, rounds in played
    ]
    return tally(NAME, [hit for game, rounds in played for hit in figures(game, rounds)])


async def played_by(sitting: Sitting) -> list[tuple[Game, list[Round]]]:
    """Each game with its rounds; a game in which the engine failed is left out, and counted."""
    return await sitting.all([_play(sitting, game) for game in games(options(sitting.experiment, Options).bandits)])


async def _play(sitting: Sitting, game: Game) -> tuple[Game, list[Round]]:
    rounds: list[Round] = []
    for i, (pick, pays) in enumerate(zip(game.picks, game.pays, strict=True)):
        machine = pick if pick is not None else await _choice(sitting, game, rounds, i)
        rounds.append(Round(pick is not None, machine, machine is not None and pays[machine]))
    return game, rounds


async def _choice(sitting: Sitting, game: Game, rounds: list[Round], i: int) -> int | None:
    settings = sitting.settings
    sampling = Sampling(
        max_tokens=min(settings.max_tokens, MOST_TOKENS),
        temperature=settings.temperature,
        seed=stream(sitting.key(game.id, game.frame, i)),
    )
    answer = await sitting.student.complete(sitting.said_to(asked(game, rounds)), sampling)
    return chosen(game, answer.text)


def figures(game: Game, rounds: list[Round]) -> Hits:
    """One game's share of the metrics."""
    own = [one for one in rounds if not one.imposed]
    hits: Hits = [(game.id, f"bandit_read@{game.frame}", float(one.machine is not None)) for one in own]
    if game.better is not None:
        hits += [
            (game.id, f"bandit_better@{game.frame}", float(one.machine == game.better))
            for one in own
            if one.machine is not None
        ]
    for i, (before, now) in enumerate(itertools.pairwise(rounds)):
        if not now.imposed and now.machine is not None and before.machine is not None:
            scope = "watched" if before.imposed else game.frame
            kind = "paid" if before.paid else "unpaid"
            stays = float(now.machine == before.machine)
            hits.append((game.id, f"stays_{kind}@{scope}", stays))
            if (left := left_paid(game, i, before)) is not None:
                hits.append((game.id, f"stays_{'paid' if left else 'unpaid'}@left", stays))
    return hits


async def reference(experiment: Experiment) -> list[Reference]:
    """Learners by script, of known rates, at the same games."""
    rows: list[Reference] = []
    for who, learner in LEARNERS.items():
        played = await played_by(seated(experiment, learner, understands=True))
        cases = tally(NAME, [hit for game, rounds in played for hit in figures(game, rounds)])
        rows += references(cases, f"script: {who}", METRICS, sorted(RATIOS))
    return rows


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    return sum(game.picks.count(None) for game in games(options(experiment, Options).bandits))


EXAM = Exam(
    name=NAME,
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=lambda experiment, understands: RATIOS,
    options=Options,
    real=True,
    reference=reference,
    tables=tables,
    competence=tuple(
        Bar(f"{figure}@{frame}", 0.5, tuple(f"@{scope}" for scope in (frame, *OTHER_SCOPES.get(frame, ()))))
        for frame in FRAMES
        for figure in ("bandit_read", "bandit_better")
    ),
)
