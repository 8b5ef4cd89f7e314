"""A config is a file that is here, or else one that ships, by its name."""

from pathlib import Path

import pytest

from pipeline.core.config_reading import config_file
from pipeline.core.errors import ConfigError
from pipeline.core.resources import shipped


@pytest.mark.parametrize("name", ["quickstart", "quickstart.yaml", "configs/quickstart.yaml", "configs/quickstart"])
def test_a_shipped_config_is_found_from_any_folder_and_a_file_here_wins(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert config_file(Path(name)) == shipped("configs", "quickstart.yaml")
    (tmp_path / "configs").mkdir()
    here = Path(name) if name.endswith(".yaml") else Path(f"{name}.yaml")
    here.write_text("name: mine\n")
    assert config_file(Path(name)) == here


@pytest.mark.parametrize("path", sorted(shipped("configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_config_is_found_by_its_name(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config_file(Path(path.stem)) == path


@pytest.mark.parametrize("name", ["quickstar", "elsewhere/quickstart.yaml"])
def test_a_config_that_is_nowhere_is_refused_with_what_is_here_and_what_ships(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beside = tmp_path / Path(name).parent / "mine.yaml"
    beside.parent.mkdir(exist_ok=True)
    beside.write_text("name: mine\n")
    with pytest.raises(ConfigError, match=rf"{name}: no such file, nor .*mine\.yaml.*What ships: .*quickstart"):
        config_file(Path(name))
