"""What scripts reach in exam `asking`: the highest figure, and the nulls, where a rule reads every turn rightly."""

from __future__ import annotations

import asyncio

from evals.examining.asking_scripts import SCRIPTS, reached, table
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.instruments import open_instruments
from tests.builders import small_experiment

EMBEDDED = small_experiment(tasks={"exam": {"full": 12, "underspecified": 12, "false_premise": 4}})


def test_who_asks_when_a_fact_is_missing_reaches_1_and_who_asks_alike_everywhere_0():
    tasks = [task for task in exam_tasks(EMBEDDED)[0] if task.specification != "false_premise"]
    reader = open_instruments(EMBEDDED)[1]
    skill = {}
    for name, script in SCRIPTS.items():
        skill[name] = asyncio.run(reached(tasks, script, reader))["ask_skill"].value
    knows, everywhere, _, _, never = skill.values()
    assert (knows, everywhere, never) == (1, 0, 0)


def test_the_table_has_a_row_a_script_over_the_tasks_that_say_when_to_ask():
    rows = table(EMBEDDED).splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(SCRIPTS)
    assert all(row.endswith("| 24 |") for row in rows)
