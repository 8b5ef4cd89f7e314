"""What is asked of the index: pages of a filtered list, what there is to filter by, pairs, neighbours, exam cases."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PAGE = 50  # rows on a page of a list
MOST_PAIRS = 1_000  # on a page of an export
FIELDS = (
    "run", "condition", "seed", "specification", "outcome", "asking", "first", "act", "violation", "leak", "luck",
    "kept", "stop", "arm",
)  # fmt: skip
COLUMNS = set(FIELDS) - {"act", "violation"}
COMPARED = {"outcome": "outcome", "asking": "asking", "first": "first move"}
ROW = (
    "t.*, s.question, s.said, s.final, s.gold, (SELECT group_concat(mark, ' ') FROM marks WHERE marks.n = t.n) AS marks"
)
Filters = Mapping[str, str]  # the names of FIELDS, or "q" for a search; '' filters nothing


class Listed(NamedTuple):
    """One page of a list."""

    rows: list[sqlite3.Row]
    total: int
    page: int  # 1 is the first

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))


class Student(NamedTuple):
    """Of a run, whose number it is, the condition; with "base" the untrained one."""

    run: int
    condition: str


def listed(index: sqlite3.Connection, kind: str, filters: Filters, page: int) -> Listed:
    where, values = _where(kind, filters)
    total = index.execute(f"SELECT count(*) FROM talks t WHERE {where}", values).fetchone()[0]
    page = min(max(page, 1), max(1, -(-total // PAGE)))
    # The page's numbers first, so that texts are fetched of its rows alone.
    of_page = f"SELECT n FROM talks t WHERE {where} ORDER BY n LIMIT {PAGE} OFFSET {PAGE * (page - 1)}"
    rows = index.execute(f"SELECT {ROW} FROM talks t JOIN shown s USING (n) WHERE n IN ({of_page}) ORDER BY n", values)
    return Listed(rows.fetchall(), total, page)


def every(index: sqlite3.Connection, kind: str) -> Iterable[sqlite3.Row]:
    return index.execute(f"SELECT {ROW} FROM talks t JOIN shown s USING (n) WHERE kind = ? ORDER BY n", [kind])


def found(index: sqlite3.Connection, run: int, kind: str, id: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = index.execute(
        f"SELECT {ROW} FROM talks t JOIN shown s USING (n) WHERE run = ? AND kind = ? AND id = ?", [run, kind, id]
    ).fetchone()
    return row


def beside(index: sqlite3.Connection, n: int, kind: str, filters: Filters) -> tuple[sqlite3.Row | None, ...]:
    """The talks before and after one in a filtered list."""
    where, values = _where(kind, filters)
    both = (("<", "DESC"), (">", "ASC"))
    return tuple(
        index.execute(f"SELECT * FROM talks t WHERE {where} AND n {sign} ? ORDER BY n {order} LIMIT 1", [*values, n])
        .fetchone()
        for sign, order in both
    )  # fmt: skip


def same_as(index: sqlite3.Connection, same: str) -> list[sqlite3.Row]:
    """All that is the same but for the condition, in the order of runs and conditions."""
    rows = index.execute(
        f"SELECT {ROW} FROM talks t JOIN shown s USING (n) WHERE same = ? ORDER BY run, who, n", [same]
    )
    return rows.fetchall()


def options(index: sqlite3.Connection, kind: str) -> dict[str, list[tuple[str, int]]]:
    """Of each field the values that occur, with how many talks have each; fields with one value are left out."""
    found: dict[str, list[tuple[str, int]]] = {}
    for field in FIELDS:
        if field in COLUMNS:
            first = "min(run), min(who), min(n)"
            asked = f"SELECT {field}, count(*) FROM talks WHERE kind = ? GROUP BY {field} ORDER BY {first}"
            values: list[object] = [kind]
        else:
            asked = (
                "SELECT substr(mark, ?), count(*) FROM marks JOIN talks USING (n) WHERE kind = ? AND mark LIKE ? "
                "GROUP BY mark ORDER BY mark"
            )
            values = [len(field) + 2, kind, f"{field}:%"]
        rows = [(str(value), count) for value, count in index.execute(asked, values) if value is not None]
        if len(rows) > 1 or (rows and field not in COLUMNS):
            found[field] = rows
    return found


def students(index: sqlite3.Connection, kind: str) -> list[Student]:
    """Whose talks there are, in the order of the configs."""
    asked = "SELECT run, condition FROM talks WHERE kind = ? GROUP BY run, condition ORDER BY run, who"
    return [Student(*row) for row in index.execute(asked, [kind])]


class Pairs(NamedTuple):
    """Talks of two conditions on the same task and seed: counts of what each did, and a page of the pairs."""

    counts: dict[tuple[str, str], int]
    pairs: list[tuple[sqlite3.Row, sqlite3.Row]]
    total: int
    page: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))


def pairs(
    index: sqlite3.Connection,
    kind: str,
    a: Student,
    b: Student,
    field: str,
    page: int,
    cell: tuple[str, str] | None,
    most: int = PAGE,
) -> Pairs:
    """`field` is one of COMPARED. Those that differ in it are listed, `most` on a page, or those of one `cell`."""
    joined = (
        "talks a JOIN talks b ON a.same = b.same AND b.run = ? AND b.condition = ? "
        "WHERE a.kind = ? AND a.run = ? AND a.condition = ?"
    )
    values: list[object] = [b.run, b.condition, kind, a.run, a.condition]
    counted = index.execute(f"SELECT a.{field}, b.{field}, count(*) FROM {joined} GROUP BY 1, 2", values)
    counts = {(one, other): count for one, other, count in counted}
    chosen = f"a.{field} = ? AND b.{field} = ?" if cell else f"a.{field} <> b.{field}"
    total = counts.get(cell, 0) if cell else sum(count for (one, other), count in counts.items() if one != other)
    page = min(max(page, 1), max(1, -(-total // most)))
    asked = f"SELECT a.n, b.n FROM {joined} AND {chosen} ORDER BY a.n LIMIT {most} OFFSET {most * (page - 1)}"
    numbers = index.execute(asked, [*values, *(cell or ())]).fetchall()
    rows = _rows(index, [n for pair in numbers for n in pair])
    return Pairs(counts, [(rows[one], rows[other]) for one, other in numbers], total, page)


def _rows(index: sqlite3.Connection, numbers: list[int]) -> dict[int, sqlite3.Row]:
    marks = ", ".join("?" * len(numbers))
    rows = index.execute(f"SELECT {ROW} FROM talks t JOIN shown s USING (n) WHERE n IN ({marks})", numbers)
    return {row["n"]: row for row in rows}


def cases(index: sqlite3.Connection, filters: Filters, page: int) -> Listed:
    """Cases of exams, filtered by run, condition, seed, metric and task."""
    known = {name: filters[name] for name in ("run", "condition", "seed", "metric", "task") if filters.get(name)}
    where, values = " AND ".join([f"{name} = ?" for name in known]) or "1", list(known.values())
    total = index.execute(f"SELECT count(*) FROM cases WHERE {where}", values).fetchone()[0]
    page = min(max(page, 1), max(1, -(-total // PAGE)))
    asked = f"SELECT * FROM cases WHERE {where} ORDER BY rowid LIMIT {PAGE} OFFSET {PAGE * (page - 1)}"
    return Listed(index.execute(asked, values).fetchall(), total, page)


def case_options(index: sqlite3.Connection) -> dict[str, list[tuple[str, int]]]:
    fields = ("run", "condition", "seed", "metric")
    return {
        field: [(str(value), count) for value, count in index.execute(
            f"SELECT {field}, count(*) FROM cases GROUP BY {field} ORDER BY min(rowid)")]
        for field in fields
    }  # fmt: skip


def cases_of_task(index: sqlite3.Connection, run: int, task: str, seed: int) -> list[sqlite3.Row]:
    """What every student's exams left of a task, in one seed."""
    asked = "SELECT * FROM cases WHERE run = ? AND task = ? AND seed = ? AND NOT greedy ORDER BY rowid"
    return index.execute(asked, [run, task, seed]).fetchall()


def is_first_of_its_words(index: sqlite3.Connection, row: sqlite3.Row) -> bool:
    """Whether a dialogue stands for those of its seed and round with the same words, which are all kept or none is."""
    asked = (
        "SELECT min(id) FROM talks INDEXED BY talks_by_task WHERE kind = 'dialogue' AND run = ? AND condition = ? "
        "AND task = ? AND transcript = ?"  # SQLite itself would go through all ids
    )
    values = [row[name] for name in ("run", "condition", "task", "transcript")]
    return bool(index.execute(asked, values).fetchone()[0] == row["id"])


def pass_rate(index: sqlite3.Connection, row: sqlite3.Row) -> float:
    """The share of a condition's dialogues of a task, in a seed and round, that end right."""
    asked = (
        "SELECT avg(outcome = 'right') FROM talks WHERE kind = 'dialogue' AND run = ? AND condition = ? AND task = ? "
        "AND seed = ? AND round = ?"
    )
    values = [row[name] for name in ("run", "condition", "task", "seed", "round")]
    return float(index.execute(asked, values).fetchone()[0])


def _where(kind: str, filters: Filters) -> tuple[str, list[object]]:
    parts, values = ["kind = ?"], list[object]([kind])
    for field in FIELDS:
        if not (value := filters.get(field, "")):
            continue
        if field in COLUMNS:
            parts.append(f"{field} = ?")
            values.append(value)
        else:
            parts.append("n IN (SELECT n FROM marks WHERE mark = ?)")
            values.append(f"{field}:{value}")
    if asked := _search(filters.get("q", "")):
        parts.append("n IN (SELECT rowid FROM words WHERE words MATCH ?)")
        values.append(asked)
    return " AND ".join(parts), values


def _search(text: str) -> str:
    """All of the words, each as the beginning of one, and what stands in quotes as it stands; '' for no word."""
    parts = re.findall(r'"([^"]*)"|(\S+)', text.replace("\0", " "))
    asked = [f'"{phrase}"' if phrase else '"{}"*'.format(word.replace('"', "")) for phrase, word in parts]
    return " ".join(part for part in asked if re.search(r"\w", part))
