"""The two readers of turns of an experiment, opened, and who labels acts in its exams."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from pipeline.engines.model import Model
from pipeline.experiment.fields import Fields
from pipeline.experiment.open_role import open_role
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.judge_reader import JudgeReader
from pipeline.reading.labelling.judge import Judge
from pipeline.reading.labelling.labeller import Labeller, open_labeller
from pipeline.reading.open_reader import open_reader

OpenJudge = Callable[[], Model]


def open_instruments(experiment: Fields, judge: OpenJudge | None = None) -> tuple[Instrument, Instrument]:
    """How its partners understand, and what its metrics rest on. Raises ConfigError.

    `judge` opens the judge, as whoever counts what it answers would have it.
    """
    opening, exact = judge or partial(open_role, experiment, "judge"), experiment.dialogue.deterministic
    partner, metrics = (
        Instrument(name, JudgeReader(opening(), experiment.prompts("judge")))
        if name == "judge"
        else _opened(name, exact)
        for name in experiment.readers
    )
    return partner, metrics


def open_acts_labeller(experiment: Fields, judge: OpenJudge | None = None) -> Labeller:
    """Who labels acts in its exams. Raises ConfigError."""
    if experiment.acts.labeller == "judge":
        return Judge((judge or partial(open_role, experiment, "judge"))(), experiment.prompts("judge"))
    return open_labeller(experiment.acts)


@lru_cache(maxsize=8)
def _opened(name: str, exact: bool) -> Instrument:
    return CLOSED if name == "closed" else Instrument(name, open_reader(name, exact=exact))
