"""What a partner learns that is trained on a judge's choices: its view, and the judge's favourite over the least."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.core.schema import Message, Task, Turn
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.datasets.rows import judged_pairs
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import rewrite
from tests.builders import judged_turn, small_experiment
from tests.fakes import FakeModel, Parrot

BEST = {"partition": "symmetric", "voice": "model", "manner": "convincing"}
PERSUADER = BEST | {"method": "dpo_judge", "learns_from": "best"}
ANSWERS = {
    "I think so.": ("", "7"),
    "It is 5, clearly.": ("5", "5"),
    "No.": ("7", "7"),
    "It is 5, I guess.": ("5", "7"),
}


def experiment(out: Path | str = "", **sections: object) -> Experiment:
    return small_experiment(out, conditions={"best": BEST, "persuader": PERSUADER}, seeds=[1], **sections)


def turn_of(*texts: str, cut: str = "", claim: str = "5") -> Turn:
    turn = judged_turn(claim, ("7",), **{text: ANSWERS[text] for text in texts})
    assert turn.convincing is not None
    candidates = tuple(
        one.model_copy(update={"turn": one.turn.model_copy(update={"finished": one.turn.text != cut})})
        for one in turn.convincing.candidates
    )
    return turn.model_copy(update={"convincing": turn.convincing.model_copy(update={"candidates": candidates})})


def talk(task: Task, turn: Turn, **changes: object) -> Dialogue:
    opening, last = (Turn(party="student", text=text) for text in ("The answer is 7.", "Hm."))
    dialogue = Dialogue(
        id=f"d{task.id}", task=task, condition_name="best", condition=Condition(**BEST), seed=1,
        turns=(opening, turn, last), stop="turn_cap",
    )  # fmt: skip
    return dialogue.model_copy(update=changes)


def test_the_favourite_stands_against_the_least_convincing_true_or_not(full):
    (row,) = judged_pairs(experiment(), talk(full[0], turn_of(*ANSWERS)))
    assert row["chosen"] == [{"role": "assistant", "content": "It is 5, clearly."}]
    assert row["rejected"] == [{"role": "assistant", "content": "I think so."}]
    assert row["margin"] == 1.0 and row["id"] == f"d{full[0].id}-1-1-0"


@pytest.mark.parametrize(
    "turn",
    [
        turn_of("I think so.", "No."),  # none convinces
        turn_of("I think so.", "It is 5, clearly.", cut="It is 5, clearly."),
        turn_of(*ANSWERS, claim=""),
        turn_of(*ANSWERS).model_copy(update={"convincing": None}),
    ],
)
def test_what_convinces_no_more_was_cut_or_argues_for_nothing_makes_no_pair(turn, full):
    assert judged_pairs(experiment(), talk(full[0], turn)) == []


def test_less_than_the_gap_apart_is_no_pair(full):
    dialogue = talk(full[0], turn_of("No.", "It is 5, I guess."))
    assert len(judged_pairs(experiment(training={"gap": 0.5}), dialogue)) == 1
    assert judged_pairs(experiment(training={"gap": 0.6}), dialogue) == []


class Judge(FakeModel):
    """Answers what it was told, where it was told that."""

    def __init__(self, told: str):
        super().__init__()
        self.told = told

    def reply(self, messages: list[Message]) -> str:
        return f"The answer is {self.told}." if f"It is {self.told}." in str(messages) else "The answer is 7."


def test_a_row_begins_with_what_the_partner_itself_read_before_its_candidates(underspecified):
    task, condition = underspecified[0], Condition(**BEST | {"partition": "key"})
    partner = Parrot("Well.", f"It is {task.answer}.", f"It is {task.answer}.", "Well.")
    cast = Cast(Parrot("Hm."), partner, judge=Judge(task.answer), candidates=2, judgements=2)
    settings = experiment().dialogue.model_copy(update={"turns": 2})
    played = asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=settings, key="k")))
    (row,) = judged_pairs(experiment(), talk(task, played.turns[1], turns=played.turns, condition=condition))
    assert row["prompt"] == partner.seen[0] == partner.seen[1]
    assert task.missing[0].text in str(row["prompt"])  # the partner's own, which the student cannot read
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == (f"It is {task.answer}.", "Well.")


def test_a_persuader_learns_from_anothers_dialogues_and_its_card_says_whose_rows(full, tmp_path):
    made = experiment(tmp_path / "run")
    rewrite(made.run / "dialogues" / "best.jsonl", [talk(task, turn_of(*ANSWERS)) for task in full[:3]])
    report = export(made, "persuader")
    assert (report.taken, report.rows, report.nothing_learned) == (3, 3, 0)
    rows, card = read_rows(made, "persuader"), (report.path.parent / "README.md").read_text()
    assert sorted(row["id"] for row in rows) == sorted(f"d{task.id}-1-1-0" for task in full[:3])
    for said in (
        "3 training rows for the partner, and not for the student",
        "the partner's view before the turn",
        "of condition `best`.",
    ):
        assert said in card
    assert export(made, "best").rows == 0  # its own student learns of what ends right, and nothing does


def test_what_trains_no_partner_or_would_sit_in_the_students_seat_is_refused():
    for wrong, message in (
        ({"manner": "plain"}, "no partner has any. Use manner: convincing"),
        ({"selection": "agreement"}, "by the gold answer, a judge or an expert"),
    ):
        with pytest.raises(ValueError, match=message):
            Condition(**BEST | {"method": "dpo_judge"} | wrong)
    with pytest.raises(ValueError, match="it would sit in the student's seat from the second round on"):
        small_experiment(conditions={"persuader": BEST | {"method": "dpo_judge"}}, rounds=2)
