"""The value of each kind of move under a condition, from its turn values, and what that predicts.

The value of a turn is the Monte Carlo return of playing on from it (pipeline.building.turn_values). A move's value is
the mean of the siblings that make it; its advantage is that less the mean of all siblings of the same branch, so that
hard tasks do not count against the moves that they call for. Intervals are those of every other rate, over tasks and
seeds.

    maieutic compare runs/methods
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean

from evals.exams.asking import MOVES_OF
from evals.report.budgets.budget_points import tokens_of
from evals.stats.intervals import Cells, pooled
from pipeline.building.turn_values import TurnValue, turn_value
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.judging.moves import MOVES, move
from pipeline.knowledge.records import Branch, Sibling
from pipeline.reading.stored import student_reading
from pipeline.runs.dialogue_pool import branches_of

Place = tuple[str, int, str]  # specification, student turn (0 is the first), and move; "ask FACT" is a move too


class BranchSums:
    """Sums over the branches of one condition, by place and by metric of first turns."""

    def __init__(self) -> None:
        self.branches = self.tokens = self.rollouts = 0
        self.siblings: dict[Place, list[TurnValue]] = defaultdict(list)
        self.value: dict[Place, Cells] = defaultdict(dict)
        self.advantage: dict[Place, Cells] = defaultdict(dict)
        self.predicted: dict[str, Cells] = defaultdict(dict)
        self.advantage_of: dict[str, Cells] = defaultdict(dict)

    def add(self, branch: Branch, experiment: Experiment) -> None:
        self.branches += 1
        self.tokens += tokens_of(branch)
        self.rollouts += sum(len(sibling.rollouts) for sibling in branch.siblings)
        whose = experiment.conditions[branch.condition_name]
        prices = experiment.turn_values_of(whose)
        returns = [turn_value(branch, i, prices, whose.selection) for i in range(len(branch.siblings))]
        mean = fmean(sibling.value for sibling in returns)
        for sibling, value in zip(branch.siblings, returns, strict=True):
            made, *facts = moves_of(branch, sibling)
            for kind in (made, *facts):
                place = branch.task.specification, branch.at, kind
                self.siblings[place].append(value)
                _add(self.value[place], branch, value.value)
                _add(self.advantage[place], branch, value.value - mean)
            for metric, (specifications, moves) in MOVES_OF.items():
                if branch.at == 0 and branch.task.specification in specifications:
                    right = round(value.success * len(sibling.rollouts))
                    _add(self.predicted[metric], branch, right * (made in moves), right)
                    if made in moves:
                        _add(self.advantage_of[metric], branch, value.value - mean)

    def rows(self, values_lie: tuple[float, float], advantages_lie: tuple[float, float]) -> list[Json]:
        """One for each place, means over its siblings; intervals end at the given limits."""
        of_all = Counter(
            (spec, at) for spec, at, kind in self.siblings if kind in MOVES for _ in self.siblings[spec, at, kind]
        )
        return [
            {
                "specification": spec,
                "at": at,
                "move": kind,
                "share": len(siblings) / of_all[spec, at],
                "value": pooled(self.value[spec, at, kind], values_lie)._asdict(),
                "advantage": pooled(self.advantage[spec, at, kind], advantages_lie, shares=False)._asdict(),
                "success": fmean(value.success for value in siblings),
                "tokens": fmean(value.tokens for value in siblings),
                "questions": fmean(value.questions for value in siblings),
            }
            for (spec, at, kind), siblings in sorted(self.siblings.items())
        ]


def moves_of(branch: Branch, sibling: Sibling) -> list[str]:
    """The move that a turn makes, and "ask FACT" where it asks for missing facts, the first of them in the problem."""
    reading = student_reading(branch.task, [*branch.prefix, sibling.turn], len(branch.prefix))
    made = move(branch.task, reading)
    first = next((fact.id for fact in branch.task.missing if fact.id in reading.asks), None)
    return [made, f"ask {first}"] if made == "ask" else [made]


def _add(cells: Cells, branch: Branch, hits: float, n: int = 1) -> None:
    cell = branch.seed, branch.task.id
    before, count = cells.get(cell, (0.0, 0))
    cells[cell] = before + hits, count + n


def values(experiment: Experiment, condition_name: str) -> Json | None:
    """The values of one condition's moves, and the shares that selection of what succeeds would give.

    None where it has none.

    `values` has a row for each specification, student turn and move; `share` is how often it was sampled.
    `facts` has the same for the missing fact that a turn asks for, the first in the problem, by the fact's id.
    `predicted` is, for metrics of the first-turn exam, share of successes that went through such a move: what
    training on the successful siblings alone would lead to. `advantages` has the advantage of those same moves.
    """
    sums = BranchSums()
    for branch in branches_of(experiment, condition_name):
        sums.add(branch, experiment)
    if not sums.branches:
        return None
    prices = experiment.turn_values_of(experiment.conditions[condition_name])
    dearest = max(v.success - v.value for siblings in sums.siblings.values() for v in siblings)
    values_lie, advantages_lie = (0.0 - dearest, 1.0), (-1 - dearest, 1 + dearest)
    rows = sums.rows(values_lie, advantages_lie)
    return {
        "branches": sums.branches,
        "rollouts": sums.rollouts,
        "sampled_tokens": sums.tokens,
        "token_price": prices.token_price,
        "question_price": prices.question_price,
        "values": [row for row in rows if row["move"] in MOVES],
        "facts": [row for row in rows if row["move"] not in MOVES],
        "predicted": {m: pooled(sums.predicted[m])._asdict() for m in MOVES_OF if m in sums.predicted},
        "advantages": {
            m: pooled(sums.advantage_of[m], advantages_lie, shares=False)._asdict()
            for m in MOVES_OF
            if m in sums.advantage_of
        },
    }
