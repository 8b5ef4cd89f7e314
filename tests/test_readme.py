"""The README can be finished, and what it shows is so: its commands run in CI, its output and picture are real."""

import re
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from tests.shown import ROOT, config_name, maieutic_commands, run_by_ci, sentences, shell_lines

TEXT = (ROOT / "README.md").read_text()
MAKEFILE, CI = (ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text()


def test_it_has_at_most_150_lines_and_20_words_a_sentence() -> None:
    assert len(TEXT.splitlines()) <= 150
    assert mean(len(sentence.split()) for sentence in sentences(TEXT)) <= 20


@pytest.mark.parametrize("words", maieutic_commands(TEXT), ids=" ".join)
def test_ci_runs_every_command_that_it_shows(words: list[str]) -> None:
    assert (words[1], config_name(words[2])) in run_by_ci()


def test_ci_runs_every_target_of_make_that_it_shows_or_what_is_in_it() -> None:
    targets = [line.split()[1] for line in shell_lines(TEXT) if line.startswith("make ")]
    assert targets
    for target in targets:
        recipe = re.search(rf"^{target}:(.*)\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
        assert recipe
        inside = re.findall(r"maieutic (\w+) (\S+)", recipe[2])
        asked_first = re.search(rf"^(?:test|demo): .*\b{target}\b", MAKEFILE, re.MULTILINE) and "make test" in CI
        ran = all((command, config_name(config)) in run_by_ci() for command, config in inside)
        assert f"make {target}\n" in CI or asked_first or (inside and ran)


def test_nothing_else_is_shown_than_what_is_checked_here() -> None:
    known = ("maieutic ", "make ", "source .venv", "echo ")
    assert not [line for line in shell_lines(TEXT) if not line.startswith(known)]


def test_its_python_is_that_of_the_page_whose_lines_ci_runs() -> None:
    shown, page = (
        re.findall(r"```python\n(.*?)```", text, re.DOTALL) for text in (TEXT, (ROOT / "docs/python.md").read_text())
    )
    assert shown == page and len(shown[0].split("\n\n")[-1].splitlines()) <= 10
    assert "docs/python.md" in (ROOT / ".ci" / "wheel").read_text()


def test_the_output_that_it_shows_is_what_preview_prints() -> None:
    line = [sys.executable, "-m", "maieutic.cli", "preview", "quickstart"]
    printed = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    [shown] = re.findall(r"```\n(─.*?)```", TEXT, re.DOTALL)
    assert shown in printed


def test_its_picture_is_drawn_from_what_preview_makes(tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, 'docs'); import two_sides; two_sides.main()"
    drawn = ROOT / "docs" / "two_sides.svg"
    before = drawn.read_text()
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    assert drawn.read_text() == before
