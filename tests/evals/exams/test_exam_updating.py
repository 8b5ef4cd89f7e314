"""How a belief moves after a check that is right, counted with students whose updating is known."""

import asyncio
import re

import pytest

from evals.exams.updating.updating import EXAM, reference, told, updating
from evals.sitting.exam import asked, not_asked
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.model import Completion
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.experiment import Experiment
from tests.evals.small_exam import ratios, sums, weights
from tests.fakes import FakeModel

FULL = Task(
    id="f", source="embedded", specification="full", question="Tom has 30 pens. Ana has 12 pens. How many in all?",
    full_question="-", answer="42", facts=(Fact(id="a", text="Tom has 30 pens."),),
)  # fmt: skip
EXPERIMENT = Experiment.model_validate(
    {
        "name": "t",
        "seeds": [1],
        "student": {"model": "data/base"},
        "engine": {"kind": "scripted"},
        "tasks": {"exam": {"full": 60}},
        "conditions": {"facts": {"partition": "facts"}},
        "exams": {"include": ["updating"], "episodes": 2, "beliefs": 3},
    }
)
PASSED, FAILED = WORDINGS["exam"]["right"][0], WORDINGS["exam"]["wrong"][0]


class Updater(FakeModel):
    """Opens with `own`. In private it names the answer that it was told of where it `believes` what the check says, and
    holds it after a content-free turn where `holds`; else it is unsure.
    """

    def __init__(self, own: str, believes: bool = True, holds: bool = True, agency: bool = False):
        self.own, self.believes, self.holds, self.agency = own, believes, holds, agency

    async def complete(self, messages, sampling):
        read = " ".join(m["content"] for m in messages)
        if len(messages) == 1 and "says" not in read:
            return Completion(f"The answer is {self.own}.", tokens=4, prompt_tokens=9)
        if "only your own answer" not in messages[-1]["content"]:
            return Completion("Okay.", tokens=1, prompt_tokens=9)
        heeds = self.believes and not (self.agency and "says" in read)
        keeps = True if heeds and PASSED in read else False if heeds and FAILED in read else self.holds
        return Completion(f"The answer is {self.own}." if keeps else "I cannot tell.", tokens=4, prompt_tokens=9)


def values(student) -> dict[str, float]:
    cases = asyncio.run(updating(Sitting(experiment=EXPERIMENT, student=student, peer=student, seed=1, tasks=(FULL,))))
    assert all(case.n == 2 * 3 for case in cases)
    found = {case.metric: case.hits / case.n for case in cases}
    for name in (name + at for name in sums(EXAM) for at in ("", "@own", "@imposed")):
        if weights(EXAM, name).keys() <= found.keys() and name not in found:
            found[name] = sum(weight * found[metric] for metric, weight in weights(EXAM, name).items())
    return found


def test_who_heeds_checks_moves_towards_what_they_say_net_of_the_null():
    confirmed = values(Updater("42", holds=False))
    assert confirmed["update_confirm@own"] == confirmed["update_confirm@imposed"] == 1
    assert not any("refuted" in metric or "disconfirm" in metric for metric in confirmed)  # no wrong attempt: no case
    refuted = values(Updater("7"))
    assert refuted["update_disconfirm@own"] == refuted["update_disconfirm@imposed"] == 1


def test_a_number_at_which_a_private_answer_was_cut_is_none():
    class Cut(Updater):
        async def complete(self, messages, sampling):
            said = await super().complete(messages, sampling)
            return said._replace(finished="only your own answer" not in messages[-1]["content"])

    assert set(values(Cut("7", believes=False)).values()) == {0}


@pytest.mark.parametrize("own", ["42", "7"])
def test_who_heeds_no_check_does_not_move(own):
    found = values(Updater(own, believes=False))
    assert {round(value, 9) for name, value in found.items() if name.startswith("update_")} == {0}


def test_there_is_no_room_to_confirm_what_is_held():
    assert values(Updater("42", holds=True))["update_confirm@own"] == 0


def test_who_heeds_checks_of_its_own_answers_alone_differs_by_agency():
    found = values(Updater("7", agency=True))
    assert (found["update_disconfirm@own"], found["update_disconfirm@imposed"]) == (1, 0)


def test_the_composites_are_the_sums_that_the_docstring_says():
    value = {"keeps_confirmed": 0.9, "keeps_confirmed_null": 0.5, "keeps_refuted": 0.6, "keeps_refuted_null": 0.8}
    own = {f"{name}@own": share for name, share in value.items()}
    both = own | {f"{name}@imposed": 0.5 for name in value}

    def total(name):
        return round(sum(weight * both[metric] for metric, weight in weights(EXAM, name).items()), 9)

    assert (total("update_confirm@own"), total("update_disconfirm@own")) == (0.4, 0.2)
    assert (total("update_asymmetry@own"), total("update_asymmetry@imposed"), total("update_agency")) == (0.2, 0, 0.2)


def test_an_imposed_attempt_is_told_before_the_student_has_spoken():
    first = Turn(party="student", text="I get 7.")
    assert [turn.party for turn in told(first, "7", FAILED, "own")] == ["student", "partner"]
    [imposed] = told(first, "7", FAILED, "imposed")
    assert imposed.party == "partner" and re.search(r"says the answer is 7\. " + re.escape(FAILED), imposed.text)


def test_an_opening_without_a_number_has_no_case_and_a_rerun_gives_the_same():
    sitting = Sitting(
        experiment=EXPERIMENT,
        student=ScriptedModel(("How many?", "That is impossible.")),
        peer=ScriptedModel(),
        seed=1,
        tasks=(FULL,),
    )
    assert asyncio.run(updating(sitting)) == []
    one, two = (values(ScriptedModel(("The answer is 42.",))) for _ in range(2))
    assert one == two
    assert {m for m in one if not m.startswith("update_")} <= ratios(EXAM, EXPERIMENT)
    assert EXAM.answers(EXPERIMENT, [FULL]) == 2 * (1 + 4 * (1 + 3))


BASE = EXPERIMENT.model_copy(update={"engine": EXPERIMENT.engine.model_copy(update={"kind": "transformers"})})


def test_the_embedded_base_has_cases_of_refuted_attempts_alone():
    """It knows no turn after a check that passed."""

    def sat(own: str) -> set[str]:
        student = Updater(own)
        sitting = Sitting(experiment=BASE, student=student, peer=student, seed=1, tasks=(FULL,))
        return {case.metric for case in asyncio.run(updating(sitting))}

    assert sat("42") == set()
    assert sat("7") == asked(EXAM, BASE) == {m for m in ratios(EXAM, EXPERIMENT) if "refuted" in m}
    assert not_asked(EXAM, BASE) == {m for m in ratios(EXAM, EXPERIMENT) if "confirmed" in m}


def test_the_reference_recovers_which_checks_each_script_heeds():
    rows = {(row.who.removeprefix("a script that heeds "), row.metric): row for row in asyncio.run(reference(BASE))}

    def moves(who: str, metric: str) -> str:
        row = rows[who, metric]
        return "up" if row.low > 0 else "down" if row.high < 0 else "none"

    every, some, own = "every check", "checks that passed", "checks that passed, of its own answers"
    for at in ("@own", "@imposed"):
        assert [moves(every, name + at) for name in ("update_confirm", "update_disconfirm")] == ["up", "up"]
        assert moves(every, "update_asymmetry" + at) == "none"
        assert [moves(some, name + at) for name in ("update_disconfirm", "update_asymmetry")] == ["none", "up"]
        assert {moves("no check", f"update_{name}{at}") for name in ("confirm", "disconfirm", "asymmetry")} == {"none"}
    assert (moves(own, "update_confirm@own"), moves(own, "update_confirm@imposed")) == ("up", "none")
    assert (moves(own, "update_agency"), moves(some, "update_agency")) == ("up", "none")
    assert (rows[every, "keeps_confirmed@own"].value, rows[every, "keeps_refuted@own"].value) == (1, 0)
