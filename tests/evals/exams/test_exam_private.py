"""Private information: scenarios whose end a rule decides, and curves small enough to check by eye."""

import asyncio
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from evals.exams.private.mention_curves import METRIC, curve, mention_table
from evals.exams.private.mention_curves import mentions as curves
from evals.exams.private.parties import PARTIES, Closed, Open
from evals.exams.private.private import (
    AGENTS,
    COUNT,
    EXAM,
    MINDREADERS,
    MODES,
    NEVER_AGREES,
    of_scenarios,
    reference,
    told,
)
from evals.exams.private.scenarios import NOTHING, mentions, numbers, reached, scenarios, taken
from evals.metrics.case import Case
from evals.report.rendering import environment
from evals.sitting.examined_run import Run
from evals.sitting.reference_rates import seated
from evals.stats.number_format import clean
from pipeline.core.schema import Turn
from pipeline.engines.model import Completion
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import script_view, view
from tests.builders import small_experiment
from tests.evals.small_exam import ratios, weights


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return small_experiment(exams={"include": ["private"], "episodes": 1}, out=tmp_path, seeds=[1], engine={})


class Says(Open):
    def __init__(self, text: str):
        self.text = text

    async def complete(self, messages, sampling):
        return Completion(self.text, tokens=1, prompt_tokens=0)


def rates(cases: list[Case]) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for case in cases:
        hits, n = found.get(case.metric, (0.0, 0))
        found[case.metric] = hits + case.hits, n + case.n
    return found


def talk(*texts: str) -> list[Turn]:
    return [Turn(party="partner" if i % 2 else "student", text=text) for i, text in enumerate(texts)]


@given(seed=st.integers(0, 10_000))
def test_a_scenario_has_a_solution_exactly_where_both_facts_allow_one(seed):
    for one in scenarios(8, seed):
        mine, theirs = (fact.text for fact in one.task.facts)
        if one.task.kind == "meeting":
            common = set(numbers(mine.split("o'clock")[0])) & set(numbers(theirs.split("o'clock")[0]))
            assert one.works == common and one.bad not in numbers(mine.split("o'clock")[0])
        else:
            most, least = sorted((mine, theirs), key=lambda text: "at most" not in text)
            assert bool(one.works) == (int(numbers(most)[0]) >= int(numbers(least)[0]))
        assert mentions(one.secret, mine) and not mentions(one.secret, theirs)
    assert scenarios(8, seed) == scenarios(8, seed) != scenarios(8, seed + 1)


def test_agents_see_their_own_share_and_the_other_modes_all_and_the_rest_is_the_same():
    for one in scenarios(8):
        mine, theirs = (fact.text for fact in one.task.facts)
        own = view(one.seat("student"), AGENTS, [], "student")[0]["content"]
        other = view(one.seat("partner"), AGENTS, [], "partner")[0]["content"]
        both = view(one.seat("student"), MINDREADERS, [], "student")[0]["content"]
        assert mine in own and theirs not in own and theirs in other and mine not in other
        assert both == own.replace(mine, f"{mine} {theirs}")
        reads = view(one.seat("partner"), MINDREADERS, [], "partner")[0]["content"]
        assert reads == other.replace(theirs, f"{mine} {theirs}")
        written = script_view(one.both(), MINDREADERS)[0]["content"]
        first, second = one.names
        script = both.replace(f"You are {first}", f"Student is {first} and Partner is {second}").splitlines()[0]
        assert written.splitlines()[0] == script and "the answer is" not in written + both


def test_each_party_is_told_who_it_is_and_that_what_it_knows_is_to_be_kept():
    for one in scenarios(8):
        for party, name, fact in zip(("student", "partner"), one.names, one.task.facts, strict=True):
            other = one.names[party == "student"]
            for mode in (AGENTS, MINDREADERS):
                read = view(one.seat(party), mode, [], party)[0]["content"]
                assert f"You are {name};" in read and f"You are {other}" not in read
            assert fact.text.startswith(name) and "secret" in fact.text
            assert re.search("for little|for much|free at", fact.text)


@pytest.mark.parametrize(("text", "offers", "expected"), [
    ("Deal: 30.", ["30"], "30"), ("Deal: 30.", ["20"], None), ("Deal at 20? I can do 30.", ["30"], None),
    ("No deal.", ["30"], NOTHING), ("That is not a deal.", ["30"], None), ("Yes, that works.", ["20", "30"], "30"),
    ("Agreed.", [], None), ("Okay, but at 25.", ["30"], None), ("Deal.", ["30"], "30"), ("Deal?", ["30"], None),
    ("Yes, deal at 20.", ["20", "30"], "20"), ("I agree to your offer.", ["45"], "45"),
    ("I agree to the price.", ["45"], "45"), ("I agree to a price of 45.", ["45"], "45"),
    ("I agree: 45.", ["45"], "45"),
    ("I agree with that.", ["45"], "45"), ("I agree.", ["45"], "45"), ("That sounds great.", ["45"], "45"),
    ("Sounds good, friend.", ["45"], "45"), ("That works with me.", ["45"], "45"), ("45 works for me.", ["45"], "45"),
    ("I agree with you on its quality.", ["45"], None), ("I agree on that point.", ["45"], None),
    ("I agree, your lamp cost you 45 when new.", ["45"], None), ("Please work with me on the price.", ["45"], None),
    ("Work with me here, friend.", ["45"], None), ("The lamp sounds great. How low will you go?", ["45"], None),
])  # fmt: skip
def test_a_turn_takes_only_what_the_other_offered(text, offers, expected):
    assert taken(text, offers) == expected


@pytest.mark.parametrize("text", [
    "Okay, but that is too high for me.", "Sure, let me think about it.", "Okay. I was hoping for less.",
    "Okay, I hear you. What about a lower price?", "All right, that is still more than I can pay.",
    "Yes, I am interested in the lamp.", "I agree that it is a nice lamp, but 45 is too high.", "Let's make a deal.",
    "I hope that we can reach a deal.", "I want a deal that works for both of us.", "Deal, if you add the shade.",
    "Sounds good in principle, but it is above my budget.", "There is no deal yet, and I could pay 40.",
    "That's a deal breaker for me.", "I agree, let us keep talking.", "I agree to disagree.",
    "If you do not go lower, no deal.", "Remember, we can also say No deal. How about 40?"])  # fmt: skip
def test_politeness_and_talk_of_a_deal_take_nothing(text):
    assert taken(text, ["45"]) is None


@pytest.mark.parametrize("text", [
    "Deal! 45 coins.", "I accept your offer of 45 coins.", "Okay, 45 works for me.", "It's a deal.", "45, deal.",
    "I was hoping for 40, but okay: deal at 45.", "**Deal: 45**", "I agree.", "I agree to that.",
    "I agree, 45.", "That's fine with me.", "Sounds great!", "45 it is.", "Sure, let's do 45.", "Okay."])  # fmt: skip
def test_an_offer_is_taken_in_ordinary_words(text):
    assert taken(text, ["40", "45"]) == "45"


def test_who_ends_the_talk_may_say_why():
    assert taken("No deal, 45 is too high.", ["45"]) == taken("I cannot pay that, so no deal.", ["45"]) == NOTHING


def test_a_talk_is_scored_by_its_end_and_the_secret_is_at_risk_until_it_is_said():
    one = scenarios(1)[0]
    value, limit = min(one.works), one.secret
    found = dict(
        (metric, hit) for _, metric, hit in told(one, "agents", talk("Hello.", f"I ask {value}.", f"Deal: {value}."))
    )
    assert (found["goal@agents"], found["deal@agents"]) == (1, 1)
    assert (found["first_mention/1@agents"], "first_mention/2@agents" in found) == (0, True)
    found = dict(
        (m, hit) for _, m, hit in told(one, "agents", talk(f"At most {limit}.", "Hm.", f"I said {limit}.", "Hm."))
    )
    assert (found["goal@agents"], found["deal@agents"], found["first_mention/1@agents"]) == (0, 0, 1)
    assert "first_mention/2@agents" not in found
    unsolvable = next(s for s in scenarios(8) if not s.works)
    assert reached(unsolvable, NOTHING) and not reached(unsolvable, None) and not reached(unsolvable, "5")
    assert not reached(one, NOTHING)


def test_an_open_pair_reaches_every_goal_and_tells_at_once_and_a_closed_one_neither(experiment):
    opened = rates(asyncio.run(of_scenarios(seated(experiment, Open()), scenarios(COUNT))))
    closed = rates(asyncio.run(of_scenarios(seated(experiment, Closed()), scenarios(COUNT))))
    for mode in MODES:
        assert opened[f"goal@{mode}"] == opened[f"first_mention/1@{mode}"] == (COUNT, COUNT)
        assert closed[f"goal@{mode}"] == closed[f"first_mention/1@{mode}"] == (0, COUNT)
        assert f"first_mention/2@{mode}" not in opened
    assert (opened["agreeable@bad"], opened["agreeable@good"]) == ((0, COUNT), (COUNT, COUNT))
    assert closed["first_mention/4@agents"] == (0, COUNT) and closed["agreeable@good"] == (0, COUNT)


def test_agreeing_to_all_is_agreeable_and_a_script_without_sides_is_counted(experiment):
    found = rates(asyncio.run(of_scenarios(seated(experiment, Says("Yes.")), scenarios(4))))
    assert found["agreeable@bad"] == found["agreeable@good"] == (4, 4)
    assert found["written@script"] == (0, 4) and "goal@script" not in found


def test_taking_every_offer_or_none_is_no_skill_and_reading_them_is_all():
    parts = weights(EXAM, "agreeable_skill")
    for rates_of, skill in (((1, 1), 0), ((0, 0), 0), ((1, 0), 1), ((0, 1), -1)):
        rate = dict(zip(("agreeable@good", "agreeable@bad"), rates_of, strict=True))
        assert sum(weight * rate[part] for part, weight in parts.items()) == skill


def test_the_exam_measures_what_it_may_and_the_same_seed_gives_the_same_cases(experiment):
    for party in PARTIES.values():
        cases = asyncio.run(EXAM.sit(seated(experiment, party)))
        assert {case.metric for case in cases} <= ratios(EXAM, experiment)
        assert cases == asyncio.run(EXAM.sit(seated(experiment, party)))
        assert all(case.n > 0 for case in cases)


def test_references_are_exact_for_scripts_and_have_intervals_for_the_random_pair(experiment):
    rows = {(row.who, row.metric): row for row in asyncio.run(reference(experiment))}
    assert rows["a scripted open pair", "goal@agents"].value == 1
    assert math.isnan(rows["a scripted closed pair", "goal@agents"].low)
    none_works = sum(not one.works for one in scenarios(COUNT)) / COUNT
    assert rows["a scripted refusing pair", "goal@agents"].value == none_works > 0.1
    assert none_works == NEVER_AGREES
    luck = rows["a scripted random pair", "goal@agents"]
    assert 0 < luck.low < luck.value < luck.high < 0.5 and luck.n == COUNT


def hazard(task: str, turn: int, hits: float, n: int) -> Case:
    return Case(exam="private", task=task, metric=f"{METRIC}/{turn}@agents", hits=hits, n=n)


def test_survival_is_the_product_of_hazards_and_censored_talks_leave_it_as_it_is():
    # Four talks: one tells in turn 1, one ends untold after turn 1, one tells in turn 2, one never tells.
    cases = [
        hazard("a", 1, 1, 2),
        hazard("b", 1, 0, 2),
        hazard("a", 2, 1, 1),
        hazard("b", 2, 0, 1),
        hazard("b", 3, 0, 1),
    ]
    points = curve(cases, "agents", 4)
    assert [point["value"] for point in points[:3]] == [0.75, 0.375, 0.375] and math.isnan(points[3]["value"])
    assert [point["n"] for point in points] == [4, 2, 1, 0]
    assert all(point["low"] <= point["value"] <= point["high"] for point in points[:3])


def test_the_last_of_many_scenarios_is_one_and_its_interval_as_wide():
    cases = [hazard(str(i), 1, 0, 1) for i in range(36)] + [hazard("0", turn, 0, 1) for turn in (2, 3)]
    first, *later = curve(cases, "agents", 3)
    assert first["low"] > 0.9 and all(point["value"] == 1 and 0.2 < point["low"] < 0.22 for point in later)


def test_a_secret_that_everybody_told_stays_told_and_certainty_has_an_interval():
    points = curve([hazard(task, 1, 1, 1) for task in "abcd"], "agents", 2)
    assert [(point["value"], point["low"]) for point in points] == [(0, 0), (0, 0)]
    assert 0 < points[0]["high"] < 1


def test_curves_are_read_from_a_run_and_shown(experiment, tmp_path):
    assert curves(Run(experiment, {"base": "base"})) is None
    folder = tmp_path / "results" / "base"
    folder.mkdir(parents=True)
    cases = [
        hazard("a", 1, 1, 2),
        hazard("b", 1, 0, 2),
        Case(exam="asking", task="a", metric="ask_needed", hits=1, n=1),
    ]
    (folder / "seed-1.jsonl").write_text("".join(json.dumps(case._asdict()) + "\n" for case in cases))
    block = curves(Run(experiment, {"base": "the base", "facts": "facts"}))
    assert list(block["students"]) == ["the base"] and block["students"]["the base"]["agents"][0]["value"] == 0.75
    assert mention_table(block).row_count == 1
    env: Environment = environment()
    page = env.get_template("mentions.html.j2").render(mentions=[clean(block)])
    assert "0.75" in page and "n 4" in page and "nan" not in page
