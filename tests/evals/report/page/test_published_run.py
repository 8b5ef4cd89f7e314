"""A published page has the report's words and numbers, and a figure that lies beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.report.page.published_run import publish
from pipeline.core.errors import RunError

ROW = {"metric": "ask_skill", "a": "facts", "b": "volunteer", "difference": 0.1, "low": 0.0, "high": 0.2}


def test_the_page_is_the_report_with_its_figure_after_the_headline(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(f"# run\n\n**It is so.**\n\nAgainst it:\n\n- {tmp_path}/base\n")
    row = ROW | {"primary": True, "measured": True, "family": None, "p": 0.04, "p_holm": None, "tasks": 3, "seeds": 2}
    (tmp_path / "report.json").write_text(json.dumps({"comparisons": [row]}))
    publish(tmp_path, tmp_path / "pages/one.md")
    text = (tmp_path / "pages/one.md").read_text()
    assert text.index("**It is so.**") < text.index("(one.svg)") < text.index("Against it:")
    assert str(tmp_path) not in text and f"- {tmp_path.name}/base" in text
    assert "facts − volunteer" in (tmp_path / "pages/one.svg").read_text()


def test_a_run_that_was_not_compared_is_told_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="maieutic compare"):
        publish(tmp_path, tmp_path / "one.md")
