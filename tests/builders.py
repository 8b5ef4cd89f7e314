"""Small parts that many tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.datasets.rejection_sampling import selected
from pipeline.datasets.survey import survey_of
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place


def small_experiment(out: Path | str = "", **sections: object) -> Experiment:
    """A scripted student and one condition; `sections` are a config's, in place of these."""
    small = {"name": "t", "engine": {"kind": "scripted"}, "conditions": {"facts": {"partition": "facts"}}}
    return Experiment.model_validate(small | ({"out": str(out)} if out else {}) | sections)


def select(dialogues: Sequence[Dialogue], condition: Condition) -> list[Dialogue]:
    """What rejection sampling keeps of dialogues that stand in no file, in its order."""
    records = [survey_of(dialogue, violations(dialogue), Place(i)) for i, dialogue in enumerate(dialogues)]
    return [dialogues[record.place.offset] for record in selected(records, condition)]
