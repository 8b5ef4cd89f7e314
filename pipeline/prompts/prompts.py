"""The words that models are prompted with: Jinja templates in files, per role and partition, in sets that ship.

`closed` has the words that the embedded base was made with. `chat` is for real models: a briefing in the system
message. `instructed` is `chat` with a student that is told how to behave. `brief` is `chat` with one line for the
student and for a peer. `demonstrated` is `brief` with four dialogues that the student is shown, with four tasks where
it poses some, and with eight replies of a partner that has the key, or the facts. `may_ask` is `brief` with a student
that is told that it may ask.
A folder of one's own replaces the templates that it has files for; a file may extend the one that it replaces:
{% extends "chat/partner/facts.j2" %}.

What a template may name is in `NAMES`. Nothing is known here: `pipeline.knowledge.view` says what goes into a template.

    maieutic preview configs/quickstart.yaml     # prints what either party reads
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateError, meta, nodes

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, digest

Set = Literal["closed", "chat", "instructed", "brief", "demonstrated", "may_ask"]
SETS: tuple[Set, ...] = get_args(Set)
TEMPLATES = Path(__file__).with_name("templates")
# Where a set has no file of a name, these have it.
_BEHIND: dict[Set, tuple[str, ...]] = {
    "closed": ("closed", "shared"),
    "chat": ("chat", "shared"),
    "instructed": ("instructed", "chat", "shared"),
    "brief": ("brief", "chat", "shared"),
    "demonstrated": ("demonstrated", "brief", "chat", "shared"),
    "may_ask": ("may_ask", "brief", "chat", "shared"),
}
_KNOWN = frozenset({"question", "entry", "other", "facts", "solution", "answer", "program", "where", "what"})
_PARTNER = _KNOWN | {"you", "verdicts", "share", "believes_key", "disclosure", "reveal", "both_know"}
# What the templates of a name, or of a folder, may name; docs/prompts.md says what each is.
NAMES: dict[str, frozenset[str]] = {
    "student": _KNOWN | {"memories"},
    "no_task": frozenset(),
    "partner": _PARTNER,
    "script": _PARTNER,
    "notice": frozenset({"right", "printed", "other", "entry"}),
    "question": frozenset({"other"}),
    "judge": frozenset(
        {"question", "facts", "answer", "party", "before", "quoted", "schema", "acts", "told", "who", "asked_before"}
    ),
    "challenger": frozenset({"text"}),
}


class Briefing(NamedTuple):
    """What a party reads before the first turn; each may be empty."""

    system: str
    opening: str  # the beginning of the first user message
    demonstrations: tuple[Message, ...] = ()  # of other problems, between the two


@dataclass(frozen=True)
class Prompts:
    """The templates of one role: a set, and a folder of one's own before it ('' where there is none)."""

    set: Set = "closed"
    own: str = ""

    @property
    def says(self) -> str:
        """Which they are, for people."""
        own = f", with templates of one's own from `{Path(self.own).name}`" if self.own else ""
        return f"prompts `{self.set}`{own}"

    def brief(self, names: tuple[str, ...], known: Mapping[str, Any]) -> Briefing:
        """The blocks of the first template that is there. Raises ConfigError."""
        environment = _environment(self)
        template = environment.select_template([f"{name}.j2" for name in names])
        blocks = _blocks(template, known)
        shown = _messages(blocks.get("demonstrations", ""), template)
        return Briefing(blocks.get("system", ""), blocks.get("opening", ""), shown)

    def text(self, name: str, known: Mapping[str, Any]) -> str:
        """A template that is one text. Raises ConfigError."""
        template = _environment(self).get_template(f"{name}.j2")
        try:
            return template.render(known).rstrip("\n")
        except Exception as error:
            raise _failed(error, template) from error

    def shapes(self, *names: str) -> str:
        """A hash of the first template that is there and of all that it is made of."""
        environment = _environment(self)
        template = environment.select_template([f"{name}.j2" for name in names])
        assert template.name is not None
        return digest(*_sources(environment, template.name))

    @property
    def content(self) -> str:
        """A hash of all templates of the role, and of those that they may extend."""
        environment, others = _environment(self), {*SETS} - {*_BEHIND[self.set]}
        assert environment.loader is not None
        names = (name for name in environment.list_templates(["j2"]) if name.split("/")[0] not in others)
        return digest([[name, environment.loader.get_source(environment, name)[0]] for name in names])

    def demonstrate(self, name: str) -> bool:
        """Whether a template has demonstrations, in itself or in what it is made of."""
        sources = _sources(_environment(self), f"{name}.j2")
        return any(re.search(r"{%[-+]?\s*block\s+demonstrations\b", source) for source in sources)


CLOSED_PROMPTS = Prompts("closed")


def prompts_of(name: str, default: Set) -> Prompts:
    """The prompts that a config names: `auto` (the default set), a set, or a folder, which has the default behind it.

    Raises ConfigError where there is no such folder, or a template in it could not be used.
    """
    if name == "auto":
        return Prompts(default)
    if name in SETS:
        return Prompts(name)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"{name!r} is no set of prompts and no folder. Known: auto, {', '.join(SETS)}, or a folder of templates "
            "(docs/prompts.md)"
        )
    prompts = Prompts(default, str(folder))
    _environment(prompts)
    return prompts


@lru_cache(maxsize=32)
def _environment(prompts: Prompts) -> Environment:
    """The templates of a role by name; those of a set by `SET/name` too. Raises ConfigError for a broken one."""
    own = [prompts.own] if prompts.own else []
    sets = [str(TEMPLATES / name) for name in _BEHIND[prompts.set]]
    environment = Environment(
        loader=FileSystemLoader([*own, *sets, str(TEMPLATES)]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    for folder in own:
        _check(environment, Path(folder), prompts.set)
    return environment


def _check(environment: Environment, folder: Path, behind: Set) -> None:
    """Every file of a folder of one's own replaces something (or begins with _), parses, and names what there is."""
    there = {path.relative_to(TEMPLATES / name) for name in SETS for path in (TEMPLATES / name).rglob("*.j2")}
    there |= {path.relative_to(TEMPLATES / "shared") for path in (TEMPLATES / "shared").rglob("*.j2")}
    files = sorted(folder.rglob("*.j2"))
    if not files:
        raise ConfigError(f"{folder}: no template in this folder. Expected files such as student.j2, partner/facts.j2")
    for path in files:
        name = path.relative_to(folder)
        if name not in there and not name.name.startswith("_"):
            known = ", ".join(sorted(each.as_posix() for each in there if not each.name.startswith("_")))
            raise ConfigError(
                f"{path}: no template is called {name.as_posix()!r}, so it would never be read. Known: {known}; "
                "a name that begins with _ is a part of others"
            )
        for line, what in _lacks(environment, path, name):
            closed = (
                ". Behind this folder stands the set `closed`, of the embedded base and of scripts; a model has `chat`"
            )
            raise ConfigError(f"{path}:{line}: {what}{closed if behind == 'closed' else ''}")


def _lacks(environment: Environment, path: Path, name: Path) -> Iterator[tuple[int, str]]:
    """Lines, and what they name that is not there. Raises ConfigError where the file cannot be parsed."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 ({error}). Write it anew as UTF-8") from error
    try:
        tree = environment.parse(text, name.as_posix(), str(path))
        unknown = meta.find_undeclared_variables(tree) - environment.globals.keys() - _may_name(name)
    except TemplateError as error:
        raise _failed(error) from error
    for node in tree.find_all(nodes.Name):
        if node.name in unknown and not name.name.startswith("_"):  # a part may be given names by what includes it
            yield node.lineno, f"{node.name!r} is not defined. Known here: {', '.join(sorted(_may_name(name)))}"
    there = environment.list_templates()
    for other in tree.find_all(nodes.Stmt):
        match other:
            case nodes.Extends(template=named) | nodes.Include(template=named) | nodes.Import(template=named):
                if isinstance(named, nodes.Const) and named.value not in there:
                    yield other.lineno, f"there is no template {named.value!r}"
    yield from _lost(environment, tree, name)


def _lost(environment: Environment, tree: nodes.Template, name: Path) -> Iterator[tuple[int, str]]:
    """Lines of blocks that replace none, and a briefing without a block: what nobody would ever read."""
    own = [node for node in tree.body if isinstance(node, nodes.Block)]
    extended = next((node.template for node in tree.body if isinstance(node, nodes.Extends)), None)
    if isinstance(extended, nodes.Const) and extended.value in environment.list_templates():
        texts = map(environment.parse, _sources(environment, extended.value))
        known = {"demonstrations"} | {block.name for text in texts for block in text.find_all(nodes.Block)}
        for block in own:
            if block.name not in known:
                there = ", ".join(sorted(known))
                yield block.lineno, f"{extended.value} has no block {block.name!r} to replace. Known: {there}"
    briefings = ("student", "no_task", "partner", "script", "challenger")
    is_briefing = name.parts[0].removesuffix(".j2") in briefings and not name.name.startswith("_")
    if is_briefing and extended is None and not {"system", "opening"} & {block.name for block in own}:
        yield 1, "it has neither a block `system` nor a block `opening`, so nothing of it would be read"


def _may_name(template: Path) -> frozenset[str]:
    return NAMES.get(template.parts[0].removesuffix(".j2"), frozenset())


def _blocks(template: Template, known: Mapping[str, Any]) -> dict[str, str]:
    """The text of each block, as the template and those that it extends have it."""
    context = template.new_context(dict(known))
    try:
        for _ in template.root_render_func(context):  # finds the blocks of all that it extends
            pass
        wanted = [name for name in ("system", "demonstrations", "opening") if name in context.blocks]
        return {name: "".join(context.blocks[name][0](context)).rstrip("\n") for name in wanted}
    except Exception as error:
        raise _failed(error, template) from error


def _messages(text: str, template: Template) -> tuple[Message, ...]:
    """Chat messages written one after the other, each begun by its role: "user: ...", "assistant: ...".

    Raises ConfigError unless they take turns, the user first and the assistant last.
    """
    if not text:
        return ()
    _, *parts = re.split(r"^(user|assistant):", f"\n{text}", flags=re.MULTILINE)
    roles = parts[::2]
    if roles != ["user", "assistant"] * (len(roles) // 2) or (text.strip() and not roles):
        raise ConfigError(
            f"{template.filename}: demonstrations must be lines that begin with 'user:' and 'assistant:' in turns, the "
            f"user first and the assistant last, and are: {', '.join(roles) or 'neither'}"
        )
    return tuple({"role": role, "content": said.strip()} for role, said in zip(roles, parts[1::2], strict=True))


def _failed(error: Exception, template: Template | None = None) -> ConfigError:
    """With the file and the line of a template."""
    file, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    if template is not None:
        try:
            template.environment.handle_exception()  # raises it again, with the lines of templates in its traceback
        except Exception as again:
            frames = [f for f in traceback.extract_tb(again.__traceback__) if f.filename.endswith(".j2")]
            file, line = (frames[-1].filename, frames[-1].lineno) if frames else (file or template.filename, line)
    where = f"{file}:{line}" if line else str(file)
    return ConfigError(f"{where}: {error.message if isinstance(error, TemplateError) else error}")


def _sources(environment: Environment, name: str) -> list[str]:
    """The text of a template and of all that it extends, includes or imports, in the order of their names."""
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        assert environment.loader is not None
        source, file, _ = environment.loader.get_source(environment, name)
        if str(file) not in found:
            found[str(file)] = source
            waiting += filter(None, meta.find_referenced_templates(environment.parse(source)))
    return sorted(found.values())
