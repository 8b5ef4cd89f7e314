"""The errors of this project: whatever is raised to be read by a user is a `MaieuticError`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MaieuticError(Exception):
    """An error of this project; the command line prints its message and no traceback."""


class ConfigError(MaieuticError, ValueError):
    """A config that cannot be run; the message names file, key, value, and what is accepted."""


class UnknownKey(ConfigError):
    """A config with a key that is none here; of a run's own config another version of this project wrote it."""

    def __init__(self, message: str, keys: list[str]):
        super().__init__(message)
        self.keys = keys


class RunError(MaieuticError, RuntimeError):
    """A run directory that this command may not write to; the message says why and what to do."""


def root_cause(error: BaseException) -> BaseException:
    """The first error of a group, of groups in it too; any other is its own."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def meant(name: str, known: Iterable[str]) -> str:
    """A sentence that asks whether the nearest of the known names was meant, after a space; '' where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
