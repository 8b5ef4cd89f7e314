"""The folder of an adapter: whole or not at all, with what it was made from beside the weights, and a model card."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from pipeline.core.files import file_hash
from pipeline.core.schema import digest
from pipeline.datasets.rows import Row
from pipeline.engines.weights import weights_id
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import ONLINE
from pipeline.runs.dialogue_pool import spent
from pipeline.runs.directory import adapter_path
from pipeline.runs.student_files import RECORD
from training.model_card import fill_card

if TYPE_CHECKING:  # heavy, and whether an adapter is there is asked without it
    from transformers import Trainer

WEIGHTS = "adapter_model.safetensors"
# No row is ever cut to max_length; the others say when a training is saved and where it is shown.
NO_MATTER = {"max_length", "save_steps", "report_to"}
# Passes of a step change it by rounding alone; but KTO compares the rows of one pass, and DPO takes its mean.
PASSES = {"micro_batch", "gradient_checkpointing"}
PACKAGES = ("torch", "transformers", "trl", "peft")


def save(trainer: Trainer, cell: Cell, record: dict[str, Any]) -> None:
    """Write beside `out`, then rename: a kill leaves the old folder, the new one or none. Checkpoints go."""
    out = adapter_path(cell)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        model = trainer.accelerator.unwrap_model(trainer.model)
        # Not DPO's copy of the adapter that it began with ("ref").
        model.save_pretrained(temporary, save_embedding_layers=False, selected_adapters=["default"])
        fill_card(temporary / "README.md", cell, record)
        (temporary / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    except (SafetensorError, OSError) as error:
        shutil.rmtree(temporary)
        raise OSError(f"{out}: the adapter could not be saved, perhaps on a full disk ({error})") from None
    temporary.chmod(0o755)
    old = temporary.with_name(temporary.name + ".old")
    if out.exists():
        os.rename(out, old)
    os.rename(temporary, out)
    for left in out.parent.glob(f".{out.name}.*"):
        shutil.rmtree(left)


def made_from(cell: Cell, rows: list[Row], start: Path | None) -> dict[str, Any]:
    """What an adapter depends on: where these are equal, it is there already."""
    experiment = cell.experiment
    # Who plays samples as many tokens as that pool took, which grows where an engine had failed.
    playing = {"pool": spent(cell), "order": "task"} if cell.condition.method in ONLINE else {}
    return playing | {
        "condition_name": cell.condition_name,
        "method": cell.condition.method,
        "seed": cell.seed,
        "round": cell.round,
        "model": experiment.student.model,
        "model_hash": weights_id(experiment.base),
        "start": "" if start is None else file_hash(start / WEIGHTS),
        "data_hash": digest(sorted(rows, key=lambda row: row["id"])),
        "training": experiment.training.model_dump(exclude=NO_MATTER),
        "versions": {name: version(name) for name in PACKAGES},
    }


def is_done(out: Path, made_from: dict[str, Any]) -> bool:
    """Whether `out` holds an adapter made from the same data, settings and start."""
    if not (out / RECORD).is_file():
        return False
    record = json.loads((out / RECORD).read_text(encoding="utf-8"))
    there = {key: record.get(key) for key in made_from} | {"versions": made_from["versions"]}
    for key in ("pool", "order"):  # not written down by versions before
        if key in made_from:
            there[key] = record.get(key, made_from[key])
    return that_matters(there) == that_matters(made_from)


def that_matters(made_from: dict[str, Any]) -> dict[str, Any]:
    """`made_from` without what leaves the training the same, in the form that JSON gives it."""
    passes = set() if made_from["method"].startswith(("kto", "dpo")) else PASSES
    training = {key: value for key, value in made_from["training"].items() if key not in passes}
    return dict(json.loads(json.dumps(made_from | {"training": training})))
