"""Small runs to look at: dialogues of rule partners, and episodes of exams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evals.sitting.exam_partners import ARMS
from maieutic.view.read_talks import ShownRun
from maieutic.view.server import Indexing, application
from maieutic.view.show_runs import shown_runs
from maieutic.view.talk_index import TalkIndex
from pipeline.core.schema import Turn
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read, rewrite
from tests.evals.made_run import made_run
from tests.servers import serving

HOSTILE = (
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">\x1b[31mred\x1b[2J '
    "</pre></template><svg onload=window.hacked=1> \u202e gnihton \u202c שלום עולם {{ 7 * 7 }} The answer is 5."
)


def shown_run(path: Path) -> ShownRun:
    """8 tasks under three conditions and two seeds; base and `facts` have sat an exam, in which `facts` asks."""
    made_run(path)
    for file in path.rglob("*.episodes.jsonl"):
        file.unlink()
    [run] = shown_runs([path])
    tasks = list(run.tasks.values())
    tasks = [*tasks[:2], *[task for task in tasks if task.missing][:2]]
    for name in ("base", "facts"):
        asks = {task.id: task.missing[0].ask for task in tasks if task.missing and name == "facts"}
        ended = {"sample": 0, "stop": "turn_cap"}
        rows = [
            {"arm": arm, "task": task.id, "turns": [["student", says], ["partner", "Okay."]], **ended}
            for task in tasks
            for says in [asks.get(task.id, "The answer is 5.")]
            for arm in ("facts", "unhelpful")
            if task.specification in ARMS[arm].specifications
        ]
        file = path / "results" / name / "seed-1.episodes.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run


def said_by_the_student(path: Path, condition_name: str, text: str) -> Dialogue:
    """The run's first dialogue of a condition, once its student has said this in the end."""
    file = dialogues_path(path, condition_name)
    first, *rest = read(file, Dialogue)
    told = first.model_copy(update={"turns": (*first.turns, Turn(party="student", text=text))})
    rewrite(file, [told, *rest])
    return told


def dialogues(path: Path) -> list[Dialogue]:
    return [one for file in sorted((path / "dialogues").iterdir()) for one in read(file, Dialogue)]


@contextmanager
def served(runs: Sequence[ShownRun], index: Path) -> Iterator[str]:
    """The address of the pages, whose index is whole."""
    made = TalkIndex(runs, index)
    made.update()
    indexing = Indexing(made)
    indexing.state = ""
    with serving(application(made, indexing)) as address:
        yield address.removesuffix("/v1")
