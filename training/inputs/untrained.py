"""Why a student is not trained: there was nothing to learn, or an engine failed."""

from __future__ import annotations

from pipeline.core.errors import MaieuticError


class NothingToTrain(MaieuticError, ValueError):
    """A condition has nothing to learn from for this seed and round; it is reported as untrained."""


class Interrupted(MaieuticError, RuntimeError):
    """An engine failed while a student played; its checkpoint stays, and the same training goes on from it."""
