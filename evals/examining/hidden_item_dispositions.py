"""What the base of hidden items does before any training, against the bars that its recipe must meet.

    python -m evals.examining.hidden_item_dispositions data/hidden_item_base     # prints, and writes dispositions.json

On items that trained nobody (split `exam`), at temperature 1. `fits`: an option that is put forward is possible by all
that the student was told, over turns that put one forward. The three ways of getting at more are to be as rare on full
tasks as on underspecified ones.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.exams.narrowing.exchanges import Option, exchanges, options_left
from evals.metrics.case import Case, tally
from evals.metrics.metric import ratio
from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import Sitting
from evals.stats.intervals import estimate, tabulate
from pipeline.core.files import write_whole
from pipeline.core.schema import Message, Task, Turn
from pipeline.datasets.first_acts import act_of
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.weights import weights_id
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.open_role import open_role
from pipeline.knowledge.known import known
from pipeline.knowledge.view import view
from pipeline.reading.stored import student_reading
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks

DRAWS = 4
WAYS = {"ask": "open", "ask_known": "open", "closed": "closed", "ask_generic": "other", "ask_other": "other"}
RARE = (0.04, 0.13)
# metric: (low, high)
BARS = {
    **{f"{way}_{kind}": RARE for way in ("open", "closed", "other") for kind in ("full", "underspecified")},
    "fits_easy": (0.85, 1.0),
    "fits_hard": (0.60, 1.0),
    "fits_told": (0.80, 1.0),
    "fits_yes": (0.70, 1.0),
    "fits_no": (0.55, 1.0),
}


async def first_turns(sitting: Sitting, task: Task) -> list[tuple[str, str, float]]:
    turns = await sitting.turns(task, await sitting.sample(_seen(sitting, task, []), DRAWS, task.id, "first"))
    left = options_left(task, known(task, OPENING, "student").facts)
    hits = list[tuple[str, str, float]]()
    for turn in turns:
        way = WAYS.get(act_of(task, student_reading(task, [turn], 0)), "")
        hits += [(task.id, f"{each}_{task.specification}", float(way == each)) for each in ("open", "closed", "other")]
        hits += [(task.id, f"fits_{task.stratum}", hit) for hit in _fits(task, [turn], left)]
    return hits


async def after(sitting: Sitting, task: Task) -> list[tuple[str, str, float]]:
    """After a fact was asked for and told, after a yes, and after a no."""
    assert task.choice is not None
    fact, words = task.missing[0], WORDINGS["exam"]
    column = task.choice.attribute(fact.value) or 0
    other = next(option[column] for option in task.choice.options if option[column] != fact.value)
    talks = {
        "told": (fact.ask, words["tell"][0].format(fact.text)),
        "yes": (f"Is it {fact.value}?", words["yes"][0]),
        "no": (f"Is it {other}?", words["no"][0]),
    }
    hits = list[tuple[str, str, float]]()
    for name, (asked, answered) in talks.items():
        before = [Turn(party="student", text=asked), Turn(party="partner", text=answered)]
        drawn = await sitting.turns(task, await sitting.sample(_seen(sitting, task, before), DRAWS, task.id, name))
        for turn in drawn:
            turns = [*before, turn]
            left = exchanges(task, known(task, OPENING, "student").facts, turns)[0].after
            hits += [(task.id, f"fits_{name}", hit) for hit in _fits(task, turns, left)]
    return hits


def _seen(sitting: Sitting, task: Task, turns: Sequence[Turn]) -> list[Message]:
    return view(task, OPENING, turns, "student", sitting.prompts)


def _fits(task: Task, turns: Sequence[Turn], left: frozenset[Option]) -> Iterator[float]:
    assert task.choice is not None
    if tried := student_reading(task, turns, len(turns) - 1).attempt:
        yield float(tried in {task.choice.name(option) for option in left})


async def measure(model: str, count: int, seed: int) -> dict[str, dict[str, float]]:
    """The base's metrics: {metric: {value, low, high, n}}."""
    config = {
        "name": "dispositions",
        "tasks": {"source": "hidden_item"},
        "student": {"model": model},
        "engine": {"kind": "transformers"},
        "seeds": [1],
        "conditions": {"none": {"partition": "solo"}},
    }
    experiment = Experiment.model_validate(config)
    full, lacking = (
        list(itertools.islice(hidden_item_tasks("exam", name, seed), count)) for name in ("full", "underspecified")
    )
    student = open_role(experiment, "student")
    sitting = Sitting(
        experiment=experiment, student=student, peer=student, seed=1, tasks=(*full, *lacking), first_turn_tasks=()
    )
    hits = await sitting.all([first_turns(sitting, task) for task in sitting.tasks])
    hits += await sitting.all([after(sitting, task) for task in lacking])
    cases: list[Case] = tally("dispositions", [hit for part in hits for hit in part])
    tables = tabulate({1: cases})
    return {
        name: {key: round(value, 4) for key, value in estimate(tables, ratio(name))._asdict().items()}
        for name, _ in sorted(tables)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tasks", type=int, default=150, help="per specification")
    parser.add_argument("--seed", type=int, default=77, help="of the tasks; only 77 is recorded")
    options = parser.parse_args()
    metrics = asyncio.run(measure(options.model, options.tasks, options.seed))
    for name, rate in metrics.items():
        low, high = BARS[name]
        met = "met" if low <= rate["value"] <= high else "MISSED"
        print(f"{name:22} {rate['value']:.3f} [{rate['low']:.3f}, {rate['high']:.3f}] n={rate['n']:<5.0f} "
              f"bar {low} to {high}: {met}")  # fmt: skip
    if options.seed == 77:
        record = {"weights": weights_id(options.model), "tasks": options.tasks, "metrics": metrics}
        write_whole(Path(options.model) / "dispositions.json", json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
