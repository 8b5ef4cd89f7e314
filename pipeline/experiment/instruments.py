"""The two readers of turns of an experiment, opened."""

from __future__ import annotations

from functools import lru_cache

from pipeline.engines.settings import Engine
from pipeline.experiment.fields import Fields
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.open_reader import open_reader


def open_instruments(experiment: Fields) -> tuple[Instrument, Instrument]:
    """How its partners understand, and what its metrics rest on. Raises ConfigError."""
    partner, metrics = experiment.readers
    return _opened(partner, experiment.reading.model, experiment.engine), _opened(
        metrics, experiment.reading.model, experiment.engine
    )


@lru_cache(maxsize=8)
def _opened(name: str, model: str, engine: Engine) -> Instrument:
    return CLOSED if name == "closed" else Instrument(name, open_reader(name, model, engine))
