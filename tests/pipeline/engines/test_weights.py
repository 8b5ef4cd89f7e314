"""The embedded base has a name that works from any folder, and weights are hashed by what they are."""

from pathlib import Path

import pytest

from pipeline.core.resources import shipped
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import load
from pipeline.engines.weights import EMBEDDED, is_embedded_base, weights_at, weights_id
from pipeline.experiment.roles import Student


def test_the_embedded_base_is_opened_by_its_name_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Student().model == EMBEDDED
    assert load(Engine(kind="transformers"), EMBEDDED).model.num_parameters() > 1_000_000


def test_a_name_and_a_path_of_the_same_weights_have_one_id() -> None:
    assert weights_id(EMBEDDED) == weights_id(str(shipped("data", "base"))) != EMBEDDED


def test_other_names_are_places_of_their_own(tmp_path: Path) -> None:
    assert [weights_at(name) for name in ("owner/model", "./embedded", "")] == ["owner/model", "./embedded", ""]
    assert weights_id("owner/model") == "owner/model" and weights_id("") == ""
    assert is_embedded_base(EMBEDDED) and not is_embedded_base(str(tmp_path))
