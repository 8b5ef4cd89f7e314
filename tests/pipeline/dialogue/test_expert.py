"""What an expert says in one turn: each step once, and what it was told."""

from __future__ import annotations

import pytest

from pipeline.dialogue.expert import worked_out
from pipeline.tasks import word_problems


@pytest.mark.parametrize("specification", ["full", "underspecified"])
def test_a_solution_in_one_turn_says_each_step_once_and_reads_what_was_told_aloud(specification):
    for seed in range(40):
        task = word_problems.make_task(seed, specification)
        said = worked_out(task)
        assert all(said.count(fact.text) == 1 for fact in task.facts if fact.needed)
        assert said.count("The answer is") == 1 and said.endswith(f"The answer is {task.answer}.")
