"""Whether a partner that holds facts can be asked: a rule listens, who tells all unasked does not."""

from __future__ import annotations

import pytest

from evals.examining.telling_check import FIGURES, told, users
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.experiment.assignment import exam_tasks
from tests.builders import small_experiment

CONDITIONS = {
    "facts": {"partition": "facts"},
    "volunteer": {"partition": "facts", "disclosure": "volunteer"},
    "by_lot": {"partition": "facts", "voice": "model"},
    "key": {"partition": "key"},
    "again": {"partition": "facts", "learns_from": "facts"},
}
RUN = small_experiment(conditions=CONDITIONS, tasks={"exam": {"full": 4, "underspecified": 12}})


def figures(name: str) -> dict[str, Rate]:
    return dict(told(RUN, name, [task for task in exam_tasks(RUN)[0] if task.missing]))


def test_a_rule_tells_what_it_is_asked_for_and_nothing_before():
    found = {figure: rate.value for figure, rate in figures("facts").items()}
    assert found["listens"] == found["waits"] == found["tells_asked"] == 1
    assert found["tells_unasked"] == found["tells_other"] == found["tells_wrong"] == 0


def test_who_tells_unasked_neither_waits_nor_listens():
    found = figures("volunteer")
    assert found["tells_unasked"].value > 0.9 and found["waits"].value <= 0 and found["listens"].value <= 0


def test_who_speaks_by_lot_is_not_shown_to_listen():
    listens = figures("by_lot")["listens"]
    assert listens.low <= 0 <= listens.high


def test_the_table_has_those_that_hold_facts_and_speak_for_themselves():
    rows = users(RUN).splitlines()
    assert [row.split(" | ")[0].strip("| ") for row in rows[2:]] == ["facts", "volunteer", "by_lot"]
    assert all(figure in rows[0] for figure in FIGURES) and rows[2].endswith("| 12 |")


def test_where_no_partner_holds_facts_it_says_what_to_name():
    alone = {name: {"partition": "symmetric"} if name == "a" else {"partition": "solo"} for name in "ab"}
    with pytest.raises(ConfigError, match="the partition facts"):
        users(small_experiment(conditions=alone, compare={"primary": {"metric": "ask_skill", "a": "a", "b": "b"}}))
