"""The first thing that a run shows: one dialogue from both sides, and what only the partner knew."""

import asyncio

import pytest

import maieutic
from maieutic.show_views import TRIED, first_look
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import load_tasks


def shown(experiment: Experiment, tasks: list[Task], capsys: pytest.CaptureFixture[str]) -> str:
    casting = Casting(experiment)
    asyncio.run(first_look(experiment, casting, tasks))
    assert not casting.meter.take()  # the build counts what it stores, and nothing else
    return capsys.readouterr().out


def test_a_run_shows_what_either_side_reads_and_what_only_the_partner_knew(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = maieutic.load("quickstart", "engine.kind=scripted")
    tasks, _ = load_tasks(experiment.tasks, "train")
    said = shown(experiment, tasks, capsys)
    student, partner, talk, secret = (
        said.index(part) for part in ("As the student sees it", "As the partner sees it", "What they say", "What only")
    )
    assert student < partner < talk < secret
    [task] = [task for task in tasks if task.missing and task.question in said]
    hidden = [fact.text for fact in task.missing]
    assert all(text not in said[student:partner] for text in hidden)
    assert all(text in said[partner:talk] and text in said[secret:] for text in hidden)
    assert (
        f"of {TRIED} such dialogues" in said
        and "The right answer, which neither was told" in said
        and task.answer in said
    )


def test_where_nobody_has_a_partner_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    alone = maieutic.load("quickstart", "engine.kind=scripted", "conditions={solo: {partition: solo}}", "compare=null")
    assert shown(alone, load_tasks(alone.tasks, "train")[0], capsys) == ""
