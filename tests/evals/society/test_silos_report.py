"""Societies over repeats: their numbers, the claims and the page, on runs made up so that the answer is known."""

import json
import math
import re

import numpy as np
import pytest

from evals.society.paper_claims import above, claims, experiments, near_zero, needed_for, smallest_q, verdict
from evals.society.repeats import MeasuredRepeat, by_setting, groups, late, limits, measured, rate, summary
from evals.society.society_figures import spread
from evals.society.society_page import write_society_report
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from tests.evals.society.made_society import held, wandering, write_repeats

THREE, ONE = held([0, 0, 1, 1, 2, 2]), held([0] * 6)
AS_THE_PAPER = {(1, 0.0): THREE, (1, 1.0): THREE, (5, 0.0): ONE, (5, 1.0): wandering(4)}


def sweep(out) -> dict[tuple[int, float], list[MeasuredRepeat]]:
    return {(some[0].of.k, some[0].of.p): some for some in by_setting(measured(out))}


def said(out) -> dict[str, str]:
    return {claim.claim: claim.verdict for claim in claims(sweep(out))}


def test_a_run_that_does_as_the_paper_says_agrees(tmp_path):
    assert said(write_repeats(tmp_path, AS_THE_PAPER, repeats=100)) == {
        "More mirroring amplifies the effect of k towards splintering.": "agreed",
        "Small k favours local consensus.": "agreed",
        "Large k with small p favours global consensus.": "agreed",
        "Large k with large p leaves fragments.": "agreed",
        "With k = 1 mirroring hardly matters.": "agreed",
    }


def test_a_run_that_does_the_contrary_does_not_agree(tmp_path):
    contrary = {(1, 0.0): ONE, (1, 1.0): wandering(4), (5, 0.0): wandering(4), (5, 1.0): ONE}
    assert set(said(write_repeats(tmp_path, contrary, repeats=30)).values()) == {"not agreed"}


def test_most_of_two_runs_is_no_most_of_runs(tmp_path):
    found = said(write_repeats(tmp_path, AS_THE_PAPER, repeats=2))
    assert found["Large k with small p favours global consensus."] == "undecided"
    assert found["With k = 1 mirroring hardly matters."] == "undecided"


def test_claims_are_asked_only_where_the_sweep_has_their_points(tmp_path):
    assert said(write_repeats(tmp_path / "a", {(5, 0.5): ONE})) == {}
    only_k = write_repeats(tmp_path / "b", {(1, 0.0): THREE, (5, 0.0): ONE}, repeats=30)
    assert list(said(only_k)) == ["Small k favours local consensus.", "Large k with small p favours global consensus."]
    only_p = write_repeats(tmp_path / "c", {(1, 0.0): THREE, (1, 1.0): THREE})
    assert list(said(only_p)) == ["With k = 1 mirroring hardly matters."]
    at_p_1 = write_repeats(tmp_path / "d", {(1, 1.0): THREE, (5, 1.0): ONE})
    assert list(said(at_p_1)) == ["Small k favours local consensus."]


def test_the_first_experiments_are_the_lines_k_1_and_p_0(tmp_path):
    found = experiments(sweep(write_repeats(tmp_path, AS_THE_PAPER | {(1, 0.5): ONE})))
    assert [(one.name, [tuple(at.values()) for at in one.rows]) for one in found] == [
        ("k = 1, p varied", [(1, 0.0), (1, 0.5), (1, 1.0)]),
        ("p = 0, k varied", [(1, 0.0), (5, 0.0)]),
    ]
    assert found[1].change["E"].value == pytest.approx(-math.log(3))
    assert found[1].change["silos"].value == pytest.approx(-2)
    assert found[1].change["S"].value == 0


def test_verdicts_follow_the_interval():
    inside, across, below = Rate(0.3, 0.1, 0.5, 9), Rate(0.0, -0.2, 0.2, 9), Rate(-0.3, -0.5, -0.1, 9)
    parts = [above("", one, 0) for one in (inside, across, below)]
    assert [part.verdict for part in parts] == ["agreed", "undecided", "not agreed"]
    assert [verdict(parts[:1]), verdict(parts[:2]), verdict(parts)] == ["agreed", "undecided", "not agreed"]
    near = [near_zero("", Rate(0, low, high, 9)).verdict for low, high in ((-0.04, 0.04), (-0.06, 0.04), (0.06, 0.2))]
    assert near == ["agreed", "undecided", "not agreed"]
    nothing = Rate(math.nan, math.nan, math.nan, 0)
    assert above("", nothing, 0).verdict == near_zero("", nothing).verdict == "undecided"


def test_the_smallest_q_is_where_the_interval_stays_below_the_bar():
    def of(high: float) -> Rate:
        return Rate(0, 0, high, 100)

    assert smallest_q({0.0: of(0.9), 0.1: of(0.04), 0.2: of(0.03)}, 0.05) == 0.1
    assert smallest_q({0.0: of(0.04), 0.1: of(0.06), 0.2: of(0.03)}, 0.05) == 0.2
    assert smallest_q({0.0: of(0.01), 0.2: of(0.05)}, 0.05) is None
    assert needed_for(0.05) == 73  # Wilson: z² / (n + z²) < .05


def test_equal_repeats_do_not_make_a_mean_certain():
    assert rate([], 0, 1).n == 0 and math.isnan(rate([], 0, 1).value)
    assert rate([0.5], 0, 1) == Rate(0.5, 0, 1, 1)
    certain = rate([1.0] * 10, 0, 1)
    assert (certain.value, certain.high) == (1, 1) and certain.low == pytest.approx(0.722, abs=1e-3)
    unequal = rate([0.2, 0.4], 0, 1)
    assert unequal.value == pytest.approx(0.3) and (unequal.low, unequal.high) == (0, 1)


def test_there_are_no_more_silos_than_agents_or_topics(tmp_path):
    bare = measured(write_repeats(tmp_path / "a", {(5, 0.5): THREE}, repeats=1))[0]
    named = measured(write_repeats(tmp_path / "b", {(5, 0.5): THREE}, repeats=1, topics=["rose", "lily", "iris"]))[0]
    assert limits(bare.of)["silos"] == (1, 6) and limits(bare.of)["E"] == (0, pytest.approx(math.log(6)))
    assert limits(named.of)["silos"] == (1, 3) and limits(named.of)["E"] == (0, pytest.approx(math.log(3)))


def test_a_setting_sums_up_its_repeats_and_not_its_agents(tmp_path):
    (some,) = by_setting(measured(write_repeats(tmp_path, {(5, 0.5): THREE}, repeats=4)))
    found = summary(some)
    assert found["repeats"] == 4 and found["behaviour"]["stable"]["n"] == 4 and found["S"]["n"] == 4
    assert found["behaviour"]["stable"]["value"] == 1 and found["behaviour"]["decaying"]["value"] == 0
    assert found["E"]["value"] == pytest.approx(math.log(3)) and found["silos"]["value"] == 3
    assert found["curves"]["S"]["mean"] == [1.0] * 12
    assert len(found["curves"]["E"]["mean"]) == 13
    assert "right" not in found


@pytest.mark.parametrize(
    ("ids", "right", "wrong", "wrong_largest"),
    [([0] * 6, 1.0, False, False), ([1] * 6, 0.0, True, True), ([0, 0, 1, 1, 1, 1], 1 / 3, False, True)],
)
def test_a_wrong_single_silo_is_single_and_wrong(tmp_path, ids, right, wrong, wrong_largest):
    one = measured(write_repeats(tmp_path, {(5, 0.5): held(ids)}, repeats=1, q=0.1))[0]
    assert (one.wrong, one.wrong_largest) == (wrong, wrong_largest)
    assert late(one)["right"] == pytest.approx(right)


def test_settings_that_differ_in_more_than_k_p_and_q_are_groups_of_their_own(tmp_path):
    write_repeats(tmp_path, AS_THE_PAPER, noise=0.0)
    write_repeats(tmp_path, AS_THE_PAPER, noise=0.2)
    found = groups(by_setting(measured(tmp_path)))
    assert {name: len(settings) for name, settings in found.items()} == {
        "proxy, n = 6, T = 12, noise = 0.0": 4,
        "proxy, n = 6, T = 12, noise = 0.2": 4,
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"noise": 0.1}, "noise = 0.1"),
        ({"gives": "nearest"}, "gives = nearest"),
        ({"gives": "any", "noise": 0.0, "varies": {}}, ""),
        ({"varies": {"inject": [{"step": 4, "text": "rose"}]}}, "inject = [{'step': 4, 'text': 'rose'}]"),
    ],
)
def test_a_group_by_itself_is_told_by_what_is_unusual_of_it(tmp_path, changes, told):
    found = groups(by_setting(measured(write_repeats(tmp_path, AS_THE_PAPER, **changes))))
    assert list(found) == ["proxy, n = 6, T = 12" + (f", {told}" if told else "")]


SLOW = [pytest.param(varies, marks=pytest.mark.slow) for varies in ({"k": [[0, 1], [6, 5]]}, {"p": [[0, 1], [6, 0]]})]


@pytest.mark.parametrize("varies", [*SLOW, {"adapt": {"k": 1, "p": 0.0}}])
def test_no_claim_on_k_and_p_is_held_against_those_that_change_over_time(tmp_path, varies):
    page = write_society_report(write_repeats(tmp_path, AS_THE_PAPER, varies=varies))
    (group,) = json.loads((page.parent / "report.json").read_text())["groups"]
    assert group["claims"] == group["claims_below_1"] == group["experiments"] == []
    assert f"T = 12, {next(iter(varies))} = " in group["name"] and "Phase diagram" in page.read_text()


@pytest.mark.slow
def test_the_page_has_every_group_no_outside_address_and_is_made_twice_the_same(tmp_path):
    write_repeats(tmp_path, AS_THE_PAPER)
    for q in (0.0, 0.2):
        write_repeats(tmp_path, {(5, 0.5): held([0 if q else 1] * 6)}, q=q, gold="rose", topics=["rose", "lily"])
    page = write_society_report(tmp_path)
    text, figures = page.read_text(), (page.parent / "report.json").read_text()
    for shown in (
        "gold = rose",
        "Phase diagram",
        "first experiments",
        "S(t) and E(t)",
        "two dimensions",
        "holds a verifier",
    ):
        assert shown in text
    assert text.count("<svg") == 6  # four of the sweep; of q the silos and the curve
    assert not re.findall(r'(?:src|href)="(?!#|data:image/png)', text)
    assert "at k = 5, p = 0.5 a share of 1.00 end in a wrong single silo, no q is shown to keep it below 0.05" in text
    report = json.loads(figures)
    assert [len(group["settings"]) for group in report["groups"]] == [4, 2]
    assert report["groups"][1]["verifiers"][0]["smallest"] is None
    assert write_society_report(tmp_path).read_text() == text
    assert (page.parent / "report.json").read_text() == figures


def test_the_smallest_q_is_asked_of_the_largest_silo_too(tmp_path):
    """A quarter of the agents that stay right rule out a wrong single silo, not a largest one that is wrong."""
    for q, ids in ((0.0, [1] * 4), (0.25, [0, 1, 1, 1]), (0.5, [0, 0, 0, 1])):
        write_repeats(tmp_path, {(5, 0.5): held(ids)}, repeats=80, q=q)
    page = write_society_report(tmp_path)
    (found,) = json.loads((page.parent / "report.json").read_text())["groups"][0]["verifiers"]
    assert (found["smallest"], found["smallest_by_largest"]) == (0.25, 0.5)
    assert "the same of largest silos that are wrong" in page.read_text()


def test_one_step_one_repeat_and_one_setting_still_make_a_page(tmp_path):
    text = write_society_report(write_repeats(tmp_path, {(1, 0.0): held([0, 1], steps=1)}, repeats=1)).read_text()
    assert "no sweep of k and p" in text and "nan" not in re.sub(r"<[^>]*>", "", text)


def test_what_is_missing_or_does_not_fit_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no society has been played"):
        write_society_report(tmp_path)
    write_repeats(tmp_path, {(1, 0.0): ONE}, repeats=1)
    np.savez(tmp_path / "society" / "k1-p0.0-r0.npz", silo=np.zeros((3, 6), int))
    with pytest.raises(ConfigError, match=r"shape \(3, 6\), expected \(13, 6\)"):
        write_society_report(tmp_path)
    (tmp_path / "society" / "k1-p0.0-r0.npz").unlink()
    with pytest.raises(ConfigError, match="missing"):
        write_society_report(tmp_path)


def test_what_is_drawn_of_many_values_has_both_ends():
    assert spread([1, 2, 3], 5) == [1, 2, 3]
    assert spread(list(range(30)), 5) == [0, 7, 14, 22, 29]


@pytest.mark.slow
def test_claims_are_held_against_the_largest_p_below_1_too(tmp_path):
    write_repeats(tmp_path, AS_THE_PAPER | {(1, 0.5): THREE, (5, 0.5): ONE}, repeats=20)
    group = json.loads((write_society_report(tmp_path).parent / "report.json").read_text())["groups"][0]
    fragments = {key: group[key][3] for key in ("claims", "claims_below_1")}
    assert {claim["claim"] for claim in fragments.values()} == {"Large k with large p leaves fragments."}
    assert [claim["verdict"] for claim in fragments.values()] == ["agreed", "not agreed"]
