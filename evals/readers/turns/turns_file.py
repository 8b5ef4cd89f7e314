"""Turns that people or models labelled by the guide (docs/reading.md): one JSON object a line.

{"id": "a-0001", "kind": "student", "source": "word_problem", "task_id": "word_problem/7",
 "question": "...", "facts": [{"id": "f1", "text": "...", "public": false}], "answer": "35",
 "before": [{"party": "student", "text": "..."}], "text": "How many crates were there?",
 "labels": {"asks": ["f1"], "generic_request": false, ..., "stance": "none"}}
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import ValidationError, model_validator

from pipeline.core.errors import ConfigError
from pipeline.core.readings import Feedback, PartnerReading, Reveals, Stance, StudentReading
from pipeline.core.schema import Fact, Record, Turn
from pipeline.reading.numbers.equality import is_number
from pipeline.reading.protocol import TurnToRead


class StudentLabels(Record):
    asks: tuple[str, ...]
    generic_request: bool
    repeats_question: bool
    other_question: bool
    says_missing: bool
    attempt: str | None
    tentative: bool
    done: bool
    stance: Stance


class PartnerLabels(Record):
    tells: tuple[str, ...]
    tells_wrong: tuple[str, ...]
    reveals_answer: Reveals
    feedback: Feedback
    refuses: bool
    off_role: bool


class LabelledRow(Record):
    """One line of such a file."""

    id: str
    kind: Literal["student", "partner"]
    source: str
    task_id: str
    question: str
    facts: tuple[Fact, ...]
    answer: str
    before: tuple[Turn, ...] = ()
    text: str
    labels: StudentLabels | PartnerLabels

    @model_validator(mode="after")
    def _labels_fit(self) -> LabelledRow:
        wanted = StudentLabels if self.kind == "student" else PartnerLabels
        if not isinstance(self.labels, wanted):
            raise ValueError(f"a turn of kind {self.kind!r} has the labels of the other party")
        labels = self.labels
        named = labels.asks if isinstance(labels, StudentLabels) else (*labels.tells, *labels.tells_wrong)
        unknown = set(named) - {fact.id for fact in self.facts}
        if unknown:
            raise ValueError(f"the labels name {sorted(unknown)}, and the facts are {[f.id for f in self.facts]}")
        return self

    @property
    def turn(self) -> TurnToRead:
        code = re.match(r"(?:[^\n]*\n)*?\s*def (\w+)\(", self.answer)
        return TurnToRead(
            party=self.kind,
            text=self.text,
            question=self.question,
            facts=self.facts,
            before=self.before,
            answer=self.answer,
            entry=code[1] if code else "",
            numeric=is_number(self.answer),
        )

    @property
    def truth(self) -> StudentReading | PartnerReading:
        if isinstance(self.labels, StudentLabels):
            fields = self.labels.model_dump()
            return StudentReading(**{**fields, "asks": frozenset(fields["asks"])})
        labels = self.labels
        return PartnerReading(
            tells=frozenset(labels.tells),
            tells_wrong=frozenset(labels.tells_wrong),
            reveals=labels.reveals_answer,
            feedback=labels.feedback,
            refuses=labels.refuses,
            off_role=labels.off_role,
        )


def read_turns(path: Path) -> list[LabelledRow]:
    """Raises ConfigError with the file, the line and what was expected."""
    rows = []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}). Expected turns as JSON by line, in UTF-8") from error
    ids = set[str]()
    for at, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(LabelledRow.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(
                f"{path}, line {at}: {where}: {first['msg']}. Expected a labelled turn, as "
                "evals/readers/turns/turns_file.py describes it"
            ) from error
        if rows[-1].id in ids:
            raise ConfigError(f"{path}, line {at}: id {rows[-1].id!r} stands there twice. Expected each turn once")
        ids.add(rows[-1].id)
    if not rows:
        raise ConfigError(f"{path}: holds no turn. Expected labelled turns, one JSON object a line")
    return rows
