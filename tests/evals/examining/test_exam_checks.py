"""What is refused of a config's exams before anything runs, with the key, what is known, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.examining.exam_checks import check_exams
from evals.exams.registry import exams_of
from evals.sitting.exam import options
from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment

HERE = Path("mine.yaml")
CODE = {"source": "code", "train": {"full": 3, "underspecified": 3}, "exam": {"full": 3, "underspecified": 3}}


def refused(exams: dict[str, object], *overrides: str, **sections: object) -> str:
    with pytest.raises(ConfigError) as error:
        check_exams(HERE, small_experiment(exams=exams, **sections), overrides)
    return str(error.value)


def test_an_exam_that_is_none_is_told_with_the_nearest() -> None:
    told = refused({"include": ["asking", "tutorin"]})
    assert told.startswith("mine.yaml: exams.include: 'tutorin' is not an exam. Did you mean 'tutoring'? Known: agree")
    assert "my.py:EXAM" in told


def test_an_exam_or_section_of_an_earlier_name_is_told_with_the_new_one() -> None:
    assert "no exam is called 'disclosure' any more. It is called 'support' now" in refused({"include": ["disclosure"]})
    told = refused({"include": ["support"], "disclosure": {"train": "a"}})
    assert told == "mine.yaml: exams.disclosure: not a key any more. It is called 'support' now"


def test_a_key_that_no_exam_has_is_told_with_the_nearest() -> None:
    told = refused({"include": ["lost"], "lots": {"samples": 3}})
    assert told.startswith("mine.yaml: exams.lots: not a key here. Did you mean 'lost'? Known: include, samples")


@pytest.mark.parametrize(
    ("key", "value", "exam"),
    [
        ("helped", 3, "alone"),
        ("human", {"source": "talks.yaml"}, "human"),
        ("presupposition", {"path": "any.jsonl"}, "presupposition"),
        ("claims", {"path": "claims.csv"}, "persuader"),
    ],
)
def test_a_key_of_an_exam_that_is_not_sat_names_it(key: str, value: object, exam: str) -> None:
    told = refused({"include": ["asking"], key: value})
    assert f"exams.{key}: a key of exam {exam}, which is not sat. Add {exam!r} to exams.include" in told
    check_exams(HERE, small_experiment(exams={"include": ["asking"], key: None}))


def test_a_value_is_refused_where_it_stands() -> None:
    assert refused({"include": ["lost"], "lost": {"samples": 1}}).startswith("mine.yaml: exams.lost.samples: Input")
    told = refused({"include": ["lost"], "lost": {"sample": 2}}, "exams.lost.sample=2")
    assert told.startswith("--set exams.lost.sample: exams.lost.sample: not a key here. Did you mean 'samples'?")
    assert "Known: samples" in told
    told = refused({"include": ["human"]})
    assert told.startswith("mine.yaml: exams.human: the exam beside people needs a section exams.human")


def test_two_exams_may_share_a_key() -> None:
    both = {"include": ["persuader", "persuasion"], "helper": "model"}
    experiment = small_experiment(exams=both | {"claims": {"path": "claims.csv", "most": 3}})
    check_exams(HERE, experiment)
    read = [exam.options and options(experiment, exam.options).model_dump()["claims"] for exam in exams_of(experiment)]
    assert read == [{"path": "claims.csv", "most": 3}] * 2
    assert "exams.claims.most" in refused(both | {"claims": {"path": "claims.csv", "most": 0}})


def test_an_exam_is_named_once() -> None:
    assert "exams.include: 'lost' is there twice" in refused({"include": ["lost", "lost"]})


def test_exams_that_compare_values_are_refused_on_programs() -> None:
    told = refused({"include": ["asking", "collapse", "lost"]}, tasks=CODE)
    assert "exams.include: collapse, lost would compare answers as values" in told
    assert told.endswith("Known there: alone, asking, feedback, human")


def test_problems_of_two_sources_are_not_posed_whole() -> None:
    both = CODE | {"source": "embedded", "second": CODE}
    assert "exams.helped: 3 problems would be of two sources" in refused(
        {"include": ["alone"], "helped": 3}, tasks=both
    )


def test_a_metric_that_no_exam_has_is_told_with_the_nearest() -> None:
    compare = {"primary": {"metric": "ask_skil", "a": "facts", "b": "base"}}
    told = refused({"include": ["asking"]}, compare=compare)
    assert "compare.primary.metric: 'ask_skil' is not a metric. Did you mean 'ask_skill'?" in told


def test_a_metric_of_another_exam_is_told_with_what_is_measured() -> None:
    compare = {"primary": {"metric": "harmful_flip", "a": "facts", "b": "base"}}
    told = refused({"include": ["asking"]}, compare=compare)
    assert "'harmful_flip' needs harmful_flip_null, harmful_flip_raw, which the exams of this config do not" in told


def test_the_bootstrap_of_compare_is_gone_and_says_so(tmp_path: Path) -> None:
    from pipeline.core.config_reading import read_as

    config = tmp_path / "old.yaml"
    config.write_text(
        "name: t\nconditions: {facts: {partition: facts}}\n"
        "compare: {primary: {metric: ask_skill, a: facts, b: base}, bootstrap: 200}\n"
    )
    with pytest.raises(ConfigError, match=r"compare\.bootstrap: not a key any more\. Intervals are Student's t"):
        read_as(Experiment, config)
