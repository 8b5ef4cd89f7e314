"""What models answered in an exam that is being sat, kept on disk until it is done: the same command goes on there.

An exam of a large model takes hours, and its cases are written when it ends. Answers are found again by what was asked,
with which sampling, of which weights, so another student's or another prompt's are never taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.core.schema import Message, digest
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.runs.store import Appender


class AnswerLine(BaseModel):
    key: str
    answer: Completion


class Answers:
    """Those of one file, and of the models that are asked through `of`."""

    def __init__(self, path: Path, weights: Any):
        self.weights, self.met = weights, Counter[str]()
        self.there = dict(_readable(path))
        self.file, self.is_open = Appender(path), True

    def of(self, role: str, model: Model) -> Model:
        return _Kept(self, role, model)

    def key(self, role: str, messages: list[Message], sampling: Sampling) -> str:
        """Another one each time that the same is asked: a server may answer otherwise."""
        # What was kept before answers were scored is found again.
        asked = digest(self.weights, role, messages, sampling if sampling.scored else sampling[:-1])
        self.met[asked] += 1
        return f"{asked}-{self.met[asked]}"


class _Kept:
    def __init__(self, answers: Answers, role: str, model: Model):
        self.answers, self.role, self.model = answers, role, model

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        key = self.answers.key(self.role, messages, sampling)
        if (there := self.answers.there.get(key)) is not None:
            return there
        answer = await self.model.complete(messages, sampling)
        if self.answers.is_open:  # what was still asked when the exam ended is nobody's
            self.answers.file.append(AnswerLine(key=key, answer=answer))
        return answer

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


@contextmanager
def keeping_answers(path: Path, weights: Any) -> Iterator[Answers]:
    """Those that an earlier try left in `path`, and the new ones; `weights` says who sits. The file stays."""
    kept = Answers(path, weights)
    try:
        with kept.file:
            yield kept
    finally:
        kept.is_open = False


def _readable(path: Path) -> Iterator[tuple[str, Completion]]:
    """What a line does not say is asked again."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValidationError):
            kept = AnswerLine.model_validate_json(line)
            yield kept.key, kept.answer
