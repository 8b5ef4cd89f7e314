"""The config of `maieutic eval labels CONFIG`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from pipeline.core.config_reading import Folder, Section
from pipeline.engines.settings import Engine

Corpus = Literal["mrda", "swda", "talkmoves", "cima", "bridge", "mathdial"]


class LabelSettings(Section):
    """The config of `maieutic eval labels`: which corpora, which labellers, and where all is written."""

    data: str = "$MAIEUTIC_DATA"  # the folder of the corpora, each in its own; $VARIABLES are expanded
    corpora: tuple[Corpus, ...] = ("mrda", "swda", "talkmoves", "cima", "bridge", "mathdial")
    labellers: tuple[Literal["rules", "classifier", "judge"], ...] = Field(
        default=("rules", "classifier"), min_length=1
    )
    embedder: str = "installed"  # of the classifier: a directory, a hub name, or the weights that are installed
    judge: str = ""  # the judge's model
    reader: str = ""  # a frozen reader's model, for functional leaks; empty: the reader by rule alone
    reads: str = ""  # a reader of turns that is measured beside the rules: semantic, cross_encoder, ...
    engine: Engine = Engine()  # that answers for judge and reader
    most: int = Field(default=9000, ge=1)  # turns of a part of a corpus that anyone but the rules is shown, at most
    errors: int = Field(default=10, ge=0)  # real errors a class that the page shows, of each labeller
    out: Folder = "runs/labels"

    @property
    def folder(self) -> Path:
        return Path(self.out)

    @property
    def corpora_folder(self) -> Path:
        return Path(os.path.expandvars(self.data))

    @model_validator(mode="after")
    def _judge_is_named(self) -> LabelSettings:
        if "judge" in self.labellers and not self.judge:
            raise ValueError("labellers: 'judge' needs judge, its model's name or directory")
        return self
