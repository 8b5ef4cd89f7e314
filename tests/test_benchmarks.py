"""Benchmarks run seldom, some in an environment of their own: what they import of ours is there, seen at once."""

import importlib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py"))
OURS = r"^ *from ((?:pipeline|training|evals|maieutic|benchmarks)[\w.]*) import (.+)$"


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_names_of_ours_is_there(path: Path) -> None:
    """Also where the packages beside it are not installed, and in programs that it writes out."""
    for module, names in re.findall(OURS, path.read_text("utf-8"), re.MULTILINE):
        for name in names.partition("#")[0].split(","):
            assert hasattr(importlib.import_module(module), name.split()[0]), f"{module}.{name.split()[0]}"
