"""Whether a partner can teach: a rule does, who speaks by lot judges nothing, and nobody else is asked."""

from __future__ import annotations

import pytest

from evals.examining.teaching_check import FIGURES, taught, teachers
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.experiment.assignment import exam_tasks
from tests.builders import small_experiment

CONDITIONS = {
    "key": {"partition": "key"},
    "by_lot": {"partition": "answer", "voice": "model"},
    "peer": {"partition": "symmetric"},
    "again": {"partition": "key", "learns_from": "key"},
    "primed": {"partition": "key", "method": "q_priming"},  # the same partner
}
RUN = small_experiment(conditions=CONDITIONS, tasks={"exam": {"full": 12, "underspecified": 4}})


def figures(name: str) -> dict[str, Rate]:
    tasks = [task for task in exam_tasks(RUN)[0] if task.wrong_answer and not task.missing]
    return dict(taught(RUN, name, tasks))


def test_a_rule_with_the_key_tells_right_from_wrong_and_keeps_the_answer():
    found = {figure: rate.value for figure, rate in figures("key").items()}
    assert found["tells_apart"] == found["yes_right"] == found["no_wrong"] == 1
    assert found["yes_wrong"] == found["gives_away"] == found["echoes"] == 0


def test_who_speaks_by_lot_is_not_shown_to_tell_any_apart():
    found = figures("by_lot")
    assert found["tells_apart"].low < 0 < found["tells_apart"].high


def test_the_table_has_those_that_hold_the_answer_and_speak_for_themselves():
    rows = teachers(RUN).splitlines()
    assert [row.split(" | ")[0].strip("| ") for row in rows[2:]] == ["key", "by_lot"]
    assert all(figure in rows[0] for figure in FIGURES) and rows[2].endswith("| 12 |")


def test_where_no_partner_holds_the_answer_it_says_what_to_name():
    with pytest.raises(ConfigError, match="such as answer or key"):
        teachers(small_experiment())
