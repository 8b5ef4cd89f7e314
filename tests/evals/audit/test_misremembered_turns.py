"""Turns of a rule partner that errs, audited where the weights that named its streams are another copy."""

from pathlib import Path

import pytest

from evals.audit.audited_talks import open_material
from evals.audit.checks import view_invariance
from pipeline.dialogue.rule_partner import NUMBER
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read, rewrite
from tests.evals.made_run import CONDITIONS, made_run

ERRS = CONDITIONS | {"facts": Condition(partition="facts", manner="erring")}


@pytest.mark.parametrize(("off", "verdict"), [(0, "pass"), (200, "fail")])
def test_a_number_may_be_as_wrong_as_its_partner_errs_and_no_more(tmp_path: Path, off: int, verdict: str) -> None:
    run = made_run(tmp_path / "run", count=12, conditions=ERRS)
    file = dialogues_path(run, "facts")
    rows = list(read(file, Dialogue))
    i = next(
        i for i, row in enumerate(rows) if any("fact" in turn.text for turn in row.turns if turn.party == "partner")
    )
    turns = [
        turn.model_copy(update={"text": NUMBER.sub(lambda found: str(int(found[1]) + off), turn.text)})
        if turn.party == "partner"
        else turn
        for turn in rows[i].turns
    ]
    rows[i] = rows[i].model_copy(update={"turns": tuple(turns)})
    rewrite(file, rows)
    found = {one.what: one.verdict for one in view_invariance.check(open_material(str(run))).findings}
    assert found["facts: a partner turn changed, or is none that its row can say"] == verdict
