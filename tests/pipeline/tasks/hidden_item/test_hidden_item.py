"""Hidden items: minimal pairs that no word tells apart, facts that leave one option, what is held out."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.stats.wording_shortcut import wording, youden_j
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Turn
from pipeline.experiment.assignment import exam_tasks, tasks_of
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.reading.correctness import judged
from pipeline.tasks.hidden_item import KINDS
from pipeline.tasks.hidden_item.hidden_item_tasks import HAS, hidden_item_tasks, make_task
from pipeline.tasks.hidden_item.item_words import item_words
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.lookup.words import words
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import HELD_OUT
from tests.builders import small_experiment

SEEDS = st.integers(0, 10**6)
COUNTS = {"full": 30, "underspecified": 30, "overspecified": 10}


def some(split, specification, count, **how):
    return list(itertools.islice(hidden_item_tasks(split, specification, **how), count))


def left(task, facts):
    """The options that fit what facts say of the item."""
    values = {fact.value for fact in facts if fact.value}
    return [option for option in task.choice.options if task.choice.fits(option, values)]


def question_of(task):
    return re.split(r"(?<=[.!?])\s+", task.question)[-1]


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, held_out=st.booleans())
def test_twins_differ_in_what_is_withheld_alone(seed, held_out):
    full, under = (make_task(seed, name, held_out) for name in ("full", "underspecified"))
    same = {"id", "specification", "question", "facts"}
    assert full.model_dump(exclude=same) == under.model_dump(exclude=same) and question_of(full) == question_of(under)
    public = {"public"}
    assert [f.model_dump(exclude=public) for f in full.facts] == [f.model_dump(exclude=public) for f in under.facts]
    mirrored = {fact.id.replace("f", "d") for fact in under.missing}
    assert mirrored == {fact.id for fact in full.facts if not fact.public} and not full.missing


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, held_out=st.booleans())
def test_the_overspecified_variant_has_one_more_fact_that_rules_out_nothing(seed, held_out):
    full, over = (make_task(seed, name, held_out) for name in ("full", "overspecified"))
    [more] = [fact for fact in over.facts if fact not in full.facts]
    assert over.question.replace(f"{more.text} ", "") == full.question and more.public and not more.needed
    assert left(over, over.facts) == left(full, full.facts)


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, specification=st.sampled_from(HAS), held_out=st.booleans())
def test_needed_facts_leave_the_answer_alone_and_each_is_needed(seed, specification, held_out):
    task = make_task(seed, specification, held_out)
    choice, needed = task.choice, [fact for fact in task.facts if fact.needed]
    assert 4 <= len(choice.options) <= 12 and len(choice.attributes) in (2, 3)
    assert [choice.name(option) for option in left(task, needed)] == [task.answer]
    assert all(len(left(task, [fact for fact in needed if fact != each])) > 1 for each in needed)
    assert all(choice.name(option) in question_of(task) for option in choice.options)
    assert task.stratum == {1: "easy", 2: "hard"}[len(needed)]


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_a_guess_is_right_in_one_of_the_options_that_are_left(seed):
    """What is public leaves equally many, whichever of the options it were, and a false key is one of them."""
    task = make_task(seed, "underspecified")
    public = [fact for fact in task.facts if fact.public and fact.value]
    columns = {task.choice.attribute(fact.value) for fact in public}
    counts = Counter(tuple(option[i] for i in columns) for option in task.choice.options)
    assert len(set(counts.values())) == 1
    assert task.wrong_answer in [task.choice.name(option) for option in left(task, public)]
    assert not judged(task, Turn(party="student", text=""), task.wrong_answer)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, specification=st.sampled_from(HAS))
def test_the_worked_solution_ends_in_the_answer_and_no_hint_says_it(seed, specification):
    task = make_task(seed, specification)
    assert task.steps[-1].text.endswith(f"The answer is {task.answer}.") and len(task.steps) in (1, 2)
    hints = known(task, Condition(partition="key"), "partner").hints
    assert len(hints) == len(task.steps) and not any(hint.endswith(f"leaves {task.answer}.") for hint in hints)
    assert all(fact.text in " ".join(hints) for fact in task.facts if fact.needed)
    assert known(task, Condition(partition="answer"), "partner").hints == ()


@pytest.mark.parametrize(("split", "held_out"), [("train", False), ("exam", True)])
def test_a_bag_of_words_cannot_tell_underspecified_from_full(split, held_out):
    both = [some(split, name, 200, held_out=held_out) for name in ("full", "underspecified")]
    assert youden_j(wording(task) for tasks in both for task in tasks) < 0.2


def test_no_combination_stands_in_two_splits_and_another_seed_has_other_problems():
    def combinations(split):
        return {(task.answer, task.facts[0].ask, task.facts[-1].ask) for task in some(split, "full", 150)}

    base, train, exam = map(combinations, ("base", "train", "exam"))
    assert not base & train and not base & exam and not train & exam
    one, two = (some("train", "full", 150, seed=seed) for seed in (0, 1))
    assert not {task.full_question for task in one} & {task.full_question for task in two}
    assert {task.kind for task in one} == set(KINDS) and {task.stratum for task in one} == {"easy", "hard"}
    assert {task.split for task in one} == {"train"}


def patterns(wordings, held_out):
    chosen = wordings[-HELD_OUT:] if held_out else wordings[:-HELD_OUT]
    return [re.compile(re.sub(r"\\\{\w+\\\}", r"[\\w',\\- ]+", re.escape(each)), re.I) for each in chosen]


def test_held_out_wordings_are_in_no_task_but_the_stress_tasks():
    tasks = {"source": "hidden_item", "train": COUNTS, "exam": COUNTS}
    exp = small_experiment(tasks=tasks, exams={"stress": 20})
    own, stress = [*load_tasks(exp.tasks, "train")[0], *load_tasks(exp.tasks, "exam")[0]], exam_tasks(exp)[1]
    assert len(own) == 140 and len(stress) == 40
    for made, unheard in ((own, False), (stress, True)):
        for task in made:
            *told, question = re.split(r"(?<=[.!?])\s+", task.question)
            assert all(any(p.fullmatch(each) for p in patterns(item_words().says, unheard)) for each in told), told
            assert any(p.fullmatch(question) for p in patterns(item_words().questions, unheard)), question
            assert not any(p.fullmatch(question) for p in patterns(item_words().questions, not unheard)), question


def test_no_option_of_the_own_tasks_has_an_attribute_that_is_held_out():
    exp = small_experiment(
        tasks={"source": "hidden_item", "train": COUNTS, "exam": COUNTS, "held_out": ["pattern", "shape"]},
        exams={"stress": 4, "held_out": 5},
    )
    train, (own, aside) = load_tasks(exp.tasks, "train")[0], exam_tasks(exp)
    for task in (*train, *own, *aside[:4]):
        assert not {"pattern", "shape"} & set(task.choice.attributes)
    assert [task.kind in ("pattern", "shape") for task in aside] == ([False] * 4 + [True] * 5) * 2
    for held_out in (("weight",), ("pattern", "shape", "size")):
        with pytest.raises(ConfigError, match="attributes of hidden items, and leave 3"):
            load_tasks(Tasks(source="hidden_item", held_out=held_out), "train")


def test_a_condition_can_play_hard_ones_alone():
    exp = small_experiment(
        tasks={
            "source": "hidden_item",
            "train": COUNTS,
            "second": {"source": "hidden_item_hard", "seed": 1, "train": {"full": 9}},
        },
        conditions={"key": {"partition": "key", "sources": ["hidden_item_hard"]}},
    )
    tasks, _ = load_tasks(exp.tasks, "train")
    played = list(tasks_of(exp, "key", tasks))
    assert len({task.id for task in tasks}) == len(tasks) == 79 and len(played) == 9
    assert {(task.stratum, task.specification, task.source) for task in played} == {
        ("hard", "full", "hidden_item_hard")
    }


def test_under_jigsaw_both_see_the_options_and_each_lacks_a_needed_fact():
    condition = Condition(partition="jigsaw")
    for task in some("train", "full", 30):
        shares = {party: known(task, condition, party) for party in ("student", "partner")}
        assert all(share.question.endswith(question_of(task)) for share in shares.values())
        assert len(left(task, shares["student"].facts)) > 1
        assert len(left(task, [fact for share in shares.values() for fact in share.facts])) == 1


def test_values_are_of_one_attribute_and_one_word_and_there_are_enough():
    values = [value for each in item_words().attributes.values() for value in each]
    assert len(set(values)) == len(values) and all(re.fullmatch("[a-z]+", value) for value in values)
    assert all(len(each) >= 6 for each in item_words().attributes.values())
    for wordings in (item_words().says, item_words().asks, item_words().questions):
        assert len(set(wordings)) == len(wordings) >= 6 > HELD_OUT
    named = {*values, *item_words().nouns, *item_words().attributes}
    assert not named & {*item_words().things, *(name.lower() for name in words().fillers["people"])}
