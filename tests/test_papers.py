"""The page of papers: each row has a command that loads, and a figure that another page has, or a reason for none."""

import re
import shlex
from typing import NamedTuple

import pytest

from evals.examining.exam_checks import check_exams
from pipeline.core.config_reading import read_as
from pipeline.experiment.experiment import load
from pipeline.society.society_settings import Society
from tests.shown import ROOT

TEXT = (ROOT / "docs" / "papers.md").read_text()
OTHERS = "\n".join(page.read_text() for page in (ROOT / "docs").glob("*.md") if page.name != "papers.md")
INTERVAL = r"[-+]?\d*\.?\d+ to [-+]?\d*\.?\d+"
ASKED = (  # by the mission, or by what the exams and methods are made after
    "2402.03300", "2602.16488", "dye9w8IOV0", "2502.00640", "2602.08234", "2510.25992", "2510.24684", "2402.06782",
    "2507.14805", "2507.20252", "2505.06120", "2308.09853", "2412.15177", "2505.22354", "2402.03969", "2401.00820",
    "2604.22109", "2403.05020", "Register", "Creativity", "2311.09144", "2503.13975", "2305.14536", "2407.09136",
    "2412.06834",
)  # fmt: skip


class Row(NamedTuple):
    paper: str
    does: str
    here: str
    differs: str
    figure: str
    command: str


ROWS = [
    Row._make(cell.strip() for cell in line.strip("|").split("|"))
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| paper |")
]
every_row = pytest.mark.parametrize("row", ROWS, ids=[re.sub(r"\W+", " ", row.paper)[:40] for row in ROWS])


def test_each_paper_has_one_row() -> None:
    assert [sum(name in row.paper for row in ROWS) for name in ASKED] == [1] * len(ASKED)
    assert len(ROWS) == len(ASKED)


@every_row
def test_a_row_says_what_the_paper_does_what_is_done_here_and_what_differs(row: Row) -> None:
    assert all(len(cell.split()) > 1 and len(cell) <= 180 for cell in (row.does, row.here, row.differs))


@every_row
def test_a_row_has_a_figure_with_interval_and_n_or_says_why_it_is_not_tested(row: Row) -> None:
    reason = re.match(r"not tested: (.{20,})", row.figure)
    assert reason or re.search(rf"\({INTERVAL}, n \d", row.figure)


@every_row
def test_a_figure_that_is_planted_tests_nothing(row: Row) -> None:
    assert "planted" not in row.figure or row.figure.startswith("not tested: ")


@pytest.mark.parametrize("figure", sorted(set(re.findall(rf"[-+.%\d]+ \({INTERVAL}", TEXT))))
def test_a_figure_stands_on_another_page_too(figure: str) -> None:
    value, interval = figure.split(" (")
    # In prose beside its interval, in a table in the cells before it.
    assert figure in OTHERS or re.search(rf"\| {re.escape(value)} \| {re.escape(interval)} \|", OTHERS)


@every_row
def test_a_row_has_a_command_whose_config_loads(row: Row) -> None:
    commands = re.findall(r"`(maieutic \w+ [^`]+)`", row.command)
    assert commands
    for command in commands:
        words = shlex.split(command)
        values = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        if words[1] == "society":
            assert list(read_as(Society, ROOT / words[2], tuple(values)).all_repeats())
        else:
            check_exams(ROOT / words[2], load(ROOT / words[2], tuple(values)), tuple(values))


@pytest.mark.parametrize("folder", sorted(set(re.findall(r"\((runs/[\w-]+)\)", TEXT))))
def test_the_command_of_a_folder_is_written_out_with_the_claims(folder: str) -> None:
    [before] = set(re.findall(rf"`(maieutic \w+ \S+)` \({folder}\)", TEXT))
    assert f"{before} --set out={folder} " in OTHERS


def test_a_paper_that_links_to_its_differences_has_them() -> None:
    links = re.findall(r"^\| \[[^\]]+\]\(#([\w-]+)\)", TEXT, re.MULTILINE)
    assert links == [head.lower().replace(" ", "-") for head in re.findall(r"^### (.+)$", TEXT, re.MULTILINE)]
