"""An option that a command would not use is refused, and never passed over."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from maieutic.cli import app

IDLE = {
    "eval quickstart --json x.json": "with --reader and --json",
    "eval labels --reader closed": "with --reader and --json",
    "export runs/none inspect --set name=x": "a run is written as it was made",
    "doctor --set name=x": "no config is named whose keys these are",
}


@pytest.mark.parametrize("command", IDLE)
def test_an_option_that_would_do_nothing_is_refused(command: str) -> None:
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code and IDLE[command] in " ".join(result.output.split())
