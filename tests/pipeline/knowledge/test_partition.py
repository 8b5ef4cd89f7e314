"""Every row of the table, and the combinations that make no sense."""

import pytest
from pydantic import ValidationError

from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS, PUBLIC, SHARE


def test_every_row_lets_the_student_read_the_question_or_its_share():
    for name, row in PARTITIONS.items():
        assert row.student & {PUBLIC, SHARE}, name


def test_only_solo_has_no_partner():
    assert [name for name, row in PARTITIONS.items() if row.partner is None] == ["solo"]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ({"partition": "answers"}, "not a partition"),
        ({"partition": "sham"}, "label: teacher"),
        ({"partition": "symmetric", "disclosure": "volunteer"}, "holds none"),
        ({"partition": "facts", "disclosure": "chatter", "voice": "model"}, "chatter"),
        ({"partition": "jigsaw", "disclosure": "chatter"}, "dealt to it alone"),
        ({"partition": "solo", "voice": "model"}, "no partner"),
        ({"partition": "solo", "label": "teacher"}, "no partner"),
        ({"partition": "script"}, "written by a model"),
        ({"partition": "facts", "weights": "current"}, "needs voice: model"),
        ({"partition": "facts", "reveal": True}, "holds the answer"),
        ({"partition": "symmetric", "selection": "agreement"}, "answer of its own"),
    ],
)
def test_a_combination_that_makes_no_sense_is_refused_with_its_reason(condition, reason):
    with pytest.raises(ValidationError, match=reason):
        Condition(**condition)
