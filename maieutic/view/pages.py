"""The pages, each made of the index and of the places in the run's files that it names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from maieutic.view.addresses import Addresses, value_of
from maieutic.view.judged_talk import ACTS, ASKING, judge_talk
from maieutic.view.queries import (
    COMPARED,
    MOST_PAIRS,
    PAGE,
    Filters,
    Student,
    beside,
    case_options,
    cases,
    cases_of_task,
    every,
    listed,
    options,
    pairs,
    same_as,
    students,
)
from maieutic.view.read_talks import ShownRun, Talk
from maieutic.view.talk_page import shown_talk
from maieutic.view.why_kept import verdicts
from pipeline.core.shown_text import cut, visible
from pipeline.experiment.fields import UNTRAINED
from pipeline.judging.moves import MOVE_NAMES
from pipeline.knowledge.condition import LEARNING, Condition

BRIEF = 300  # letters of what is no turn: an answer, an act
FINAL = 24  # letters of an answer in a list
LISTS = {"dialogue": "Dialogues", "exam": "Exam episodes"}
PAIRS = {"pairs": ("dialogue", "Two conditions"), "training": ("exam", "Before and after")}
FIELD_WORDS = {
    "run": "run", "condition": "condition", "seed": "seed", "specification": "specification", "outcome": "outcome",
    "asking": "asking", "first": "the student's first move", "act": "an act", "violation": "violation", "leak": "leak",
    "luck": "luck", "kept": "kept", "stop": "ended by", "arm": "exam partner", "metric": "metric",
}  # fmt: skip
YES_NO = {"leak": ("no leak", "leaks the answer"), "luck": ("not lucky", "lucky"), "kept": ("not kept", "kept")}
FINDS: dict[str, dict[str, str]] = {
    "should have asked and did not": {"asking": "missed"},
    "asked, and was right": {"asking": "asked", "outcome": "right"},
    "asked, and lacked nothing": {"asking": "needless"},
    "lucky": {"luck": "1"},
    "the partner leaks the answer": {"leak": "1"},
    "the partner leaves its role": {"violation": "off_role"},
}


class Pages:
    """What renders pages of some runs, with the addresses that a page is to name others by."""

    def __init__(self, runs: Sequence[ShownRun]):
        self.runs = runs
        self.environment = Environment(
            loader=PackageLoader("maieutic.view"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
            autoescape=True,
        )  # fmt: skip
        self.environment.filters.update(
            shown=visible, cut=cut, brief=lambda text: visible(text[:BRIEF]), final=_final, marks=_marks
        )
        self.environment.globals.update(
            words={"asking": ASKING, "fields": FIELD_WORDS}, worded=self.worded, student=self.student,
            names=[run.name for run in runs],
        )  # fmt: skip
        self._options: dict[tuple[str, int], dict[str, list[tuple[str, int]]]] = {}

    def list_page(
        self, index: sqlite3.Connection, to: Addresses, kind: str, filters: Filters, page: int, state: str = ""
    ) -> str:
        found = listed(index, kind, filters, page)
        return self._list(
            index, to, kind, filters, state, listed=found, offline=False, turn_to=self._turn(to, kind, filters)
        )

    def whole_list(self, index: sqlite3.Connection, to: Addresses, kind: str) -> str:
        """All rows on one page, which filters them itself."""
        return self._list(
            index, to, kind, {}, "", listed=listed(index, kind, {}, 1), offline=True, rows=every(index, kind)
        )

    def _list(
        self, index: sqlite3.Connection, to: Addresses, kind: str, filters: Filters, state: str, **more: Any
    ) -> str:
        fields = self._fields(index, kind)
        there = {(field, value) for field, values in fields.items() for value, _ in values}
        all = index.execute("SELECT count(*) FROM talks WHERE kind = ?", [kind]).fetchone()[0]
        finds = [
            {"words": words, "filters": wanted, "chosen": dict(filters) == wanted}
            for words, wanted in FINDS.items()
            if there.issuperset(wanted.items())
        ]
        return self._render(
            "list", to, kind, state, title=LISTS[kind], filters=filters, options=fields, finds=finds, all=all, **more
        )

    def _fields(self, index: sqlite3.Connection, kind: str) -> dict[str, list[tuple[str, int]]]:
        """What there is to filter by, counted anew only where the index has changed."""
        last = index.execute("SELECT coalesce(max(n), 0) FROM talks").fetchone()[0]
        if (kind, last) not in self._options:
            self._options = {key: known for key, known in self._options.items() if key[1] == last}
            self._options[kind, last] = options(index, kind)
        return self._options[kind, last]

    def talk(self, index: sqlite3.Connection, to: Addresses, row: sqlite3.Row, filters: Filters) -> str:
        run, kind = self.runs[row["run"]], row["kind"]
        talk = self.read(index, row)
        judged, (before, after) = judge_talk(run, talk), beside(index, row["n"], kind, filters)
        others = [self.student(other) for other in same_as(index, row["same"]) if other["n"] != row["n"]]
        return self._render(
            "talk", to, kind, "", row=row, talk=talk, shown=shown_talk(run, talk), judged=judged,
            axes=axes(talk.dialogue.condition), others=others, up=to.page(kind, filters),
            before=before and to.talk(before, filters), after=after and to.talk(after, filters),
            verdicts=verdicts(index, run.experiment, row, judged) if kind == "dialogue" else [],
        )  # fmt: skip

    def same(
        self, index: sqlite3.Connection, to: Addresses, same: str, chosen: Sequence[str] = (), offline: bool = False
    ) -> str | None:
        """The talks of one task and seed under the chosen conditions, or all; None where there is none."""
        rows = same_as(index, same)
        if not rows:
            return None
        values = {row["n"]: value_of(Student(row["run"], row["condition"])) for row in rows}
        wanted = [row for row in rows if not chosen or values[row["n"]] in chosen] or rows
        talks = [self.read(index, row) for row in wanted]
        parted = _parts_at(talks)
        first = wanted[0]
        return self._render(
            "same", to, "training" if first["kind"] == "exam" else "pairs", "", kind=first["kind"],
            task=talks[0].dialogue.task, offline=offline,
            cases=self._cases_of(index, first) if first["kind"] == "exam" else None,
            choices=[
                {"value": values[row["n"]], "words": self.student(row), "chosen": row in wanted} for row in rows
            ],
            columns=[
                {"row": row, "shown": shown_talk(self.runs[row["run"]], talk), "parts_at": parted}
                for row, talk in zip(wanted, talks, strict=True)
            ],
        )  # fmt: skip

    def _cases_of(self, index: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any] | None:
        rows: dict[str, dict[str, str]] = {}
        for case in cases_of_task(index, row["run"], row["task"], row["seed"]):
            rows.setdefault(case["metric"], {})[case["condition"]] = f"{case['hits']:g} of {case['n']}"
        names = (*UNTRAINED, *self.runs[row["run"]].experiment.conditions)
        sat = [name for name in names if any(name in cells for cells in rows.values())]
        return {"students": sat, "rows": rows} if rows else None

    def pairs(
        self,
        index: sqlite3.Connection,
        to: Addresses,
        page: str,
        asked: Mapping[str, str],
        state: str = "",
        offline: bool = False,
    ) -> str:
        """`asked` may have a and b (values of students), by, cell ("right wrong") and page."""
        kind, title = PAIRS[page]
        there = students(index, kind)
        a, b = self._two(there, asked)
        shared: dict[str, Any] = {"title": title, "offline": offline, "compared": COMPARED}
        if a is None or b is None:
            return self._render("pairs", to, page, state, pairs=None, **shared)
        by = asked.get("by", "")
        by = by if by in COMPARED else "outcome" if kind == "dialogue" else "asking"
        one, _, other = asked.get("cell", "").partition(" ")
        at, most = page_number(asked.get("page", "")), MOST_PAIRS if offline else PAGE
        made = pairs(index, kind, a, b, by, at, (one, other) if one and other else None, most)
        query = {"a": value_of(a), "b": value_of(b), "by": by}
        order = list(ASKING) if by == "asking" else ["right", "wrong", "none"] if by == "outcome" else list(MOVE_NAMES)
        seen = {value for cell in made.counts for value in cell}
        values = [value for value in order if value in seen]
        return self._render(
            "pairs", to, page, state, pairs=made, rows=values, columns=values, cell=bool(one and other),
            choices=[{"value": value_of(each), "words": self.student_words(each)} for each in there],
            chosen=query | {"a_words": self.student_words(a), "b_words": self.student_words(b)},
            others=self._other_pairs(to, page, there, (a, b)) if offline else [],
            cell_at=lambda one, other: to.page(page, query | {"cell": f"{one} {other}"}),
            turn_to=self._turn(to, page, query | {"cell": asked.get("cell", "")}),
            **shared,
        )  # fmt: skip

    def _other_pairs(
        self, to: Addresses, page: str, there: Sequence[Student], now: tuple[Student, Student]
    ) -> list[dict[str, object]]:
        return [
            {
                "href": to.page(pair_page(page, there, one, other)),
                "words": f"{self.student_words(one)} and {self.student_words(other)}",
                "chosen": (one, other) == now,
            }
            for i, one in enumerate(there)
            for other in there[i + 1 :]
        ]

    def _two(self, there: Sequence[Student], asked: Mapping[str, str]) -> tuple[Student | None, Student | None]:
        """Those that are asked for; else of the base and the primary contrast the first two, or of all."""
        known = {value_of(student): student for student in there}
        primary = self.runs[0].experiment.compare.primary if self.runs[0].experiment.compare else None
        named = [Student(0, primary.b), Student(0, primary.a)] if primary else []
        base = [student for student in there if student.condition == "base"]
        usual = [student for student in [*base[:1], *named, *there] if student in there]
        a = known.get(asked.get("a", ""), usual[0] if usual else None)
        b = known.get(asked.get("b", ""), next((student for student in usual if student != a), None))
        return a, b

    def cases(self, index: sqlite3.Connection, to: Addresses, filters: Filters, page: int, state: str = "") -> str:
        there = cases(index, filters, page)
        rows = [dict(case) | {"same": self._episodes_of(index, to, case)} for case in there.rows]
        return self._render(
            "cases", to, "cases", state, listed=there, rows=rows, filters=filters,
            options=case_options(index), turn_to=self._turn(to, "cases", filters),
        )  # fmt: skip

    def _episodes_of(self, index: sqlite3.Connection, to: Addresses, case: sqlite3.Row) -> str:
        """With the case's own partner, where its metric names one."""
        arm = case["metric"].partition("@")[2]
        asked = (
            "SELECT * FROM talks WHERE kind = 'exam' AND run = ? AND condition = ? AND task = ? AND seed = ? "
            "ORDER BY arm <> ? LIMIT 1"
        )
        values = [case["run"], case["condition"], case["task"], case["seed"], arm]
        row = index.execute(asked, values).fetchone()
        return to.same(row) if row else ""

    def text(self, index: sqlite3.Connection, row: sqlite3.Row, turn: int, part: str) -> str | None:
        """One text whole: what a party saw of a turn, a turn, or its reasoning."""
        shown = shown_talk(self.runs[row["run"]], self.read(index, row)).turns
        if not 0 <= turn < len(shown) or part not in ("student", "partner", "text", "reasoning"):
            return None
        return text_of(shown[turn], part)

    def read(self, index: sqlite3.Connection, row: sqlite3.Row) -> Talk:
        read = index.execute("SELECT readings FROM readings WHERE n = ?", [row["n"]]).fetchone()["readings"]
        return self.runs[row["run"]].talk(row["kind"], Path(row["file"]), row["place"], read)

    def student(self, row: Mapping[str, Any] | sqlite3.Row) -> str:
        return self.student_words(Student(row["run"], row["condition"]))

    def student_words(self, student: Student) -> str:
        """The condition, and of several runs which."""
        return f"{self.runs[student.run].name}: {student.condition}" if len(self.runs) > 1 else student.condition

    def worded(self, field: str, value: str) -> str:
        """A value of a field in words."""
        match field:
            case "run":
                return self.runs[int(value)].name
            case "asking":
                return ASKING[value]
            case "first":
                return MOVE_NAMES[value]
            case "act":
                return ACTS[value]
            case "outcome":
                return "no answer" if value == "none" else value
            case "leak" | "luck" | "kept":
                return YES_NO[field][int(value)]
        return value.replace("_", " ") if field in ("violation", "stop", "specification") else value

    def _turn(self, to: Addresses, page: str, query: Mapping[str, str]) -> Callable[[int], str]:
        return lambda number: to.page(page, {**query, "page": number})

    def _render(self, template: str, to: Addresses, here: str, state: str, **more: Any) -> str:
        listed_pages = [*LISTS.items(), *((name, words) for name, (_, words) in PAIRS.items())]
        pages = [*listed_pages, *([] if to.csp else [("cases", "Exam cases")])]
        template_of = self.environment.get_template(f"{template}.html.j2")
        return template_of.render(to=to, here=here, pages=pages, state=state, **more)


def pair_page(page: str, there: Sequence[Student], one: Student, other: Student) -> str:
    """The name of an export's page of two conditions."""
    return f"{page}-{there.index(one)}-{there.index(other)}"


def text_of(turn: Any, part: str) -> str:
    if part in ("text", "reasoning"):
        return str(getattr(turn, part))
    return "\n\n".join(said.text for said in getattr(turn, part))


def axes(condition: Condition) -> str:
    """The values of a condition that are not as usual."""
    usual = {name: field.default for name, field in Condition.model_fields.items()}
    values = condition.model_dump(exclude={*LEARNING, "selection", "keep"})
    said = [f"{name} {value}" for name, value in values.items() if value != usual[name] and value is not None]
    return ", ".join(said).capitalize()


def _parts_at(talks: Sequence[Talk]) -> int:
    """The number of the first turn in which not all say the same; 1 is the first."""
    texts = [[turn.text for turn in talk.dialogue.turns] for talk in talks]
    same = 0
    while all(len(each) > same and each[same] == texts[0][same] for each in texts):
        same += 1
    return same + 1 if len(talks) > 1 else 0


def _final(answer: str) -> str:
    """One line, and no program whole."""
    line = " ".join(answer.split())
    return visible(line if len(line) <= FINAL else f"{line[: FINAL - 1]}…")


def _marks(row: sqlite3.Row, field: str) -> str:
    marks = (row["marks"] or "").split()
    return " ".join(mark.partition(":")[2] for mark in marks if mark.startswith(f"{field}:"))


def page_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 1
