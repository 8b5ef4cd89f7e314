"""The fixed partners of whole exam episodes, an arm each. Their wordings are none that a training partner uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.core.schema import Specification, Task
from pipeline.knowledge.condition import Condition


class Arm(NamedTuple):
    """A fixed partner of whole exam episodes."""

    condition: Condition
    wording: str
    specifications: tuple[Specification, ...]  # of the tasks on which it tells something that another arm does not

    @property
    def yields(self) -> bool:
        """It has facts that the question lacks, and tells those that it is asked for."""
        return self.condition.row.holds_withheld and self.condition.disclosure != "chatter"


BOTH: tuple[Specification, ...] = ("full", "underspecified", "sharded", "false_premise")
LACKING: tuple[Specification, ...] = ("underspecified", "sharded")
ARMS = {
    "facts": Arm(Condition(partition="facts"), "exam", BOTH),
    "volunteer": Arm(Condition(partition="facts", disclosure="volunteer"), "exam", LACKING),
    "chatter": Arm(Condition(partition="facts", disclosure="chatter"), "exam", LACKING),
    "verifier": Arm(Condition(partition="verifier"), "exam", ("full",)),
    "unhelpful": Arm(Condition(partition="symmetric"), "unhelpful", BOTH),
}
ASKED = "facts"  # the arm of what is measured with one partner alone: it tells what it is asked for
OPENING = Condition(partition="symmetric")  # the student's opening view is the same under every partner


def pairs_met(tasks: Sequence[Task]) -> int:
    """Pairs of a task and an arm that it is for: as many talks are played, `exams.episodes` times."""
    return sum(task.specification in arm.specifications for arm in ARMS.values() for task in tasks)
