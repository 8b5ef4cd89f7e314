"""Societies that are played in a blink."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from pipeline.society.simulate import Trajectory, agents_of, simulate
from pipeline.society.society_settings import Society
from pipeline.society.world import world_of


def society(**changes: Any) -> Society:
    asked = {"name": "small", "n": 12, "steps": 15, "k": 3, "p": 0.5, "repeats": [1], "knowledge": {"topics": 3}}
    return Society.model_validate(asked | changes)


def played(one: Society, seed: int = 1, model: Any = None) -> Trajectory:
    return asyncio.run(simulate(one, seed, world_of(one, seed), model))


def agents(one: Society, seed: int = 1, model: Any = None) -> Any:
    """Who have answered once."""
    made = agents_of(one, seed, world_of(one, seed), model)
    asyncio.run(made.answer(np.arange(one.n)))
    return made
