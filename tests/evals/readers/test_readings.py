"""Readings of labelled turns, scored class by class."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from evals.readers.turns.measure_readings import measure_readings, read_rows
from evals.readers.turns.score_readings import score_readings
from evals.readers.turns.turns_file import LabelledRow, read_turns
from evals.stats.intervals import wilson
from pipeline.core.errors import ConfigError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.embedded_world.closed import Closed
from pipeline.reading.protocol import Unread

ASKING = {"asks": ["f1"], "attempt": None, "stance": "none"} | dict.fromkeys(
    ("generic_request", "repeats_question", "other_question", "says_missing", "tentative", "done"), False
)
TELLING = {"tells": ["f1"], "tells_wrong": [], "reveals_answer": "no", "feedback": "none"} | dict.fromkeys(
    ("refuses", "off_role"), False
)


def row(id: str, text: str, labels: dict[str, object], kind: str = "student", task: str = "t1") -> dict[str, object]:
    facts = [
        {"id": "f1", "text": "There are 5 crates.", "public": False},
        {"id": "f2", "text": "Each crate holds 7 pens.", "public": True},
    ]
    return {
        "id": id,
        "kind": kind,
        "source": "word_problem",
        "task_id": task,
        "question": "Each crate holds 7 pens. How many pens are there?",
        "facts": facts,
        "answer": "35",
        "before": [],
        "text": text,
        "labels": labels,
    }


def rows(*given: dict[str, object]) -> list[LabelledRow]:
    return [LabelledRow.model_validate_json(json.dumps(each)) for each in given]


TURNS = rows(
    row("1", "How many crates are there?", ASKING),
    row("2", "The answer is 35.", ASKING | {"asks": [], "attempt": "35"}, task="t2"),
    row("3", "There are 5 crates.", TELLING, kind="partner"),
)


def test_labels_themselves_score_one_in_every_class_that_they_hold():
    scores = score_readings(TURNS, [turn.truth for turn in TURNS])
    held = {name: score for name, score in scores.items() if score.n}
    assert held.keys() == {"asks_withheld", "asks_any_withheld", "attempt", "tells"}
    assert all(score.precision == score.recall == score.f1 == 1 for score in held.values())
    assert all(math.isnan(score.f1) for name, score in scores.items() if name not in held)


def test_another_value_is_a_false_answer_and_a_missed_one():
    truth = [turn.truth for turn in TURNS]
    wrong = score_readings(TURNS, [truth[0], StudentReading(attempt="36"), truth[2]])["attempt"]
    none = score_readings(TURNS, [truth[0], StudentReading(), truth[2]])["attempt"]
    assert (wrong.precision, wrong.recall, wrong.n) == (0, 0, 1)
    assert (none.recall, none.n) == (0, 1) and math.isnan(none.precision)


def test_the_same_value_in_other_signs_is_the_same_answer():
    readings = [TURNS[0].truth, StudentReading(attempt="35.00"), TURNS[2].truth]
    assert score_readings(TURNS, readings)["attempt"].f1 == 1


def test_a_public_fact_that_is_asked_for_is_no_withheld_one():
    truth = TURNS[0].truth
    assert isinstance(truth, StudentReading)
    both = truth.model_copy(update={"asks": frozenset({"f1", "f2"})})
    assert score_readings(TURNS[:1], [both])["asks_withheld"].precision == 1


def test_a_turn_that_was_not_read_does_nothing():
    scores = score_readings(TURNS, [Unread("no answer")] * 3)
    assert [scores[name].recall for name in ("asks_withheld", "attempt", "tells")] == [0, 0, 0]


def test_stance_is_the_mean_of_its_two_classes():
    labelled = rows(
        row("1", "Yes.", ASKING | {"asks": [], "stance": "agrees"}),
        row("2", "No.", ASKING | {"asks": [], "stance": "disagrees"}),
    )
    scores = score_readings(labelled, [StudentReading(stance="agrees")] * 2)
    assert scores["stance"].recall == 0.5 and scores["stance"].n == 2


def test_readings_come_in_the_order_of_the_rows():
    read = asyncio.run(read_rows(Closed(), [TURNS[2], TURNS[0], TURNS[1]]))
    assert [type(each) for each in read] == [PartnerReading, StudentReading, StudentReading]
    assert read == [TURNS[2].truth, TURNS[0].truth, TURNS[1].truth]


OF_FIVE = wilson(5, 5).low


@pytest.mark.parametrize(("problems", "low", "high"), [(1, None, None), (5, 2 * OF_FIVE / (1 + OF_FIVE), 1)])
def test_the_command_writes_each_class_by_its_name_and_no_interval_over_few_problems(tmp_path, problems, low, high):
    file = tmp_path / "turns.jsonl"
    rows = [row(str(i), "How many crates are there?", ASKING) | {"task_id": f"t{i}"} for i in range(problems)]
    file.write_text("\n".join(map(json.dumps, rows)))
    (written,) = measure_readings([file], "closed", tmp_path / "figures.json")
    figures = json.loads(written.read_text())["closed"]
    whole = {"precision": 1, "recall": 1, "f1": 1, "low": low, "high": high, "n": problems}
    assert figures["asks_withheld"] == whole
    assert figures["tells"]["f1"] is None and figures["tells"]["n"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": TELLING}, "labels of the other party"),
        ({"labels": ASKING | {"asks": ["f9"]}}, "name \\['f9'\\], and the facts are \\['f1', 'f2'\\]"),
        ({"kind": "teacher"}, "line 1: kind"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(tmp_path, change, message):
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps(row("1", "How many?", ASKING) | change))
    with pytest.raises(ConfigError, match=message):
        read_turns(file)


def test_an_absent_and_an_empty_file_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_turns(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ConfigError, match="holds no turn"):
        read_turns(tmp_path / "empty.jsonl")


def test_what_no_editor_shows_is_read_and_what_is_no_text_or_stands_twice_is_refused(tmp_path):
    file = tmp_path / "turns.jsonl"
    line = json.dumps(row("1", "How many\u2028 crates?", ASKING), ensure_ascii=False)
    file.write_text("\ufeff" + line + "\n", encoding="utf-8")
    assert [each.turn.text for each in read_turns(file)] == ["How many\u2028 crates?"]
    file.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: id '1' stands there twice"):
        read_turns(file)
    file.write_bytes(line.replace("crates", "crêpes").encode("latin-1", "replace"))
    with pytest.raises(ConfigError, match=r"in UTF-8"):
        read_turns(file)


def test_a_reader_of_ones_own_is_named_by_its_file(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from pipeline.core.readings import PartnerReading, StudentReading\n\n\n"
        "class Shy:\n"
        "    async def student(self, turns):\n        return [StudentReading() for _ in turns]\n\n"
        "    async def partner(self, turns):\n        return [PartnerReading() for _ in turns]\n\n\n"
        "READER = Shy()\n"
    )
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps(row("1", "How many crates are there?", ASKING)))
    (written,) = measure_readings([file], f"{mine}:READER", tmp_path / "figures.json")
    assert json.loads(written.read_text())[f"{mine}:READER"]["asks_withheld"]["recall"] == 0


def test_an_unknown_reader_is_refused(tmp_path):
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps(row("1", "How many?", ASKING)))
    with pytest.raises(ConfigError, match=r"'semantics' is no reader of turns. Known: closed"):
        measure_readings([file], "semantics", None)


SYNCHRONOUS = "class Shy:\n    def student(self, turns): ...\n    def partner(self, turns): ...\n\n\n"


@pytest.mark.parametrize(
    "source, says",
    [
        ("READER = 5\n", "is of type int, expected a Reader"),
        (f"{SYNCHRONOUS}READER = Shy\n", r"is a class, expected a reader: READER = Shy\(\)"),
        (f"{SYNCHRONOUS}READER = Shy()\n", "its method student is not async"),
    ],
)
def test_what_is_no_reader_is_refused(tmp_path, source, says):
    mine = tmp_path / "mine.py"
    mine.write_text(source)
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps(row("1", "How many?", ASKING)))
    with pytest.raises(ConfigError, match=says):
        measure_readings([file], f"{mine}:READER", None)
