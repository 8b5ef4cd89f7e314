"""Where a page is: on the server, or in the folder of an export."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import urlencode

from maieutic.view.queries import Filters, Student
from pipeline.core.schema import digest

# Nothing but the page's own style and script, and nothing from elsewhere.
CSP = "default-src 'none'; style-src {own}; script-src {own}; img-src data:; form-action {own}; base-uri 'none'"


class Addresses(Protocol):
    csp: str  # said in the page, where no server says it

    def page(self, name: str, query: Mapping[str, object] | None = None) -> str: ...
    def talk(self, row: sqlite3.Row, filters: Filters | None = None) -> str: ...
    def same(self, *rows: sqlite3.Row) -> str: ...
    def whole(self, row: sqlite3.Row, turn: int, part: str) -> str: ...
    def file(self, name: str) -> str: ...


class Served:
    """Addresses of the server."""

    csp = ""

    def page(self, name: str, query: Mapping[str, object] | None = None) -> str:
        return _with(f"/{name}", {key: value for key, value in (query or {}).items() if value != ""})

    def talk(self, row: sqlite3.Row, filters: Filters | None = None) -> str:
        return _with(f"/{row['kind']}/{row['run']}/{row['id']}", filters or {})

    def same(self, *rows: sqlite3.Row) -> str:
        """Of all conditions; of more rows than one theirs alone."""
        chosen = [("c", value_of(Student(row["run"], row["condition"]))) for row in rows] if len(rows) > 1 else []
        return _with(f"/same/{rows[0]['same']}", chosen)

    def whole(self, row: sqlite3.Row, turn: int, part: str) -> str:
        return f"/text/{row['kind']}/{row['run']}/{row['id']}/{turn}/{part}"

    def file(self, name: str) -> str:
        return f"/file/{name}"


class Exported:
    """Addresses in an export, as a page writes them that lies `up` ("../" or "") from its top.

    `texts` are the files of texts too long for the page, which it links to.
    """

    csp = CSP.format(own="'self' file:")

    def __init__(self, up: str):
        self.up = up
        self.texts: list[tuple[str, sqlite3.Row, int, str]] = []

    def page(self, name: str, query: Mapping[str, object] | None = None) -> str:
        filters = {key: value for key, value in (query or {}).items() if value != ""}
        return f"{self.up}{'index' if name == 'dialogue' else name}.html" + (
            f"#{urlencode(filters)}" if filters else ""
        )

    def talk(self, row: sqlite3.Row, filters: Filters | None = None) -> str:
        return f"{self.up}{row['kind']}/{file_name(row)}.html"

    def same(self, *rows: sqlite3.Row) -> str:
        return f"{self.up}same/{rows[0]['same']}.html"

    def whole(self, row: sqlite3.Row, turn: int, part: str) -> str:
        name = f"text/{row['kind']}-{file_name(row)}-{turn}-{part}.txt"
        self.texts.append((name, row, turn, part))
        return f"{self.up}{name}"

    def file(self, name: str) -> str:
        return f"{self.up}{name}"


def file_name(row: sqlite3.Row) -> str:
    """Of a talk's files, without an ending. An id is text of a run, which may be anybody's: it names no other place."""
    plain = re.fullmatch(r"[\w-]{1,100}", row["id"], re.ASCII)
    return f"{row['run']}-{row['id'] if plain else digest(row['id'])}"


def value_of(student: Student) -> str:
    """As a form sends it."""
    return f"{student.run}:{student.condition}"


def _with(path: str, query: Mapping[str, object] | Sequence[tuple[str, object]]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
