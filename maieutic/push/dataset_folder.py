"""The dataset of a run as it is pushed: a folder for each condition, and a card whose configs are the conditions.

datasets.load_dataset("OWNER/NAME", "facts")
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet
from huggingface_hub import DatasetCardData

from pipeline.core.card_template import card_template
from pipeline.core.files import write_whole
from pipeline.datasets.card import knows
from pipeline.datasets.formats import FORMATS
from pipeline.datasets.learning_rules import A_ROW, LEARNING_RULES, Format
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.places import without_place, without_places


class Config(NamedTuple):
    """A config of the dataset: what a hub's viewer and `load_dataset` call the rows of a condition in a format."""

    name: str
    condition_name: str
    format: Format
    rows: int


def write_dataset(experiment: Experiment, repository: str, licences: dict[str, str], has_students: bool) -> Path:
    """Write RUN/push/dataset anew and return it: Parquet and simulation card of each condition, card and config."""
    folder = experiment.run / "push" / "dataset"
    shutil.rmtree(folder, ignore_errors=True)
    for name in experiment.conditions:
        shutil.copytree(experiment.run / "datasets" / name, folder / name, ignore=shutil.ignore_patterns(".*"))
    configs = [config for name in experiment.conditions for config in _configs(experiment, name, folder / name)]
    body = card_template("maieutic.push", "dataset.md.j2").render(
        experiment=experiment,
        repository=repository,
        model=without_place(experiment.student.model),
        configs=configs,
        knows=knows,
        rows=A_ROW,
        sources=experiment.sources,
        licences=licences,
        columns={format: FORMATS[format] for format in FORMATS if format in {config.format for config in configs}},
        controls=_columns_of_controls(folder),
        has_students=has_students,
    )
    write_whole(
        folder / "README.md", f"---\n{_metadata(experiment, configs, licences.values()).to_yaml()}\n---\n\n{body}"
    )
    write_whole(folder / "config.yaml", without_places(experiment))
    return folder


def _columns_of_controls(folder: Path) -> set[str]:
    """Columns that `sft` rows of some conditions have beside those of the format."""
    files = folder.glob("*/sft/*.parquet")
    return {name for file in files for name in parquet.read_schema(file).names} - {*FORMATS["sft"]}


def _configs(experiment: Experiment, condition_name: str, folder: Path) -> list[Config]:
    """What the condition's method learns from has its name alone, other formats theirs behind it."""
    trains = LEARNING_RULES[experiment.conditions[condition_name].method].format
    there = [format for format in FORMATS if (folder / format / "train.parquet").is_file()]
    return [
        Config(
            name=condition_name if format == trains else f"{condition_name}-{format}",
            condition_name=condition_name,
            format=format,
            rows=parquet.read_metadata(folder / format / "train.parquet").num_rows,
        )
        for format in sorted(there, key=lambda format: format != trains)
    ]


def _metadata(experiment: Experiment, configs: list[Config], licences: Iterable[str]) -> DatasetCardData:
    """What a hub reads of the card."""
    names = list(dict.fromkeys(licences))
    return DatasetCardData(
        pretty_name=experiment.name,
        language="en",
        license=names[0] if len(names) == 1 else names,
        tags=["maieutic", "dialogue", "knowledge-asymmetry"],
        task_categories=["text-generation"],
        configs=[
            {"config_name": config.name, "data_files": f"{config.condition_name}/{config.format}/train.parquet"}
            for config in configs
            if config.rows  # a hub's loader fails at a file without any
        ],
    )
