"""A build stops early where a partner does not keep to what it may know, and loses nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.building.rounds import build_round
from pipeline.building.soundness import FIRST, Soundness, UnsoundPartner, Watch
from pipeline.core.schema import Turn
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import read
from pipeline.runs.usage import totals
from pipeline.tasks.loading import load_tasks

VOLUNTEER = {"partition": "facts", "voice": "model", "disclosure": "volunteer"}


def experiment(out: Path, sound: float | None, **keys: object) -> Experiment:
    """Its scripted partner is to volunteer facts, and does not."""
    return Experiment.model_validate({
        "name": "x", "out": str(out), "seeds": [1, 2], "tasks": {"train": {"underspecified": 60}},
        "engine": {"kind": "scripted"}, "partner": {"sound": sound}, "conditions": {"told": VOLUNTEER}, **keys,
    })  # fmt: skip


def build(made: Experiment) -> list[Dialogue]:
    try:
        asyncio.run(build_round(made, ["told"], 0))
    finally:
        made_so_far = list(read(made.run / "dialogues" / "told.jsonl", Dialogue))
    return made_so_far


def test_an_unsound_partner_ends_a_build_and_a_lower_bar_goes_on_to_the_same_talks(tmp_path: Path) -> None:
    out, whole = tmp_path / "stopped", build(experiment(tmp_path / "whole", None))
    with pytest.raises(UnsoundPartner, match=r"partner\.sound: 0\.9 is asked for; conditions\.told: .*disclosure in"):
        build(experiment(out, 0.9))
    early = list(read(out / "dialogues" / "told.jsonl", Dialogue))
    spoke = [dialogue for dialogue in early if any(turn.party == "partner" for turn in dialogue.turns)]
    assert len(spoke) == FIRST and {dialogue.seed for dialogue in early} == {1}
    asked = totals(out)
    with pytest.raises(UnsoundPartner):
        build(experiment(out, 0.9))
    assert totals(out) == asked  # nobody was asked again
    resumed = build(experiment(out, 0.001))
    assert {d.id: d.turns for d in resumed} == {d.id: d.turns for d in whole} and len(resumed) == len(whole) == 120


@pytest.mark.parametrize(("condition", "made"), [(VOLUNTEER, 30), ({"partition": "script", "voice": "model"}, 0)])
def test_a_build_that_first_looks_at_its_partner_tells_of_all_that_ended(tmp_path, capsys, condition, made) -> None:
    tasks = {"train": {"underspecified": 30}}
    exp = experiment(tmp_path, 0.001, tasks=tasks, conditions={"told": condition}, seeds=[1])
    for counts in ((made, 30 - made, 0), (0, 0, 30)):
        [told] = asyncio.run(build_round(exp, ["told"], 0))
        assert told.counts == counts
    assert capsys.readouterr().out.count("failures.jsonl: 30 unparsed_script") == (not made)


def dialogue(kept: bool) -> Dialogue:
    [task], _ = load_tasks(experiment(Path(), None, tasks={"train": {"full": 1}}).tasks, "train")
    said = "Okay. I see." if kept else "Do not say the answer."
    turns = (Turn(party="student", text="What do you think?"), Turn(party="partner", text=said))
    peer = Condition(partition="symmetric", voice="model")
    return Dialogue(id="1", task=task, condition_name="peer", condition=peer, seed=1, turns=turns, stop="turn_cap")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), max_size=3 * FIRST), st.sampled_from([0.3, 0.6, 0.9]))
def test_no_look_stops_before_the_first_twenty_nor_at_a_share_that_may_be_sound(kept: list[bool], sound: float) -> None:
    records, watch, counts = {k: dialogue(k) for k in (True, False)}, Watch(sound, "peer"), Soundness()
    for i, each in enumerate(kept, 1):
        watch.add(records[each])
        counts.add(records[each])
        assert (counts.n, counts.kept) == (i, sum(kept[:i]))
        if i in (FIRST, 2 * FIRST):
            assert watch.failed == (counts.interval[1] < sound)
        if watch.failed:
            assert i >= FIRST and counts.kept / counts.n < sound
            break
    assert sum(counts.by_kind.values()) == counts.n - counts.kept


def test_five_bad_of_twenty_are_too_many_at_a_bar_of_nine_tenths_and_four_are_not() -> None:
    for bad, stops in ((4, False), (5, True)):
        watch = Watch(0.9, "peer")
        for i in range(FIRST):
            watch.add(dialogue(i >= bad))
        assert watch.failed == stops


def test_a_bar_for_partners_of_which_none_is_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no condition has voice: model"):
        experiment(tmp_path, 0.9, conditions={"told": {"partition": "facts"}})
