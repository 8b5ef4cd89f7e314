"""What a turn says of the options: attempts, closed questions and yes or no, beside whatever reader reads the rest."""

import asyncio

import pytest

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Choice, Fact, Task, Turn
from pipeline.reading.choices.read_choice import NEXT_STEP, partner_on_options, student_on_options
from pipeline.reading.embedded_world.closed import partner_turn, student_turn
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import measured

CHOICE = Choice(
    noun="jar",
    attributes=("size", "colour"),
    options=(("small", "red"), ("small", "blue"), ("large", "red"), ("large", "green")),
    others=("Omar", "hat"),
)
TASK = Task(
    id="t",
    source="hidden_item",
    specification="underspecified",
    question="Gina's scarf is in a small jar. Which jar is Gina's scarf in: the small red jar, the small blue jar, the "
    "large red jar or the large green jar?",
    full_question="-",
    facts=(
        Fact(id="size", text="Gina's scarf is in a small jar.", value="small", ask="What size is Gina's jar?"),
        Fact(id="colour", text="The jar is red.", public=False, value="red", ask="What colour is Gina's jar?"),
    ),
    answer="the small red jar",
    choice=CHOICE,
)


def student(text):
    return student_turn(measured(TASK, [Turn(party="student", text=text)], 0))


def partner(before, text):
    return partner_turn(measured(TASK, [Turn(party="student", text=before), Turn(party="partner", text=text)], 1))


@pytest.mark.parametrize(
    "text",
    [
        "The answer is the small red jar.",
        "I guess the small red one.",
        "Is it the small red jar?",
        "the small red jar",
        "Is it the large red jar? No, I think it is the small red jar. I am done.",
        "Gina's scarf is in a small jar. So it must be the Small Red jar!",
        "Other than that, it is the small red jar.",
        "It fits nothing except the small red jar.",
    ],
)
def test_an_option_alone_in_its_sentence_is_put_forward(text):
    does = student(text)
    assert does.attempt == "the small red jar" and not does.whether and not does.asks_anything


@pytest.mark.parametrize(
    ("text", "attempt"),
    [
        ("The answer is the tiny purple jar.", "the tiny purple jar"),
        ("I think the answer is 12.", "12"),
        ("The answer is green!", "the large green jar"),
        ("The answer is red.", "red"),
        ("Is the answer the small red jar or the small blue jar?", None),
    ],
)
def test_what_is_called_the_answer_is_an_attempt_whether_it_is_an_option_or_not(text, attempt):
    assert student(text).attempt == attempt


@pytest.mark.parametrize(
    "text",
    [
        "It is not the small red jar.",
        "It is anything but the small red jar.",
        "It is other than the small red jar.",
        "If it is the small red jar, then fine.",
        "It is the small red jar or the small blue jar.",
        "Omar's hat is in the small red jar.",
        "It is small.",
        "What colour is Gina's jar?",
    ],
)
def test_what_is_denied_supposed_undecided_or_of_another_thing_is_no_attempt(text):
    assert student(text).attempt is None and not student(text).whether


@pytest.mark.parametrize(
    ("text", "whether", "asks"),
    [
        ("Is it red?", {"red"}, {"colour"}),
        ("Is it red or blue?", {"red", "blue"}, {"colour"}),
        ("Is the jar small and red?", {"small", "red"}, {"size", "colour"}),
        ("So it is red?", {"red"}, {"colour"}),
        ("Is it the small red jar or the large green one?", {"the small red jar", "the large green jar"}, set()),
        ("Is it small? Is it red?", {"red"}, {"colour"}),
        ("Other than that, is it red?", {"red"}, {"colour"}),
        ("Is it small and red, or is that too much?", {"small", "red"}, {"size", "colour"}),
        ("What size is Gina's jar? Is it red?", {"red"}, {"size", "colour"}),
    ],
)
def test_a_closed_question_is_read_as_what_it_asks_to_have_confirmed(text, whether, asks):
    does = student(text)
    assert (does.whether, does.asks, does.attempt) == (whether, asks, None) and does.asks_anything


@pytest.mark.parametrize("text", ["Which red jar is it?", "Is it not red?", "Is Omar's jar red?", "It is red."])
def test_what_is_no_closed_question_on_the_item_is_read_as_none(text):
    assert not student(text).whether


@pytest.mark.parametrize(
    ("words", "fitting"),
    [({"red"}, [0, 2]), ({"red", "blue"}, [0, 1, 2]), ({"small", "red"}, [0]), ({"the large green jar"}, [3])],
)
def test_values_of_one_attribute_are_alternatives_and_those_of_two_go_together(words, fitting):
    assert [i for i, option in enumerate(CHOICE.options) if CHOICE.fits(option, words)] == fitting


@pytest.mark.parametrize(
    ("before", "text", "confirms"),
    [
        ("Is it red?", "Yes, it is.", "yes"),
        ("Is it red?", "No.", "no"),
        ("Is it red?", "I cannot tell.", "none"),
        ("What colour is Gina's jar?", "Yes.", "none"),
        ("Is it the small red jar?", "No, that is wrong.", "none"),
    ],
)
def test_yes_or_no_is_read_behind_a_closed_question_alone(before, text, confirms):
    assert partner(before, text).confirms == confirms
    assert (partner(before, text).feedback == "none") == (before != "Is it the small red jar?")


@pytest.mark.parametrize(
    ("text", "told", "wrong"),
    [
        ("The jar is red.", {"colour"}, set()),
        ("It is red, and it is large.", {"colour"}, {"size"}),
        ("It is not red.", set(), set()),
        ("Is it red?", set(), set()),
        ("Omar's hat is in a blue jar.", set(), set()),
        ("That leaves the small red jar and the small blue jar.", set(), set()),
        ("Gina's scarf is in a small jar. That leaves the small red jar and the small blue jar.", {"size"}, set()),
    ],
)
def test_facts_are_told_by_their_words_or_their_value(text, told, wrong):
    assert (partner("Hm.", text).tells, partner("Hm.", text).tells_wrong) == (told, wrong)
    assert student(text).tells == told


def test_only_an_option_that_stands_alone_is_stated_as_the_answer():
    assert partner("Hm.", "I am sure the answer is the small red jar.").reveals == "stated"
    assert partner("Hm.", "That leaves the small red jar and the small blue jar.").reveals == "no"


def test_what_another_reader_takes_for_the_answer_gets_the_options_name():
    turn = measured(TASK, [Turn(party="student", text="I would take the red, large thing.")], 0)
    found = student_on_options(turn, StudentReading(attempt="red, large thing"))
    assert found.attempt == "the large red jar"
    assert student_on_options(turn, StudentReading(attempt="the purple one")).attempt == "the purple one"
    asked = measured(TASK, [Turn(party="student", text="Is it red?")], 0)
    assert student_on_options(asked, StudentReading(attempt="red")).attempt is None


class Deaf:
    """Reads nothing."""

    async def student(self, turns):
        return [StudentReading() for _ in turns]

    async def partner(self, turns):
        return [PartnerReading() for _ in turns]


def test_an_instrument_reads_options_whatever_its_reader_is():
    turns = [Turn(party="student", text="Is it red?"), Turn(party="partner", text="Yes.")]
    does, says = (turn.reading for turn in asyncio.run(Instrument("deaf", Deaf()).read(TASK, turns)))
    assert does.whether == {"red"} and does.asks == {"colour"} and says.confirms == "yes"
    assert Turn.model_validate(turns[0].model_copy(update={"reading": does}).model_dump()).reading == does


OMAR = Fact(id="omar", text="Omar's hat is in a large jar.", ask="What size is Omar's jar?")


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What colour is it?", {"colour"}),
        ("Can you tell me the color, please?", {"colour"}),
        ("Please tell me the size and the colour of the jar.", {"size", "colour"}),
        ("What size is the jar with Omar's hat?", {"omar"}),
        ("The colour is missing.", set()),
        ("Which jar is Gina's scarf in?", set()),
        ("Is it the small red jar?", set()),
    ],
)
def test_a_question_in_known_words_is_read_by_them_whatever_the_reader_says(text, asks):
    turn = measured(TASK.model_copy(update={"facts": (*TASK.facts, OMAR)}), [Turn(party="student", text=text)], 0)
    wrong = StudentReading(asks=frozenset({"size"}), repeats_question="size" in asks, other_question=True)
    does = student_on_options(turn, wrong)
    assert does.asks == asks and does.repeats_question == text.startswith("Which jar") and not does.other_question


def test_the_request_for_the_next_step_asks_for_no_fact_whatever_the_reader_says():
    turn = measured(TASK, [Turn(party="student", text=f"It is red. {NEXT_STEP}")], 0)
    for read in (StudentReading(asks=frozenset({"size"})), StudentReading(repeats_question=True)):
        does = student_on_options(turn, read)
        assert does.other_question and not (does.asks or does.repeats_question or does.generic_request)


@pytest.mark.parametrize(
    "text", ["What is in the small red jar?", "Why do you think it is the small red jar?", "Your answer is correct."]
)
def test_what_asks_about_an_option_or_judges_an_answer_puts_none_forward(text):
    assert student(text).attempt is None and partner("Hm.", text).attempt is None
    assert student("What about the small red jar?").attempt == "the small red jar"


def test_a_question_without_a_word_of_its_own_is_what_the_reader_says():
    turn = measured(TASK, [Turn(party="student", text="What can you tell me?")], 0)
    asks = student_on_options(turn, StudentReading(generic_request=True))
    assert asks.generic_request and not asks.repeats_question
    assert student_on_options(turn, StudentReading()).repeats_question


@pytest.mark.parametrize("text", ["What am I missing?", "How big is it?", "Is Omar's jar red?"])
def test_a_question_in_other_words_is_what_the_reader_says_and_always_one(text):
    turn = measured(TASK, [Turn(party="student", text=text)], 0)
    for read in (StudentReading(asks=frozenset({"size"})), StudentReading(generic_request=True)):
        assert student_on_options(turn, read) == read
    assert student_on_options(turn, StudentReading()) == StudentReading(other_question=True)


def test_a_task_without_options_is_read_as_ever():
    turn = measured(TASK.model_copy(update={"choice": None}), [Turn(party="student", text="Is it red?")], 0)
    assert student_on_options(turn, StudentReading(attempt="7")) == StudentReading(attempt="7")
    assert partner_on_options(turn, PartnerReading(feedback="wrong")) == PartnerReading(feedback="wrong")
    assert TASK.model_copy(update={"choice": None}).model_dump(mode="json").keys().isdisjoint({"choice"})
