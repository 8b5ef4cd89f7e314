"""What the README shows can be run as it stands."""

import re
from pathlib import Path

import pytest

from evals.readers.labels.label_settings import LabelSettings
from maieutic.cli import app
from pipeline.core.settings import read_as
from pipeline.experiment.experiment import load
from pipeline.society.society_settings import Society
from pipeline.tasks.talks import load_source

ROOT = Path(__file__).parents[1]


def shown_commands() -> list[tuple[str, str]]:
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [(words[1], words[2]) for words in map(str.split, lines) if words[:1] == ["maieutic"] and len(words) > 2]


@pytest.mark.parametrize(("command", "argument"), shown_commands())
def test_what_the_readme_shows_is_a_command_on_a_config_that_loads(command: str, argument: str) -> None:
    assert command in {each.name or each.callback.__name__ for each in app.registered_commands if each.callback}
    if (command, argument) == ("eval", "labels"):
        read_as(LabelSettings, ROOT / "configs" / "labels.yaml")
    elif command == "audit":
        assert not argument.endswith(".yaml") or load_source(str(ROOT / argument)).files
    elif command == "society":
        assert list(read_as(Society, ROOT / argument).cells())
    elif argument.endswith(".yaml"):
        load(ROOT / argument)
    else:
        assert command == "compare"
