"""The embedded world: minimal pairs, right answers, splits by combination."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from pipeline.tasks.loading import load_tasks
from pipeline.tasks.settings import Tasks
from pipeline.tasks.word_problems import IMPOSSIBLE, KINDS, embedded_tasks, make_task


def some(split, specification, count):
    return list(itertools.islice(embedded_tasks(split, specification), count))


def words(text):
    return re.findall(r"[A-Za-z]+|\d+", text)


@pytest.fixture(scope="module")
def pairs():
    """(full, underspecified) twins."""
    return list(zip(some("train", "full", 240), some("train", "underspecified", 240), strict=True))


def test_twins_share_their_problem_and_differ_in_what_is_public(pairs):
    for full, under in pairs:
        assert full.id.rsplit("-", 1)[0] == under.id.rsplit("-", 1)[0]
        assert full.full_question == under.full_question
        assert full.answer == under.answer
        assert [(f.text, f.needed) for f in full.facts] == [(f.text, f.needed) for f in under.facts]
        assert not full.missing
        assert under.missing


def test_twins_have_as_many_words_numbers_and_somes(pairs):
    for full, under in pairs:
        for counted in (
            lambda text: len(words(text)),
            lambda text: sum(word.isdigit() for word in words(text)),
            lambda text: words(text).count("some"),
        ):
            assert counted(full.question) == counted(under.question)


@pytest.mark.parametrize("binary", [True, False])
def test_a_bag_of_words_cannot_tell_underspecified_from_full(pairs, binary):
    """Youden J (sensitivity + specificity - 1) on the half that it was not fitted on; above 0.2 no claim stands."""
    half = len(pairs) // 2
    texts = [
        [re.sub(r"\d+", "N", task.question) for pair in part for task in pair] for part in (pairs[:half], pairs[half:])
    ]
    labels = np.array([0, 1] * half)
    counter = CountVectorizer(token_pattern=r"[A-Za-z]+", binary=binary)
    model = LogisticRegression(max_iter=1000).fit(counter.fit_transform(texts[0]), labels)
    guessed = model.predict(counter.transform(texts[1]))
    assert guessed[labels == 1].mean() - guessed[labels == 0].mean() < 0.2


@pytest.mark.parametrize("specification", ["full", "underspecified"])
def test_the_answer_is_what_the_needed_facts_come_to(specification):
    for task in some("exam", specification, 100):
        a, *rest = (int(re.findall(r"\d+", fact.text)[0]) for fact in task.facts if fact.needed)
        signs = re.findall(r"[-+*]", KINDS[task.kind][2])
        for sign, number in zip(signs, rest, strict=True):
            a = {"+": a + number, "-": a - number, "*": a * number}[sign]
        assert task.answer == str(a)
        assert task.wrong_answer != task.answer
        assert task.solution.rstrip(".").endswith(f"= {a}")


def test_a_false_premise_gives_away_more_than_there_is():
    for task in some("train", "false_premise", 60):
        has, gives = (int(re.findall(r"\d+", fact.text)[0]) for fact in task.facts if fact.needed)
        assert gives > has
        assert task.answer == IMPOSSIBLE


def test_the_public_question_holds_just_the_numbers_of_the_public_facts(pairs):
    """As a multiset: a withheld number may coincide with a public one."""
    for pair in pairs:
        for task in pair:
            public = Counter(re.findall(r"\d+", " ".join(fact.text for fact in task.facts if fact.public)))
            assert Counter(re.findall(r"\d+", task.question)) == public


def combinations(tasks):
    """The numbers and the thing of each problem."""
    needed = [[fact.text for fact in task.facts if fact.needed] for task in tasks]
    return {
        (*sorted(re.findall(r"\d+", " ".join(texts))), re.findall(r"\d+ (?:more |loose )?(\w+)", texts[-1])[0])
        for texts in needed
    }


def test_no_combination_of_numbers_and_thing_stands_in_two_splits():
    base, train, exam = (combinations(some(split, "full", 150)) for split in ("base", "train", "exam"))
    assert not base & train
    assert not base & exam
    assert not train & exam


def test_a_task_is_made_by_its_seed_alone():
    assert make_task(17, "full") == make_task(17, "full")
    assert make_task(17, "full") != make_task(18, "full")


def test_the_loader_gives_as_many_twins_as_asked_and_other_problems_for_another_seed():
    counts = {"full": 7, "underspecified": 7, "false_premise": 2}
    tasks, bad = load_tasks(Tasks(train=counts), "train")
    assert bad == []
    assert Counter(task.specification for task in tasks) == counts
    assert {task.split for task in tasks} == {"train"}
    assert [t.full_question for t in tasks[:7]] == [t.full_question for t in tasks[7:14]]
    other, _ = load_tasks(Tasks(train=counts, seed=1), "train")
    assert not {task.full_question for task in tasks} & {task.full_question for task in other}


def test_the_loaders_exam_shares_no_combination_with_its_training_tasks():
    counts = {"full": 60, "underspecified": 60, "false_premise": 60}
    settings = Tasks(train=counts, exam=counts)
    (train, _), (exam, _) = (load_tasks(settings, split) for split in ("train", "exam"))
    assert len(train) == len(exam) == 180 and {task.split for task in exam} == {"exam"}
    assert not combinations(train) & combinations(exam)


@pytest.mark.parametrize("specification", ["full", "underspecified", "false_premise"])
def test_the_tasks_of_a_split_are_those_of_all_numbers_that_fall_into_it(specification):
    all_numbers = (make_task(20_000_000 + i, specification) for i in range(200))
    train = [task for task in all_numbers if task.split == "train"]
    assert list(itertools.islice(embedded_tasks("train", specification, seed=2), len(train))) == train
