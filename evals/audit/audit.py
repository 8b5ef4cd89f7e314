"""All checks over one run or dataset.

maieutic audit runs/quickstart
maieutic audit configs/audit_mathdial.yaml
maieutic audit sharegpt.jsonl --set out=runs/audit/mine
maieutic audit talks.jsonl --set roles.assistant=partner --set roles.user=student
"""

from __future__ import annotations

from evals.audit import audit_page
from evals.audit.audited_talks import Material, open_material
from evals.audit.checks import (
    answer_in_question,
    balance,
    contamination,
    duplicates,
    health,
    loss_on_turns,
    luck,
    partner,
    stated_leak_by_turn,
    view_invariance,
    wording,
)
from evals.audit.finding import Check
from pipeline.core.errors import ConfigError
from pipeline.engines.decoding.freed_memory import give_back
from pipeline.runs.progress import console, say, stage

CHECKS = (
    view_invariance,
    partner,
    stated_leak_by_turn,
    luck,
    answer_in_question,
    balance,
    contamination,
    duplicates,
    loss_on_turns,
    health,
    wording,  # last: what it imports to fit its guess stays (22 MiB)
)
LAST_OF_POOLS = luck


def audit(target: str, overrides: tuple[str, ...] = ()) -> list[Check]:
    """Writes the page, prints the table, and returns the checks. Raises ConfigError for what cannot be read."""
    material = open_material(target, overrides)
    if not material.talks:
        raise ConfigError(f"{target}: no dialogues here. Expected a run with dialogues/, or a dataset with rows.")
    checks = examine(material)
    written = audit_page.write(material, checks)
    console.print(audit_page.table(checks))
    say(f"\n{material.name}, {len(material.talks)} dialogues: {audit_page.headline(checks)}")
    if more := audit_page.unsaid(material, checks):
        say(more)
    say("\nOpen next:")
    for path in written:
        say(f"  {path}")
    return checks


def examine(material: Material) -> list[Check]:
    """Every check of CHECKS, in its order."""
    checks = []
    with stage("audit", len(CHECKS)) as progress:
        for module in CHECKS:
            checks.append(module.check(material))
            if module is LAST_OF_POOLS:
                material.forget_pools()
            give_back()  # of a million dialogues 5 to 15 MB a check, which lie between what lives on
            progress()
    return checks
