"""Records of more than five fields are built by keyword, so that two fields of one type are never exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_rooms import trees

ROOT = Path(__file__).parents[1]
OTHERS = ("benchmarks", "environments", "docs", "tests")
MOST_FIELDS, MOST_BY_POSITION = 5, 2


def every_tree() -> dict[str, ast.Module]:
    """Every module of the repository, read, by its address."""
    files = [path for folder in OTHERS for path in (ROOT / folder).rglob("*.py")]
    return trees() | {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text("utf-8")) for path in files
    }


def large_records(read: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The fields of each NamedTuple and dataclass that has many, by address."""
    found = {}
    for module, tree in read.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                marks = [ast.unparse(mark) for mark in (*node.bases, *node.decorator_list)]
                fields = [
                    at.target.id
                    for at in node.body
                    if isinstance(at, ast.AnnAssign) and isinstance(at.target, ast.Name)
                ]
                if len(fields) > MOST_FIELDS and any("NamedTuple" in mark or "dataclass" in mark for mark in marks):
                    found[f"{module}.{node.name}"] = fields
    return found


def addresses(module: str, tree: ast.Module) -> dict[str, str]:
    """What each name of a module stands for: what it imports, and its own classes."""
    named = {node.name: f"{module}.{node.name}" for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            named |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return named


def built_by_position(module: str, tree: ast.Module, records: dict[str, list[str]]) -> Iterator[ast.Call]:
    named = addresses(module, tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if starred or len(node.args) > MOST_BY_POSITION:
            first, dot, rest = ast.unparse(node.func).partition(".")
            if named.get(first, first) + dot + rest in records:
                yield node


def test_records_of_many_fields_are_built_by_keyword():
    read = every_tree()
    records = large_records(read)
    assert {"evals.metrics.case.Case", "pipeline.dialogue.episode.Episode"} <= records.keys()
    found = [
        f"{module}:{call.lineno}: {ast.unparse(call.func)}"
        for module, tree in read.items()
        for call in built_by_position(module, tree, records)
    ]
    assert not found
