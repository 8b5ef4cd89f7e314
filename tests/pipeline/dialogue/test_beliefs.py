"""pipeline.dialogue.beliefs: the mode of private answers."""

import asyncio

import pytest

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.dialogue.beliefs import belief_of
from pipeline.engines.model import Completion
from pipeline.reading.instrument import Instrument
from pipeline.tasks.lookup.lookup_tasks import make_task


class WholeTurns:
    """Takes the whole of a turn for its answer."""

    async def student(self, turns):
        return [StudentReading(attempt=turn.text or None) for turn in turns]

    async def partner(self, turns):
        return [PartnerReading() for _ in turns]


@pytest.mark.parametrize(
    ("said", "answer", "share"),
    [
        (["in the kitchen", "Kitchen.", "the attic"], "in the kitchen", 2 / 3),
        (["the attic", "the kitchen", "in the cellar"], "", 1 / 3),
        (["12", "12 pens", "$12", "9"], "12", 3 / 4),  # numbers are counted by what they come to
        (["50%", "50", "50%"], "50%", 2 / 3),
        (["", "", "Omar"], "", 2 / 3),  # most could not be read
        (["12", "", "7"], "", 1 / 3),  # "I cannot tell" is a sample of being unsure
    ],
)
def test_the_same_name_in_other_words_is_one_answer(said, answer, share):
    answers = [Completion(text, tokens=1, prompt_tokens=1) for text in said]
    belief = asyncio.run(belief_of(answers, make_task(1, "full"), Instrument("whole", WholeTurns())))
    assert (belief.answer, belief.share) == (answer, share)
