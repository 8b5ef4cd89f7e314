"""An export gathers what it needs of a condition's dialogues in one pass, and reads rows at their places."""

from collections import Counter
from pathlib import Path

import pytest

from maieutic.workflow import select
from pipeline.datasets.export import export
from pipeline.experiment.experiment import Experiment
from pipeline.runs.store import rewrite
from tests.pipeline.datasets.test_formats import built, talk


@pytest.fixture
def opened(monkeypatch) -> Counter[str]:
    """How often each file of dialogues or branches is opened."""
    counts, plain = Counter[str](), Path.open

    def counting(self, *args, **kwargs):
        if self.suffix == ".jsonl":
            counts[f"{self.parent.name}/{self.name}"] += 1
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", counting)
    return counts


@pytest.mark.parametrize("others", [[], ["unpaired_preference", "prompt_completion", "privileged_context"]])
def test_a_file_is_opened_to_survey_it_to_make_rows_and_for_its_hash(underspecified, tmp_path, opened, others):
    made = built(tmp_path, underspecified[:4])
    for format in ["sft", *others]:
        export(made, "facts", format)
    opened.clear()
    select(made, ["facts"])
    assert opened["dialogues/facts.jsonl"] == 3
    for format in others:
        assert (tmp_path / "datasets/facts" / format / "train.parquet").exists()


def test_rows_are_made_of_dialogues_that_are_read_one_at_a_time(underspecified, tmp_path, monkeypatch):
    """A survey holds no text: a word of a dialogue stands in none of its records."""
    from pipeline.datasets.survey import surveyed

    made: Experiment = built(tmp_path, underspecified[:2])
    rewrite(tmp_path / "dialogues/facts.jsonl", [talk(task) for task in underspecified[:3]])
    with surveyed(made, "facts") as survey:
        texts = [turn.text for record in survey.dialogues for turn in survey.read(record.place).turns]
        assert texts and not any(text in repr(record) for record in survey.dialogues for text in texts)
