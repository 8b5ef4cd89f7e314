"""Exam dialogues of a run, drawn by lot: as many of each of some conditions, to be read by people.

python -m evals.report.page.drawn_episodes runs/lookup_smollm2 docs/results/lookup_dialogues.md --of base --of facts
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from pipeline.core.errors import ConfigError, RunError
from pipeline.core.files import write_whole
from pipeline.core.schema import Json, Task
from pipeline.experiment.assignment import exam_tasks
from pipeline.runs.directory import experiment_of, require
from pipeline.runs.student_files import said_files

EACH = 10


def drawn(run: Path, condition_name: str, each: int, tasks: dict[str, Task]) -> list[Json]:
    """Of all seeds and exam partners, without replacement; the same at every call. Raises RunError where none is."""
    talks = [
        json.loads(line) | {"seed": file.name.split(".")[0]}
        for file in said_files(run, condition_name, "episodes")
        for line in file.read_bytes().splitlines()
    ]
    talks = [talk for talk in talks if talk["task"] in tasks]
    if not talks:
        raise RunError(
            f"{run}: no exam dialogues of {condition_name!r}. Expected results/{condition_name}/*.episodes.jsonl"
        )
    return random.Random(f"{run.name}-{condition_name}").sample(talks, min(each, len(talks)))


def page(run: Path, condition_names: list[str], each: int = EACH) -> str:
    """Markdown, a heading for each condition."""
    require(run)
    tasks = {task.id: task for task in exam_tasks(experiment_of(run))[0]}
    lines = [f"# Exam dialogues of `{run.name}`, drawn by lot", ""]
    for name in condition_names:
        lines += [f"## {name}", ""]
        for number, talk in enumerate(drawn(run, name, each, tasks), 1):
            lines += _shown(number, talk, tasks[talk["task"]])
    return "\n".join(lines)


def _shown(number: int, talk: Json, task: Task) -> list[str]:
    missing = " ".join(fact.text for fact in task.missing)
    lacks = f" The partner `{talk['arm']}` alone may know: {missing}" if missing else ""
    said = [f"> **{party}**: {' '.join(text.split())}  " for party, text in talk["turns"]]
    about = f"{number}. *{task.question}* The answer: {task.answer}.{lacks} (`{talk['arm']}`, {talk['seed']})"
    return [about, "", *said, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--of", action="append", required=True, help="a condition's name, or base")
    parser.add_argument("--each", type=int, default=EACH)
    options = parser.parse_args()
    try:
        text = page(options.run, options.of, options.each)
    except (ConfigError, RunError) as error:
        raise SystemExit(str(error)) from None
    options.page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.page, text)
    print(options.page)


if __name__ == "__main__":
    main()
