"""Balance is judged of conditions that are to match, and of no others."""

import shutil
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as parquet

from evals.audit.audited_talks import open_material
from evals.audit.checks import balance
from tests.evals.made_run import CONDITIONS, made_run


def matched_arms(path: Path) -> Path:
    """Two natural conditions, and two that learn the same rows under the matched regime."""
    arms = {
        f"{name}_matched": CONDITIONS[name].model_copy(update={"learns_from": name, "regime": "matched"})
        for name in ("facts", "volunteer")
    }
    run = made_run(path, conditions=CONDITIONS | arms)
    for name in ("facts", "volunteer"):
        rows = run / "datasets" / name / "sft" / "train.parquet"
        shutil.copy(rows, run / "datasets" / f"{name}_matched" / "sft" / "train.parquet")
    return run


def test_balance_is_judged_of_conditions_whose_own_regime_is_matched(tmp_path: Path) -> None:
    run = matched_arms(tmp_path / "run")
    path = run / "datasets" / "facts_matched" / "sft" / "train.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.slice(0, len(table) // 3), path)
    tokens = [f for f in balance.check(open_material(str(run))).findings if f.what == "student tokens"]
    assert [finding.verdict for finding in tokens] == ["not testable", "fail"]
    assert "facts_matched" in tokens[1].note and "blind" in tokens[0].note


def test_conditions_that_are_to_match_have_one_mix_of_specifications(tmp_path: Path) -> None:
    run = matched_arms(tmp_path / "run")
    path = run / "datasets" / "facts_matched" / "sft" / "train.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.filter(pc.equal(table["specification"], "underspecified")), path)
    mixes = [f for f in balance.check(open_material(str(run))).findings if f.what == "mix of specifications"]
    assert [finding.verdict for finding in mixes] == ["not testable", "fail"]
