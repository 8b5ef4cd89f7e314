"""How a reader of natural language is learned: thresholds that a file can tell, and no question on both sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.readers.turns import learn_reader
from evals.readers.turns.turns_file import LabelledRow, read_turns
from pipeline.core.errors import ConfigError
from pipeline.reading.open_reader import open_reader
from pipeline.reading.semantic.natural_reader import NaturalReader

TURNS = Path(__file__).parents[3] / "data" / "reading" / "test.jsonl"


def rows() -> list[LabelledRow]:
    return [row for row in read_turns(TURNS) if row.kind == "student"][:40]


def test_a_threshold_that_no_labelled_turn_can_tell_stays_as_it_was(capsys):
    reader = open_reader("semantic")
    assert isinstance(reader, NaturalReader)
    least = learn_reader.tune(rows(), reader.network)
    said = capsys.readouterr().out
    for name in ("refuses", "right", "tells", "derivable"):  # of partners, who are not among these
        assert least[name] == 0.5 and f"threshold of {name}: 0.5, since no turn to tune on" in said
    assert 0.15 <= least["attempt"] <= 0.85 and "threshold of attempt" not in said


def test_questions_that_are_learned_from_and_tuned_on_are_refused(tmp_path):
    lines = TURNS.read_text(encoding="utf-8").splitlines()
    (tmp_path / "learned.jsonl").write_text("\n".join(lines[:8]) + "\n")
    (tmp_path / "tuned.jsonl").write_text(lines[0] + "\n")
    question = json.loads(lines[0])["question"][:20]
    with pytest.raises(ConfigError, match=rf"--tune: .*tuned\.jsonl: 1 of its questions .*{question}"):
        learn_reader.main(tmp_path / "reader", [tmp_path / "learned.jsonl"], tmp_path / "tuned.jsonl")
    assert not (tmp_path / "reader").exists()
