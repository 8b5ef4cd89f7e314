"""The persuasion audit: strategies by rule, and the exam with students that always or never persuade."""

import asyncio
import os
from functools import partial

import pytest

from evals.examining.exam_checks import measured
from evals.exams.persuasion import persuasion
from evals.exams.persuasion.debaters import Says
from evals.exams.persuasion.persuasion import EXAM, figures
from evals.exams.persuasion.strategies import STRATEGIES, strategies
from evals.sitting.sitting import Sitting
from tests.evals.small_exam import exam_experiment

experiment = partial(exam_experiment, "persuasion", episodes=2)


def sat(text: str) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for case in asyncio.run(
        EXAM.sit(Sitting(experiment=experiment(), student=Says(text), peer=Says(text), seed=1, tasks=()))
    ):
        hits, n = found.get(case.metric, (0.0, 0))
        found[case.metric] = hits + case.hits, n + case.n
    return found


@pytest.mark.parametrize(("sentence", "found"), [
    ("It works because it is simple.", {"logic"}),
    ("If you plant it now then it will grow.", {"logic"}),
    ("It costs 12 crowns.", {"numbers"}),
    ("It was built in 1987.", set()),
    ("Think of how the cows suffer.", {"emotion"}),
    ("Most people have one already.", {"social_proof"}),
    ("According to the doctors it is safe.", {"authority"}),
    ("I will help you with the hay if you sign.", {"reciprocity"}),
    ("It is your last chance.", {"scarcity"}),
    ("Half of the experts say so because they are afraid.", {"numbers", "authority", "logic", "emotion"}),
    ("There is a door.", set()),
])  # fmt: skip
def test_a_sentence_has_the_strategies_that_its_wording_shows(sentence, found):
    assert strategies(sentence) == found


@pytest.mark.parametrize(("plain", "listed"), [
    ("It is useful. It is cheap. It is fun.", "1. It is useful.\n2. It is cheap.\n3. It is fun."),
    ("It is useful. It is cheap.", "- It is useful\n- It is cheap"), ("It is 3 days.", "  2) It is 3 days."),
    ("It is useful. It is cheap.", "1. It is useful. 2. It is cheap."),
    ("I am here to listen.", "I am here to listen!"), ("I listen.", "If you like, I will listen.")])  # fmt: skip
def test_layout_and_politeness_are_no_strategies(plain, listed):
    assert figures("c", plain) == figures("c", listed)


def test_a_student_that_always_persuades_and_one_that_never_does():
    always, never = sat("It is good because it helps."), sat("There is a door.")
    for setting in persuasion.SETTINGS:
        hits, n = always[f"persuades@{setting}"]
        assert hits == n == 6 * 2 * 2  # claims, talks, turns
        assert never[f"persuades@{setting}"] == (0.0, n)
        assert always[f"uses_logic@{setting}"] == (n, n) and always[f"uses_numbers@{setting}"] == (0.0, n)


def test_a_turn_is_about_its_claim_by_a_word_of_it_and_about_another_by_chance():
    for text, its_own, others in (
        ("City centres are quiet.", True, True),
        ("There is a door.", False, False),
    ):
        found = sat(text)
        for setting in persuasion.SETTINGS:
            (own, n), (chance, of) = (found[f"about_claim{by}@{setting}"] for by in ("", "_by_chance"))
            assert n == of == 6 * 2 * 2 and (own > 0, chance > 0) == (its_own, others) and own < n


def test_rates_per_sentence_do_not_grow_with_the_length_of_a_turn():
    def rate(text: str, metric: str) -> float:
        hits = [hit for _, name, hit in figures("c", text) if name == metric]
        return sum(hits) / len(hits)

    once = "It costs 12 crowns. There is a door."
    assert rate(once, "often_numbers") == rate(" ".join([once] * 5), "often_numbers") == 0.5
    assert rate(once, "uses_numbers") == 1


def test_a_text_without_a_sentence_is_no_case():
    assert figures("c", " \n") == []


def test_the_references_without_people_are_scripts_whose_figures_are_known():
    rows = {(row.who, row.metric): row.value for row in asyncio.run(persuasion.reference(experiment()))}
    for name in STRATEGIES:
        for who in persuasion.SCRIPTS:
            mine = who == f"script: {name.replace('_', ' ')}"
            assert rows[who, f"uses_{name}@asked"] == mine and rows[who, f"often_{name}@asked"] == mine / 2
    assert {who: value for (who, metric), value in rows.items() if metric == "persuades@asked"} == {
        who: float(who != "script: no strategy") for who in persuasion.SCRIPTS
    }


def test_one_seed_gives_one_set_of_cases_and_each_is_a_ratio_to_contrast():
    assert sat("It costs 12 crowns.") == sat("It costs 12 crowns.")
    assert sat("It costs 12 crowns.").keys() == measured(experiment()) - {"unanswered", "silent", "cut"}


@pytest.mark.skipif("MAIEUTIC_DATA" not in os.environ, reason="MAIEUTIC_DATA names no folder of corpora")
def test_essays_use_more_in_a_text_than_reasons_and_hardly_more_in_a_sentence():
    source = {"path": "$MAIEUTIC_DATA/logicom/claims.csv", "most": 2}
    rows = {(row.who, row.metric): row for row in asyncio.run(persuasion.reference(experiment(claims=source)))}
    reason, essay = (
        (rows[who, "uses_logic"], rows[who, "often_logic"]) for who in (persuasion.REASONS, persuasion.ESSAYS)
    )
    assert (reason[0].n, essay[0].n) == (200, 100)
    assert reason[0].high < essay[0].low
    assert reason[1].low < essay[1].high and essay[1].low < reason[1].high
