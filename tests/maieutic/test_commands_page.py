"""docs/commands.md is what the command line says of itself."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_of_commands_is_current(tmp_path: Path) -> None:
    made = tmp_path / "commands.md"
    line = f"{sys.executable} -m typer maieutic.cli utils docs --name maieutic --output"
    subprocess.run([*line.split(), str(made)], cwd=ROOT, capture_output=True, check=True)
    assert made.read_text() == (ROOT / "docs" / "commands.md").read_text(), f"make it anew: {line} docs/commands.md"
