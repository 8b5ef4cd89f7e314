"""What the labels of each corpus say in the design's words: one row per label, with its reason.

`acts` are what a turn with this label does. "question" stands for any question, asked in whatever words: a corpus
seldom says whether the thing asked for is a fact of the task. `unclear` are acts on which the label is silent, so
that the turn counts neither for nor against them. A label with no row, or with None, is left out, and counted.

    maieutic eval labels configs/labels.yaml     # labels.json has what was left out, by label
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """The acts that a corpus's label stands for, why, and those that it leaves open."""

    acts: frozenset[str]
    reason: str
    unclear: frozenset[str] = frozenset()


def _means(acts: str, reason: str, unclear: str = "") -> Meaning:
    return Meaning(frozenset(acts.split()), reason, frozenset(unclear.split()))


_NOTHING = "", "a statement, or a way of holding the floor"
_QUESTION = "question", "a question by its form and use"

MEANINGS: dict[str, dict[str, Meaning]] = {
    # Basic tags (capitals) say whether it is a question, full tags say the rest. Shriberg et al. 2004.
    "mrda": {
        "Q": _means(*_QUESTION),
        "S": _means(*_NOTHING),
        "B": _means(*_NOTHING),
        "F": _means(*_NOTHING),
        "D": _means("", "cut off: what it would have asked is unsaid", "question"),
        **{tag: _means(*_NOTHING) for tag in "s rt d df cs e co j cc am t tc f g r fe bd fw by".split()},
        # The file keeps the first of several tags; these stand before the one that says what a question is for.
        **{tag: _means(*_NOTHING, "clarify repair") for tag in "fh fg h 2".split()},
        **{tag: _means(*_NOTHING) for tag in "qy qw qr qrr qo".split()},  # the basic tag has said it
        "qh": _means("", "rhetorical: the form of a question that wants no answer", "question"),
        "br": _means("repair", "asks to hear again what was said"),
        "bu": _means("clarify", "checks how the other was understood"),
        "bsc": _means("repair", "corrects its own words"),
        "bc": _means("repair", "corrects the other's words"),
        "b": _means("acknowledge", "shows that it listens"),
        "bk": _means("acknowledge", "takes note of what was said"),
        "bh": _means("acknowledge", "listens in the form of a question ('really?')", "question"),
        "aa": _means("agree", "accepts what was said"),
        "aap": _means("agree", "accepts a part of it", "disagree"),
        "ar": _means("disagree", "rejects what was said"),
        "arp": _means("disagree", "rejects a part of it", "agree"),
        "nd": _means("disagree", "says no in other words", "refuse"),
        "na": _means("", "answers yes: to a question, or to a view", "agree acknowledge"),
        "ng": _means("", "answers no in part", "disagree"),
        "ba": _means("", "values what was said, which may take note of it", "acknowledge agree"),
        "no": _means("", "does not know: unsure, or unable to answer", "hedge refuse"),
        "m": _means("restate", "says the other's words again"),
        "bs": _means("restate", "sums up what was said"),
        "ft": _means("", "thanks, which may take note", "acknowledge"),
        "fa": _means("", "an apology, no repair"),
    },
    # SWBD-DAMSL, Jurafsky et al. 1997.
    "swda": {
        **{tag: _means(*_QUESTION) for tag in "qy qw qy^d qo qrr qw^d".split()},
        **{tag: _means(*_NOTHING) for tag in "sd sv fc ^2 ad oo_co_cc bd fa t1 no".split()},
        "qh": _means("", "rhetorical: the form of a question that wants no answer", "question"),
        "^g": _means("", "a tag, whose sentence is no question", "question"),
        "br": _means("question repair", "asks to hear again what was said"),
        "b": _means("acknowledge", "shows that it listens"),
        "bk": _means("acknowledge", "takes note of an answer"),
        "bh": _means("acknowledge", "listens in the form of a question ('really?')", "question"),
        "aa": _means("agree", "accepts what was said"),
        "aap_am": _means("agree", "accepts a part of it", "disagree hedge"),
        "ar": _means("disagree", "rejects what was said"),
        "arp_nd": _means("disagree", "rejects a part of it", "agree"),
        "b^m": _means("restate", "says the other's words again"),
        "bf": _means("restate", "says the other's thought in its own words"),
        "h": _means("hedge", "weakens what it says"),
        "ba": _means("", "values what was said, which may take note of it", "acknowledge agree"),
        "ny": _means("", "answers yes", "agree acknowledge"),
        "na": _means("", "answers yes in other words", "agree acknowledge"),
        "nn": _means("", "answers no", "disagree"),
        "ng": _means("", "answers no in other words", "disagree"),
        "ft": _means("", "thanks, which may take note", "acknowledge"),
    },
    # One label a turn; transcripts without punctuation. Suresh et al. 2022.
    "talkmoves": {
        "2": _means("question", "asks for more information, or says that it is lost"),
        "3": _means("", "makes a claim"),
        "4": _means("", "gives evidence or reasons"),
        "1": _means("", "relates to another student, in whatever form", "question"),
        "0": _means("", "no move of the manual: procedural questions are among these", "question"),
    },
    # Several labels a turn. Stasaski et al. 2020.
    "cima": {
        "guess": _means("attempt", "commits to an answer, in Italian words"),
        "question": _means("question", "asks for a word, a rule or a check"),
        "affirmation": _means("acknowledge", "takes in what the tutor said"),
        "other": _means(*_NOTHING),
    },
    # Strategies of tutors: only the one that is defined as asking says how it is worded. Wang et al. 2024.
    "bridge": {
        "ask_question": _means("question", "the strategy is to ask"),
        "affirm_correct_answer": _means("agree", "says that the student is right", "question"),
        "provide_correction": _means("", "puts the student right", "question"),
        "explain_concept": _means("", "may end in a question", "question agree"),
        "provide_hint": _means("", "may be a question", "question agree"),
    },
    # Moves of teachers, Macina et al. 2023.
    "mathdial": {
        "probing": _means("question", "asks the student to explain or to apply"),
        "focus": _means("question", "asks for a strategy, a step or a fact: all its examples are questions"),
        "telling": _means("", "tells a step or the answer, and may ask whether that makes sense", "question"),
    },
}
