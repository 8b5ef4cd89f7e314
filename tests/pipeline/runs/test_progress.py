from __future__ import annotations

from pipeline.runs import progress
from pipeline.runs.progress import StageProgress, say, seconds


def test_what_a_model_said_is_text_on_a_terminal_too(capsys):
    say("\x1b[31mred\x1b[0m [bold]no markup[/] :smile: \u202eturned")
    assert capsys.readouterr().out == "‹U+001B›[31mred‹U+001B›[0m [bold]no markup[/] :smile: ‹U+202E›turned\n"


def test_a_duration_is_told_in_the_units_that_matter():
    assert [seconds(value) for value in (42.4, 185, 7800)] == ["42 s", "3 min 5 s", "2 h 10 min"]


def test_what_was_done_before_a_stage_was_looked_at_makes_it_no_faster(monkeypatch, capsys):
    now = iter([0.0, 2.0, 62.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    resumed = StageProgress("train", 0, None, None)
    resumed(301, 400)
    resumed(331, 400)
    assert capsys.readouterr().out == "train: 331/400, 0.5/s, 2 min 18 s left\n"
