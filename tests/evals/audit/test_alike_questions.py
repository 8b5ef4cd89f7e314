"""Questions that are one another, of however many with the same words, and answers that are said first."""

import random
from pathlib import Path

import pytest

from evals.audit.alike_questions import alike, compare, read_question
from evals.audit.audited_talks import holds
from pipeline.core.schema import question_hash
from tests.evals.audit.test_audit import audited, row, say


def of_one_template(n: int) -> dict[str, str]:
    """More questions than may share a run of words that points at one of them."""
    asked = "Tom has {} pens in a box and buys {} more at the shop. How many pens has Tom got in the end?"
    return {f"q{i}": asked.format(10 + i, 50 + 3 * i) for i in range(n)}


@pytest.mark.parametrize("n", [5, 60])
def test_a_question_inside_a_prompt_is_found_however_many_share_its_words(n: int) -> None:
    tests = of_one_template(n)
    prompts = {f"mine {key}": f"Answer in 1 sentence. {text}" for key, text in tests.items()}
    inside = compare(prompts.items(), tests)
    assert inside.ours == {f"mine {key}": ("equal", key) for key in tests}
    assert inside.theirs == {key: ("equal", f"mine {key}") for key in tests}
    around = compare(tests.items(), prompts)
    assert (around.ours, around.theirs) == (inside.theirs, inside.ours)


@pytest.mark.parametrize(("one", "other"), [
    ("What is 12 + 5?", "What is 12 - 5?"),
    ("What is 12+5?", "What is 12 * 5?"),
    ("What is 12 / 5?", "What is 12, 5?"),
    ("How much is -5 plus 3?", "How much is 5 plus 3?"),
    ("Анна живёт в Твери. Где живёт Анна?", "Пётр живёт в Омске. Где живёт Пётр?"),
    ("安娜有12支笔", "彼得有12支笔"),
    ("5加3等于多少?", "5减3等于多少?"),
    ("सीता के पास 5 गाय हैं।", "रीता के पास 5 केले हैं।"),
    ("What is 12-5?", "What is 12 / 5?"),
    ("What is $12 + $5?", "What is $12 - $5?"),
    ("What is (3 + 4) * 5?", "What is (3 + 4) - 5?"),
    ("x + 5 = 10. What is x?", "x - 5 = 10. What is x?"),
])  # fmt: skip
def test_problems_that_differ_in_a_sign_or_in_letters_of_any_script_are_two(one: str, other: str) -> None:
    assert question_hash(one) != question_hash(other)
    if read_question(one).signs or not any(sign in one for sign in "+-"):  # the audit reads those between numbers alone
        assert alike(read_question(one), read_question(other)) != "equal"


@pytest.mark.parametrize(("one", "other"), [
    ("What is 12 + 5?", "what is  12+5"),
    ("Wie alt ist Jürgen?", "WIE ALT IST JÜRGEN"),
    ("It costs $3-$5.", "It costs $3, $5!"),
    ("What is 12 – 5?", "What is 12-5?"),
    ("What is 12 − 5?", "What is 12 - 5?"),
    ("What is 12 × 5?", "What is 12*5?"),
    ("Take 1/2 of it.", "take 1 2 of it"),
])  # fmt: skip
def test_case_spacing_and_punctuation_make_no_other_question(one: str, other: str) -> None:
    assert question_hash(one) == question_hash(other)


def test_a_small_split_that_stands_in_a_large_one_is_found_from_its_own_side(tmp_path: Path) -> None:
    rows = [row(i) | {"split": "train"} for i in range(400)]
    copies = [one | {"question": one["question"].replace("at home", "home"), "split": "test"} for one in rows[:3]]
    nearly = [one for one in audited(tmp_path, rows + copies)["contamination"].findings if " nearly in " in one.what]
    verdicts = {one.what: (one.rate and one.rate.value, one.verdict) for one in nearly}
    assert verdicts["questions of test nearly in train"] == (1, "fail")
    assert verdicts["questions of train nearly in test"][1] == "pass"


def test_a_leak_is_no_chance_where_talks_of_one_question_stand_together(tmp_path: Path) -> None:
    """Rollouts come grouped by their prompt: with the answer of the next one a talk has its own."""
    rows = [row(i) | {"partition": "symmetric", "split": "train"} for i in range(3) for _ in range(20)]
    for one in rows[::3]:
        say(one, 2, f"I see {one['answer']} of them.")
    (found,) = [one for one in audited(tmp_path, rows)["knowledge"].findings if "first to say" in one.what]
    assert found.verdict == "fail" and found.bar == 0.02 and "chance, with another talk's answer: 0.000" in found.note


def test_answers_that_many_questions_have_are_said_by_chance_as_often_as_they_stand(tmp_path: Path) -> None:
    rng, rows = random.Random(0), []
    for i in range(600):
        answer = rng.choice([2, 3, 4, 5]) if rng.random() < 0.8 else rng.randrange(200, 9000)
        one = row(i) | {"partition": "symmetric", "split": "train", "answer": str(answer)}
        say(one, 2, f"Look at point {rng.choice([2, 3, 4, 5, 6])}.")
        rows.append(one)
    (found,) = [one for one in audited(tmp_path, rows)["knowledge"].findings if "first to say" in one.what]
    assert found.rate and found.rate.value > 0.1 and found.verdict == "pass", found.note


def test_a_question_inside_another_is_found_however_many_share_all_its_passages() -> None:
    question = (
        "In the year {} a farmer counted all the animals that were standing on the long green field behind the old red "
        "barn of his father and he found that there were {} more of them than the year before"
    )
    tests = {f"{i}-{j}": question.format(i, j) for i in range(1, 13) for j in range(30, 42)}
    inside = compare([(f"p{key}", f"Answer in 1 sentence. {text}") for key, text in tests.items()], tests)
    assert inside.theirs == {key: ("equal", f"p{key}") for key in tests}
    around = compare(tests.items(), {f"p{key}": f"Answer in 1 sentence. {text}" for key, text in tests.items()})
    assert around.ours == {key: ("equal", f"p{key}") for key in tests}


def test_who_is_equal_to_one_question_is_still_laid_beside_the_others() -> None:
    (_, first), (_, second) = [(i, row(i)["question"]) for i in range(2)]
    near = f"{first} Say it shortly."
    found = compare([("a", first)], {"a": first, "b": near, "c": second})
    assert found.ours == {"a": ("equal", "a")} and found.theirs.keys() == {"a", "b"}


@pytest.mark.parametrize(("text", "gold", "expected"), [
    ("The result that you want is twenty-eight.", "28", True),
    ("Twenty-eight pens.", "8", False),
    ("That one is hers.", "1", False),
    ("Half of them.", "1/2", True),
])  # fmt: skip
def test_an_answer_in_words_is_found_too(text: str, gold: str, expected: bool) -> None:
    assert holds(text, gold) is expected
