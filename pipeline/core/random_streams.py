"""Random streams by name: the same key gives the same draws, whatever else is drawn, and in whatever order.

A dialogue's key is its task, seed, round and sample (pipeline/building/dialogue_keys.py); an exam's begins with "exam"
(evals/sitting/sitting.py). No key names a condition: conditions start from the same first student turn.
"""

from __future__ import annotations

from pipeline.core.schema import digest


def stream(*key: object) -> int:
    """The seed of one random stream."""
    return int(digest(*key, length=15), 16)
