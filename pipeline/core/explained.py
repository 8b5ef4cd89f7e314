"""Errors of pydantic in this project's words: the key, what was found, what was expected, what to write."""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from pipeline.core.errors import meant
from pipeline.core.old_keys import GONE, MOVED, RENAMED


def explain(kind: type[BaseModel], item: Any) -> str:
    """One of a ValidationError's errors; `kind` is the section that was validated."""
    location, value = item["loc"], item["input"]
    where = ".".join(map(str, location))
    match item["type"]:
        case "extra_forbidden":
            if where in MOVED:
                return f"{where}: not a key any more. {MOVED[where]}"
            return f"{where}: {_not_a_key(str(location[-1]), _keys(kind, location[:-1]))}"
        case "literal_error" if location[-1] == "[key]":
            known = re.findall("'([^']*)'", item["ctx"]["expected"])
            return f"{'.'.join(map(str, location[:-1]))}: {_not_a_key(str(value), known)}"
        case "value_error":
            message = item["msg"].removeprefix("Value error, ")
            return f"{where + ': ' if where else ''}{message}"
        case "missing":
            return f"{where}: is missing. Add this key"
        case "tuple_type" | "list_type":
            return f"{where}: expected a list {_found(value)}; {_as_list(_annotation(kind, location), value)}"
        case "dict_type" | "model_type" | "model_attributes_type":
            keys = _keys(kind, location)
            return (
                f"{where}: expected keys with values {_found(value)}; write {{key: value}}"
                f"{', with keys of ' + ', '.join(keys) if keys else ''}"
            )
        case "string_type" if isinstance(value, dict):  # YAML reads {field} as a mapping
            quoted = "{" + ", ".join(map(str, value)) + "}"
            return f"{where}: expected text (found a mapping); braces need quotes, as in --set '{where}=\"{quoted}\"'"
    return f"{where}: {item['msg']} {_found(value)}"


def _found(value: Any) -> str:
    """A mapping is not repeated: it may be a whole file."""
    return "(found a mapping)" if isinstance(value, dict) else f"(found {value!r})"


def _not_a_key(key: str, accepted: list[str]) -> str:
    if RENAMED.get(key) in accepted:
        return f"not a key any more. It is called {RENAMED[key]!r} now"
    if key in GONE:
        return f"not a key any more. {GONE[key]}"
    return f"not a key here.{meant(key, accepted)} Known: {', '.join(accepted)}"


def _as_list(annotation: Any, value: Any) -> str:
    """What to write for a list: the value in brackets, where it may stand in that list."""
    if not isinstance(value, str | int | float):
        return "such as [one, two]"
    shapes = {"int": "[1, 2]", "float": "[0.5, 1]", "model": "[{key: value}]"}
    try:
        TypeAdapter(annotation).validate_python([value])
    except ValidationError as error:
        return f"such as {shapes.get(error.errors()[0]['type'].partition('_')[0], '[one, two]')}"
    return f"write it in brackets: [{value}]"


def _keys(kind: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    """Keys of the section at a place; none where there is no section."""
    annotation = _annotation(kind, location)
    sections = [option for option in (annotation, *get_args(annotation)) if hasattr(option, "model_fields")]
    return list(sections[0].model_fields) if sections and get_origin(annotation) is not dict else []


def _annotation(kind: type[BaseModel], location: tuple[Any, ...]) -> Any:
    """The type at a place of a section."""
    model: Any = kind
    for part in location:
        if isinstance(part, int):  # of a list, whose items the annotation names
            continue
        if get_origin(model) is dict:
            model = get_args(model)[-1]
            continue
        if not hasattr(model, "model_fields"):  # an optional section, or a list of sections
            model = next((option for option in get_args(model) if hasattr(option, "model_fields")), None)
        if model is None or part not in model.model_fields:
            return None
        model = model.model_fields[part].annotation
    return model
