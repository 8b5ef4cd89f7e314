"""Files that ship with the project: the embedded base, the figures of labellers, small data sets, configs."""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[2]  # the checkout, or the folder that packages are installed into


def shipped(*parts: str) -> Path:
    """A file or folder by its path in the checkout, such as `shipped("data", "base")`.

    The wheel has `data` and `configs` inside of the package `maieutic`.
    """
    packaged = _INSTALLED / "maieutic" / parts[0]
    return (packaged if packaged.is_dir() else _INSTALLED / parts[0]).joinpath(*parts[1:])
