"""The students that are known: what each test sits, and the table is printed of."""

from __future__ import annotations

from dataclasses import replace

from tests.evals.known_students.acts import Student

# Does a little of everything.
MIXED = Student(
    ask=0.5,
    generic=0.15,
    guess=0.2,
    needless_ask=0.08,
    needless_generic=0.05,
    needless_other=0.05,
    right=0.7,
    tentative=0.25,
    keeps_guess=0.3,
    done=0.6,
    mends=0.5,
    luck=0.1,
    converts=0.3,
    complies=0.2,
    differs=0.1,
    objects=0.1,
    helped=0.6,
    wavers=0.1,
    recovers=0.15,
    doubts=0.2,
    rejects=0.6,
    accommodates=0.3,
    reads=0.9,
    follows=0.6,
    opens=0.5,
    fidgets=0.1,
    redoes=0.4,
    goes=0.6,
    uses=0.5,
)
# Asks for facts alone: the embedded world has no words for a request that names none.
PLAIN = replace(MIXED, generic=0.0, needless_generic=0.0, needless_other=0.0)
LISTENER = replace(PLAIN, needless_ask=0.0)
# In pairs: both answer at once.
FIRM = Student(
    right=0.6,
    tentative=0.25,
    done=0.7,
    mends=0.5,
    luck=0.1,
    converts=0.15,
    complies=0.15,
    differs=0.1,
    objects=0.1,
    helped=0.5,
    wavers=0.1,
    recovers=0.15,
    doubts=0.2,
)
PEER = Student(right=0.55, tentative=0.1, done=0.7, converts=0.25, complies=0.1, objects=0.1, helped=0.4)
PERFECT = Student(ask=1.0, right=1.0)
GENERIC = Student(generic=1.0, right=1.0)
ALWAYS_GENERIC = Student(generic=1.0, needless_generic=1.0, right=1.0)
NEAR_THE_BOUNDS = Student(ask=0.97, guess=0.02, needless_ask=0.01, right=0.99)
NEAR_GREEDY = Student(ask=0.6, guess=0.3, needless_ask=0.3, right=0.7, alike=1.0)
NEAR_BOTH = Student(ask=0.97, guess=0.02, needless_ask=0.01, right=0.97, alike=1.0)
STUDENTS = {
    "mixed": MIXED,
    "plain": PLAIN,
    "listener": LISTENER,
    "firm": FIRM,
    "perfect": PERFECT,
    "generic": GENERIC,
    "always generic": ALWAYS_GENERIC,
    "near the bounds": NEAR_THE_BOUNDS,
    "near-greedy": NEAR_GREEDY,
    "near both": NEAR_BOTH,
}
