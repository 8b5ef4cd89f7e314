"""Make docs/config.md: every key of an experiment, as the classes of its sections have it.

python docs/config_keys.py
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals.exams.registry import EXAMS, find_exam
from pipeline.experiment.exam_settings import Exams
from pipeline.experiment.fields import Fields
from pipeline.tasks.talks import AuditSettings, TalkSource

PAGE = Path(__file__).with_name("config.md")
HEAD = """# Keys of a config

Made by `docs/config_keys.py` from the classes that read a config. A key that is left out has its default.
`maieutic run CONFIG --set KEY=VALUE` overrides one, such as `dialogue.turns=2`.

## First level
"""
OF_TALKS = """## Keys of a dataset's description

What `maieutic audit FILE` reads anybody's dialogues by ([audit.md](audit.md)), and the exams that show people's. A key
is given as `--set KEY=VALUE`, or in a YAML as those of `configs/audit_*.yaml`. Where roles are not given, `assistant`,
`gpt`, `model` and `student` are the student; `user`, `human`, `teacher`, `tutor` and `partner` are the partner; and
`system` and `developer` are left out. Keys from `id` to `disclosure`, but for `gold`, are texts in which `{field}`
stands for a field of the row, such as `"{question}"`.
"""


def config() -> str:
    parts, sections = [HEAD, *_table(Fields)], dict[type[BaseModel], list[str]]()
    for key, kind in _sections(Fields, ""):
        keys = sections.setdefault(kind, [])
        keys += [] if key in keys else [key]
    for kind, keys in sections.items():
        parts += ["\n## " + ", ".join(f"`{key}`" for key in keys) + f"\n\n{inspect.getdoc(kind)}\n", *_table(kind)]
        if kind is Exams:
            rows = dict.fromkeys(row for options in _options() for row in _rows(options))  # two may share a key
            parts += [row.replace("| required |", "| required where its exam is included |") for row in rows]
    parts += [f"\n{OF_TALKS}", *_table(TalkSource)]
    parts += [f"\n### `audit`\n\n{inspect.getdoc(AuditSettings)}\n", *_table(AuditSettings)]
    return "\n".join(parts) + "\n"


def _sections(kind: type[BaseModel], under: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """Of a section and of those in it."""
    for name, field in kind.model_fields.items():
        for inner in _kinds(field.annotation):
            if inner is not kind:
                here = f"{under}{name}" + (".NAME" if get_origin(field.annotation) is dict else "")
                yield here, inner
                yield from _sections(inner, f"{here}.")
                if inner is Exams:
                    for options in _options():
                        yield from _sections(options, f"{here}.")


def _options() -> list[type[BaseModel]]:
    """The keys that exams have of their own."""
    return [kind for kind in dict.fromkeys(find_exam(name).options for name in EXAMS) if kind is not None]


def _kinds(of: Any) -> list[type[BaseModel]]:
    if isinstance(of, type) and issubclass(of, BaseModel):
        return [of]
    return [kind for part in get_args(of) for kind in _kinds(part)]


def _table(kind: type[BaseModel]) -> list[str]:
    return ["| key | type | default | |", "|---|---|---|---|", *_rows(kind)]


def _rows(kind: type[BaseModel]) -> list[str]:
    notes = _notes(kind)
    cells = (
        (f"`{name}`", _type(field.annotation), _default(field), notes.get(name, ""))
        for name, field in kind.model_fields.items()
    )
    return ["".join(f"| {cell} " if cell else "| " for cell in row) + "|" for row in cells]


def _notes(kind: type[BaseModel]) -> dict[str, str]:
    """What the comments above a key and behind it say, in the section or in the one that it extends."""
    inherited = [base for base in kind.__bases__ if issubclass(base, BaseModel) and base.model_fields]
    source, notes = inspect.getsource(kind), dict[str, str]()
    for base in inherited:
        notes |= _notes(base)
    lines = source.splitlines()
    [tree] = ast.parse(source).body
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            first = node.lineno - 1
            while lines[first - 1].lstrip().startswith("#"):
                first -= 1
            said = [line.strip(" #") for line in lines[first : node.lineno - 1]]
            last = lines[(node.end_lineno or node.lineno) - 1]
            behind = last.encode()[node.end_col_offset or 0 :].decode().strip(" #")
            notes[node.target.id] = " ".join([*said, behind]).strip().replace("None:", "null:").replace("|", r"\|")
    return notes


def _type(of: Any) -> str:
    inner = get_args(of)
    match get_origin(of):
        case None:
            return "a section" if _kinds(of) else of.__name__
        case origin if origin is Literal:
            return ", ".join(f"`{value}`" for value in inner)
        case origin if origin is Annotated:
            return _type(inner[0])
        case origin if origin in (Union, types.UnionType):
            return " or ".join(_type(part) if part is not type(None) else "null" for part in inner)
        case origin if origin is dict:
            return f"{_type(inner[1])} by {_type(inner[0])}"
        case _:
            return f"list of {_type(inner[0])}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory:
        return "as installed"
    value = field.default
    if isinstance(value, BaseModel) or value is None:
        return ""
    value = list(value) if isinstance(value, tuple) else value
    if value == "\n":
        return '`"\\n"`'  # which YAML would write in three lines
    return f"`{yaml.safe_dump(value, default_flow_style=True, width=1000).splitlines()[0]}`"


if __name__ == "__main__":
    PAGE.write_text(config(), encoding="utf-8")
