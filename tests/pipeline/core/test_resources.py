"""pipeline.core.resources: what may be a name of the hub."""

import pytest

from pipeline.core.resources import may_be_of_hub


@pytest.mark.parametrize("name", ["openai/gsm8k", "Qwen/Qwen3-0.6B", "sentence-transformers/all-MiniLM-L6-v2"])
def test_a_name_with_an_owner_may_be_of_the_hub(name):
    assert may_be_of_hub(name)


@pytest.mark.parametrize(
    "name", ["", "gpt2", "./runs", "../data/x", "/data/x", "~/x", "a/b/c", "data/", "nosuch/x.parquet", "$DATA/x"]
)
def test_a_path_is_no_name_of_the_hub(name):
    assert not may_be_of_hub(name)


def test_a_name_whose_owner_is_a_folder_here_is_a_mistyped_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    assert not may_be_of_hub("data/nosuch")
