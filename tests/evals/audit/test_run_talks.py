"""A run's talks that are read when they are asked for are those that its files hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.audit.audited_talks import by_condition, trained
from evals.audit.run_talks import RunTalks, run_talks, talk_of
from pipeline.core.id_set import IdSet
from pipeline.core.schema import digest
from pipeline.experiment.experiment import Experiment, load
from pipeline.runs.dialogue_pool import own_dialogues
from pipeline.tasks.talks import Talk
from tests.evals.made_run import made_run


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    run = made_run(tmp_path / "made")
    return load(run / "config.yaml").model_copy(update={"out": str(run)})


def held(experiment: Experiment) -> list[Talk]:
    return [
        talk_of(dialogue, condition)
        for name, condition in experiment.conditions.items()
        for dialogue in own_dialogues(experiment, name)
    ]


def test_talks_come_in_the_order_of_their_files_and_by_their_number(experiment):
    talks, expected = run_talks(experiment), held(experiment)
    assert list(talks) == list(talks) == expected and len(talks) == len(expected)
    assert [talks[i] for i in range(len(talks))] == expected
    assert talks[-1] == expected[-1] and talks[2:5] == expected[2:5]
    with pytest.raises(IndexError):
        talks[len(expected)]
    assert {name: list(own) for name, own in by_condition(talks).items()} == by_condition(expected)


def test_those_that_are_trained_on_are_found_by_their_ids(experiment):
    ids = {name: trained(experiment, name) or IdSet() for name in experiment.conditions}
    some = run_talks(experiment).among(ids)
    assert list(some) == [talk for talk in held(experiment) if talk.id in ids[talk.condition_name]]
    assert 0 < len(some) < len(held(experiment))
    assert list(run_talks(experiment).among(dict.fromkeys(experiment.conditions, IdSet()))) == []


def test_a_draw_is_by_the_hash_of_ids_whatever_their_order(experiment):
    name, own = next(iter(run_talks(experiment).conditions().items()))
    drawn = own.drawn(3).dialogues(name)
    everything = sorted(own_dialogues(experiment, name), key=lambda dialogue: digest(dialogue.id))
    assert isinstance(own, RunTalks) and list(drawn) == everything[:3]
    assert len(own.drawn(10_000)) == len(own)
