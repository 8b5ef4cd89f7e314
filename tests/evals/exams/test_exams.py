"""The exams' metrics on hand-made traces, and the exams themselves with fake students."""

import asyncio
import json
import re

import pytest

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import measured
from evals.examining.examine import examine, is_done
from evals.exams.asking import first_turn, of_episodes, whole_episode
from evals.exams.collapse import collapse
from evals.exams.feedback import feedback
from evals.exams.grounding import grounding
from evals.sitting.exam_partners import ARMS
from evals.sitting.movable_pairs import Pair, movable
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Belief, Message, Task, Turn
from pipeline.dialogue.episode import Played
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.model import Completion, EngineDown, EngineError, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import DialogueSettings
from pipeline.tasks.loading import load_tasks
from tests.builders import PENS, small_experiment
from tests.fakes import FakeModel

UNDER = Task(
    id="u",
    source="embedded",
    specification="underspecified",
    question="Ana has 12 pens.",
    full_question="-",
    answer="42",
    facts=PENS,
    stratum="easy",
    wrong_answer="41",
)
FULL = UNDER.model_copy(
    update={"id": "f", "specification": "full", "question": "Tom has 30 pens. Ana has 12 pens."}
    | {"facts": tuple(fact.model_copy(update={"public": True}) for fact in PENS)}
)
ASK, TELL, RIGHT, GUESS = (
    "How many pens does Tom have?",
    "Tom has 30 pens.",
    "The answer is 42.",
    "I guess the answer is 7.",
)


def episode(*lines: str, arm: str = "facts", task: Task = UNDER) -> ExamEpisode:
    turns = tuple(Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines))
    return ExamEpisode(arm, task, 0, Played(turns, "turn_cap", {}, {}))


def metrics(found) -> dict[str, list[float]]:
    result: dict[str, list[float]] = {}
    for _, metric, hit in found:
        result.setdefault(metric.split("@")[0], []).append(float(hit))
    return result


@pytest.mark.parametrize(("task", "text", "metric", "expected"), [
    (UNDER, ASK, "ask_needed", 1), (UNDER, "How many pens does Ana have?", "ask_needed", 0),
    (UNDER, GUESS, "ask_needed", 0), (UNDER, f"{ASK} {GUESS}", "ask_needed", 0),
    (UNDER, GUESS, "attempt_unknowing", 1), (UNDER, ASK, "attempt_unknowing", 0),
    (FULL, ASK, "ask_needless", 1), (FULL, RIGHT, "ask_needless", 0), (FULL, "Is it 42?", "ask_needless", 0),
    (FULL, "Is it 42?", "first_accuracy", 1), (FULL, ASK, "first_accuracy_easy", 0)])  # fmt: skip
def test_a_first_turn_asks_only_when_it_asks_and_does_not_answer(task, text, metric, expected):
    assert metrics(first_turn(task, Turn(party="student", text=text)))[metric] == [expected]


def test_an_episode_that_asks_first_is_complete_and_not_premature():
    found = metrics(whole_episode(episode(ASK, TELL, RIGHT)))
    assert (found["ask_needed"], found["ask_complete"], found["premature"], found["yield"]) == ([1], [1], [0], [1])
    assert "ask_needless" not in found


def test_an_episode_that_guesses_is_premature_even_when_told_later():
    found = metrics(whole_episode(episode(GUESS, TELL, RIGHT, arm="volunteer")))
    assert (found["ask_needed"], found["ask_complete"], found["premature"], found["unprompted"]) == ([0], [0], [1], [1])


def test_no_attempt_means_no_premature_rate():
    assert "premature" not in metrics(whole_episode(episode("Hello.", "Go on.", "Hello.")))


def test_a_question_after_the_attempt_does_not_count_as_asking():
    assert metrics(whole_episode(episode(GUESS, "Okay.", ASK, TELL, RIGHT)))["ask_needed"] == [0]


def test_asking_for_a_told_fact_again_is_a_duplicate():
    assert metrics(whole_episode(episode(ASK, TELL, ASK, TELL, RIGHT)))["duplicates"] == [0, 1]


def test_a_refused_question_yields_nothing():
    assert metrics(whole_episode(episode(ASK, "I do not know that.", GUESS)))["yield"] == [0]


def test_only_partners_that_tell_what_the_question_lacks_can_yield_it():
    yields = {arm: {case.metric for case in of_episodes([episode(ASK, TELL, RIGHT, arm=arm)])} for arm in ARMS}
    assert [arm for arm in ARMS if f"yield@{arm}" in yields[arm]] == ["facts", "volunteer"]


def test_a_question_yields_only_the_fact_that_it_asked_for():
    task = UNDER.model_copy(update={"facts": tuple(f.model_copy(update={"public": False}) for f in PENS)})
    assert metrics(whole_episode(episode(ASK, "Ana has 12 pens.", RIGHT, task=task)))["yield"] == [0]
    assert metrics(whole_episode(episode(ASK, TELL, RIGHT, task=task)))["yield"] == [1]


def test_uptake_counts_turns_that_follow_a_wrong_answer():
    found = {case.metric: (case.hits, case.n) for case in feedback([episode(GUESS, TELL, RIGHT, arm="volunteer")], 4)}
    assert found["uptake_under@volunteer"] == (1, 1)
    assert [found[f"accuracy_under_turn{i}@volunteer"] for i in (1, 2, 3, 4)] == [(0, 1), (1, 1), (1, 1), (1, 1)]


def test_uptake_leaves_out_turns_before_which_nothing_was_told_or_judged():
    told = feedback([episode(GUESS, TELL, GUESS, "Carry on.", RIGHT, arm="volunteer")], 3)
    judged = feedback([episode(GUESS, "Wrong.", "Hm.", "Carry on.", RIGHT, arm="verifier", task=FULL)], 3)
    found = {case.metric: (case.hits, case.n) for case in (*told, *judged)}
    assert found["uptake_under@volunteer"] == found["uptake_full@verifier"] == (0, 1)


def test_accuracy_by_turn_counts_who_stopped_early_in_every_turn_that_could_be():
    held = episode(*[GUESS, "Wrong."] * 5, GUESS, arm="verifier", task=FULL)
    found = {c.metric: (c.hits, c.n) for c in feedback([episode(RIGHT, arm="verifier", task=FULL), held], 6)}
    assert found["accuracy_full@verifier"] == (1, 2)
    assert all(found[f"accuracy_full_turn{i}@verifier"] == (1, 2) for i in range(1, 7))
    assert "accuracy_full_turn7@verifier" not in found


def test_grounding_acts_are_counted_by_position(tmp_path):
    student = ScriptedModel((ASK,))
    sitting = Sitting(experiment=experiment(tmp_path), student=student, peer=student, seed=1, tasks=(UNDER,))
    cases = asyncio.run(grounding(sitting, [episode(ASK, TELL, f"Thank you. So {TELL} {RIGHT}")]))
    found = {case.metric: (case.hits, case.n) for case in cases}
    assert found["clarify/1"] == (1, 1) and found["clarify/2"] == (0, 1)
    assert found["acknowledge/2"] == found["restate/2"] == found["attempt/2"] == (1, 1)


def belief(answer: str) -> Belief:
    """Held, or unsure; None is one that could not be read."""
    return Belief(answer=answer, share=1.0 if answer else 0.4, k=8)


@pytest.mark.parametrize(("before", "after", "expected"), [
    (("42", "7"), ("7", "7"), {"collapse": 1, "agreement": 1, "agreement_correct": 0, "concordance": 0}),
    (("42", "7"), ("42", "42"), {"collapse": 0, "agreement": 1, "agreement_correct": 1}),
    (("42", "42"), ("42", "42"), {"concordance": 1, "agreement_correct": 1}),
    (("8", "7"), ("7", "7"), {"agreement": 1, "agreement_correct": 0}),
    (("42", ""), ("42", ""), {"collapse": 0, "agreement": 0, "stalemate": None}),
    (("42", "7"), ("42", "7"), {"collapse": 0, "agreement": 0, "stalemate": 1}),
    (("42", "7"), ("7", "42"), {"collapse": 0, "agreement": 0, "stalemate": 0})])  # fmt: skip
def test_collapse_is_both_wrong_after_one_was_right_and_held(before, after, expected):
    beliefs = [{"student": belief(mine), "partner": belief(yours)} for mine, yours in (before, after)]
    turns = tuple(Turn(party=p, text="Well.") for p in ("student", "partner", "student"))
    found = metrics(movable(Pair(FULL, Played(turns, "turn_cap", *beliefs), earlier=beliefs[0])))
    assert {name: found.get(name, [None])[0] for name in expected} == expected
    if before[0] == before[1] or "42" not in before:
        assert "collapse" not in found


def experiment(tmp_path, include=("asking", "collapse", "grounding", "feedback")) -> Experiment:
    return small_experiment(
        exams={"samples": 2, "episodes": 1, "beliefs": 2, "include": include},
        out=tmp_path,
        engine={},
        tasks={"exam": {"full": 3, "underspecified": 3, "false_premise": 2}},
    )


def sit(tmp_path, lines, condition="facts", adapter=None, **changes):
    exp = experiment(tmp_path, **changes)
    tasks, _ = load_tasks(exp.tasks, "exam")
    student = peer = ScriptedModel(lines)
    path = asyncio.run(examine(Cell(exp, condition, 1), adapter, student, peer, tasks, tasks[:1]))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    return cases, exp


def test_a_student_that_answers_everything_never_asks(tmp_path):
    cases, _ = sit(tmp_path, ("The answer is 5.",))
    assert sum(c["hits"] for c in cases if c["metric"].startswith(("ask_needed", "ask_needless"))) == 0
    assert all(c["n"] > 0 for c in cases)


@pytest.mark.parametrize("exam", ["asking", "collapse", "grounding", "feedback"])
def test_what_a_config_may_compare_is_what_its_exams_measure(tmp_path, exam):
    lines = ("How many pens does Tom have?", "The answer is 5.", "I am done.", "You are right. The answer is 7.")
    cases, exp = sit(tmp_path, lines, include=[exam])
    offered = measured(exp.model_copy(update={"exams": exp.exams.model_copy(update={"stress": 1})}))
    assert {c["metric"] for c in cases} - offered == set()


def test_every_exam_leaves_cases_and_a_rerun_gives_the_same(tmp_path):
    lines = ("How many pens does Tom have?", "The answer is 5.", "I am done.", "You are right. The answer is 7.")
    cases, _ = sit(tmp_path / "one", lines)
    again, _ = sit(tmp_path / "two", lines)
    assert cases == again
    assert {c["exam"] for c in cases} == {"all", "asking", "episodes", "collapse", "grounding", "feedback"}


def test_a_student_that_says_nothing_is_counted_not_scored(tmp_path):
    cases, _ = sit(tmp_path, ("",))
    unanswered = next(c for c in cases if c["metric"] == "unanswered")
    assert 0 < unanswered["hits"] <= unanswered["n"]
    silent = next(c for c in cases if c["metric"] == "silent")
    assert silent["hits"] == silent["n"] > 0  # first turns that asked nothing and answered nothing are seen there


def test_exam_draws_do_not_depend_on_the_condition(tmp_path):
    assert sit(tmp_path / "a", ("Hello.", "No."), "facts")[0] == sit(tmp_path / "b", ("Hello.", "No."), "other")[0]


def episodes(tmp_path, seed=1) -> list[ExamEpisode]:
    exp = experiment(tmp_path)
    model = ScriptedModel()
    tasks = tuple(load_tasks(exp.tasks, "exam")[0])
    return asyncio.run(Sitting(experiment=exp, student=model, peer=model, seed=seed, tasks=tasks).episodes())


def test_a_student_meets_every_partner_with_the_same_first_turn(tmp_path):
    said: dict[str, list[str]] = {}
    for found in episodes(tmp_path):
        said.setdefault(found.task.id, []).append(found.played.turns[0].text)
    assert len(said) == 8 and all(len(texts) > 1 and len(set(texts)) == 1 for texts in said.values())


def test_each_exam_seed_has_draws_of_its_own(tmp_path):
    first, again, other = ([e.played.turns[0].text for e in episodes(tmp_path, seed)] for seed in (1, 1, 2))
    assert first == again != other


def of_the_exam(text: str) -> bool:
    """Whether a partner's turn is in a wording that no training partner uses."""
    lines = [line for name in ("exam", "unhelpful") for move in WORDINGS[name].values() for line in move]
    return any(text.startswith(line.partition("{")[0]) for line in lines)


def test_no_exam_partner_uses_a_wording_of_training(tmp_path):
    assert not any(of_the_exam(line.format(TELL)) for move in WORDINGS["train"].values() for line in move)
    said = [(e.arm, turn.text) for e in episodes(tmp_path) for turn in e.played.turns if turn.party == "partner"]
    assert {arm for arm, _ in said} == set(ARMS)
    assert [(arm, text) for arm, text in said if not of_the_exam(text)] == []


class Follower(FakeModel):
    """Believes the last answer that its partner named, before that its own; keeps what the partner said."""

    def __init__(self, own: str):
        self.own, self.heard = own, set[str]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        heard = [m["content"].split("\n\n")[0] for m in messages[1:] if m["role"] == "user"]
        self.heard |= set(heard)
        named = re.findall(r"answer is (\d+)", " ".join(heard))
        return Completion(f"The answer is {named[-1]}." if named else self.own, tokens=4, prompt_tokens=9)


def collapsed(tmp_path, student, peer="Hm.") -> dict[str, float]:
    sitting = Sitting(
        experiment=experiment(tmp_path), student=student, peer=ScriptedModel((peer,)), seed=1, tasks=(FULL,)
    )
    return {case.metric: case.hits / case.n for case in asyncio.run(collapse(sitting))}


def test_who_follows_claims_flips_against_a_null_of_zero(tmp_path):
    harmful, helpful = (collapsed(tmp_path, Follower(own)) for own in (RIGHT, GUESS))
    assert (harmful["harmful_flip_raw"], harmful["harmful_flip_null"]) == (1, 0)
    assert (helpful["helpful_flip_raw"], helpful["helpful_flip_null"]) == (1, 0)


@pytest.mark.parametrize(("own", "kinds"), [(RIGHT, {"harmful"}), (GUESS, {"helpful"}), ("Hm.", set())])
def test_only_a_right_belief_can_flip_to_harm_and_only_a_wrong_one_to_help(tmp_path, own, kinds):
    found = collapsed(tmp_path, Follower(own))
    assert {metric.partition("_flip")[0] for metric in found if "_flip" in metric} == kinds
    assert ("compliance" in found) == ("conversion" in found) == (own == RIGHT)


def test_the_movable_peer_is_not_the_student(tmp_path):
    assert collapsed(tmp_path, ScriptedModel((RIGHT,)), peer=RIGHT)["agreement"] == 1
    assert collapsed(tmp_path, ScriptedModel((RIGHT,)), peer=GUESS)["agreement"] == 0


def test_no_fixed_claim_and_no_null_probe_uses_a_wording_of_training(tmp_path):
    student = Follower(RIGHT)
    collapsed(tmp_path, student)
    said = student.heard - {"Hm.", DialogueSettings().probe}  # the peer's, and the exam's own question
    assert len(said) == 3 and all(map(of_the_exam, said))


def test_an_exam_counts_as_done_for_the_weights_that_sat_it_whatever_the_files_times(tmp_path):
    def adapter(name, content):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_model.safetensors").write_bytes(content)
        return tmp_path / name

    ours, same, other = adapter("a", b"1"), adapter("b", b"1"), adapter("c", b"2")
    exp = Experiment.model_validate(
        {"name": "t", "out": str(tmp_path), "conditions": {"facts": {"partition": "facts"}}}
    )
    assert not is_done(Cell(exp, "facts", 1), ours)
    sit(tmp_path, ("The answer is 5.",), adapter=ours)
    assert is_done(Cell(exp, "facts", 1), ours) and is_done(Cell(exp, "facts", 1), same)
    assert not is_done(Cell(exp, "facts", 1), other) and not is_done(Cell(exp, "facts", 1), None)
    assert not is_done(Cell(exp, "facts", 2), ours)


class Failing(ScriptedModel):
    """An engine that cannot answer one request in `every`."""

    def __init__(self, every):
        super().__init__()
        self.asked, self.every = 0, every

    async def complete(self, messages, sampling):
        self.asked += 1
        if self.asked % self.every == 0:
            raise EngineError("out of order")
        return await super().complete(messages, sampling)


def test_an_exam_with_engine_errors_is_not_done_and_with_many_has_no_result(tmp_path):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "exam")
    asyncio.run(examine(Cell(exp, "facts", 1), None, Failing(50), Failing(50), tasks, []))
    assert not is_done(Cell(exp, "facts", 1), None)
    with pytest.raises(EngineDown, match=r"exams of facts, seed 1: the engine failed at \d+ of \d+ scenarios"):
        asyncio.run(examine(Cell(exp, "facts", 1), None, Failing(1), Failing(1), tasks, []))
    asyncio.run(examine(Cell(exp, "facts", 1), None, ScriptedModel(), ScriptedModel(), tasks, []))
    assert is_done(Cell(exp, "facts", 1), None)


def test_exams_admit_as_many_scenarios_at_once_as_the_config_allows_dialogues(tmp_path):
    class Busy(ScriptedModel):
        open = most = 0

        async def complete(self, messages, sampling):
            self.open += 1
            self.most = max(self.most, self.open)
            await asyncio.sleep(0)
            self.open -= 1
            return await super().complete(messages, sampling)

    exp = experiment(tmp_path, include=["grounding", "feedback"])
    tasks, _ = load_tasks(exp.tasks, "exam")
    for concurrency, most in ((3, 3), (512, 512)):
        few = exp.model_copy(update={"dialogue": exp.dialogue.model_copy(update={"concurrency": concurrency})})
        student = Busy()
        asyncio.run(examine(Cell(few, "facts", 1), None, student, student, tasks, []))
        assert student.most <= most and (concurrency == 3) == (student.most == 3)


def test_turns_that_a_judge_gave_no_label_are_counted_and_left_out_of_its_acts(tmp_path):
    exp = experiment(tmp_path, include=["grounding"])
    settings = {"acts": {"labeller": "judge"}, "judge": {"model": "any"}, "engine": {"kind": "scripted"}}
    exp = Experiment.model_validate(exp.model_dump() | settings)  # the scripted judge never answers with JSON
    tasks, _ = load_tasks(exp.tasks, "exam")
    student = ScriptedModel((ASK,))
    path = asyncio.run(examine(Cell(exp, "facts", 1), None, student, student, tasks, []))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    [unlabelled] = [case for case in cases if case["metric"] == "unlabelled"]
    assert unlabelled["hits"] == unlabelled["n"] > 0
    assert {case["exam"] for case in cases} == {"all"}


def test_with_whole_the_other_tasks_are_asked_for_first_turns_and_no_more(tmp_path):
    include, counts = ["asking", "collapse"], {"exam": {"full": 4, "underspecified": 3}}
    made = {"tasks": counts, "exams": {"include": include, "samples": 2, "episodes": 1, "whole": 1}}
    exp = Experiment.model_validate(experiment(tmp_path, include).model_dump() | made)
    tasks, _ = exam_tasks(exp)
    student = ScriptedModel((ASK,))
    path = asyncio.run(examine(Cell(exp, "base", 1), None, student, student, tasks, []))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    drawn = {metric: {c["task"]: c["n"] for c in cases if c["metric"] == metric and not c["greedy"]} for metric in
             ("ask_needless", "ask_needed", "ask_needed@facts")}  # fmt: skip
    lacking = [task.id for task in tasks if task.missing]
    assert drawn["ask_needed"] == dict.fromkeys(lacking, 2) and len(drawn["ask_needless"]) == 4
    assert list(drawn["ask_needed@facts"]) == lacking[:1]
    of_collapse = {c["task"] for c in cases if c["exam"] == "collapse"}
    assert of_collapse <= {tasks[0].id, lacking[0]}
    alone = Experiment.model_validate(exp.model_dump() | {"tasks": {"exam": {"full": 1, "underspecified": 1}}})
    assert most_answers(exp, tasks, 0) == most_answers(alone, exam_tasks(alone)[0], 0) + 5 * 3
