"""The page of claims is whole, and what it names is there."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from evals.examining.exam_checks import check_exams
from evals.exams.registry import EXAMS, catalog, find_exam
from maieutic.cli import app
from pipeline.core.config_reading import read_as
from pipeline.experiment.experiment import load
from pipeline.society.society_settings import Society

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "claims.md").read_text()
OF_WHAT = (" on the embedded base", " on SmolLM2", " of the proxy")
VERDICTS = {
    f"{verdict}{where}" for verdict in ("supported", "contradicted", "undecided") for where in ("", *OF_WHAT)
} | {"not tested"}
SPOKEN = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
INTERVAL = r"[(\[][-+]?\d*\.?\d+ to [-+]?\d*\.?\d+"


class Line(NamedTuple):
    number: str
    claim: str
    verdict: str
    figure: str
    link: str


class Section(NamedTuple):
    number: str
    claim: str
    verdict: str
    source: str
    exam: str
    measured: str


LINES = [
    Line(*(cell.strip() for cell in line.strip("|").split("|")))
    for line in TEXT.splitlines()
    if re.match(r"\| (\d+|[a-z]) \|", line)
]
CLAIMS = [
    Section(**dict(zip(Section._fields, found, strict=True)))
    for found in re.findall(
        r"^### Claim (\w+)\n\n> (.+)\n\n- \*\*Verdict:\*\* (.+)\n- \*\*Source:\*\* (.+)\n"
        r"- \*\*Tested by:\*\* (.+)\n- \*\*Measured:\*\* (.+)$",
        TEXT,
        re.MULTILINE,
    )
]
RANGED = [claim for claim in CLAIMS if claim.verdict != "not tested"]


def ids(claims: list[Section]) -> list[str]:
    return [claim.number for claim in claims]


def shown_commands() -> list[str]:
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)).replace("\\\n", " ")
    whole = re.findall(r"^(?:maieutic|python) (?:[^'\n]|'[^']*')*", blocks, re.MULTILINE)  # a quoted value has lines
    return sorted({*whole, *re.findall(r"`((?:maieutic|python -m) [^`]*)`", TEXT)})


def test_every_claim_has_one_line_and_one_section() -> None:
    assert [line.number for line in LINES] == ids(CLAIMS) == [*map(str, range(1, 37)), *"abcde"]


@pytest.mark.parametrize("line", LINES, ids=[line.number for line in LINES])
def test_a_line_is_short_links_to_its_section_and_says_nothing_else(line: Line) -> None:
    section = next(claim for claim in CLAIMS if claim.number == line.number)
    assert line.link == f"[claim {line.number}](#claim-{line.number})" and line.verdict == section.verdict
    assert len(line.claim) <= 80 and len(line.figure) <= 90
    for figure in re.findall(INTERVAL + r"\)", line.figure):
        assert figure in section.measured.replace(f"{figure[:-1]},", figure)  # there an n follows


@pytest.mark.parametrize("claim", CLAIMS, ids=ids(CLAIMS))
def test_a_claim_has_a_verdict_from_the_closed_list(claim: Section) -> None:
    assert claim.verdict in VERDICTS


def test_the_verdicts_are_explained_on_the_page() -> None:
    explained = re.findall(r"^\| (\w+(?: \w+)*) \| [^|]* \|$", TEXT, re.MULTILINE)
    assert {"supported", "contradicted", "undecided", "not tested"} <= set(explained)
    for words in OF_WHAT:
        assert f'**"{words[1].upper()}{words[2:]}"** stands behind a verdict' in TEXT


@pytest.mark.parametrize("claim", RANGED, ids=ids(RANGED))
def test_who_agrees_or_not_shows_an_interval_an_n_and_a_command(claim: Section) -> None:
    assert re.search(INTERVAL, claim.measured)
    assert re.search(r"\bn \d", claim.measured)
    assert re.search(r"`(maieutic|python -m) ", claim.measured)


def test_what_cannot_be_tested_says_why() -> None:
    assert not [claim.number for claim in CLAIMS if claim.verdict == "not tested" and not claim.measured[1:]]


def test_what_is_undecided_says_what_would_have_been_seen() -> None:
    undecided = [claim for claim in CLAIMS if claim.verdict.startswith("undecided")]
    assert not [claim.number for claim in undecided if "would have seen" not in claim.measured]


def test_the_readme_and_the_exams_page_count_the_verdicts_as_they_are() -> None:
    words = ("supported", "contradicted", "undecided", "not tested")
    supported, contradicted, undecided, untested = (
        sum(claim.verdict.startswith(word) for claim in CLAIMS[:36]) for word in words
    )
    readme, exams = ((ROOT / page).read_text() for page in ("README.md", "docs/exams.md"))
    assert f"{undecided} are undecided and {untested} not tested" in readme
    assert f"supports {SPOKEN[supported]} and contradicts {SPOKEN[contradicted]}" in readme
    assert f"supports {SPOKEN[supported]} and contradicts {SPOKEN[contradicted]}" in exams


@pytest.mark.parametrize("folder", sorted(set(re.findall(r"` \((runs/[\w-]+)\)", TEXT))))
def test_a_folder_behind_a_command_is_that_of_one_shown_whole(folder: str) -> None:
    [command] = [command for command in shown_commands() if f"out={folder} " in command]
    assert f"`{' '.join(command.split()[:3])}` ({folder})" in TEXT


@pytest.mark.parametrize("name", sorted(set(re.findall(r"exam `(\w+)`", TEXT))))
def test_an_exam_that_is_named_can_be_asked_for(name: str) -> None:
    assert name in EXAMS


@pytest.mark.parametrize("command", shown_commands())
def test_what_the_page_shows_is_a_command_on_a_config_that_loads(command: str) -> None:
    words = shlex.split(command)
    if words[:2] == ["python", "-m"]:
        assert find_spec(words[2]) is not None
        assert (ROOT / words[3]).exists()
        return
    assert words[1] in {each.name or each.callback.__name__ for each in app.registered_commands if each.callback}
    if len(words) > 2:
        values = tuple(words[i + 1] for i, word in enumerate(words) if word == "--set")
        config = ROOT / words[2]
        if words[1] == "society":
            assert list(read_as(Society, config, values).all_repeats())
            return
        check_exams(config, load(config, values), values)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:configs|docs|data|evals|pipeline|tests)/[^` ]+)`", TEXT)))
)
def test_a_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("claim", RANGED, ids=ids(RANGED))
def test_a_condition_that_is_contrasted_is_one_of_the_shown_config(claim: Section) -> None:
    configs = [ROOT / name for name in re.findall(r"`maieutic run (configs/\S+)`", claim.measured)]
    known = {"base"} | {name for config in configs for name in load(config).conditions}
    pairs = re.findall(r"`(\w+) - (\w+)`", claim.exam)
    assert {name for pair in pairs for name in pair} <= known


@pytest.mark.parametrize("metric", sorted(set(re.findall(r"`([a-z]+_[a-z_]+(?:@\w+)?)` [-+.]", TEXT))))
def test_a_metric_that_has_a_figure_is_defined(metric: str) -> None:
    assert catalog(map(find_exam, EXAMS)).metric(metric) is not None
