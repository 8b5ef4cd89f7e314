"""A user's own documents, from which a challenger poses tasks. No student and no partner ever reads one.

A JSON Lines file of {"id": ..., "text": ...}, or a folder of .txt files (UTF-8) whose names are the ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.errors import ConfigError
from pipeline.reading.sentences import sentences
from pipeline.tasks.parsing import BadRow, RowError, json_lines, parse, read_text, text_of

_SHORT = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|ca|cf|e\.g|i\.e|[A-Z])\.$")
KEY = "DOCUMENTS"
WHAT = 'a JSON Lines file of {"id": ..., "text": ...}, or a folder of .txt files'


class Document(NamedTuple):
    """A text that tasks are posed about."""

    id: str
    text: str

    def sentences(self) -> list[str]:
        """In their order, each on one line; a blank line ends one, the point of an abbreviation does not."""
        joined = list[str]()
        for paragraph in re.split(r"\n\s*\n", self.text):
            short = False
            for part in sentences(" ".join(paragraph.split())):
                if short:
                    joined[-1] += f" {part}"
                else:
                    joined.append(part)
                short = bool(_SHORT.search(part))
        return joined


def load_documents(source: Path) -> tuple[list[Document], list[BadRow]]:
    """Every document, and the rows that are none. Raises ConfigError where there is nothing to read."""
    texts, ids = dict[str, str](), set[str]()

    def make(row: dict[str, Any]) -> Document:
        document = Document(text_of(row, "id"), text_of(row, "text"))
        if document.id in ids:
            raise RowError(f"the id {document.id!r} stands in an earlier row")
        if (twin := texts.get(" ".join(document.text.split()))) is not None:
            raise RowError(f"the text is that of document {twin!r}")
        ids.add(document.id)
        texts[" ".join(document.text.split())] = document.id
        return document

    documents, bad = parse(_rows(source), make)
    if not documents:
        first = f" The first of {len(bad)} rows: {bad[0].where}: {bad[0].message}." if bad else ""
        raise ConfigError(f"{KEY}: {str(source)!r} holds no document. Expected {WHAT}.{first}")
    return documents, bad


def _rows(source: Path) -> Iterator[tuple[str, Any]]:
    if source.is_dir():
        return ((str(path), _of_file(path)) for path in sorted(source.glob("*.txt")) if path.is_file())
    if not source.is_file():
        raise ConfigError(f"{KEY}: {str(source)!r}: no such file or folder. Expected {WHAT}.")
    return json_lines(source, KEY)


def _of_file(path: Path) -> Any:
    text = read_text(path, KEY)
    try:
        text.encode()
    except UnicodeError:
        return RowError("not UTF-8")
    return {"id": path.name, "text": text}
