from __future__ import annotations

from pipeline.runs.progress import say, seconds


def test_what_a_model_said_is_text_on_a_terminal_too(capsys):
    say("\x1b[31mred\x1b[0m [bold]no markup[/] :smile: \u202eturned")
    assert capsys.readouterr().out == "‹U+001B›[31mred‹U+001B›[0m [bold]no markup[/] :smile: ‹U+202E›turned\n"


def test_a_duration_is_told_in_the_units_that_matter():
    assert [seconds(value) for value in (42.4, 185, 7800)] == ["42 s", "3 min 5 s", "2 h 10 min"]
