"""A reader of turns as a labeller of people's turns: the classes of the guide that people's labels share.

The corpora have no tasks, so the reader sees a turn, the one before it, and neither a question nor facts.

    maieutic eval labels configs/labels.yaml --set reads=semantic
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.learn_labels import Labels, in_context
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Turn
from pipeline.reading.labelling.context import TurnInContext
from pipeline.reading.protocol import Reader, TurnToRead, Unread

READ_CLASSES: dict[str, Callable[[StudentReading], bool]] = {
    "question": lambda turn: bool(turn.asks) or turn.generic_request or turn.repeats_question or turn.other_question,
    # The guide has no class for asking what was meant; asking for help without naming what is the nearest.
    "request": lambda turn: turn.generic_request,
    "agree": lambda turn: turn.stance == "agrees",
    "disagree": lambda turn: turn.stance == "disagrees",
}


async def read_labels(reader: Reader, lines: Sequence[LabelledTurn]) -> Labels:
    """Reads every turn once. What it gives knows the classes of READ_CLASSES."""
    turns = list(dict.fromkeys(map(in_context, lines)))
    readings = dict(zip(turns, await reader.student([_to_read(turn) for turn in turns]), strict=True))

    def is_of_class(turn: LabelledTurn, name: str) -> bool | None:
        reading = readings[in_context(turn)]
        return None if isinstance(reading, Unread) else READ_CLASSES[name](reading)

    return lambda lines, name: [is_of_class(turn, name) for turn in lines]


def _to_read(turn: TurnInContext) -> TurnToRead:
    before = (Turn(party="student" if turn.own else "partner", text=turn.before),) if turn.before else ()
    return TurnToRead(party="student", text=turn.text, question="", before=before)
