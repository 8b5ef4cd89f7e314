"""The same pages as files, which open without a server or a network: --export DIR.

Filters and search of a list run in its page, over what the list shows. Exam cases stand beside their episodes.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path

from maieutic.view.addresses import Exported, file_name, value_of
from maieutic.view.pages import LISTS, PAIRS, Pages, pair_page
from maieutic.view.queries import every, students
from maieutic.view.server import FILES
from maieutic.view.talk_index import TalkIndex
from pipeline.core.errors import RunError
from pipeline.core.files import write_whole
from pipeline.runs.progress import stage

MARK = "view.js"  # what tells an export from a folder of somebody's


def export_pages(index: TalkIndex, folder: Path) -> Path:
    """Write all pages; those of an export that is there are replaced. Returns the first page.

    Raises RunError where the folder holds something else.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARK).is_file())):
        raise RunError(f"{folder}: it is there, and no export of `maieutic view`. Choose another folder.")
    with stage("index") as progress:
        index.update(lambda talks, left: progress(talks, talks))
    pages = Pages(index.runs)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in (*LISTS, "same", "text"):  # those of another run would stay
        shutil.rmtree(folder / kind, ignore_errors=True)
    for name in ("index", *LISTS, *PAIRS):
        for page in (folder / f"{name}.html", *folder.glob(f"{name}-*.html")):
            page.unlink(missing_ok=True)
    for name, file in FILES.items():
        shutil.copyfile(file, folder / name)
    with closing(index.connect()) as connection:
        _write_lists(connection, pages, folder)
        total = connection.execute("SELECT count(*) FROM talks").fetchone()[0]
        with stage("pages", total) as progress:
            for kind in LISTS:
                for row in every(connection, kind):
                    text = pages.talk(connection, to := Exported("../"), row, {})
                    _write(folder / row["kind"] / f"{file_name(row)}.html", text)
                    _write_texts(connection, pages, folder, to)
                    progress()
        for (same,) in connection.execute("SELECT same FROM talks GROUP BY same HAVING count(*) > 1"):
            shown = pages.same(connection, to := Exported("../"), same, offline=True)
            assert shown is not None  # it was asked for by a row
            _write(folder / "same" / f"{same}.html", shown)
            _write_texts(connection, pages, folder, to)
    return folder / "index.html"


def _write_lists(connection: sqlite3.Connection, pages: Pages, folder: Path) -> None:
    """All talks; and of every two students a page of pairs, the usual one also by the name that others link to."""
    for kind in LISTS:
        name = "index" if kind == "dialogue" else kind
        _write(folder / f"{name}.html", pages.whole_list(connection, Exported(""), kind))
    for page, (kind, _) in PAIRS.items():
        there = students(connection, kind)
        _write(folder / f"{page}.html", pages.pairs(connection, Exported(""), page, {}, offline=True))
        for one, other in combinations(there, 2):
            asked = {"a": value_of(one), "b": value_of(other)}
            text = pages.pairs(connection, Exported(""), page, asked, offline=True)
            _write(folder / f"{pair_page(page, there, one, other)}.html", text)


def _write_texts(connection: sqlite3.Connection, pages: Pages, folder: Path, to: Exported) -> None:
    """What was too long for a page."""
    for name, row, turn, part in to.texts:
        text = pages.text(connection, row, turn, part)
        assert text is not None  # it was cut
        _write(folder / name, text)


def _write(path: Path, text: str) -> None:
    write_whole(path, text, errors="replace")
