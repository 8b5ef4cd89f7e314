"""Benchmarks run seldom, some in an environment of their own: what they import of ours is there, seen at once."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
OURS = r"^ *from ((?:pipeline|training|evals|maieutic|benchmarks)[\w.]*) import (.+)$"


# All of TRL, and nothing of ours.
IMPORTED = [pytest.param(name, marks=pytest.mark.slow) if name.startswith("bare_") else name for name in MODULES]


@pytest.mark.parametrize("name", IMPORTED)
def test_a_benchmark_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("[!_]*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_names_of_ours_is_there(path: Path) -> None:
    """Also where the packages beside it are not installed, and in programs that it writes out."""
    for module, names in re.findall(OURS, path.read_text("utf-8"), re.MULTILINE):
        assert importlib.util.find_spec(module), module
        for name in (text.split()[0] for text in names.partition("#")[0].split(",")):
            if module != "pipeline.engines.vllm":  # it needs vLLM
                part_of_it = importlib.util.find_spec(f"{module}.{name}") if module == "benchmarks" else None
                assert part_of_it or hasattr(importlib.import_module(module), name), f"{module}.{name}"
