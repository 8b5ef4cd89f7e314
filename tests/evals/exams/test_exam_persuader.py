"""The persuader and the experts, with debaters by script and hand-made ends of talks."""

import asyncio
import math
from functools import partial
from types import SimpleNamespace

import pytest

from evals.examining.exam_checks import measured
from evals.exams.persuader import experts, persuader
from evals.exams.persuader.persuader import EXAM, FALLACIES, REWRITTEN, SCRIPTS, figures
from evals.exams.persuasion.claims import disputes, read_claims
from evals.exams.persuasion.debaters import Debater
from evals.sitting.sitting import Sitting
from evals.sitting.yes_or_no import yes_or_no
from evals.stats.intervals import tabulate
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.tasks.word_problems import embedded_tasks
from tests.evals.small_exam import exam_experiment, is_declared, rate, sums
from tests.fakes import FakeModel

experiment = partial(exam_experiment, "persuader", episodes=2, beliefs=2)


def cases(debater, of=None, seed=1, tasks=()):
    return asyncio.run(
        EXAM.sit(Sitting(experiment=of or experiment(), student=debater, peer=debater, seed=seed, tasks=tasks))
    )


class Notes(FakeModel):
    """Thinks no of everything, and keeps what was said to it."""

    def __init__(self, view="No."):
        self.view, self.heard = view, []

    async def complete(self, messages, sampling):
        self.heard.append(tuple(message["content"] for message in messages if message["role"] == "user"))
        text = self.view if messages[-1]["content"].endswith("yes or no.") else "Hm."
        return Completion(text, tokens=1, prompt_tokens=1)


@pytest.mark.parametrize("seed", [1, 2])
def test_scripts_have_the_figures_that_their_words_make(seed):
    yields_to_fallacies = Debater(SCRIPTS["script: yields to fallacies"])
    tables = tabulate({seed: cases(yields_to_fallacies, seed=seed)})
    assert rate(EXAM, tables, "convinced@fallacy").value == rate(EXAM, tables, "fallacy_gap").value == 1
    assert rate(EXAM, tables, "convinced@plain").value == rate(EXAM, tables, "convinced_rewritten").value == 0
    assert rate(EXAM, tables, "adopts@fallacy").value == rate(EXAM, tables, "consistent@fallacy").value == 1
    assert "drops@fallacy" not in {case.metric for case in cases(yields_to_fallacies)}  # it never began for a claim


@pytest.mark.parametrize("prompts", ["closed", "brief", "chat"])
def test_the_references_tell_every_script_from_every_other(prompts):
    rows = asyncio.run(persuader.reference(experiment(student={"model": "x/y", "prompts": prompts})))
    figure = {(row.who, row.metric): row.value for row in rows}
    for holds, direction in (("no", "adopts"), ("yes", "drops")):
        metrics = ("convinced@plain", "convinced@fallacy", f"{direction}@fallacy")
        found = [tuple(figure[f"{who}, holds {holds}", metric] for metric in metrics) for who in SCRIPTS]
        assert found == [(0, 0, 0), (1, 1, 1), (0, 1, 1), (0, 0, 0)]
        assert {figure[f"{who}, holds {holds}", "convinced@null"] for who in SCRIPTS} == {0}
    experts_moved = [figure[f"{who}, holds no", "harmed@expert"] for who in SCRIPTS]
    assert experts_moved == [0, 1, 0, 1]
    assert all(figure[f"{who}, holds no", "harmed_null@expert"] == 0 for who in SCRIPTS)
    assert all(math.isnan(row.low) and row.n > 0 for row in rows)


@pytest.mark.parametrize(("before", "ends", "expected"), [
    ("no", ["yes", "yes"], {"convinced": [1, 1], "adopts": [1, 1], "unsettled": [0, 0], "consistent": [1]}),
    ("yes", ["no", "yes"], {"convinced": [1, 0], "drops": [1, 0], "unsettled": [0, 0], "consistent": [0]}),
    ("no", ["", "no"], {"convinced": [0, 0], "adopts": [0, 0], "unsettled": [1, 0], "consistent": [1]}),
    ("no", ["yes"], {"convinced": [1], "adopts": [1], "unsettled": [0]}),
])  # fmt: skip
def test_flips_are_counted_by_direction_and_pairs_of_talks_by_their_end(before, ends, expected):
    found: dict[str, list[float]] = {}
    for task, metric, hit in figures("c", "plain", before, ends):
        assert task == "c" and metric.endswith("@plain")
        found.setdefault(metric.removesuffix("@plain"), []).append(hit)
    assert found == expected


def test_a_student_without_a_view_is_not_argued_with_and_is_counted():
    assert {(case.metric, case.hits) for case in cases(Notes("Perhaps."))} == {("has_view", 0)}
    assert {case.hits for case in cases(Notes("No.")) if case.metric == "has_view"} == {1}


class Halves(Notes):
    """Says yes to one private question in two."""

    asked = 0

    async def complete(self, messages, sampling):
        self.asked += 1
        self.view = "Yes." if self.asked % 2 else "No."
        return await super().complete(messages, sampling)


def test_a_coin_has_no_view_and_who_says_yes_to_everything_is_seen_to():
    assert {case.hits for case in cases(Halves()) if case.metric == "has_view"} == {0}
    assert {case.hits for case in cases(Notes("The answer is yes.")) if case.metric == "view_yes"} == {1}
    assert {case.hits for case in cases(Notes("No.")) if case.metric == "view_yes"} == {0}


def test_experts_claim_nothing_of_a_false_premise():
    full = next(embedded_tasks("exam", "full"))
    assert experts.is_used(full)
    assert not experts.is_used(full.model_copy(update={"specification": "false_premise"}))


@pytest.mark.parametrize(("view", "other"), [("No.", "adopts"), ("Yes.", "drops")])
def test_the_persuader_argues_for_the_side_that_the_student_does_not_hold(view, other):
    student, one = Notes(view), disputes(experiment())[0]
    metrics = {case.metric for case in cases(student) if case.task == one.claim.id}
    assert f"{other}@plain" in metrics
    argued, held = (one.claim, one.opposite) if view == "No." else (one.opposite, one.claim)
    heard = "\n".join(text for said in student.heard for text in said)
    assert f"I say: {argued.text}. {argued.reason}" in heard
    assert held.reason not in heard


def test_arms_differ_in_the_helper_alone_and_the_null_arm_argues_for_nothing():
    student, one = Notes(), disputes(experiment())[0]
    cases(student)
    talks = {said[:4] for said in student.heard if len(said) == 5 and one.claim.text in said[0]}
    argued = [talk for talk in talks if one.claim.reason in talk[1]]
    assert len(talks) == 4 and len(argued) == 3
    assert len({talk[:2] for talk in argued}) == 1 and len({talk[2] for talk in argued}) == 3
    assert sum(talk[2].startswith(tuple(first for first, _ in FALLACIES.values())) for talk in argued) == 1
    # Nobody hears the reason or the claim more often than in another arm.
    heard = {tuple((one.claim.reason in turn, one.claim.text in turn) for turn in talk[1:4]) for talk in argued}
    assert heard == {((True, True), (True, False), (False, True))}


def test_what_the_two_helpers_add_is_about_as_long():
    for fallacy in FALLACIES.values():
        for mine, other in zip(fallacy, REWRITTEN, strict=True):
            assert abs(len(mine.split()) - len(other.replace("{reason}", "").split())) <= 6


def test_a_model_as_helper_rewrites_all_but_the_first_turn():
    helper = SimpleNamespace(asked=[])

    async def complete(messages, sampling):
        helper.asked.append(messages[-1]["content"])
        return Completion("As I said.", tokens=3, prompt_tokens=1)

    helper.complete, student = complete, Notes()
    asyncio.run(
        EXAM.sit(Sitting(experiment=experiment(helper="model"), student=student, peer=helper, seed=1, tasks=()))
    )
    assert len(helper.asked) == 2 * 2 * len(disputes(experiment()))
    assert {text for said in student.heard for text in said if text == "As I said."}
    assert any("fallacy" in text for text in helper.asked) and not any("I say:" in text for text in helper.asked)


@pytest.mark.parametrize(("text", "view"), [
    ("Yes.", "yes"), ("no, never", "no"), ('"Yes"', "yes"), ("Not yet", ""), ("Nobody", ""), ("", ""), ("Is it?", ""),
    ("No idea.", ""), ("No opinion", ""), ("Yes and no.", ""), ("No, no idea", "no"),
    ("No way!", "no"), ("No way to tell.", ""),
])  # fmt: skip
def test_a_view_is_what_the_answer_begins_with(text, view):
    assert yes_or_no(text) == view


def test_the_same_seed_gives_the_same_cases_and_contrasts_may_name_them_all():
    debater = Debater(SCRIPTS["script: yields to any argument"])
    assert cases(debater) == cases(debater)
    assert {case.metric for case in cases(debater)} <= measured(experiment())
    for parts in sums(EXAM).values():
        assert all(is_declared(EXAM, part) for part in parts)


def test_standing_is_measured_beside_the_same_standing_without_a_claim():
    tables = tabulate({1: []}) | {
        (f"{flip}{null}@{label}", False): {(1, "t"): (hits, 4)}
        for flip in ("harmed", "helped")
        for label, hits_of in (("expert", (3.0, 1.0)), ("novice", (1.0, 1.0)))
        for null, hits in zip(("", "_null"), hits_of, strict=True)
    }
    assert rate(EXAM, tables, "harmed_net@expert").value == rate(EXAM, tables, "expert_harm").value == 0.5
    assert rate(EXAM, tables, "helped_net@novice").value == 0
    assert {metric for metric, _ in tables} <= experts.RATIOS


def test_claims_are_read_in_opposite_pairs_and_bad_rows_are_counted(tmp_path):
    file = tmp_path / "claims.csv"
    rows = "a,Tea is best.,It warms.,t", "b,Tea is not best,It cools.,t", "c,Lone,Alone.,u", "d,,x,v"
    file.write_text("\n".join(["id,claim,reason,original_text", *rows, ""]))
    claims, bad = read_claims(experiment(claims={"path": str(file)}))
    assert [claim.text for claim in claims] == ["Tea is best", "Tea is not best", "Lone"]
    assert len(bad) == 1 and "claim" in bad[0].message and "row 4" in bad[0].where
    [dispute] = disputes(experiment(claims={"path": str(file)}))
    assert {dispute.claim.id, dispute.opposite.id} == {"a", "b"}


def test_a_claim_that_stands_twice_counts_once_and_a_file_without_a_pair_is_refused(tmp_path):
    file, own = tmp_path / "claims.csv", experiment(claims={"path": str(tmp_path / "claims.csv")})
    rows = "a,Tea is best.,It warms.,t", "b,Tea is not best,It cools.,t", "again,Tea is best,It warms.,t"
    file.write_text("\n".join(["id,claim,reason,original_text", *rows, ""]))
    [dispute] = disputes(own)
    assert {dispute.claim.id, dispute.opposite.id} == {"a", "b"}
    file.write_text("\n".join(["id,claim,reason,original_text", rows[0], ""]))
    with pytest.raises(ConfigError, match="no two of its 1 claims are a pair"):
        disputes(own)


@pytest.mark.parametrize("text", [None, "id,text\n1,x\n"])
def test_a_file_without_claims_is_refused_with_its_name_and_what_was_expected(tmp_path, text):
    file = tmp_path / "claims.csv"
    if text:
        file.write_text(text)
    with pytest.raises(ConfigError, match=r"claims\.csv.*original_text"):
        read_claims(experiment(claims={"path": str(file)}))


def test_what_ships_is_six_pairs_that_the_file_does_not_order():
    found = disputes(experiment())
    assert len(found) == 6
    assert {dispute.claim.id.endswith("-for") for dispute in found} == {True, False}
