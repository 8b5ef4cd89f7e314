"""docs/commands.md is what the command line says of itself, docs/config.md what the sections of a config do, and
docs/prompts.md what models read, and docs/benchmarks.md what was measured."""

import re
import runpy
from pathlib import Path

from benchmarks import page
from pipeline.knowledge.partition import PARTITIONS

ROOT = Path(__file__).parents[2]


def test_the_reference_of_commands_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "reference.py"))["commands"]()
    assert made == (ROOT / "docs" / "commands.md").read_text(), "make it anew: python docs/reference.py"


def test_the_reference_of_commands_is_plain_and_whole() -> None:
    text = re.sub(r"\[?\b[A-Z]+\]?\.\.\.", "", (ROOT / "docs" / "commands.md").read_text())
    assert not [mark for mark in ("&#", "{", "[[", "...\n") if mark in text]


def test_the_reference_of_config_keys_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "config_keys.py"))["config"]()
    assert made == (ROOT / "docs" / "config.md").read_text(), "make it anew: python docs/config_keys.py"
    assert "| `helped` | int | `0` | Training problems" in made and "## `training.grpo`" in made


def test_the_page_of_prompts_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "prompts_page.py"))["page"]()
    assert made == (ROOT / "docs" / "prompts.md").read_text("utf-8"), "make it anew: python docs/prompts_page.py"


def test_the_page_of_benchmarks_is_of_the_results_that_are_recorded() -> None:
    made = page.page()
    assert made == page.PAGE.read_text("utf-8"), "make it anew: python -m benchmarks.page"


def test_the_page_of_prompts_has_every_role_and_partition() -> None:
    text = (ROOT / "docs" / "prompts.md").read_text("utf-8")
    with_partner = [name for name, row in PARTITIONS.items() if row.partner is not None and not row.one_writer]
    shown = [f"<summary>partner, <code>{name}</code></summary>" for name in with_partner]
    assert not [
        title
        for title in (*shown, "<summary>student,", "<code>script</code>", "<summary>judge ", "<summary>challenger,")
        if title not in text
    ]
