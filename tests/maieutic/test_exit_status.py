"""What an engine left to be done is told by the status of the command."""

from __future__ import annotations

import itertools
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from typer.testing import CliRunner

from evals.stats.stored_cases import partly_examined
from maieutic.cli import app
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, EngineError, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.experiment import load


@pytest.fixture
def config(tmp_path: Path) -> Path:
    small = {
        "name": "small", "out": str(tmp_path / "run"), "seeds": [3], "engine": {"kind": "scripted"},
        "tasks": {"train": {"full": 2, "underspecified": 2}, "exam": {"full": 6, "underspecified": 6}},
        "dialogue": {"turns": 1}, "exams": {"include": ["asking"], "samples": 1, "episodes": 1, "greedy": False},
        "conditions": {"facts": {"partition": "facts", "selection": "none"}},
    }  # fmt: skip
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small))
    return path


def call(command: str, config: Path, fails_every: int = 0) -> tuple[int, str]:
    """Its status and what it says, with an engine that fails at every so manieth request."""
    failing = itertools.cycle([*[False] * (fails_every - 1), True]) if fails_every else itertools.repeat(False)

    class Flaky(ScriptedModel):
        async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
            if next(failing):
                raise EngineError("away")
            return await super().complete(messages, sampling)

    with patch("pipeline.experiment.open_role.open_model", lambda *_: Flaky()):
        result = CliRunner().invoke(app, [command, str(config)])
    return result.exit_code, result.output


def test_a_build_that_left_dialogues_to_be_made_again_says_so_by_its_status(config: Path) -> None:
    code, out = call("build", config, fails_every=2)
    assert code == 1 and "dialogues ended in an engine error; the same command tries them again." in out
    assert call("build", config)[0] == 0


def test_exams_at_some_of_which_the_engine_failed_say_so_by_their_status(config: Path) -> None:
    code, out = call("eval", config, fails_every=8)
    assert code == 1 and "An engine failed at some scenarios of 1 students' exams" in " ".join(out.split())
    assert [cell.condition_name for cell in partly_examined(load(config))] == ["base"]
    assert call("eval", config)[0] == 0 and not partly_examined(load(config))
