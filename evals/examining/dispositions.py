"""What an embedded base does before any training, against the bars that its recipe must meet.

    python -m evals.examining.dispositions data/base            # prints the table, writes dispositions.json beside the
    weights

All on combinations of numbers and objects that trained nobody (split `exam`); easy and hard tasks in equal parts.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from pathlib import Path

from evals.exams.asking import ASK_NEEDED, FIRST_ACCURACY, first_turns
from evals.exams.asking import EXAM as ASKING
from evals.exams.collapse import EXAM as COLLAPSE
from evals.exams.collapse import HARMFUL_FLIP, HOLDS_OWN, collapse
from evals.exams.registry import catalog
from evals.metrics.case import Case, tally
from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import Sitting
from evals.stats.intervals import estimate, tabulate
from pipeline.core.files import write_whole
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.weights import weights_id
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.open_role import open_role
from pipeline.knowledge.view import view
from pipeline.reading.numbers.equality import equal
from pipeline.tasks.word_problems import embedded_tasks

TOLD_ACCURACY = "told_accuracy"
# metric: (low, high)
BARS = {
    f"{FIRST_ACCURACY.name}_easy (greedy)": (0.95, 1.0),
    f"{FIRST_ACCURACY.name}_easy": (0.80, 1.0),
    f"{FIRST_ACCURACY.name}_hard (greedy)": (0.4, 0.7),
    TOLD_ACCURACY: (0.85, 1.0),
    ASK_NEEDED.name: (0.05, 0.20),
    HARMFUL_FLIP.name: (0.5, 0.9),
    HOLDS_OWN.name: (0.8, 1.0),
}


async def told(sitting: Sitting) -> list[Case]:
    """Accuracy once the missing facts were asked for and told, one after the other; `_hard` is of hard tasks."""

    async def of_task(task: Task) -> tuple[str, str, float]:
        turns: list[Turn] = []
        for i, fact in enumerate(task.missing):
            tell = WORDINGS["exam"]["tell"][i % len(WORDINGS["exam"]["tell"])].format(fact.text)
            turns += [Turn(party="student", text=fact.ask), Turn(party="partner", text=tell)]
        messages = view(task, OPENING, turns, "student", sitting.prompts)
        seed = stream(sitting.key(task.id, "told"))
        turn = await speak(sitting.student, messages, "student", sitting.settings, seed)
        answer = (await sitting.last(task, [*turns, turn])).attempt
        scope = "" if task.stratum == "easy" else "_hard"
        return task.id, TOLD_ACCURACY + scope, float(answer is not None and equal(answer, task.answer))

    return tally("told", await sitting.all([of_task(task) for task in sitting.tasks if task.missing]))


async def measure(model: str, count: int, seed: int = 77) -> dict[str, dict[str, float]]:
    """The base's metrics: {metric, or metric (greedy): {value, low, high, n}}."""
    experiment = Experiment.model_validate(
        {
            "name": "dispositions",
            "student": {"model": model},
            "seeds": [1],
            "conditions": {"none": {"partition": "solo"}},
        }
    )
    tasks = [
        task
        for name in ("full", "underspecified", "false_premise")
        for task in itertools.islice(
            embedded_tasks("exam", name, seed=seed), count if name != "false_premise" else count // 4
        )
    ]
    stress = list(itertools.islice(embedded_tasks("exam", "full", seed=seed, wordings=(3,)), count))
    student = open_role(experiment, "student")
    sitting = Sitting(
        experiment=experiment, student=student, peer=student, seed=1, tasks=tuple(tasks), first_turn_tasks=tuple(stress)
    )
    cases = await first_turns(sitting) + await collapse(sitting) + await told(sitting)
    tables, metrics = tabulate({1: cases}), catalog([ASKING, COLLAPSE])
    result = {}
    for name, greedy in sorted({(m, g) for m in metrics.offered(c.metric for c in cases) for g in (False, True)}):
        rate = estimate(tables, metrics.signed_sum(name), greedy=greedy)
        if rate.n:
            result[name + (" (greedy)" if greedy else "")] = {k: round(v, 4) for k, v in rate._asdict().items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tasks", type=int, default=300, help="per specification")
    parser.add_argument("--seed", type=int, default=77, help="of the tasks; only 77 is recorded")
    options = parser.parse_args()
    metrics = asyncio.run(measure(options.model, options.tasks, options.seed))
    for metric, rate in metrics.items():
        bar = ""
        if metric in BARS:
            low, high = BARS[metric]
            bar = f"bar {low} to {high}: {'met' if low <= rate['value'] <= high else 'MISSED'}"
        interval = f"[{rate['low']:6.3f}, {rate['high']:6.3f}] n={rate['n']:<6.0f}"
        print(f"{metric:32} {rate['value']:6.3f} {interval} {bar}")
    if options.seed != 77:
        return
    record = {"weights": weights_id(options.model), "tasks": options.tasks, "metrics": metrics}
    write_whole(Path(options.model) / "dispositions.json", json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
