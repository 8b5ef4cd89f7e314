"""The README can be finished, and what it shows is so: its commands run in CI, its output and picture are real."""

import re
import runpy
from statistics import mean

import pytest
from typer.testing import CliRunner

from maieutic.cli import app
from tests.shown import ROOT, config_name, maieutic_commands, run_by_ci, script, sentences, shell_lines

TEXT = (ROOT / "README.md").read_text()
MAKEFILE, CI = (ROOT / "Makefile").read_text(), script("run")


def test_it_has_at_most_150_lines_and_20_words_a_sentence() -> None:
    assert len(TEXT.splitlines()) <= 150
    assert mean(len(sentence.split()) for sentence in sentences(TEXT)) <= 20


@pytest.mark.parametrize("words", maieutic_commands(TEXT), ids=" ".join)
def test_ci_runs_every_command_that_it_shows(words: list[str]) -> None:
    assert (words[1], config_name(words[2])) in run_by_ci()


@pytest.mark.parametrize("target", [line.split()[1] for line in shell_lines(TEXT) if line.startswith("make ")])
def test_ci_makes_every_target_that_it_shows_or_runs_what_is_in_it(target: str) -> None:
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    inside = {(command, config_name(config)) for command, config in re.findall(r"maieutic (\w+) (\S+)", recipe[1])}
    made = re.findall(r"\bmake ([\w-]+)", CI)
    made += re.findall(rf"^(?:{'|'.join(made)}): (\w+)", MAKEFILE, re.MULTILINE)  # what these need
    assert target in made or (inside and inside <= run_by_ci())


def test_nothing_else_is_shown_than_what_is_checked_here() -> None:
    known = ("maieutic ", "make ", "source .venv", "echo ")
    assert not [line for line in shell_lines(TEXT) if not line.startswith(known)]


def test_its_python_is_that_of_the_page_whose_lines_ci_runs() -> None:
    shown, page = (
        re.findall(r"```python\n(.*?)```", text, re.DOTALL) for text in (TEXT, (ROOT / "docs/python.md").read_text())
    )
    assert shown == page and len(shown[0].split("\n\n")[-1].splitlines()) <= 10
    wheel = script("wheel")
    assert re.search(r'docs/python\.md" .*> "\$work/example\.py"$', wheel, re.MULTILINE)
    assert re.search(r'^"\$python" "\$work/example\.py"$', wheel, re.MULTILINE)


@pytest.mark.slow
def test_the_output_that_it_shows_is_what_preview_prints() -> None:
    [shown] = re.findall(r"```\n(─.*?)```", TEXT, re.DOTALL)
    assert shown in CliRunner().invoke(app, ["preview", "quickstart"]).stdout


def test_its_picture_is_drawn_from_what_preview_makes() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "two_sides.py"))["picture"]()
    assert (ROOT / "docs" / "two_sides.svg").read_text() == drawn
