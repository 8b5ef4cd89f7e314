"""The true value of every metric that a known student's rates fix, by exam. What they do not fix is in NOT_FIXED."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.evals.known_students import truth_of_beliefs as beliefs
from tests.evals.known_students import truth_of_talks as talks
from tests.evals.known_students.acts import Student
from tests.evals.known_students.problems import Problem
from tests.evals.known_students.solutions import verdict_use
from tests.evals.known_students.talks import Shape

Truth = Callable[[Student, Student, Sequence[Problem], int], dict[str, float]]  # of a student, its peer, tasks, turns


def _shapes(problems: Sequence[Problem]) -> list[Shape]:
    return [Shape.of(problem.task) for problem in problems]


TRUTHS: dict[str, Truth] = {
    "asking": lambda student, peer, problems, turns: talks.asking(student, _shapes(problems), turns),
    "feedback": lambda student, peer, problems, turns: talks.feedback(student, _shapes(problems), turns),
    "grounding": lambda student, peer, problems, turns: talks.grounding(student, _shapes(problems), turns),
    "alone": lambda student, peer, problems, turns: talks.alone(student, _shapes(problems), turns),
    "lost": lambda student, peer, problems, turns: talks.lost(student, _shapes(problems)),
    "clarification": lambda student, peer, problems, turns: talks.clarification(student, _shapes(problems)),
    "common_ground": lambda student, peer, problems, turns: talks.common_ground(student),
    "presupposition": lambda student, peer, problems, turns: beliefs.presupposition(student),
    "collapse": lambda student, peer, problems, turns: {
        **beliefs.collapse(student),
        **beliefs.movable(student, peer, turns),
    },
    "agreement": lambda student, peer, problems, turns: beliefs.agreement(student, peer, turns),
    "updating": lambda student, peer, problems, turns: beliefs.updating(student),
    "verdict_use": lambda student, peer, problems, turns: verdict_use(student, problems),
}

OTHERS_WORDS = "read by rules of the exam's own off words of its own, which no class of the readers of turns has"
WORDING = "rests on which of several wordings an act has, not on how often it is done"
# By exam, or by metric of an exam.
NOT_FIXED: dict[str, str | dict[str, str]] = {
    "agreement": {
        "own_tokens": WORDING,
        "assertiveness": "rests on whether an agreement names the number that is agreed on",
        "assertiveness_right": "the same",
        "assertiveness_wrong": "the same",
        "convergence_self": "a known student always begins with the answer that it has itself",
        **dict.fromkeys(("collapsing_self", "persuading_self", "persuasion_self"), "the same"),
    },
    "asking": {"duplicates": "known students ask for nothing twice"},
    "bandits": "letters of machines; its known students are learners of its own (evals/exams/bandits/learners.py)",
    "common_ground": {
        "ground_said": WORDING,
        "floor_opened": "no rate says what a student opens after a turn without content",
    },
    "gold_logprob": "scripts have no log-probabilities; tests/evals/exams/test_exam_gold_logprob.py has one that does",
    "grounding": {
        "acknowledge": WORDING,
        "repair": "no rate says what a student does after a turn that makes no sense",
        "restate": WORDING,
        "agree": WORDING,
        "disagree": WORDING,
        "hedge": WORDING,
        "refuse": WORDING,
    },
    "human": "acts beside people's, on their talks",
    "lost": {"lost_worded": "of what a model says in the partner's seat"},
    "narrowing": "tasks with options: its known students are scripts of its own (evals/exams/narrowing/policies.py)",
    "persuader": OTHERS_WORDS,
    "presupposition": dict.fromkeys(("presup_about", "presup_about_by_chance", "presup_about_net"), OTHERS_WORDS),
    "persuasion": OTHERS_WORDS,
    "private": "offers and secrets of scenarios that are no tasks",
    "register": OTHERS_WORDS,
    "spread": "distances between embeddings",
    "support": OTHERS_WORDS,
    "swapped": "no rate says how a known student takes words that were put into its mouth",
    "told": "a check of competence: no rate of a known student says how it answers after waiting without an act",
    "tutoring": "the student under exam sits in the tutor's seat",
    "yielding": "no rate says how a known student takes a claim where a fact is missing",
    "verdict_use": {
        **dict.fromkeys(("error_at", "solution_steps", "described", "described_words"), "of teachers' notes"),
        **dict.fromkeys(("described_leak", "answer_public", "same_step_chance", "same_step"), "of teachers' notes"),
    },
}
