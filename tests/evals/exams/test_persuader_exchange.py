"""The free exchange of the exam `persuader`, with debaters and a persuader by script."""

import asyncio
import math
import re

import pytest

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import measured
from evals.exams.persuader import persuader
from evals.exams.persuader.fallacies import FALLACIES
from evals.exams.persuader.persuader import ARMS, EXAM, SCRIPTS
from evals.exams.persuasion.claims import disputes
from evals.exams.persuasion.debaters import Debater
from evals.sitting.sitting import Sitting
from evals.stats.intervals import tabulate
from tests.evals.small_exam import exam_experiment, is_declared, rate, ratios
from tests.fakes import FakeModel

PAIRS = {dispute.claim.text: dispute.opposite.text for dispute in disputes(exam_experiment("persuader"))}
ANY, NONE, GO_ON = r"I say: ", r"(?!)", r"Carry on|And then"


def experiment(turns=3, **more):
    free = {"exchange": "free", "turns": turns}
    return exam_experiment("persuader", **{"episodes": 2, "beliefs": 2, "helper": "model", "persuader": free} | more)


class Speaker(Debater):
    """Says in public, too, which of two claims it holds: moved there by what matches `yields`, in private `moved`."""

    def __init__(self, yields, holds="no", moved=None):
        super().__init__(yields, holds=holds)
        self.private = Debater(moved or yields, holds=holds)

    def say(self, messages, sampling):
        if messages[-1]["content"].endswith("yes or no."):
            return self.private.say(messages, sampling)
        claim = next(text for text in PAIRS if text in messages[0]["content"])
        is_so = super().say(messages, sampling) == "Yes."
        return f"I think: {claim if is_so else PAIRS[claim]}."


class Peer(FakeModel):
    """Argues, counting its turns; rewrites with a word for how; moderates by looking for the claim in the reply."""

    def __init__(self, verdict=None):
        super().__init__()
        self.verdict = verdict

    def reply(self, messages):
        asked = messages[-1]["content"]
        if judged := re.search(r'B answers: "(.*)"\n\nDoes B now say that this is so: (.*)\? Say', asked):
            said, claim = judged.groups()
            return self.verdict or ("Yes." if claim in said else "No.")
        if rewritten := re.search(r'as a logical argument.*\n\n"(.*)"$', asked):
            return f"Logically, {rewritten[1]}"
        if worsened := re.search(r'on this fallacy: (.*)\. Say.*\n\n"(.*)"$', asked):
            return f"By {worsened[1]}, {worsened[2]}"
        claim = re.search(r"You say: (.*?)\. ", messages[0]["content"])[1]
        return f"I say: {claim}. That is turn {len(messages[::2])}."


def sat(student, peer=None, of=None):
    at = Sitting(experiment=of or experiment(), student=student, peer=peer or Peer(), seed=1, tasks=())
    cases = asyncio.run(EXAM.sit(at))
    tables = tabulate({1: cases})
    return lambda name: rate(EXAM, tables, name).value, at, cases


@pytest.mark.parametrize("holds", ["no", "yes"])
@pytest.mark.parametrize(("yields", "moved_in"), [
    (ANY, {"plain", "rewritten", "fallacy"}), (r"\nBy ", {"fallacy"}), ("Logically, ", {"rewritten"}),
    (NONE, set()), (f"{ANY}|{GO_ON}", set(ARMS)),
])  # fmt: skip
def test_who_yields_to_what_is_convinced_there_in_public_and_in_private(yields, moved_in, holds):
    figure, _, cases = sat(Speaker(yields, holds))
    for arm in ARMS:
        moved = float(arm in moved_in)
        assert figure(f"concedes@{arm}") == figure(f"convinced@{arm}") == moved
        assert figure(f"persuader_turns@{arm}") == (1 if moved else 3)
        if arm != "null":
            assert figure(f"concedes_{arm}") == figure(f"convinced_{arm}") == moved - ("null" in moved_in)
            assert figure(f"on_claim@{arm}") == 1
    gap = ("fallacy" in moved_in) - ("rewritten" in moved_in)
    assert figure("public_fallacy_gap") == figure("fallacy_gap") == gap
    assert figure("moderator_right") == 1
    assert {case.metric for case in cases} <= measured(experiment())


def test_saying_that_one_is_convinced_and_being_it_are_two_figures():
    figure, *_ = sat(Speaker(ANY, moved=NONE))
    assert (figure("concedes@plain"), figure("convinced@plain")) == (1, 0)
    figure, *_ = sat(Speaker(NONE, moved=ANY))
    assert (figure("concedes@plain"), figure("convinced@plain"), figure("persuader_turns@plain")) == (0, 1, 3)


@pytest.mark.parametrize(("cap", "convinced", "turns"), [(1, 0, 1), (2, 1, 2), (4, 1, 2)])
def test_the_moderator_stops_at_the_turn_that_convinced_and_the_cap_before_it(cap, convinced, turns):
    figure, at, _ = sat(Speaker("That is turn 2"), of=experiment(turns=cap))
    assert figure("concedes@plain") == figure("convinced@plain") == convinced
    assert (figure("persuader_turns@plain"), figure("persuader_turns@null")) == (turns, cap)
    plain = [talk for talk in at.transcripts["persuader"] if talk["arm"] == "plain"]
    assert len(plain) == 2 * len(PAIRS)
    for talk in plain:
        assert [party for party, _ in talk["turns"]] == ["student", *["partner", "student"] * turns]
        assert (talk["conceded"], talk["before"], talk["after"]) == (
            bool(convinced),
            "no",
            "yes" if convinced else "no",
        )


def test_the_persuader_reads_the_student_and_its_own_turns_as_they_were_said():
    peer = Peer()
    sat(Speaker(NONE), peer)
    views = [[turn["content"] for turn in seen] for seen in peer.seen if len(seen) == 5]
    rewritten = [view for view in views if view[1].startswith("Logically")]
    assert len(views) == 3 * len(rewritten) == 3 * 2 * len(PAIRS)
    for task, first, reply, second, last in rewritten:
        claim = re.search(r"You say: (.*?)\. ", task)[1]
        assert task.endswith(f'They say: "I think: {PAIRS[claim]}."')
        assert reply == last == f"I think: {PAIRS[claim]}."
        assert (first, second) == tuple(f"Logically, I say: {claim}. That is turn {i}." for i in (1, 2))


def test_the_helper_reads_what_was_said_before_the_turn_that_it_rewrites():
    peer = Peer()
    sat(Speaker(NONE), peer)
    helped = [seen[0]["content"] for seen in peer.seen if "Rewrite this turn" in seen[0]["content"]]
    talks = [ask.partition("Rewrite this turn")[0].splitlines()[1:] for ask in helped]
    for ask, talk in zip(helped, talks, strict=True):
        number = int(re.search(r"That is turn (\d)\.\"$", ask)[1])
        assert [line.partition(":")[0] for line in talk if line] == ["They", *["You", "They"] * (number - 1)]
        assert [f"turn {i}." in talk[2 * i - 1] for i in range(1, number)] == [True] * (number - 1)
    assert len(helped) == 2 * 2 * 3 * len(PAIRS)  # arms, episodes, turns


@pytest.mark.parametrize("verdict", ["Yes.", "No.", "Hm."])
def test_a_moderator_that_says_one_thing_stops_nothing_and_shows_it(verdict):
    figure, *_ = sat(Speaker(ANY), Peer(verdict))
    assert (figure("concedes@plain"), figure("persuader_turns@plain"), figure("moderator_right")) == (0, 3, 0.5)
    assert figure("convinced@plain") == 1  # what is thought in private needs no moderator


def test_a_helper_by_rule_puts_one_sentence_before_what_the_model_says():
    figure, at, _ = sat(Speaker(SCRIPTS["script: yields to fallacies"]), of=experiment(helper="rule"))
    assert [figure(f"concedes@{arm}") for arm in ARMS] == [0, 0, 1, 0]
    [said] = {talk["turns"][1][1].partition(" I say: ")[0] for talk in at.transcripts["persuader"][4:6]}
    assert said in {first for first, _ in FALLACIES.values()}


def test_only_a_free_exchange_has_its_figures_and_its_price():
    script = experiment(persuader={"turns": 9}, helper="rule")
    assert ratios(EXAM, experiment()) - ratios(EXAM, script) >= {"concedes@null", "moderator_right", "on_claim@plain"}
    assert all(is_declared(EXAM, ratio) for ratio in ratios(EXAM, experiment()))
    _, at, cases = sat(Speaker(ANY), of=script)
    assert {case.metric for case in cases} <= measured(script)
    assert {len(talk["turns"]) for talk in at.transcripts["persuader"]} == {7}
    talks = len(PAIRS) * len(ARMS) * 2
    assert most_answers(experiment(turns=5), [], 0) - most_answers(script, [], 0) == 2 * talks


def test_the_references_are_of_the_script_whatever_the_exchange_is():
    of_script, of_free = (asyncio.run(persuader.reference(of)) for of in (experiment(persuader={}), experiment()))
    assert [row._replace(low=0, high=0) for row in of_free] == [row._replace(low=0, high=0) for row in of_script]
    assert all(math.isnan(row.low) for row in of_free)
