"""Keys of configs of earlier versions: each is refused with what is written in its place now."""

from __future__ import annotations

# Keys of earlier versions, refused with the name that they have now.
RENAMED = {"terms": "disclosure", "breaches": "violations", "condition": "condition_name", "ledger": "turn_values"}

# Keys that are gone from one section, named with it, and what to do without them.
MOVED = {
    "student.system": "Prompts are templates in files: student.prompts names a set, or a folder (docs/prompts.md)",
    "partner.system": "Prompts are templates in files: partner.prompts names a set, or a folder (docs/prompts.md)",
    "training.rank": "The adapter's keys are those of PEFT's LoraConfig: training.lora: {r: 16}",
    "training.alpha": "The adapter's keys are those of PEFT's LoraConfig: training.lora: {lora_alpha: 32}",
    "partner.judge": "Whom a partner is to convince is a role of its own: judge: {model: NAME}",
    "reading.model": "The judge is a role of its own: judge: {model: NAME}",
    "acts.model": "The judge is a role of its own: judge: {model: NAME}",
}

# Keys that are gone, and what to do without them.
GONE = {
    "bootstrap": "Intervals are Student's t over tasks and seeds alone, and no bootstrap is made. Leave the key out",
    "others": "Contrasts that are corrected together (Holm) are a family with a name: compare.families, as in "
    "{NAME: [{metric: ..., a: ..., b: ...}]}; those of no family stand in compare.exploratory",
}
