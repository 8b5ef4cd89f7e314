"""YAML files read into models, with errors that say file, key, value and what is accepted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pipeline.core.config_kinds import ConfigKind, kind_of
from pipeline.core.errors import ConfigError, UnknownKey, meant
from pipeline.core.explained import explain
from pipeline.core.resources import shipped


class Section(BaseModel):
    """Keys of a config that belong together; others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Seed = Annotated[int, Field(ge=0, lt=2**31)]  # what every library takes


def written_out(folder: str) -> str:
    """The folder. Raises ValueError for what only a shell would understand."""
    if folder.startswith("~") or "$" in folder:
        raise ValueError(
            f"{folder!r} would be taken as it stands, as a folder of that name. Write it out, or give it on the "
            "command line, where the shell does so: --set out=$HOME/runs/x"
        )
    return folder


Folder = Annotated[str, AfterValidator(written_out)]  # that is written into


Kind = TypeVar("Kind", bound=Section)


def config_file(path: Path, kind: ConfigKind | None = None) -> Path:
    """A file that is here, or else the shipped config of that name: `quickstart`, or `configs/quickstart.yaml`.

    Raises ConfigError where neither exists, with those of the kind that ship.
    """
    if path == Path():
        raise ConfigError(f"{str(path)!r} is no config. What ships: {', '.join(shipped_configs(kind))}.")
    named = path if path.suffix in (".yaml", ".yml") else path.with_name(f"{path.name}.yaml")  # 0.6b is no suffix
    for here in (path, named):
        if here.is_file():
            return here
    ships = shipped("configs")
    if path.parent in (Path(), Path("configs")) and (ships / named.name).is_file():
        return ships / named.name
    if (path / "config.yaml").is_file():
        raise ConfigError(f"{path} is a run, and a config is expected. Its own is {path / 'config.yaml'}.")
    near = ", ".join(sorted(map(str, path.parent.glob("*.yaml")))) or "none"
    known = shipped_configs(kind)
    raise ConfigError(
        f"{path}: no such file, nor a config that ships.{meant(named.stem, known)} Configs beside it: {near}. "
        f"What ships: {', '.join(known)}."
    )


def shipped_configs(kind: ConfigKind | None = None) -> list[str]:
    """Names of the configs that ship, or of those of a kind."""
    files = sorted(shipped("configs").glob("*.yaml"))
    return [file.stem for file in files if kind in (None, kind_of(yaml.safe_load(file.read_text(encoding="utf-8"))))]


def read_as(kind: type[Kind], path: Path, overrides: tuple[str, ...] = ()) -> Kind:
    """Read, override with `a.b=value` strings (YAML values), validate. Raises ConfigError.

    `path` is a file or the name of a config that ships, see `config_file`.
    """
    return made_of(kind, path, read_yaml(path, kind), overrides)


def _require_each_key_once(node: yaml.Node | None, seen: set[int]) -> None:
    """Raises YAMLError where a key of a mapping stands twice: the last would win, and a condition be lost in silence.

    `seen` are the nodes that were looked at: an anchored one stands in several places.
    """
    if node is None or id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    keys = set[str]()
    for part in node.value:
        key, value = part if isinstance(node, yaml.MappingNode) else (None, part)
        if isinstance(key, yaml.ScalarNode):
            if key.value in keys and key.value != "<<":
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            keys.add(key.value)
        _require_each_key_once(value, seen)


def _unshared(value: Any) -> Any:
    """The same without parts that are one object, as YAML makes of an anchor and its aliases: an override of one would
    be one of all."""
    if isinstance(value, dict):
        return {key: _unshared(part) for key, part in value.items()}
    return [_unshared(part) for part in value] if isinstance(value, list) else value


def read_yaml(path: Path, kind: type[Section]) -> dict[str, Any]:
    """A file (see `config_file`) that holds a mapping. Raises ConfigError."""
    path = config_file(path, kind_of(kind.model_fields))
    try:
        text = path.read_text(encoding="utf-8")
        _require_each_key_once(yaml.compose(text, Loader=yaml.SafeLoader), set())
        raw = _unshared(yaml.safe_load(text))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected a mapping of keys to values, found {type(raw).__name__}.")
    return raw


def made_of(kind: type[Kind], path: Path, raw: dict[str, Any], overrides: tuple[str, ...] = ()) -> Kind:
    """The same of what a file held, or would hold. Raises ConfigError."""
    expected, found = kind_of(kind.model_fields), kind_of(raw)
    if expected and found and found != expected:
        raise ConfigError(
            f"{path}: this is the config of {found.name}, expected that of {expected.name}. "
            f"Call: {found.command} {path}"
        )
    for text in overrides:
        _override(raw, text)
    return valid(kind, path, raw, overrides)


def valid(kind: type[Kind], path: Path, raw: dict[str, Any], overrides: tuple[str, ...] = (), under: str = "") -> Kind:
    """Values that a file or `overrides` gave, as a section; `under` is the section's own key. Raises ConfigError."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        told = []
        for item in error.errors():
            problem, inside = explain(kind, item), ".".join(map(str, item["loc"]))
            # A check of the whole names its key itself.
            named = re.match(r"[\w.-]+(?=: )", problem)
            where = f"{under}.{inside or (named[0] if named else '')}".strip(".")
            told.append(f"{origin(path, overrides, where)}: {under + '.' if under else ''}{problem}")
        unknown = [".".join(map(str, item["loc"])) for item in error.errors() if item["type"] == "extra_forbidden"]
        raise (UnknownKey("\n".join(told), unknown) if unknown else ConfigError("\n".join(told))) from None


def origin(path: Path, overrides: tuple[str, ...], where: str) -> str:
    """Who is to be corrected: a --set of this key, of one above it or of one in it, else the file.

    The value is not repeated: an address may hold a password.
    """
    keys = [text.partition("=")[0] for text in overrides]
    mine = [key for key in keys if f"{where}.".startswith(f"{key}.") or (where and f"{key}.".startswith(f"{where}."))]
    return f"--set {mine[-1]}" if mine else str(path)


def _override(raw: dict[str, Any], text: str) -> None:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {text}: expected KEY=VALUE, for example --set dialogue.turns=2")
    *parents, last = key.split(".")
    for parent in parents:
        raw = raw.setdefault(parent, {})
        if not isinstance(raw, dict):
            raise ConfigError(
                f"--set {text}: {parent!r} has the value {raw!r} and no keys. Expected the name of a section"
            )
    try:
        raw[last] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {text}: {value!r} is not a YAML value: {error}") from None
