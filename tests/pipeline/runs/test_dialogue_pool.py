"""What was said is measured as it was read when it was stored: nothing falls back on the closed reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Turn
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.reading.stored import student_reading
from pipeline.runs.dialogue_pool import Pool, branches_of, branches_path, dialogues_path, own_dialogues, reference
from pipeline.runs.store import Appender, StoreError
from pipeline.tasks.word_problems import make_task
from tests.builders import small_experiment

TASK = make_task(1, "full")
NATURAL = {"partner": "cross_encoder", "metrics": "semantic"}
ASKED = Turn(party="student", text="How many?", heard=StudentReading(), reading=StudentReading())
TOLD = Turn(party="partner", text="Hm.", reading=PartnerReading())
UNHEARD, UNREAD = ASKED.model_copy(update={"heard": None}), TOLD.model_copy(update={"reading": None})


def stored(run: Path, *turns: Turn, reading: dict[str, str], **condition: str) -> Experiment:
    spoken = Condition.model_validate({"partition": "facts"} | condition)
    talk = Dialogue(
        id="talk", task=TASK, condition_name="facts", condition=spoken, seed=1, turns=turns, stop="turn_cap"
    )
    with Appender(dialogues_path(run, "facts")) as file:
        file.append(talk)
    return small_experiment(run, reading=reading)


@pytest.mark.parametrize(("turns", "reader"), [((ASKED, UNREAD), "semantic"), ((UNHEARD, TOLD), "cross_encoder")])
def test_a_turn_that_the_configs_reader_has_not_read_is_an_error(tmp_path: Path, turns: tuple[Turn, ...], reader: str):
    experiment = stored(tmp_path, *turns, reading=NATURAL)
    for read in (own_dialogues(experiment, "facts"), Pool(experiment, "facts")):
        with pytest.raises(StoreError, match=rf"dialogues/facts\.jsonl: 'talk'.*'{reader}'.*`maieutic build`"):
            list(read)


def test_read_turns_and_those_of_the_closed_reader_are_given_as_they_are(tmp_path: Path):
    for name, turns, reading in (("a", (ASKED, TOLD), NATURAL), ("b", (UNHEARD, UNREAD), {"metrics": "closed"})):
        [talk] = own_dialogues(stored(tmp_path / name, *turns, reading=reading), "facts")
        assert talk.turns == turns


def test_people_and_who_writes_both_sides_are_heard_by_no_partner(tmp_path: Path):
    unheard = (UNHEARD.model_copy(update={"reading": StudentReading()}), TOLD)
    for name, condition in (("a", {"voice": "human"}), ("b", {"partition": "script", "voice": "model"})):
        assert len(list(own_dialogues(stored(tmp_path / name, *unheard, reading=NATURAL, **condition), "facts"))) == 1


def test_a_branch_with_an_unread_turn_is_an_error(tmp_path: Path):
    branch = Branch(
        id="branch",
        dialogue="talk",
        task=TASK,
        condition_name="facts",
        condition=Condition(partition="facts"),
        seed=1,
        round=0,
        prefix=(),
        siblings=(Sibling(turn=ASKED, rollouts=(Rollout(turns=(UNREAD,), stop="turn_cap"),)),),
    )
    with Appender(branches_path(tmp_path, "facts")) as file:
        file.append(branch)
    with pytest.raises(StoreError, match=r"branches/facts\.jsonl: 'branch'"):
        list(branches_of(small_experiment(tmp_path, reading=NATURAL), "facts"))


def test_beside_turns_that_were_read_none_is_left_to_the_closed_reader():
    with pytest.raises(ValueError, match="turn 2 has no reading"):
        student_reading(TASK, [ASKED, TOLD, Turn(party="student", text="I am done.")], 2)


def test_who_plays_is_held_against_its_partners_pool_whatever_prompt_that_had():
    plays = {"partition": "facts", "method": "grpo", "sampling_prompt": False}
    conditions = {"facts": {"partition": "facts"}, "plays": plays, "other": plays | {"partition": "verifier"}}
    made = small_experiment(conditions=conditions, student={"sampling_prompt": "may_ask"})
    assert (reference(made, "plays"), reference(made, "other")) == ("facts", None)
