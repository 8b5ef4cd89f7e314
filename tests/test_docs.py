"""What the pages name is there: files, links, commands on configs that load; and the index has every page."""

import ast
import re
import tomllib
from pathlib import Path
from statistics import mean

import pytest

from evals.readers.labels.label_settings import LabelSettings
from maieutic.cli import app
from pipeline.core.config_reading import read_as
from pipeline.experiment.experiment import load
from pipeline.society.society_settings import Society
from pipeline.tasks.talks import load_source
from tests.shown import PAGES, ROOT, maieutic_commands, sentences

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = sorted({" ".join(words[1:3]) for page in PAGES for words in maieutic_commands(page.read_text())})


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_and_links_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    folders = r"\.ci|benchmarks|configs|docs|data|environments|evals|maieutic|pipeline|tests|training"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", text)
    linked = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    missing = [name for name in named if not (ROOT / name).exists() and "NAME" not in name]
    assert missing + [target for target in linked if not (page.parent / target).exists()] == []


def test_the_index_has_every_page_once() -> None:
    pages = re.findall(r"\]\((\w+\.md)\)", (ROOT / "docs" / "index.md").read_text())
    assert sorted(pages) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_sentences_have_at_most_20_words_on_average(page: Path) -> None:
    lengths = [len(sentence.split()) for sentence in sentences(page.read_text())]
    assert not lengths or mean(lengths) <= 20


def test_the_glossary_fits_on_a_screen() -> None:
    assert len((ROOT / "docs" / "glossary.md").read_text().splitlines()) <= 40


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_page_shows_is_a_command_on_a_config_that_loads(command: str) -> None:
    name, argument = command.split()
    assert name in {each.name or each.callback.__name__ for each in app.registered_commands if each.callback}
    if (name, argument) == ("eval", "labels"):
        read_as(LabelSettings, ROOT / "configs" / "labels.yaml")
    elif name == "audit":
        assert not argument.endswith(".yaml") or load_source(argument).files
    elif name == "society":
        assert list(read_as(Society, Path(argument)).all_repeats())
    elif name == "compare":
        assert argument == "--plan" or argument.startswith("runs/")
    else:
        load(Path(argument))


def test_every_picture_is_shown_by_a_page() -> None:
    shown = set(re.findall(r"!\[[^\]]*\]\((?:docs/)?(\w+\.\w+)\)", "".join(page.read_text() for page in PAGES)))
    pictures = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".png", ".svg")}
    assert pictures and not pictures - shown


def test_the_citation_has_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_calls_of_the_verifiers_environment_bind_to_its_signature() -> None:
    folder = ROOT / "environments" / "maieutic_dialogue"
    tree = ast.parse((folder / "maieutic_dialogue" / "__init__.py").read_text())
    [function] = [node for node in tree.body if getattr(node, "name", "") == "load_environment"]
    assert isinstance(function, ast.FunctionDef)
    takes = {argument.arg for argument in function.args.args}
    for page in (ROOT / "docs" / "trainers.md", folder / "README.md"):
        calls = re.findall(r"vf\.load_environment\(.*\)", page.read_text())
        nodes = [node for call in calls for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Call)]
        given = {key.arg for node in nodes for key in node.keywords}
        assert "condition_name" in given <= takes, page
