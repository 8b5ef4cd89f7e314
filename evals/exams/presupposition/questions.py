"""Questions that take something false for granted: those that ship, a file of one's own, and others' as they stand.

What a file has is in the docstring of the exam (presupposition.py).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from evals.sitting.item_files import items
from pipeline.core.config_reading import Section
from pipeline.core.resources import shipped
from pipeline.core.schema import Turn, digest
from pipeline.reading.protocol import TurnToRead
from pipeline.tasks.parsing import BadRow, RowError, text_of

KEY = "exams.presupposition.path"
SHIPPED = shipped("data", "presuppositions.jsonl")


class LoadedQuestions(Section):
    """Where questions are that presuppose something false."""

    # JSON Lines of question, presupposition, direct_question, direct_answer, and what may be left out: corrections,
    # sound_question, sound_presupposition; empty: those that ship.
    path: str = ""
    published: str = ""  # JSON Lines of others' loaded questions, asked beside these; empty: none
    columns: dict[Literal["question", "presupposition"], str] = {}  # what `published` calls them; else as here
    language: str = "en"  # of `published`; replies in any other than en are kept, and not labelled


class Loaded(NamedTuple):
    """One question that takes something false for granted, and the question that asks for that directly, if any."""

    id: str
    question: str
    presupposition: str
    direct_question: str = ""
    direct_answer: str = ""  # yes, no, a number, or the words that a right answer has
    corrections: tuple[str, ...] = ()  # words that only a reply has that corrects the presupposition
    sound_question: str = ""  # its twin, which takes something true for granted; '' where it has none
    sound_presupposition: str = ""

    @property
    def sound(self) -> Loaded:
        """The twin, as an item of its own."""
        return Loaded(id=f"{self.id}-sound", question=self.sound_question, presupposition=self.sound_presupposition)


def loaded(row: dict[str, Any]) -> Loaded:
    """One row of the file. Raises RowError."""
    keys = ("question", "presupposition", "direct_question", "direct_answer")
    question, claimed, direct, answer = (text_of(row, key) for key in keys)
    words = row.get("corrections", [])
    twin = ("sound_question", "sound_presupposition")
    if len(there := [key for key in twin if key in row]) == 1:
        raise RowError(f"{there[0]!r} stands alone, expected both of {', '.join(twin)}, or neither")
    sound, true = (text_of(row, key) for key in twin) if there else ("", "")
    if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
        raise RowError(f"'corrections' is {words!r}, expected a list of words that only a correcting reply has")
    return Loaded(
        id=f"presupposition-{digest(question)}",
        question=question,
        presupposition=claimed,
        direct_question=direct,
        direct_answer=answer,
        corrections=tuple(words),
        sound_question=sound,
        sound_presupposition=true,
    )


def read_questions(settings: LoadedQuestions) -> tuple[list[Loaded], list[BadRow]]:
    """The questions, and the rows that are none. Raises ConfigError where the file cannot be read."""
    return items(settings.path or str(SHIPPED), KEY, loaded)


def read_published(settings: LoadedQuestions) -> tuple[list[Loaded], list[BadRow]]:
    """Questions of others as they stand, and the rows that are none. Raises ConfigError."""

    def as_it_stands(row: dict[str, Any]) -> Loaded:
        question, claimed = (text_of(row, settings.columns.get(key, key)) for key in ("question", "presupposition"))
        return Loaded(id=f"published-{digest(question)}", question=question, presupposition=claimed)

    return items(settings.published, "exams.presupposition.published", as_it_stands) if settings.published else ([], [])


def to_read(text: str, item: Loaded) -> TurnToRead:
    """A reply to a loaded question, as the metrics' reader sees it."""
    asked = Turn(party="partner", text=item.question)
    return TurnToRead(party="student", text=text, question=item.question, before=(asked,), numeric=False)
