"""What the pages name is there: files, links, commands on configs that load; and the index has every page."""

import ast
import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from statistics import mean

import pytest
from typer.main import get_command

import maieutic
from evals.readers.labels.label_settings import LabelSettings
from evals.readers.turns.turns_file import read_turns
from maieutic.cli import app
from pipeline.core.config_reading import read_as
from pipeline.engines.weights import MADE, OTHER
from pipeline.society.society_settings import Society
from pipeline.tasks.talks import load_source
from tests.shown import PAGES, ROOT, maieutic_commands, maieutic_in_prose, sentences

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
TEXTS = [page.read_text() for page in PAGES]
COMMANDS = [list(words) for words in sorted({tuple(words) for text in TEXTS for words in maieutic_commands(text)})]
NAMED = [list(words) for words in sorted({tuple(words) for text in TEXTS for words in maieutic_in_prose(text)})]
GROUP = get_command(app)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_and_links_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    folders = r"\.ci|benchmarks|configs|docs|data|environments|evals|maieutic|pipeline|tests|training"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", text)
    linked = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    missing = [name for name in named if not (ROOT / name).exists() and "NAME" not in name]
    assert missing + [target for target in linked if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_module_that_a_page_names_without_its_folder_is_there(page: Path) -> None:
    folders = ("pipeline", "training", "evals", "maieutic", "benchmarks", "docs", "tests", "environments")
    there = {path.name for folder in folders for path in (ROOT / folder).rglob("*.py")}
    named = set(re.findall(r"`(\w+\.py)\b", page.read_text())) - {"my.py", "file.py"}
    assert not named - there


def test_the_index_has_every_page_once() -> None:
    pages = re.findall(r"\]\((\w+\.md)\)", (ROOT / "docs" / "index.md").read_text())
    assert sorted(pages) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_sentences_have_at_most_20_words_on_average(page: Path) -> None:
    lengths = [len(sentence.split()) for sentence in sentences(page.read_text())]
    assert not lengths or mean(lengths) <= 20


def test_the_glossary_fits_on_a_screen() -> None:
    assert len((ROOT / "docs" / "glossary.md").read_text().splitlines()) <= 40


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words)[:80])
def test_what_a_page_shows_parses_and_its_config_loads_with_what_it_sets(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read by the command line's own parser, and not run: most of it needs a real model."""
    _stand_in_for_made_bases(tmp_path, monkeypatch)
    command, values = words[1], GROUP.commands[words[1]].make_context(words[1], words[2:]).params
    # A base that an earlier command of the page makes is not there.
    said = values.get("overrides") or ()
    overrides = tuple(re.sub(r"^student\.model=runs/.*", "student.model=embedded", each) for each in said)
    config = values.get("config") or values.get("plan")
    if command == "audit":
        assert values["target"].startswith("runs/") or load_source(values["target"], overrides).files
    elif command == "society":
        assert list(read_as(Society, config, overrides).all_repeats())
    elif str(config) == "labels":
        assert read_as(LabelSettings, values["files"][0], overrides)
    elif str(config) == "reading":
        assert all(read_turns(file) for file in values["files"])
    elif config and not str(config).startswith("runs/"):  # of what is exported of a run
        maieutic.load(config, *overrides)


def _stand_in_for_made_bases(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases that `maieutic base` makes are there by name, whether or not they were made on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    shipped_base = ROOT / "data" / "base"
    for name in MADE:
        others = () if name == OTHER else ("recipe.json",)  # by which an embedded base is known
        leave = shutil.ignore_patterns(*others)
        shutil.copytree(shipped_base, cache / "maieutic/bases" / name, copy_function=os.symlink, ignore=leave)


@pytest.mark.parametrize("words", NAMED, ids=lambda words: " ".join(words)[:80])
def test_a_command_that_a_sentence_names_is_one_with_options_that_it_has(words: list[str]) -> None:
    if words[1].startswith("-"):
        assert words[1] in {option for parameter in GROUP.params for option in parameter.opts}
    elif len(words) == 2:
        assert words[1] in GROUP.commands
    else:
        GROUP.commands[words[1]].make_context(words[1], words[2:])


def test_every_picture_is_shown_by_a_page() -> None:
    shown = set(re.findall(r"!\[[^\]]*\]\((?:docs/)?(\w+\.\w+)\)", "".join(page.read_text() for page in PAGES)))
    pictures = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".png", ".svg")}
    assert pictures and not pictures - shown


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_run_for_the_site_and_stores_no_output(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
    said = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert mean(len(sentence.split()) for sentence in sentences(said)) <= 20
    assert f'"{path.stem}"' in (ROOT / "docs" / "make_site.py").read_text().split("NOTEBOOKS = ")[1].splitlines()[0]


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
