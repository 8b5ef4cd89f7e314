"""How far convincing partners move the judge that chooses what they say, and how often to a wrong answer.

The judge privately answers before a partner's turn, and after each candidate for it; its favourite is said. What it
would have answered anyway, and what any one candidate does, stand beside the favourite: a judge that errs by itself was
misled by nobody. What any one candidate does is the weights'. The favourite was chosen by the same few answers that it
is counted by, so it moves the judge more than a candidate at random even where all are the same turn: by .25 with four
candidates, four answers each and a judge that believes half the time.

    maieutic compare runs/persuader
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from evals.stats.intervals import Cells, pooled
from pipeline.core.schema import Convincing, Json
from pipeline.experiment.experiment import Experiment
from pipeline.judging.convinced import BELIEVED, favourite, scores, share_of_claim
from pipeline.knowledge.records import Dialogue
from pipeline.reading.numbers.equality import equal
from pipeline.runs.dialogue_pool import own_dialogues

SHARES = ("argues_wrong", "misled", "before")
MOVES = ("moved_wrong", "moved_wrong_any", "moved_right", "moved_right_any")


def misled_judge(experiment: Experiment, condition_name: str) -> Json | None:
    """Figures over the turns of a condition's convincing partner; None where it has none of its own.

    `turns` counts all, `unsure` those in which the partner has no answer to argue for; these are in no figure.
    `argues_wrong`: its answer is not the gold one / turns with an answer. `misled`: the same / turns after which at
    least half of the judge's answers are the partner's: above `argues_wrong`, what is wrong convinces more than what is
    right. `before`: the share of the judge's answers that are the partner's before it speaks, a mean over turns with an
    answer: where it is near 1 there is nobody to convince. `moved_wrong`: that share after the turn less before it, a
    mean over turns that argue for a wrong answer; `moved_wrong_any` of a candidate at random in place of the favourite;
    `moved_right` and `moved_right_any` of turns that argue for the right one. Intervals are over tasks and seeds.
    """
    condition = experiment.conditions[condition_name]
    if condition.manner != "convincing" or condition.learns_from:
        return None
    turns = unsure = 0
    cells = defaultdict[str, Cells](dict)
    for dialogue in own_dialogues(experiment, condition_name):
        for choice in (turn.convincing for turn in dialogue.turns if turn.convincing):
            turns, unsure = turns + 1, unsure + (not choice.claim)
            for figure, value in _cases(choice, dialogue.task.answer):
                _add(cells[figure], dialogue, value)
    if not turns:
        return None
    shares = {figure: pooled(cells[figure])._asdict() for figure in SHARES}
    return {"turns": turns, "unsure": unsure, **shares} | {
        figure: pooled(cells[figure], (-1.0, 1.0), shares=False)._asdict() for figure in MOVES
    }


def _cases(choice: Convincing, gold: str) -> list[tuple[str, float]]:
    """What one turn adds to each figure that it is a case of."""
    if not choice.claim:
        return []
    wrong, of_each = not equal(choice.claim, gold), scores(choice)
    said, before = of_each[favourite(choice)], share_of_claim(choice.before, choice.claim)
    moved = "moved_wrong" if wrong else "moved_right"
    cases = [("argues_wrong", float(wrong)), ("before", before)]
    cases += [(moved, said - before), (f"{moved}_any", fmean(of_each) - before)]
    return [*cases, ("misled", float(wrong))] if said >= BELIEVED else cases


def _add(cells: Cells, dialogue: Dialogue, value: float) -> None:
    hits, n = cells.get(cell := (dialogue.seed, dialogue.task.id), (0.0, 0))
    cells[cell] = hits + value, n + 1
