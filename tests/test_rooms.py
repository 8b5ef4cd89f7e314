"""The house: rooms in the order in which data flows, and what a room's address promises."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# A room imports the rooms before it, and no later one. A folder inside a room may have a place of its own, and the
# room's stands for the rest of it.
ROOMS = (
    "pipeline.core", "pipeline.prompts", "pipeline.engines", "pipeline.reading", "pipeline.knowledge",
    "pipeline.judging", "pipeline.sandbox", "pipeline.tasks", "pipeline.experiment", "pipeline.runs",
    "pipeline.dialogue", "pipeline.building", "pipeline.datasets", "pipeline.posing", "pipeline.society",
    "training.hidden_item", "training.embedded", "training.inputs", "training.trainers", "training.online", "training",
    "evals.metrics", "evals.stats", "evals.sitting", "evals.exams", "evals.examining", "evals.report", "evals.audit",
    "evals.readers", "evals.readers.detectors", "evals.readers.labels", "evals.society",
    "maieutic",
)  # fmt: skip
# Names of several files that all mean the same: a section of the config.
SHARED_NAMES = {"__init__.py", "settings.py"}
NOT_INSTALLED = {"tests", "benchmarks", "environments", "maieutic_dialogue", "docs"}
# What imports a module that no statement names, and who may: by a name in its own folder, or of a file outside of us.
BY_TEXT = {"import_module", "__import__", "spec_from_file_location", "exec_module", "run_module", "run_path"}
MAY_IMPORT_BY_TEXT = {"pipeline.core.plugins", "pipeline.tasks.sources", "evals.exams.registry"}
MOST_MODULES, MOST_LINES, MOST_LETTERS = 15, 400, 80


class Import(NamedTuple):
    by: str
    of: str
    line: int
    in_function: bool


def modules() -> dict[str, Path]:
    files = (path for room in ("pipeline", "training", "evals", "maieutic") for path in (ROOT / room).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(files)}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


@cache
def imports() -> tuple[Import, ...]:
    """Of modules of ours, those for type checking too."""
    return tuple(_imports())


def _imports() -> Iterator[Import]:
    for name, tree in trees().items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        inside = {id(node) for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            for imported in _imported(node):
                if room_of(imported):
                    yield Import(name, imported, node.lineno, id(node) in inside)


def _imported(node: ast.AST) -> list[str]:
    match node:
        case ast.ImportFrom(module=str(module), names=names):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.Import(names=names):
            return [alias.name for alias in names]
    return []


def room_of(module: str) -> str:
    """The room of ours that a module lies in, '' where it is none."""
    return max((room for room in ROOMS if module == room or module.startswith(f"{room}.")), key=len, default="")


def test_every_module_lies_in_a_room():
    lone = [name for name in modules() if not room_of(name) and not name.endswith("__init__")]
    assert not lone


def test_no_room_imports_a_later_one():
    upwards = [
        f"{one.by}:{one.line} imports {one.of}"
        for one in imports()
        for by, of in [(room_of(one.by), room_of(one.of))]
        if ROOMS.index(of) > ROOMS.index(by)
    ]
    assert not upwards


def test_product_code_imports_nothing_that_is_not_installed():
    stray = [
        f"{name}: {imported}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        for imported in _imported(node)
        if imported.partition(".")[0] in NOT_INSTALLED
    ]
    assert not stray


def test_imports_are_written_out_whole_so_that_the_tests_here_see_them():
    relative, by_text = [], set()
    for name, tree in trees().items():
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(level=level) if level:
                    relative.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
                case ast.Name(id=used) | ast.Attribute(attr=used) | ast.alias(name=used) if used in BY_TEXT:
                    by_text.add(name)
    assert not relative
    assert by_text == MAY_IMPORT_BY_TEXT


def test_no_module_imports_itself_by_way_of_others():
    names, edges = set(modules()), defaultdict[str, set[str]](set)
    for one in imports():
        edges[one.by] |= {one.of, one.of.rpartition(".")[0]} & names - {one.by}
    while leaves := {name for name in names if not edges[name] & names}:
        names -= leaves
    circles = {name for name in names if any(name in edges[other] for other in names)}
    assert not circles, f"in a circle, or before one: {sorted(circles)}"


def test_a_module_of_ours_is_imported_inside_a_function_only_where_it_is_heavy():
    # Engines, natural readers and trainings bring torch, vllm, TRL or aiohttp, figures matplotlib; help, and a run that
    # has all, are fast.
    heavy = ("pipeline.engines", "pipeline.reading.semantic", "training.student", "training.side_by_side",
             "evals.examining.side_by_side_exams", "evals.report.figures")  # fmt: skip
    hidden = [
        f"{one.by}:{one.line} imports {one.of}"
        for one in imports()
        if one.in_function and not one.of.startswith(heavy) and room_of(one.by) != "maieutic"
    ]
    assert not hidden


def test_no_folder_has_more_modules_than_one_looks_through():
    folders = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    full = {str(folder): count for folder, count in folders.items() if count > MOST_MODULES}
    assert not full


def test_no_file_is_longer_than_one_reads():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert not {name: length for name, length in lengths.items() if length > MOST_LINES}


def test_the_name_of_a_test_is_read_at_a_glance():
    names = re.findall(r"def (test_\w+)", "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")))
    assert names and not [name for name in names if len(name) > MOST_LETTERS]


def test_a_file_name_says_what_is_in_it_wherever_it_stands():
    names = Counter(path.name for path in modules().values() if path.name not in SHARED_NAMES)
    assert not [name for name, count in names.items() if count > 1]


def test_every_address_that_a_text_names_is_there():
    folders = ("pipeline", "training", "evals", "maieutic", "benchmarks", "docs", "tests")
    texts = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".j2")]
    gone = []
    for path in (*texts, ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = path.read_text(encoding="utf-8")
        files = re.findall(r"(?<![\w/])((?:tests/)?(?:pipeline|training|evals|maieutic|benchmarks)/[\w/]+\.py)\b", text)
        modules = re.findall(r"\b((?:pipeline|evals)\.[a-z_]+\.[a-z_]+)\b", text)
        gone += [f"{path} names {name}" for name in files if not (ROOT / name).is_file()]
        gone += [f"{path} names {name}" for name in modules if not _is_there(name)]
    assert not gone


def _is_there(module: str) -> bool:
    """A module, a folder, a test's helper, or a name in a module."""
    path = Path(*module.split("."))
    helper = ROOT / "tests" / path
    return any(file.exists() for at in (ROOT / path, helper) for file in (at, at.with_suffix(".py"))) or (
        (ROOT / path.parent).with_suffix(".py").is_file()
    )
