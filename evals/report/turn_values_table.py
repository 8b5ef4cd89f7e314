"""What each kind of move is worth under a condition, from its turn-value ledger, and what that predicts.

A move's value is the mean worth of the siblings that make it; its advantage is that less the mean worth of all
siblings of the same branch, so that hard tasks do not count against the moves that they call for. Intervals are
those of every other rate, over tasks and seeds.

    maieutic compare runs/methods
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.report.counts import tokens_of
from evals.stats.intervals import Tables, estimate
from pipeline.building.turn_values import TurnValue, turn_value
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Branch
from pipeline.reading.acts import MOVES, asked, move
from pipeline.runs.pool import branches_path
from pipeline.runs.store import read

Json = dict[str, Any]
# What the first-turn exam counts, and which moves on which tasks are that.
EXAMINED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ask_needed": (("underspecified", "sharded"), ("ask",)),
    "attempt_unknowing": (("underspecified", "sharded"), ("attempt", "guess")),
    "ask_needless": (("full",), ("ask", "ask_other")),
}


def values(run: Path, experiment: Experiment, name: str) -> Json | None:
    """The values of one condition's moves, and the shares that selection of what succeeds would give. None without
    a ledger.

    `values` has a row for each specification, student turn and move; `share` is how often it was sampled.
    `facts` has the same for the first missing fact that a question asks for, by the fact's id.
    `predicted` is, for metrics of the first-turn exam, share of successes that went through such a move: what
    training on the successful siblings alone would lead to. `advantages` has the advantage of those same moves.
    """
    tables: Tables = {}
    found: dict[tuple[str, int, str], list[TurnValue]] = defaultdict(list)
    tokens, branches, rollouts = 0, 0, 0

    def add(metric: str, branch: Branch, hits: float, n: int = 1) -> None:
        table, cell = tables.setdefault((metric, False), {}), (branch.seed, branch.task.id)
        before, count = table.get(cell, (0.0, 0))
        table[cell] = before + hits, count + n

    for branch in read(branches_path(run, name), Branch):
        branches += 1
        tokens += tokens_of(branch)
        rollouts += sum(len(sibling.rollouts) for sibling in branch.siblings)
        of_siblings = [turn_value(branch, i, experiment.turn_values) for i in range(len(branch.siblings))]
        mean = fmean(one.value for one in of_siblings)
        for sibling, one in zip(branch.siblings, of_siblings, strict=True):
            made = move(sibling.turn.text, branch.task.facts, branch.task.entry)
            missing = {fact.id for fact in branch.task.missing}
            first = next((fact for fact in asked(sibling.turn.text, branch.task.facts) if fact in missing), None)
            for kind in [made, *([f"ask {first}"] if made == "ask" and first else [])]:
                where = branch.task.specification, branch.at, kind
                found[where].append(one)
                add(f"value {where}", branch, one.value)
                add(f"advantage {where}", branch, one.value - mean)
            if branch.at == 0:
                for metric, (specifications, moves) in EXAMINED.items():
                    if branch.task.specification in specifications:
                        right = round(one.success * len(sibling.rollouts))
                        add(f"predicted {metric}", branch, right * (made in moves), right)
                        if made in moves:
                            add(f"advantage {metric}", branch, one.value - mean)
    if not branches:
        return None
    dearest = max(one.success - one.value for turns in found.values() for one in turns)
    worths_lie, advantages_lie = (0.0 - dearest, 1.0), (-1 - dearest, 1 + dearest)
    of_all = Counter((spec, at) for spec, at, kind in found for _ in found[spec, at, kind] if kind in MOVES)
    rows = [
        {
            "specification": spec,
            "at": at,
            "move": kind,
            "share": len(turns) / of_all[spec, at],
            "value": estimate(tables, f"value {(spec, at, kind)}", limits=worths_lie)._asdict(),
            "advantage": estimate(tables, f"advantage {(spec, at, kind)}", limits=advantages_lie)._asdict(),
            "success": fmean(one.success for one in turns),
            "tokens": fmean(one.tokens for one in turns),
            "questions": fmean(one.questions for one in turns),
        }
        for (spec, at, kind), turns in sorted(found.items())
    ]
    return {
        "branches": branches,
        "rollouts": rollouts,
        "sampled_tokens": tokens,
        "token_price": experiment.turn_values.token_price,
        "question_price": experiment.turn_values.question_price,
        "values": [row for row in rows if row["move"] in MOVES],
        "facts": [row for row in rows if row["move"] not in MOVES],
        "predicted": {
            metric: estimate(tables, f"predicted {metric}")._asdict()
            for metric in EXAMINED
            if (f"predicted {metric}", False) in tables
        },
        "advantages": {
            metric: estimate(tables, f"advantage {metric}", limits=advantages_lie)._asdict()
            for metric in EXAMINED
            if (f"advantage {metric}", False) in tables
        },
    }
