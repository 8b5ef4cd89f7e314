"""Make docs/commands.md: what the command line says of itself, in plain Markdown.

python docs/reference.py
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("commands.md")
TYPER = "-m typer maieutic.cli utils docs --name maieutic"


def commands() -> str:
    """Typer's page without HTML entities, its names of arguments as the help has them, its summaries whole."""
    made = subprocess.run([sys.executable, *TYPER.split()], cwd=PAGE.parents[1], capture_output=True, check=True)
    text = html.unescape(made.stdout.decode())
    text = re.sub(r"^\$ maieutic.*$", lambda usage: _plain(usage[0]), text, flags=re.MULTILINE)
    whole = {
        name: " ".join(summary.split())
        for name, summary in re.findall(r"^## `maieutic (\w+)`\n\n(.+?)\n\n", text, re.MULTILINE | re.DOTALL)
    }
    text = re.sub(r"^\* `(\w+)`: .*$", lambda name: f"* `{name[1]}`: {whole[name[1]]}", text, flags=re.MULTILINE)
    return re.sub(
        r"^\* `(\[?\w+\]?(?:\.\.\.)?) <.*?>`", lambda name: f"* `{name[1].upper()}`", text, flags=re.MULTILINE
    )


def _plain(usage: str) -> str:
    required = re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), usage)
    return re.sub(r"\[+(\w+)\]+", lambda name: f"[{name[1].upper()}]", required)


if __name__ == "__main__":
    PAGE.write_text(commands(), encoding="utf-8")
