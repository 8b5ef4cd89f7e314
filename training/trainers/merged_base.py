"""A base with an adapter merged in, as an ordinary directory: what a warm-up leaves, or a student that is the base of
another run (`student.model`).

    python -m training.trainers.merged_base runs/first/adapters/asks/seed-1 runs/first/base
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from peft import PeftConfig, PeftModel
from peft.utils import SAFETENSORS_WEIGHTS_NAME
from transformers import AutoConfig, AutoModelForCausalLM

from pipeline.core.errors import ConfigError
from pipeline.core.files import file_hash
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import weights_at, weights_id
from pipeline.runs.student_files import MADE_FROM

RECIPE = "recipe.json"  # of an embedded base, which is one by this file


def made_from(model: str, adapter: Path) -> dict[str, str]:
    """What a base is made of: its model, and the adapter's file of weights."""
    return {"model": weights_id(model), "adapter": file_hash(adapter / SAFETENSORS_WEIGHTS_NAME)}


def merge(model: str, adapter: Path, base: Path) -> None:
    """Write the base with its adapter merged in, beside it (.base.*) and then renamed: a kill leaves the old folder, or
    none."""
    place = weights_at(model)
    stored = AutoConfig.from_pretrained(place).dtype or torch.float32
    plain: Any = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)  # sums are rounded once
    merged = PeftModel.from_pretrained(plain, str(adapter)).merge_and_unload().to(stored)
    base.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".base.", dir=base.parent))
    merged.save_pretrained(temporary)
    load_tokenizer(model).save_pretrained(temporary)
    if Path(place, RECIPE).is_file():
        shutil.copy(Path(place, RECIPE), temporary)
    (temporary / MADE_FROM).write_text(json.dumps(made_from(model, adapter), indent=1) + "\n", encoding="utf-8")
    temporary.chmod(0o755)
    if base.exists():
        shutil.rmtree(base)
    os.rename(temporary, base)


def main(student: Path, place: Path) -> None:
    """Raises ConfigError where there is no adapter, or where something else than such a base would be overwritten."""
    if not (student / SAFETENSORS_WEIGHTS_NAME).is_file():
        raise ConfigError(
            f"{student} holds no {SAFETENSORS_WEIGHTS_NAME}. Expected a student, such as RUN/adapters/CONDITION/seed-1"
        )
    if place.exists() and not (place / MADE_FROM).is_file():
        raise ConfigError(f"{place} is there, and no base that was merged. Name a folder that is not there yet")
    merge(PeftConfig.from_pretrained(str(student)).base_model_name_or_path, student, place)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("python -m training.trainers.merged_base STUDENT FOLDER")
    main(*map(Path, sys.argv[1:]))
