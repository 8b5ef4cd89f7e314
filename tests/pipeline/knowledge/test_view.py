"""`known` and `view` are the only readers of private facts: the invariants rest on these properties."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.schema import Fact, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.partition import PARTITIONS, VERDICT
from pipeline.knowledge.view import probe, view
from pipeline.prompts.prompts import SETS, Prompts
from pipeline.tasks.word_problems import make_task

ROWS = [Condition(partition=name, voice="model" if name == "script" else "rule") for name in PARTITIONS]
SAME_OPENING = [c for c in ROWS if c.partition not in ("jigsaw", "mindreader")]
LINES = st.lists(
    st.sampled_from(["How many pens does Tom have?", "I guess the answer is 3.", "Okay.", "No."]), max_size=6
)
seeds = st.integers(0, 10_000)
words = st.sampled_from([Prompts(name) for name in SETS])


def talk(lines: list[str]) -> list[Turn]:
    return [Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)]


def secret(task: Task, number: str = "987", more: int = 0) -> Task:
    """The same task with hidden facts, gold, solution and false key that occur nowhere else, and `more` such facts."""
    hidden = [
        Fact(id=f"secret{number}{i}", text=f"Nemo{number} hides {number} gems.", public=False, ask=f"Nemo{number}?")
        for i in range(len(task.facts) + more)
    ]
    facts = [hidden[i] if not fact.public else fact for i, fact in enumerate(task.facts)]
    return task.model_copy(
        update={
            "facts": (*facts, *hidden[len(facts) :]),
            "answer": f"{number}65",
            "solution": f"9 + 8 = {number}65.",
            "wrong_answer": f"{number}64",
            "full_question": f"{number}63",
            "specification": "underspecified" if more else "full",
        }
    )


def apart(shows, task: Task, condition: Condition, turns: list[Turn], party: str, *prompts: Prompts) -> bool:
    """Whether a view tells two tasks apart that differ in hidden things alone, and in how many there are."""
    open_part = task.model_copy(update={"facts": tuple(fact for fact in task.facts if fact.public)})
    worlds = [secret(task), secret(task, "876", more=1), secret(open_part, "765")]
    return len({str(shows(world, condition, turns, party, *prompts)) for world in worlds}) > 1


BLIND = [(c, "student") for c in SAME_OPENING] + [
    (c, "partner") for c in ROWS if c.partition in ("symmetric", "verifier")
]


@settings(deadline=None)
@given(seeds, LINES, st.sampled_from(["full", "underspecified"]), st.sampled_from(BLIND), words)
def test_a_view_does_not_tell_apart_what_differs_in_hidden_things_alone(seed, lines, specification, reader, prompts):
    assert not apart(view, make_task(seed, specification), reader[0], talk(lines), reader[1], prompts)


def adds(line, to: str):
    """The view with a line of the task at its end, which `to` alone reads."""

    def shows(task, condition, turns, party):
        return [*view(task, condition, turns, party), *([{"role": "user", "content": line(task)}] * (party == to))]

    return shows


LEAKS = {
    "gold": (adds(lambda task: task.answer, "partner"), "verifier", "partner"),
    "how many": (adds(lambda task: f"It lacks {len(task.missing)} fact(s).", "student"), "facts", "student"),
    "whether": (adds(lambda task: "Ask." if task.missing else "", "student"), "facts", "student"),
    "words": (
        adds(lambda task: re.sub(r"\d+", "some", str([f.text for f in task.facts if not f.public])), "student"),
        "facts",
        "student",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("specification", ["full", "underspecified"])
def test_a_view_that_shows_hidden_things_is_told_from_one_that_does_not(name, specification):
    shows, partition, party = LEAKS[name]
    assert apart(shows, make_task(1, specification), Condition(partition=partition), talk(["I guess it."]), party)


@settings(deadline=None)
@given(seeds, LINES, st.sampled_from(["full", "underspecified"]), words)
def test_nothing_hidden_reaches_the_student_unless_a_turn_says_it(seed, lines, specification, prompts):
    task = secret(make_task(seed, specification))
    for condition in ROWS:
        if condition.partition in ("mindreader", "jigsaw"):
            continue
        text = str(view(task, condition, talk(lines), "student", prompts))
        assert not re.search(r"987", text), condition.partition


@settings(deadline=None)
@given(seeds, LINES, st.sampled_from(["full", "underspecified"]), words)
def test_a_symmetric_partner_sees_nothing_hidden_either(seed, lines, specification, prompts):
    task = secret(make_task(seed, specification))
    assert not re.search(r"987", str(view(task, Condition(partition="symmetric"), talk(lines), "partner", prompts)))


@settings(deadline=None)
@given(seeds, words)
def test_the_students_opening_is_the_same_bytes_where_its_row_is_the_same(seed, prompts):
    task = make_task(seed, "underspecified")
    assert len({str(view(task, condition, [], "student", prompts)) for condition in SAME_OPENING}) == 1


@pytest.mark.parametrize("name", SETS)
def test_only_the_label_axis_changes_the_opening_word(name):
    task, prompts = make_task(1, "full"), Prompts(name)
    plain = str(view(task, Condition(partition="symmetric"), [], "student", prompts))
    sham = str(view(task, Condition(partition="symmetric", label="teacher"), [], "student", prompts))
    assert plain.replace("partner", "teacher") == sham and plain != sham


@settings(deadline=None)
@given(seeds, LINES, st.sampled_from(ROWS), st.sampled_from(["student", "partner"]), words)
def test_views_are_append_only(seed, lines, condition, party, prompts):
    turns, task = talk(lines), make_task(seed, "underspecified")

    def text(n: int) -> str:
        return "".join(m["role"][0] + m["content"] for m in view(task, condition, turns[:n], party, prompts))

    for n in range(1 if party == "partner" else 0, len(turns)):
        assert text(n + 1).startswith(text(n))


@settings(deadline=None)
@given(seeds, LINES, st.sampled_from(ROWS), st.sampled_from(["student", "partner"]), words)
def test_roles_alternate_and_own_turns_are_the_assistants(seed, lines, condition, party, prompts):
    messages = view(make_task(seed, "full"), condition, talk(lines), party, prompts)
    roles = [message["role"] for message in messages]
    spoken = roles[1:] if prompts.set != "closed" else roles
    assert spoken == ["user" if i % 2 == 0 else "assistant" for i in range(len(spoken))]
    assert spoken == roles or roles[0] == "system"
    own = [turn.text for turn in talk(lines) if turn.party == party]
    shown = sum(m["role"] == "assistant" for m in view(make_task(seed, "full"), condition, [], party, prompts))
    demonstrates = party == "student" or condition.partition in {"facts", "key", "mindreader"}  # read as `key`
    assert bool(shown) == (demonstrates and prompts.set == "demonstrated")
    assert [m["content"] for m in messages if m["role"] == "assistant"][shown:] == own


@pytest.mark.parametrize(
    ("name", "note"), [("closed", "check says that this is right"), ("chat", "a check found this answer right.]")]
)
def test_the_verdict_is_shown_to_the_verifying_partner_alone(name, note):
    task, prompts = make_task(3, "full"), Prompts(name)
    turns = [Turn(party="student", text=f"The answer is {task.answer}.")]
    for condition in ROWS:
        shown = view(task, condition, turns, "partner", prompts)[-1]["content"].endswith(
            (f"{note}", f"{note})", f"{note}.)")
        )
        assert shown == (VERDICT in (condition.row.partner or ()))
        assert note not in str(view(task, condition, turns, "student", prompts))


def test_jigsaw_shares_are_disjoint_and_together_whole():
    task, condition = make_task(5, "full"), Condition(partition="jigsaw")
    ours, theirs = ({f.id for f in known(task, condition, party).facts} for party in ("student", "partner"))
    assert ours.isdisjoint(theirs) and ours | theirs == {fact.id for fact in task.facts}


@pytest.mark.parametrize("lines", [[], ["Okay."], ["Okay.", "No."]])
def test_a_probe_ends_the_view_with_a_question_and_leaves_it_untouched(lines):
    messages = view(make_task(1, "full"), ROWS[0], talk(lines), "student")
    before = str(messages)
    asked = probe(messages, "What is it?")
    assert asked[-1]["role"] == "user" and asked[-1]["content"].endswith("What is it?") and str(messages) == before
