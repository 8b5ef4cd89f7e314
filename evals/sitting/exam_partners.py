"""The fixed partners of whole exam episodes, an arm each. Their wordings are none that a training partner uses."""

from __future__ import annotations

from pipeline.knowledge.condition import Condition

# arm: (the partner's condition, its wording, the tasks on which it tells something that another arm does not)
BOTH = ("full", "underspecified", "sharded", "false_premise")
LACKING = ("underspecified", "sharded")
ARMS: dict[str, tuple[Condition, str, tuple[str, ...]]] = {
    "facts": (Condition(partition="facts"), "exam", BOTH),
    "volunteer": (Condition(partition="facts", disclosure="volunteer"), "exam", LACKING),
    "chatter": (Condition(partition="facts", disclosure="chatter"), "exam", LACKING),
    "verifier": (Condition(partition="verifier"), "exam", ("full",)),
    "unhelpful": (Condition(partition="symmetric"), "unhelpful", BOTH),
}
OPENING = Condition(partition="symmetric")  # the student's opening view is the same under every partner
