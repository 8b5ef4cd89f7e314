"""The model card of an adapter: PEFT's, with what it is, on what it was trained and how to load it filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.engines.weights import weights_at
from pipeline.experiment.cell import Cell

CARD = """
# {name}, {condition_name}, seed {seed}

A student that learned in dialogues under controlled knowledge asymmetry: a LoRA adapter of **{model}**{warmed}.

| | |
|---|---|
| condition | `{condition_name}`: partition `{partition}`, disclosure `{disclosure}`, voice `{voice}` |
| selection | `{selection}` |
| method | `{method}`{begun} |
| run | `{name}`, seed {seed}, round {round} of {rounds} |
| learned from | {rows} rows, {trained_tokens} tokens with loss over all passes, in {optimizer_steps} steps |
| rows, by hash | `{data_hash}` |
| versions | {versions} |

The run's `config.yaml` says all of it, `training.json` beside this card what was done, and the run's report how the
student did in the exams. It is made for research on what such dialogues teach, and is no assistant.

```python
from peft import PeftModel{from_maieutic}
from transformers import AutoModelForCausalLM

student = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained({load}), {place})
```
"""
FROM_MAIEUTIC = "\nfrom pipeline.engines.weights import weights_at  # of maieutic; `maieutic base` lists its bases"


def fill_card(file: Path, cell: Cell, record: dict[str, Any], repository: str = "", more: str = "") -> None:
    """Fill in the card that PEFT wrote; `record` is what training.json holds. PEFT's metadata stay.

    `repository` is where the adapter is pushed to, in CONDITION/seed-N; `more` are sections for its end.
    """
    from huggingface_hub import ModelCard  # heavy, and whether an adapter is there is asked without it

    card, model, condition = ModelCard.load(file), cell.experiment.student.model, cell.condition
    warm, named_here = cell.experiment.student.warmup is not None, weights_at(model) != model
    is_folder = Path(weights_at(model)).is_dir()
    if warm or is_folder:  # a card is shared, and where a base lay is nobody's business
        model = Path(model).name
        card.data.base_model = model
        card.data.tags = [tag for tag in card.data.tags or [] if not tag.startswith("base_model:")]
    card.data.tags = sorted({*(card.data.tags or []), "maieutic", condition.method})
    axes = {key: getattr(condition, key) for key in ("partition", "disclosure", "voice", "selection", "method")}
    numbers = {"round": cell.round + 1, "rounds": cell.experiment.rounds}
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    named = {"name": cell.experiment.name, "model": model, "versions": versions}
    named["begun"] = f", going on from the student of `{condition.begins}`" if condition.begins else ""
    named |= {"warmed": ", warmed up before" if warm else "", "from_maieutic": "", "load": repr(model)}
    named["place"] = _at(repository, f"{cell.condition_name}/seed-{cell.seed}", "PATH OF THIS FOLDER")
    if warm:
        named["load"] = _at(repository, "warmup/base", "PATH OF warmup/base OF ITS RUN")
    elif named_here:  # by a name that Hugging Face does not know
        named |= {"from_maieutic": FROM_MAIEUTIC, "load": f"weights_at({model!r})"}
    elif is_folder:
        named["load"] = repr(f"PATH OF {model}")
    card.text = CARD.format(**(record | axes | numbers | named)) + more
    card.save(file)


def _at(repository: str, folder: str, here: str) -> str:
    """The arguments of a `from_pretrained`."""
    return f"{repository!r}, subfolder={folder!r}" if repository else f'"{here}"'
