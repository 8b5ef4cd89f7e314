"""Objects by path: what a file outside the repository names is loaded once, and every error names file and name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.plugins import failing_as, is_address, load_object
from pipeline.core.schema import Fact

FILE = """
from __future__ import annotations
from pipeline.core.schema import Fact
class Longer(Fact):
    more: str = ""
FACT = Longer(id="f", text="There are 3.", more="yes")
OTHER = 3
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "my.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_an_object_is_loaded_by_path_and_name_once(plugin: Path) -> None:
    fact = load_object(f"{plugin}:FACT", Fact)
    assert fact.model_dump()["more"] == "yes"
    assert load_object(f"{plugin}:FACT", Fact) is fact


def test_a_path_is_relative_to_the_working_folder(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(plugin.parent)
    assert load_object("my.py:FACT", Fact).id == "f"


@pytest.mark.parametrize(
    ("name", "said"),
    [("FACTS", "my.py has no 'FACTS'. Did you mean 'FACT'?"), ("OTHER", "OTHER in .*my.py is of type int, expected F")],
)
def test_what_is_not_there_or_of_another_kind_is_named(plugin: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_object(f"{plugin}:{name}", Fact)


def test_a_missing_file_and_one_that_fails_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent.py' is not a file"):
        load_object(f"{tmp_path}/absent.py:FACT", Fact)
    for text, error in (("1 / 0", "ZeroDivisionError"), ("raise SystemExit(0)", "SystemExit: 0")):
        (tmp_path / "broken.py").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=rf"broken.py cannot be run: {error}"):
            load_object(f"{tmp_path}/broken.py:FACT", Fact)


def test_an_address_is_a_python_file_and_a_name() -> None:
    assert is_address("my.py:EXAM") and is_address("/a b/my.py:read")
    assert not any(map(is_address, ("asking", "my.py", "my.txt:EXAM", "my.py:not a name")))


def test_of_what_a_file_has_neither_pythons_names_nor_imported_ones_are_told(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(
        "from __future__ import annotations\nimport json\nfrom pathlib import Path\nONE = 1\n"
    )
    with pytest.raises(ConfigError, match=r"It has: ONE\.$"):
        load_object(f"{tmp_path}/my.py:read", object)


def test_a_failure_inside_a_file_of_ones_own_names_key_address_and_line(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("def read():\n    return [][1]\n")
    read = load_object(f"{tmp_path}/my.py:read", object)
    assert callable(read)
    with (
        pytest.raises(MaieuticError, match=r"^tasks\.source: '.*' failed in line 2: IndexError: list") as told,
        failing_as("tasks.source", f"{tmp_path}/my.py:read"),
    ):
        read()
    assert isinstance(told.value.__cause__, IndexError)
