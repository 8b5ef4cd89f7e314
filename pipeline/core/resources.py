"""Where files are that no run holds: what ships (the embedded base, small data sets, configs), the user's cache, and
what a name may have on the Hugging Face hub."""

from __future__ import annotations

import os
import re
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[2]  # the checkout, or the folder that packages are installed into
DATA_FILES = (".json", ".jsonl", ".parquet")


def shipped(*parts: str) -> Path:
    """A file or folder by its path in the checkout, such as `shipped("data", "base")`.

    The wheel has `data` and `configs` inside of the package `maieutic`.
    """
    packaged = _INSTALLED / "maieutic" / parts[0]
    return (packaged if packaged.is_dir() else _INSTALLED / parts[0]).joinpath(*parts[1:])


def user_cache() -> Path:
    """Where maieutic keeps what it can make anew (XDG Base Directory Specification)."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "maieutic"


def may_be_of_hub(name: str) -> bool:
    """Whether a name that is no path here can be one of the hub: OWNER/NAME, where OWNER is no folder here.

    A path that is mistyped behind a folder, or that ends as data files do, is none: the hub would be asked in vain.
    """
    path = Path(name)
    named = re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) and not set(path.suffixes) & set(DATA_FILES)
    return bool(named) and not path.parent.is_dir()
