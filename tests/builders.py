"""Small parts that many tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.schema import Candidate, Convincing, Fact, Turn
from pipeline.datasets.rejection_sampling import selected
from pipeline.datasets.survey import survey_of
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place

PENS = (
    Fact(id="a", text="Tom has 30 pens.", public=False, ask="How many pens does Tom have?"),
    Fact(id="b", text="Ana has 12 pens.", ask="How many pens does Ana have?"),
)


def small_experiment(out: Path | str = "", **sections: object) -> Experiment:
    """A scripted student and one condition; `sections` are a config's, in place of these."""
    small = {"name": "t", "engine": {"kind": "scripted"}, "conditions": {"facts": {"partition": "facts"}}}
    return Experiment.model_validate(small | ({"out": str(out)} if out else {}) | sections)


def judged_turn(claim: str, before: tuple[str, ...], **answers: tuple[str, ...]) -> Turn:
    """A convincing partner's turn: by the text of each candidate what its judge answered; the first one is said."""
    turns = [Turn(party="partner", text=text) for text in answers]
    candidates = tuple(Candidate(turn=turn, answers=answers[turn.text]) for turn in turns)
    choice = Convincing(claim=claim, before=before, candidates=candidates)
    return turns[0].model_copy(update={"convincing": choice})


def select(dialogues: Sequence[Dialogue], condition: Condition) -> list[Dialogue]:
    """What rejection sampling keeps of dialogues that stand in no file, in its order."""
    records = [survey_of(dialogue, violations(dialogue), Place(i)) for i, dialogue in enumerate(dialogues)]
    return [dialogues[record.place.offset] for record in selected(records, condition)]
