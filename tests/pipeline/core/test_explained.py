"""What is wrong with a config is said in this project's words: the key, what was found, what to write."""

from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import load


@pytest.mark.parametrize(("override", "said"), [
    ("condition={a: {partition: facts}}", "condition: not a key here. Did you mean 'conditions'? Known: name, "),
    ("tasks.terms=3", "tasks.terms: not a key here. Known: source, "),
    ("tasks.train.ful=3", "tasks.train.ful: not a key here. Did you mean 'full'? Known: full, "),
    ("dialogue=3", "dialogue: expected keys with values (found 3); write {key: value}, with keys of turns, "),
    ("tasks.train=3", "tasks.train: expected keys with values (found 3); write {key: value}"),
    ("compare.primary={metric: x, a: y}", "compare.primary.b: is missing. Add this key"),
    ("seeds=abc", "seeds: expected a list (found 'abc'); such as [1, 2]"),
    ("seeds=3", "seeds: expected a list (found 3); write it in brackets: [3]"),
    ("tasks.source=gsm", "tasks.source: 'gsm' is not a source."),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_told_with_what_to_write(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as told:
        load(Path("quickstart"), (override,))
    assert str(told.value).startswith(f"--set {override.partition('=')[0]}: {said}")


def test_a_new_name_is_advised_where_it_is_a_key() -> None:
    with pytest.raises(ConfigError, match=r"conditions\.teacher\.terms: .*It is called 'disclosure' now"):
        load(Path("quickstart"), ("conditions.teacher={partition: facts, terms: free}",))


def test_a_missing_key_repeats_nothing_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nout: secret\n")
    with pytest.raises(ConfigError) as told:
        load(tmp_path / "mine.yaml")
    assert "conditions: is missing" in str(told.value) and "secret" not in str(told.value)
