"""Embedded code tasks: minimal pairs whose missing conventions can only be asked for or guessed."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.stats.wording_shortcut import wording, youden_j
from pipeline.core.errors import ConfigError
from pipeline.core.schema import question_hash
from pipeline.reading.acts import asked
from pipeline.reading.acts import given as stated
from pipeline.sandbox.checks import parsed
from pipeline.tasks.code.generated import FAMILIES, Undecided, code_tasks, make_task
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.settings import Tasks


def pair(seed):
    try:
        return make_task(seed, "full"), make_task(seed, "underspecified")
    except Undecided:
        return pair(seed + 100_000)


seeds = st.integers(0, 3_000)


def passes(program, examples):
    """Whether a program of ours gives what the examples say."""
    names = {}
    exec(program, names)
    return all(names[name](*args) == value for name, args, value in map(parsed, examples))


def families_of(task):
    return next(family for family in FAMILIES if family.kind == task.kind)


def named(text, task):
    k = next(n for n in re.findall(r"\d+", task.question))
    return re.sub(r"\bK\b", k, re.sub(r"\bF\b", task.entry, text))


def other_programs(task):
    """The reference with another value of a missing convention, for each of them and each value."""
    family, texts = families_of(task), {fact.id: fact.text for fact in task.facts}
    own = [
        next(value for value in convention.values if named(value.says, task) == texts[f"f{i}"])
        for i, convention in enumerate(family.conventions)
    ]
    for fact in task.missing:
        at = int(fact.id[1:])
        for value in family.conventions[at].values:
            if value is not own[at]:
                chosen = [*own[:at], value, *own[at + 1 :]]
                pieces = {one.name: each.code for one, each in zip(family.conventions, chosen, strict=True)}
                yield fact.text, named(family.program.format(**pieces), task)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_the_reference_passes_all_its_tests(seed):
    for task in pair(seed):
        assert passes(task.answer, [*task.tests.public, *task.tests.hidden])
        assert len(task.tests.public) == 2 and len(task.tests.hidden) >= 3


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_another_value_of_a_missing_convention_fails_only_a_hidden_test(seed):
    _, task = pair(seed)
    for convention, program in other_programs(task):
        assert passes(program, task.tests.public), convention
        assert not passes(program, task.tests.hidden), convention


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_twins_differ_in_which_sentences_of_two_functions_are_left_out_alone(seed):
    full, under = pair(seed)
    assert (full.full_question, full.tests, full.answer) == (under.full_question, under.tests, under.answer)
    assert not full.missing and 1 <= len(under.missing) <= 2
    gone = [{fact.id for fact in task.facts if not fact.public} for task in (full, under)]
    assert {name[1:] for name in gone[0]} == {name[1:] for name in gone[1]}
    for task, ids in zip((full, under), gone, strict=True):
        for fact in task.facts:
            assert (fact.text in task.question) == (fact.id not in ids)


def test_the_same_seed_gives_the_same_tasks_and_no_question_twice():
    first, again = ([*itertools.islice(code_tasks("train", "underspecified", 3), 60)] for _ in range(2))
    assert first == again
    assert len({question_hash(task.full_question) for task in first}) == len(first)
    assert first[0] != next(code_tasks("train", "underspecified", 4))


@pytest.mark.slow
def test_no_program_is_on_both_sides_of_the_split():
    def programs(split):
        tasks = itertools.islice(code_tasks(split, "full"), 150)
        return {re.sub(rf"\b{task.entry}\b", "F", task.answer) for task in tasks}

    train = programs("train")
    assert len(train) > 60 and not train & programs("exam")


@pytest.mark.slow
def test_every_value_of_every_convention_is_drawn_about_as_often():
    drawn = Counter()
    for task in itertools.islice(code_tasks("train", "full"), 1_000):
        for fact in task.facts:
            if fact.needed:
                drawn[task.kind, fact.id, re.sub(r"\d+", "K", fact.text.replace(task.entry, "F"))] += 1
    for family in FAMILIES:
        for i, convention in enumerate(family.conventions):
            counts = [n for (kind, name, _), n in drawn.items() if (kind, name) == (family.kind, f"f{i}")]
            assert len(counts) == len(convention.values)
            assert max(counts) / sum(counts) < 1.7 / len(counts), (family.kind, convention.name, counts)


def test_the_wording_does_not_give_the_specification_away():
    tasks = [t for name in ("full", "underspecified") for t in itertools.islice(code_tasks("train", name), 250)]
    assert abs(youden_j(map(wording, tasks))) < 0.2


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_a_conventions_question_asks_for_it_alone_and_its_sentence_states_it(seed):
    _, task = pair(seed)
    needed = [fact for fact in task.facts if fact.needed]
    for fact in needed:
        assert asked(fact.ask, task.facts) == [fact.id]
        assert [name for name in stated(f"I can tell you this. {fact.text}", needed)] == [fact.id]


@pytest.mark.parametrize(("kind", "question", "name"), [
    ("string_words", "How should I break ties?", "ties"),
    ("string_words", "Is it case sensitive?", "case"),
    ("number_mean", "Should 2.5 be rounded up or down?", "halves"),
    ("number_mean", "What if the list is empty?", "empty"),
    ("list_between", "Are the bounds inclusive?", "bounds"),
    ("list_ranking", "Does a score of exactly 20 count?", "bound"),
    ("dict_merge", "What happens when both have the same key?", "clash"),
    ("number_shares", "Who gets the remaining packs?", "rest")])  # fmt: skip
def test_a_question_in_other_words_asks_for_the_convention(kind, question, name):
    task = next(task for task in code_tasks("train", "full") if task.kind == kind)
    [found] = asked(question, task.facts)
    assert families_of(task).conventions[int(found[1:])].name == name


def test_the_source_gives_what_the_config_counts():
    tasks, bad = load_tasks(Tasks(source="code", train={"full": 7, "underspecified": 5}), "train")
    assert Counter(task.specification for task in tasks) == {"full": 7, "underspecified": 5} and not bad
    assert {task.split for task in tasks} == {"train"}
    with pytest.raises(ConfigError, match="false_premise"):
        load_tasks(Tasks(source="code", train={"false_premise": 1}), "train")
