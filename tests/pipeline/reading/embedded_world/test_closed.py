"""The closed reader: a rule partner, which reads no more of a turn than it answers, reads that as everybody does."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.schema import Turn
from pipeline.engines.scripted import LINES
from pipeline.reading.embedded_world.closed import student_request, student_turn
from pipeline.reading.protocol import measured
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.word_problems import make_task

TASKS = [
    *(make_task(seed, specification) for seed in range(10) for specification in ("full", "underspecified")),
    *islice(hidden_item_tasks("train", "underspecified"), 20),
]
OTHERS = (
    *LINES,
    "What am I missing?",
    "Maybe it is 12?",
    "I cannot tell. I am done.",
    "Is it red or blue?",
    "How big is it?",
)


@st.composite
def said(draw):
    """A task, and a student's turn in its words or in others."""
    task = draw(st.sampled_from(TASKS))
    options = [task.choice.name(option) for option in task.choice.options] if task.choice else []
    own = [task.question, *(fact.text for fact in task.facts), *(fact.ask for fact in task.facts if fact.ask)]
    own += [line for name in options for line in (f"Is it {name}?", f"The answer is {name}.")]
    return task, " ".join(draw(st.lists(st.sampled_from([*own, *OTHERS]), min_size=1, max_size=4)))


@given(said())
def test_what_is_answered_is_read_as_in_the_whole_reading(case):
    task, text = case
    turn = measured(task, [Turn(party="student", text=text)], 0)
    request, whole = student_request(turn), student_turn(turn)
    for answered in ("asks", "generic_request", "repeats_question", "other_question", "whether", "attempt"):
        assert getattr(request, answered) == getattr(whole, answered), answered
