"""Where files are that no run holds: what ships (the embedded base, small data sets, configs), and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[2]  # the checkout, or the folder that packages are installed into


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
