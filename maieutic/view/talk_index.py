"""An index of the dialogues and exam cases of runs, in SQLite, in the user's cache: made once, then brought up to date.

It holds what lists and filters need, and of each dialogue its place in the run's files, which are never written to.
Files of a run only grow, or are replaced whole: an index goes on where it ended, or begins a file anew where what stood
before that place is another. Several processes may bring one index up to date; each batch is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import maieutic
from evals.metrics.case_file import cases_of
from maieutic.view.judged_talk import judge_talk
from maieutic.view.read_talks import READINGS, Kind, ShownRun, Talk
from pipeline.core.errors import RunError
from pipeline.core.resources import user_cache
from pipeline.core.schema import digest
from pipeline.runs.student_files import seed_of

BATCH = 250  # dialogues that are indexed at once
TAIL = 256  # bytes before the place where an index ended, by which it knows the file again
SHOWN = 160  # letters of a question and of a first turn that a list shows
SEARCHED = 1_000_000  # letters of a turn that a search looks through

SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, run INT, kind TEXT, done INT NOT NULL, tail BLOB);
CREATE TABLE talks (
    n INTEGER PRIMARY KEY AUTOINCREMENT, file TEXT NOT NULL, place INT NOT NULL, run INT NOT NULL,
    who INT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, same TEXT NOT NULL, condition TEXT NOT NULL, seed INT,
    round INT, sample INT, arm TEXT, task TEXT, specification TEXT, outcome TEXT, asking TEXT, first TEXT, stop TEXT,
    kept INT, leak INT, luck INT, violated INT, turns INT, transcript TEXT
);
CREATE INDEX talks_by_id ON talks (run, kind, id);
CREATE INDEX talks_by_same ON talks (same, run, condition);
CREATE INDEX talks_by_condition ON talks (kind, run, condition);
CREATE INDEX talks_by_file ON talks (file);
CREATE INDEX talks_by_task ON talks (run, condition, task);
CREATE TABLE shown (n INTEGER PRIMARY KEY, question TEXT, said TEXT, final TEXT, gold TEXT);
CREATE TABLE readings (n INTEGER PRIMARY KEY, readings BLOB);
CREATE TABLE marks (mark TEXT NOT NULL, n INT NOT NULL, PRIMARY KEY (mark, n)) WITHOUT ROWID;
CREATE INDEX marks_by_talk ON marks (n);
CREATE TABLE cases (
    file TEXT NOT NULL, run INT, condition TEXT, seed INT, exam TEXT, task TEXT, metric TEXT, greedy INT, hits REAL,
    n INT
);
CREATE INDEX cases_by_metric ON cases (metric, run, condition);
CREATE INDEX cases_by_task ON cases (run, task, seed);
CREATE INDEX cases_by_file ON cases (file);
-- No number of a talk is used twice, so that words of one that is gone are found for none.
CREATE VIRTUAL TABLE words USING fts5 (said, content = '');
"""
# Of dialogues with the same words in one seed and round the least id stands for all, as in
# pipeline/datasets/rejection_sampling.py.
# SQLite itself would go through all ids.
KEPT_ONCE = """
UPDATE talks INDEXED BY talks_by_task SET kept = 0
WHERE kind = 'dialogue' AND run = ? AND condition = ? AND task = ? AND kept = 1 AND id > (
    SELECT min(id) FROM talks AS same INDEXED BY talks_by_task WHERE same.kind = 'dialogue' AND same.run = talks.run
    AND same.condition = talks.condition AND same.task = talks.task AND same.transcript = talks.transcript)
"""
Said = Callable[[int, int], None]  # dialogues that are indexed, and bytes that are left


class TalkIndex:
    """`runs` in the order in which they are named; a talk's `run` is its number there, and `who` that of its
    condition in the run's `names`. Raises RunError where SQLite
    cannot write there."""

    def __init__(self, runs: Sequence[ShownRun], path: Path | None = None):
        self.runs = runs
        self.path = path or _path(runs)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._begin()
        except sqlite3.OperationalError as error:  # locked, a full disk: what is there may be somebody's
            raise RunError(
                f"{self.path}: {error}. `maieutic view` must write this index; XDG_CACHE_HOME names another place."
            ) from error
        except sqlite3.DatabaseError:  # damaged: nothing in it but what is in the runs
            for part in ("", "-wal", "-shm"):
                Path(f"{self.path}{part}").unlink(missing_ok=True)
            self._begin()

    def _begin(self) -> None:
        with closing(self.connect()) as to:
            to.execute("PRAGMA journal_mode = WAL")
            with _transaction(to):
                if not to.execute("SELECT 1 FROM sqlite_master WHERE name = 'files'").fetchone():
                    for statement in SCHEMA.split(";"):
                        to.execute(statement)

    def connect(self) -> sqlite3.Connection:
        """For one thread at a time."""
        to = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        to.row_factory = sqlite3.Row
        to.execute("PRAGMA synchronous = NORMAL")
        to.execute("PRAGMA cache_size = -65536")  # KiB: hashes are inserted all over an index
        return to

    def update(self, said: Said = lambda talks, left: None) -> None:
        """Take in what is new in the runs' files. `said` is told after each batch. Raises StoreError, ConfigError."""
        with closing(self.connect()) as to:
            there = [(number, kind, file) for number, run in enumerate(self.runs) for kind, file in run.files()]
            cases = [(number, file) for number, run in enumerate(self.runs) for file in run.case_files()]
            _forget(to, {str(file) for _, _, file in there} | {str(file) for _, file in cases})
            for number, file in cases:
                with _transaction(to):
                    _take_cases(to, number, file)
            left = {file: file.stat().st_size for _, _, file in there}
            for number, kind, file in there:
                more = True
                while more:
                    with _transaction(to):
                        done, more = self._take(to, number, kind, file)
                    left[file] = file.stat().st_size - done if more else 0
                    said(to.execute("SELECT count(*) FROM talks").fetchone()[0], sum(left.values()))

    def _take(self, to: sqlite3.Connection, number: int, kind: Kind, file: Path) -> tuple[int, bool]:
        """One batch of a file: the place where the index now ends in it, and whether there may be more."""
        row = to.execute("SELECT done, tail FROM files WHERE path = ?", [str(file)]).fetchone()
        done = row["done"] if row and _tail(file, row["done"]) == row["tail"] else 0
        if row and not done:
            _forget_file(to, file)
        batch = list(islice(self.runs[number].talks(kind, file, done), BATCH))
        for place, _, talk in batch:
            self._insert(to, number, file, place, talk)
        for of in {(number, talk.dialogue.condition_name, talk.dialogue.task.id) for _, _, talk in batch}:
            to.execute(KEPT_ONCE, of)
        done = batch[-1][1] if batch else done
        to.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
            [str(file), number, kind, done, _tail(file, done)],
        )
        return done, len(batch) == BATCH

    def _insert(self, to: sqlite3.Connection, number: int, file: Path, place: int, talk: Talk) -> None:
        dialogue, judged = talk.dialogue, judge_talk(self.runs[number], talk)
        task, first = dialogue.task, next((turn.text for turn in dialogue.turns if turn.party == "student"), "")
        n = _insert(
            to,
            "talks",
            {
                "file": str(file), "place": place, "run": number,
                "who": self.runs[number].names.index(dialogue.condition_name), "kind": talk.kind, "id": dialogue.id,
                "same": talk.same, "condition": dialogue.condition_name, "seed": dialogue.seed, "round": dialogue.round,
                "sample": dialogue.sample, "arm": talk.arm, "task": task.id, "specification": task.specification,
                "outcome": judged.outcome, "asking": judged.asking, "first": judged.first, "stop": dialogue.stop,
                "kept": judged.kept, "leak": judged.leak, "luck": judged.lucky, "violated": bool(judged.violations),
                "turns": len(dialogue.turns), "transcript": judged.survey.transcript,
            },
        )  # fmt: skip
        shown = {"n": n, "question": task.question, "said": first, "final": judged.final, "gold": task.answer}
        _insert(to, "shown", {key: text[:SHOWN] if isinstance(text, str) else text for key, text in shown.items()})
        read = [turn.reading for turn in dialogue.turns if turn.reading is not None]  # all are read
        _insert(to, "readings", {"n": n, "readings": READINGS.dump_json(read)})
        marks = [f"act:{act}" for act in judged.acts] + [f"violation:{kind}" for kind in judged.violations]
        to.executemany("INSERT INTO marks VALUES (?, ?)", [(mark, n) for mark in marks])
        said = "\n".join([task.id, task.full_question, *(turn.text[:SEARCHED] for turn in dialogue.turns)])
        to.execute("INSERT INTO words (rowid, said) VALUES (?, ?)", [n, said])


def _path(runs: Sequence[ShownRun]) -> Path:
    """Of these runs with these configs, by this version: what a rule says of a dialogue may change with either."""
    names = [[str(run.path.resolve()), (run.path / "config.yaml").read_text(encoding="utf-8")] for run in runs]
    return user_cache() / "view" / f"{digest(maieutic.__version__, SCHEMA, names)}.sqlite"


@contextmanager
def _transaction(to: sqlite3.Connection) -> Iterator[None]:
    """All of the block is written, or nothing; nobody else writes meanwhile."""
    to.execute("BEGIN IMMEDIATE")
    try:
        yield
        to.execute("COMMIT")
    except BaseException:
        to.execute("ROLLBACK")
        raise


def _insert(to: sqlite3.Connection, table: str, row: dict[str, object]) -> int:
    marks = ", ".join("?" * len(row))
    return to.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values())).lastrowid or 0


def _tail(file: Path, done: int) -> bytes:
    """What stands before a place."""
    with file.open("rb") as lines:
        lines.seek(max(0, done - TAIL))
        return lines.read(min(done, TAIL))


def _take_cases(to: sqlite3.Connection, number: int, file: Path) -> None:
    """Those of a student and seed, whose file is replaced whole when it is examined again."""
    stat = file.stat()
    mark = f"{stat.st_size} {stat.st_mtime_ns}".encode()
    row = to.execute("SELECT tail FROM files WHERE path = ?", [str(file)]).fetchone()
    if row and row["tail"] == mark:
        return
    _forget_file(to, file)
    name, seed = file.parent.name, seed_of(file)
    to.executemany(
        "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (str(file), number, name, seed, case.exam, case.task, case.metric, case.greedy, case.hits, case.n)
            for case in cases_of(file)
        ],
    )
    to.execute("INSERT OR REPLACE INTO files VALUES (?, ?, 'case', 0, ?)", [str(file), number, mark])


def _forget(to: sqlite3.Connection, there: set[str]) -> None:
    """Files that are gone."""
    for (path,) in to.execute("SELECT path FROM files").fetchall():
        if path not in there:
            with _transaction(to):
                _forget_file(to, Path(path))


def _forget_file(to: sqlite3.Connection, file: Path) -> None:
    for table in ("marks", "shown", "readings"):
        to.execute(f"DELETE FROM {table} WHERE n IN (SELECT n FROM talks WHERE file = ?)", [str(file)])
    for table, column in (("talks", "file"), ("cases", "file"), ("files", "path")):
        to.execute(f"DELETE FROM {table} WHERE {column} = ?", [str(file)])
