"""The labelled corpora, by name: what reads each, and its place in the folder of the data.

Every row becomes a `LabelledTurn` or a typed `BadRow`. The test parts are for measuring: nothing is fitted or chosen on
them.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evals.readers.labelled_turns import Read
from evals.readers.labels.transcripts import mrda, swda, talkmoves
from evals.readers.labels.tutoring_corpora import bridge, cima, teachers

READERS: dict[str, tuple[Callable[[Path], Read], str]] = {
    "mrda": (mrda, "mrda/val_set.txt"),
    "swda": (swda, "swda/val_set.txt"),
    "talkmoves": (talkmoves, "talkmoves/train_student.tsv"),
    "cima": (cima, "cima/dataset.json"),
    "bridge": (bridge, "bridge"),
    "mathdial": (teachers, "mathdial/dialogues.jsonl"),
}
