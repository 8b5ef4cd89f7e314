"""A config is a file that is here, or else one that ships, by its name."""

from pathlib import Path

import pytest

from pipeline.core.config_kinds import KINDS, kind_of
from pipeline.core.config_reading import config_file, read_as, shipped_configs
from pipeline.core.errors import ConfigError
from pipeline.core.resources import shipped
from pipeline.experiment.experiment import Experiment
from pipeline.society.society_settings import Society
from pipeline.tasks.talks import load_source


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
    with pytest.raises(
        ConfigError,
        match=rf"{name}: no such file, nor .*Did you mean 'quickstart'.*mine\.yaml.*What ships: .*quickstart",
    ):
        config_file(Path(name))


def test_where_a_run_is_named_for_a_config_its_own_is_told(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").touch()
    with pytest.raises(ConfigError, match=r"run is a run.*run/config\.yaml"):
        config_file(tmp_path / "run")


def test_a_shipped_config_is_found_by_its_name_beside_a_run_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "config.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert config_file(Path("quickstart")) == shipped("configs", "quickstart.yaml")


def test_every_shipped_config_is_of_one_kind() -> None:
    assert sorted(name for kind in KINDS for name in shipped_configs(kind)) == shipped_configs()
    assert kind_of(Experiment.model_fields) == KINDS[0] and kind_of(Society.model_fields) == KINDS[1]


def test_a_config_of_another_kind_is_told_with_the_command_that_takes_it() -> None:
    with pytest.raises(ConfigError, match=r"^mirroring: this .* of a society, .* Call: maieutic society mirroring$"):
        read_as(Experiment, Path("mirroring"))
    with pytest.raises(ConfigError, match=r"Call: maieutic run quickstart$"):
        read_as(Society, Path("quickstart"))
    with pytest.raises(ConfigError, match=r"Call: maieutic eval labels labels\.yaml$"):
        load_source("labels.yaml")


def test_only_configs_that_a_command_takes_are_said_to_ship() -> None:
    with pytest.raises(ConfigError) as told:
        read_as(Society, Path("quickstar"))
    assert "mirroring" in str(told.value) and "quickstart" not in str(told.value).partition("What ships: ")[2]


def test_a_mapping_that_inherits_may_set_what_it_inherits(tmp_path: Path) -> None:
    path = tmp_path / "anchored.yaml"
    path.write_text(
        "name: x\nconditions: {facts: {partition: facts}}\nengines:\n  slow: &slow {kind: transformers, batch: 8}\n"
        "  fast: &fast {<<: *slow, batch: 64}\nengine: {<<: *fast, dtype: float32}\n"
    )
    read = read_as(Experiment, path)
    assert (read.engines["slow"].batch, read.engines["fast"].batch, read.engine.batch) == (8, 64, 64)


def test_an_override_of_an_anchored_section_changes_none_of_its_aliases(tmp_path: Path) -> None:
    path = tmp_path / "anchored.yaml"
    path.write_text(
        "name: x\nconditions: {facts: {partition: facts}}\n"
        "tasks: {train: &n {full: 30, underspecified: 30}, exam: *n}\n"
    )
    read = read_as(Experiment, path, ("tasks.train.full=2",))
    assert (read.tasks.train["full"], read.tasks.exam["full"]) == (2, 30)


def test_a_key_that_stands_twice_is_refused_since_the_first_would_be_lost(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("name: x\nconditions:\n  facts: {partition: facts}\n  facts: {partition: solo}\n")
    with pytest.raises(ConfigError, match=r"twice.yaml: not valid YAML: 'facts' stands twice(.|\n)*line 4"):
        read_as(Experiment, path)
