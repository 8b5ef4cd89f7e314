"""The kinds of config there are, each with keys that it alone has and the command that takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class ConfigKind(NamedTuple):
    """Of what a config is; any one of `keys` at its top tells it from all others."""

    name: str
    keys: tuple[str, ...]
    command: str


KINDS = (
    ConfigKind("an experiment", ("conditions",), "maieutic run"),
    ConfigKind("a society", ("repeats", "sweep"), "maieutic society"),
    ConfigKind("a measurement of labellers", ("labellers", "corpora"), "maieutic eval labels"),
    ConfigKind("a description of a dataset", ("files",), "maieutic audit"),
)


def kind_of(keys: Iterable[str]) -> ConfigKind | None:
    """The kind of a config, or of the model that reads it, by its top keys; None where they do not tell."""
    there = set(keys)
    return next((kind for kind in KINDS if there.intersection(kind.keys)), None)
