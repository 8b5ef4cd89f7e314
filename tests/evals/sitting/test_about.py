"""What a reply shares with its topic, and with another by chance."""

import pytest

from evals.sitting.about import about, beside


@pytest.mark.parametrize(("reply", "found"), [
    ("Chairs could break.", True), ("I would sit on a chair.", True), ("It could break.", False),
    ("", False),
    ("It should be a door.", False),
])  # fmt: skip
def test_a_reply_is_about_a_topic_where_it_has_a_word_of_it_that_carries_meaning(reply, found):
    assert about(reply, "a chair should fold up") == found


def test_the_other_topic_is_the_next_that_shares_no_word():
    topics = ["a red chair", "a blue chair", "a clock", "a red clock"]
    assert [beside(topics, i) for i in range(4)] == ["a clock", "a clock", "a red chair", "a blue chair"]
    assert beside(["a chair", "two chairs"], 0) == ""
