"""What a stage holds of each dialogue: next to nothing, so that a million of them fit where a thousand do."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from evals.audit.audit import examine
from evals.audit.audited_talks import open_material
from evals.report.counting.counts import count
from pipeline.building.build import finished
from pipeline.core.schema import Turn, digest
from pipeline.datasets.export import export
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import rewrite
from pipeline.tasks.word_problems import embedded_tasks
from tests.builders import small_experiment
from tests.evals.small_embedder import small_embedder

FEW, MANY = 100, 300
# What is held at most, of however many dialogues: here of few, or it would grow with them.
BOUNDS = {
    "pipeline.datasets.formats.ROW_GROUP": 10,
    "evals.stats.wording_shortcut.MOST": 20,
    "evals.audit.checks.functional_leak_share.MOST": 20,
    "evals.audit.checks.view_invariance.MOST": 20,
    "evals.audit.near_duplicates.EMBEDDED": 20,
}


def made(folder: Path, n: int) -> Experiment:
    """A run of n dialogues, each of a task of its own, of 1.8 KB."""
    conditions = {"facts": {"partition": "facts", "selection": "none"}}
    tasks = {"train": {"underspecified": n}, "exam": {"full": 3}}
    experiment = small_experiment(folder, tasks=tasks, seeds=[1], conditions=conditions)
    dialogues = []
    for task in islice(embedded_tasks("train", "underspecified"), n):
        said = [("student", task.missing[0].ask), ("partner", task.missing[0].text), ("student", "The answer is 7.")]
        turns = tuple(Turn(party=party, text=text, tokens=6) for party, text in said)
        condition = experiment.conditions["facts"].shaped()
        dialogues.append(
            Dialogue(
                id=digest(task.id), task=task, condition_name="facts", condition=condition, seed=1, turns=turns,
                stop="turn_cap",
            )
        )  # fmt: skip
    rewrite(dialogues_path(folder, "facts"), dialogues)
    (folder / "config.yaml").write_text(dump(experiment))
    export(experiment, "facts")
    return experiment


def audit(experiment: Experiment) -> None:
    examine(open_material(str(experiment.run), (f"audit.embedder={small_embedder()}", "audit.near=1")))


def peak(work: Callable[[], object]) -> int:
    """Bytes of Python's that are held at most while it works, beside what it leaves in caches of a fixed size."""
    tracemalloc.start()
    work()
    # No gc.collect() here: it empties the interpreter's lists of free objects, which the next time fills again. So what
    # waits to be collected is held too, some 300 KB at times: the lesser of two has less of it.
    most = []
    for _ in range(2):
        left, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        most.append(tracemalloc.get_traced_memory()[1] - left)
    tracemalloc.stop()
    return min(most)


@pytest.mark.parametrize(
    ("stage", "most"),
    [
        pytest.param(lambda made: finished(made.run, "facts"), 50, id="resume"),
        pytest.param(lambda made: export(made, "facts"), 200, id="export"),
        pytest.param(lambda made: count(made, "facts"), 200, id="compare"),
        # What is embedded at once differs by some 300 KB; from 300 to 900 it is 40. A talk that is held takes 5.6 KB.
        pytest.param(audit, 3000, id="audit", marks=pytest.mark.slow),
    ],
)
def test_a_dialogue_more_takes_few_bytes_more(tmp_path, monkeypatch, stage, most):
    for name, bound in BOUNDS.items():
        monkeypatch.setattr(name, bound)
    runs = [made(tmp_path / str(n), n) for n in (FEW, MANY)]
    few, many = (peak(partial(stage, run)) for run in runs)
    assert (many - few) / (MANY - FEW) < most
