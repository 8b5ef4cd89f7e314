"""What a group of conditions waits for: whoever is to speak in its dialogues has to be trained."""

from __future__ import annotations

import pytest

from pipeline.building.rounds import due_rounds, groups, left_by_shards, needs_training_first, require_speakers
from pipeline.core.errors import RunError
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import Condition
from pipeline.runs.directory import adapter_path, untrained_path
from tests.builders import small_experiment

PEER = {"partition": "symmetric", "voice": "model"}
CONDITIONS = {
    "best": PEER | {"manner": "convincing"},
    "persuader": PEER | {"manner": "convincing", "method": "dpo_judge", "learns_from": "best"},
    "persuaded": PEER | {"weights": "persuader"},
}


def test_the_base_never_speaks_in_the_name_of_a_speaker_that_learned_nothing(tmp_path):
    experiment = small_experiment(tmp_path, conditions=CONDITIONS, seeds=[1])
    first, second = groups(experiment)
    assert (first, second) == (["best", "persuader"], ["persuaded"])
    require_speakers(experiment, first)
    persuader = Cell(experiment, "persuader", 1)
    reason = untrained_path(persuader)
    reason.parent.mkdir(parents=True)
    reason.write_text("no pairs to learn\n")
    assert needs_training_first(experiment, second, 0)
    with pytest.raises(RunError, match=r"conditions\.persuaded: 'persuader', seed 1, .* \(no pairs to learn\)"):
        require_speakers(experiment, second)
    adapter_path(persuader).mkdir()
    require_speakers(experiment, second)
    assert not needs_training_first(experiment, second, 0)


def test_a_round_waits_until_the_training_before_it_ended_though_nothing_was_learned(tmp_path):
    experiment = small_experiment(tmp_path, seeds=[1, 2], rounds=3)
    one, two = (Cell(experiment, "facts", seed) for seed in experiment.seeds)
    adapter_path(one).mkdir(parents=True)
    assert [round for _, round in due_rounds(experiment)] == [0]
    untrained_path(two).write_text("no rows\n")
    assert [round for _, round in due_rounds(experiment)] == [0, 1]
    for cell in (one, two):
        untrained_path(cell.in_round(1)).write_text("no rows\n")
    assert [round for _, round in due_rounds(experiment)] == [0, 1, 2]


def test_shards_leave_talk_of_people_and_what_is_remembered_to_the_whole_build(tmp_path):
    conditions = {
        "facts": {"partition": "facts"},
        "uniform": {"partition": "facts", "memory": "uniform", "remembers": "facts"},
    }
    experiment = small_experiment(tmp_path, conditions=conditions)
    held = experiment.conditions | {"people": Condition(partition="key", voice="human")}
    assert left_by_shards(experiment.model_copy(update={"conditions": held}), list(held)) == ["uniform", "people"]
