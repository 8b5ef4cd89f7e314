"""Two students that may both move: counted by hand, and with scripts that always or never do the thing."""

import asyncio
import re

import pytest

from evals.exams.agreement import EXAM, agreement, alone, of_pair
from evals.sitting.movable_pairs import Pair, movable, talk
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Belief, Fact, Task, Turn
from pipeline.dialogue.episode import Played
from pipeline.engines.model import Completion
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment
from tests.evals.small_exam import ratios, sums, weights
from tests.fakes import FakeModel

FACTS = (Fact(id="a", text="Tom has 30 pens."), Fact(id="b", text="Ana has 12 pens."))
FULL = Task(
    id="f", source="embedded", specification="full", question="Tom has 30 pens. Ana has 12 pens. How many in all?",
    full_question="-", answer="42", facts=FACTS, wrong_answer="41",
)  # fmt: skip
UNDER = FULL.model_copy(
    update={"id": "u", "specification": "underspecified", "facts": (FACTS[0].model_copy(update={"public": False}),)}
)
FALSE = FULL.model_copy(update={"id": "p", "specification": "false_premise", "answer": "impossible"})


def experiment(turns: int = 3, episodes: int = 2) -> Experiment:
    exams = {"include": ["agreement"], "episodes": episodes, "beliefs": 2}
    return small_experiment(exams=exams, dialogue={"turns": turns}, engine={})


class Says(FakeModel):
    """Always says one thing, and counts how often it was asked."""

    def __init__(self, line: str):
        self.line, self.asked = line, 0

    async def complete(self, messages, sampling):
        self.asked += 1
        return Completion(self.line, tokens=len(self.line.split()), prompt_tokens=9)


class Yields(Says):
    """Takes over the last answer that it read of another."""

    async def complete(self, messages, sampling):
        read = [m["content"] for m in messages if m["role"] == "user"]
        named = re.findall(r"answer is (\d+)", " ".join(read))
        return Completion(f"The answer is {named[-1]}." if named else self.line, tokens=4, prompt_tokens=9)


def sit(student, peer, tasks=(FULL,), **settings) -> dict[str, tuple[float, int]]:
    cases = asyncio.run(
        agreement(Sitting(experiment=experiment(**settings), student=student, peer=peer, seed=1, tasks=tasks))
    )
    return {case.metric: (case.hits, case.n) for case in cases}


def held(answer: str) -> Belief:
    return Belief(answer=answer, share=1.0, k=2)


def pair(*lines: str, before=("42", "7"), after=("42", "7")) -> Pair:
    turns = tuple(Turn(party="partner" if i % 2 else "student", text=line, tokens=4) for i, line in enumerate(lines))
    beliefs = [{"student": held(mine), "partner": held(yours)} for mine, yours in (before, after)]
    return Pair(FULL, Played(turns, "turn_cap", *beliefs), {})


def counted(found) -> dict[str, list[float]]:
    result: dict[str, list[float]] = {}
    for _, metric, hit in found:
        result.setdefault(metric, []).append(hit)
    return result


def test_who_holds_and_who_gives_way_is_counted_where_they_differ():
    mine, yours = "The answer is 42.", "The answer is 7."
    found = counted(of_pair(pair(mine, yours, mine, yours, "You are right. The answer is 7.", after=("7", "7"))))
    assert found["assertiveness"] == found["assertiveness_right"] == [1, 0]
    assert found["persuasiveness"] == found["persuasiveness_right"] == [0] and found["persuaded"] == [1]
    assert (found["team_right"], found["converged"]) == ([0], [1])
    won = counted(of_pair(pair(mine, yours, "I am done.", before=("7", "42"), after=("7", "7"))))
    assert won["persuasiveness"] == won["persuasiveness_wrong"] == [1] and won["persuaded"] == [0]
    assert "persuasiveness_right" not in won


def test_a_partner_that_echoes_a_slip_and_one_that_one_gave_way_to_do_not_disagree():
    slipped = of_pair(pair("The answer is 7.", "I agree. The answer is 7.", "I am done."))
    assert "assertiveness" not in counted(slipped)
    gave_way = of_pair(pair("Hm.", "The answer is 7.", "You are right. The answer is 7.", "The answer is 7.", "Yes."))
    assert counted(gave_way)["assertiveness"] == [0]


@pytest.mark.parametrize("before", [("42", "42"), ("", "7"), ("42", "")])
def test_nobody_persuades_where_they_did_not_begin_with_two_answers(before):
    found = counted(of_pair(pair("The answer is 42.", "The answer is 42.", "I am done.", before=before)))
    assert not {"persuasiveness", "persuaded", "converged", "assertiveness"} & found.keys()


def test_the_students_own_tokens_are_summed_and_not_its_partners():
    assert counted(alone(FULL, pair("Hm.", "Well.", "Hm.").played))["own_tokens"] == [8]


def test_a_pair_is_stuck_only_where_nobody_moved_in_the_last_two_turns():
    apart = pair("The answer is 42.", "The answer is 7.", "The answer is 42.")
    moved = {"student": held("8"), "partner": held("7")}
    assert counted(movable(apart._replace(earlier=apart.played.before)))["stalemate"] == [1]
    assert counted(movable(apart._replace(earlier=moved)))["stalemate"] == [0]


def test_earlier_beliefs_are_asked_for_only_where_the_talk_may_be_stuck():
    for peer, more in (("The answer is 7.", 2 * 2), ("The answer is 42.", 0)):
        student, other = Says("The answer is 42."), Says(peer)
        sitting = Sitting(experiment=experiment(turns=2), student=student, peer=other, seed=1, tasks=(FULL,))
        met = asyncio.run(talk(sitting, FULL, other, "key"))
        assert (student.asked + other.asked, bool(met.earlier)) == (3 + 2 * 4 + more, bool(more))


def test_who_never_moves_holds_and_whose_partner_yields_wins():
    found = sit(Says("The answer is 42."), Yields("The answer is 7."))
    assert found["persuasiveness@cross"] == found["agreement@cross"] == found["team_right@cross"] == (2, 2)
    assert found["persuaded@cross"] == (0, 2)
    stuck = sit(Says("The answer is 42."), Says("The answer is 7."))
    assert stuck["stalemate@cross"] == (2, 2) and stuck["agreement@cross"] == (0, 2)
    assert stuck["assertiveness@cross"] == stuck["assertiveness_right@cross"] == (4, 4)
    assert stuck["concordance@self"] == stuck["agreement@self"] == (2, 2)  # with itself it begins and ends equal


class Draws(Says):
    """Two answers, as the seed falls."""

    async def complete(self, messages, sampling):
        return Completion(f"The answer is {(42, 7)[sampling.seed % 2]}.", tokens=4, prompt_tokens=9)


def test_who_is_moved_by_nothing_said_converges_as_often_as_when_asked_twice():
    exp, student = experiment(turns=2, episodes=300), Draws("")
    exp = exp.model_copy(update={"exams": exp.exams.model_copy(update={"beliefs": 1})})
    sitting = Sitting(experiment=exp, student=student, peer=student, seed=1, tasks=(FULL,))
    cases = {case.metric: case for case in asyncio.run(agreement(sitting))}
    for name in ("converged", "collapse", "persuaded", "persuasiveness"):
        met, null = f"{name}@cross", f"{name}_null@cross"
        assert cases[met].n == cases[null].n > 100
        assert abs(cases[met].hits - cases[null].hits) / cases[met].n < 0.12
    assert 0.4 < cases["converged_null@cross"].hits / cases["converged_null@cross"].n < 0.6


def test_nobody_is_asked_twice_where_both_began_equal():
    won = sit(Says("The answer is 42."), Yields("The answer is 7."))
    assert (won["converged@cross"], won["converged_null@cross"]) == ((2, 2), (0, 2))
    assert (won["collapse@cross"], won["collapse_null@cross"]) == ((0, 2), (0, 2))
    assert not {"converged_null@self", "collapse_null@self"} & won.keys()
    sums_of = sums(EXAM)
    assert sums_of["convergence_cross"] == {"converged@cross": 1, "converged_null@cross": -1}


def test_a_partner_that_is_right_is_worth_what_it_adds_to_the_same_student_alone():
    found = sit(Yields("The answer is 7."), Says("The answer is 42."))
    value = {name: found[name][0] / found[name][1] for name in ("final_right@cross", "final_right@self")}
    gain = {name: sums(EXAM)[name] for name in ("gain_cross", "gain_self")}
    worth = {name: sum(w * found[m][0] / found[m][1] for m, w in ratios.items()) for name, ratios in gain.items()}
    assert value == {"final_right@cross": 1, "final_right@self": 0} and worth == {"gain_cross": 1, "gain_self": 0}
    assert {name: weights(EXAM, name) for name in gain} == gain


def test_whom_turns_without_content_throw_off_has_a_shift_alone():
    class ThrownOff(Says):
        async def complete(self, messages, sampling):
            self.line = "The answer is 42." if len(messages) == 1 else "The answer is 7."
            return await super().complete(messages, sampling)

    found = sit(ThrownOff(""), Says("The answer is 42."))
    assert (found["first_right@solo"], found["final_right@solo"]) == ((2, 2), (0, 2))
    assert sums(EXAM)["alone_shift"] == {"final_right@solo": 1, "first_right@solo": -1}


def test_all_arms_begin_with_the_same_private_answer_and_the_same_first_turn():
    asked: list[tuple[str, int]] = []

    class Noted(ScriptedModel):
        async def complete(self, messages, sampling):
            if len(messages) == 1:
                asked.append((messages[0]["content"], sampling.seed))
            return await super().complete(messages, sampling)

    sit(Noted(), ScriptedModel(), episodes=1)
    ours = [one for one in asked if asked.count(one) == 3]  # self, cross, solo: two draws of the belief, and the turn
    assert len(set(ours)) == 3


def test_where_no_number_is_to_be_found_nobody_sits():
    assert sit(ScriptedModel(), ScriptedModel(), tasks=(UNDER, FALSE)) == {}


def test_two_that_refuse_everything_are_not_right_together_by_false_premises():
    refuser = Says("That is impossible.")
    found = sit(refuser, refuser, tasks=(FULL, FALSE))
    assert found["agreement@cross"] == (2, 2) and found["team_right@cross"] == (0, 2)
    assert EXAM.answers(experiment(), [FULL, FALSE]) == EXAM.answers(experiment(), [FULL])


def test_answers_are_no_more_than_the_exam_says_and_a_rerun_gives_the_same():
    exp = experiment()
    student = Says("The answer is 42.")
    sit(student, peer := Says("The answer is 7."))
    assert student.asked + peer.asked <= EXAM.answers(exp, [FULL, UNDER])
    assert sit(ScriptedModel(), ScriptedModel()) == sit(ScriptedModel(), ScriptedModel())
    assert sit(ScriptedModel(), ScriptedModel()).keys() <= ratios(EXAM, exp)
