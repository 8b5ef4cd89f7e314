"""Training that others build on waits until what it learns from is whole."""

from pathlib import Path

import pytest

from pipeline.building.failures import whole_before_others
from pipeline.engines.model import EngineError
from pipeline.knowledge.records import Failure
from tests.builders import small_experiment

CONDITIONS = {
    "facts": {"partition": "facts"},
    "learner": {"partition": "facts", "learns_from": "facts", "method": "dpo"},
    "follows": {"partition": "symmetric", "voice": "model", "weights": "learner"},
}


@pytest.mark.parametrize("where", [".", "branches"])
def test_training_that_others_build_on_waits_for_the_pool_that_it_learns_from(tmp_path: Path, where: str) -> None:
    made = small_experiment(tmp_path, conditions=CONDITIONS, turn_values={"siblings": 2, "rollouts": 1})
    failure = Failure(id="1", task_id="t", condition_name="facts", seed=3, kind="engine_error", message="down")
    (tmp_path / where).mkdir(exist_ok=True)
    (tmp_path / where / "failures.jsonl").write_text(failure.model_dump_json() + "\n")
    with pytest.raises(EngineError, match="1 dialogues of round 1 ended in an engine error"):
        whole_before_others(made, ["facts", "learner"], 0)
    whole_before_others(made, ["follows"], 0)
