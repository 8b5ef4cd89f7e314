"""What is withheld stands in no view but of those whose row holds it, in every source with facts in words."""

import itertools

import pytest

from pipeline.core.schema import Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.lookup.lookup_tasks import lookup_tasks


@pytest.mark.parametrize("prompts", ["closed", "chat"])
@pytest.mark.parametrize("partition", ["symmetric", "verifier", "answer", "key", "misled", "facts"])
@pytest.mark.parametrize("made", [hidden_item_tasks, lookup_tasks])
def test_only_a_view_whose_row_holds_it_shows_what_is_withheld(made, partition, prompts):
    condition, opening = Condition(partition=partition), [Turn(party="student", text="Hello.")]
    for task in itertools.islice(made("train", "underspecified"), 20):
        seen = {
            party: " ".join(message["content"] for message in view(task, condition, turns, party, Prompts(prompts)))
            for party, turns in (("student", []), ("partner", opening))
        }
        for fact in task.missing:
            assert fact.text not in seen["student"]
            assert (fact.text in seen["partner"]) == (partition in ("facts", "key"))
