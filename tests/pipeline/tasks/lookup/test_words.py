"""data/lookup.yaml: enough fillers, enough wordings, and slots that exist."""

import itertools
import re
import string

import pytest

from pipeline.reading.numbers.equality import equal
from pipeline.tasks.lookup.lookup_tasks import CHOICES, OPTIONS
from pipeline.tasks.lookup.words import words
from pipeline.tasks.split import HELD_OUT

RELATIONS, KINDS, FILLERS = words().relations, words().kinds, words().fillers
LISTS = {
    **{f"{name}.{what}": getattr(each, what) for name, each in RELATIONS.items() for what in ("says", "traces")},
    **{f"{name}.asks": each.asks for name, each in RELATIONS.items()},
    **{f"{name}.denials": each.denials for name, each in RELATIONS.items() if each.denials},
    **{f"{name}.questions": kind.questions for name, kind in KINDS.items()},
    "openers": words().openers,
    "choices": words().choices,
}


@pytest.mark.parametrize("name", LISTS)
def test_every_kind_of_sentence_and_question_has_six_wordings_or_more(name):
    assert len(set(LISTS[name])) == len(LISTS[name]) >= 6 > HELD_OUT


@pytest.mark.parametrize("name", RELATIONS)
def test_a_sentence_names_its_subject_and_only_who_tells_it_the_value(name):
    relation = RELATIONS[name]
    for what, letters in (("says", {*relation.subject, "V"}), ("asks", {*relation.subject})):
        for wording in getattr(relation, what):
            assert {letter for _, letter, *_ in string.Formatter().parse(wording) if letter} == letters, wording
    for wording in (*relation.traces, *relation.denials):
        assert "{V}" not in wording


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_hop_is_about_the_value_of_the_first(kind):
    hops = [RELATIONS[name] for name in KINDS[kind].through]
    assert hops[0].denials
    for first, second in itertools.pairwise(hops):
        assert [*second.subject.values()] == [first.V]


def test_a_question_ends_as_one_and_holds_no_other_sentence():
    questions = [question for kind in KINDS.values() for question in kind.questions]
    for asks in (*questions, *(ask for relation in RELATIONS.values() for ask in relation.asks)):
        assert re.fullmatch(r"[^.!?]+\?", asks)


@pytest.mark.parametrize("kind", KINDS)
def test_a_guess_among_the_fillers_is_right_in_less_than_one_of_twenty(kind):
    """Who names a filler at random, or one of the options where there are some. What the text names is left out."""
    fillers, named = len(FILLERS[RELATIONS[KINDS[kind].through[-1]].V]), 2
    assert (1 - CHOICES) / (fillers - named) + CHOICES / (OPTIONS - 1) < 0.05


@pytest.mark.parametrize("name", sorted({relation.V for relation in RELATIONS.values()}))
def test_no_two_fillers_are_the_same_answer(name):
    assert len(set(FILLERS[name])) == len(FILLERS[name])
    for first, second in itertools.combinations(FILLERS[name][:100], 2):
        assert not equal(first, second)
