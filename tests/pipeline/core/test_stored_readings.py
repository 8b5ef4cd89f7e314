"""What was read off a turn is stored without what it does not hold, and comes back the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.readings import PartnerReading, StudentReading

ids = st.frozensets(st.sampled_from(["a", "b"]))
words = st.none() | st.sampled_from(["no", "none", "7"])


@given(ids, st.booleans(), words, st.sampled_from(["none", "agrees", "disagrees"]), st.none() | st.just("even"))
def test_a_students_reading_comes_back(asks, generic, attempt, stance, bound) -> None:
    read = StudentReading(asks=asks, generic_request=generic, attempt=attempt, stance=stance, bound=bound)
    assert StudentReading.model_validate_json(read.model_dump_json()) == read


@given(
    st.sampled_from(["none", "yes", "no"]), st.sampled_from(["no", "stated"]), st.sampled_from(["none", "wrong"]), words
)
def test_a_partners_reading_comes_back(confirms, reveals, feedback, attempt) -> None:
    read = PartnerReading(confirms=confirms, reveals=reveals, feedback=feedback, attempt=attempt)
    assert PartnerReading.model_validate_json(read.model_dump_json()) == read


def test_nothing_is_stored_of_a_turn_that_does_nothing() -> None:
    assert StudentReading().model_dump() == {"party": "student"}
    assert PartnerReading().model_dump() == {"party": "partner"}
