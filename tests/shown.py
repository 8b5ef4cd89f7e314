"""What Markdown shows: its commands, its links and its sentences; and the commands that CI runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "data" / "README.md"])


def shell_lines(text: str) -> list[str]:
    """The commands of its bash blocks, each on one line and without comments."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    whole = re.findall(r"(?:[^'\n]|'[^']*')+", blocks)  # a quoted value may have lines
    return [line.strip() for line in (re.sub(r"(^|\s)#[^'\n]*$", "", line) for line in whole) if line.strip()]


def run_by_ci() -> set[tuple[str, str]]:
    """(command, config or run) of each `maieutic` that a lane of CI runs, loops and arrays written out."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / ".ci").iterdir())).replace("\\\n", " ")
    for name, words, body in re.findall(r"^for (\w+) in ([^;]+); do\n(.*?)^done", text, re.DOTALL | re.MULTILINE):
        text += "".join("\n" + re.sub(rf"\$\{{?{name}\b\}}?", word, body) for word in words.split())
    arrays = dict(re.findall(r"^(\w+)=\(([\w./]+)", text, re.MULTILINE))
    text = re.sub(r"\$\{(\w+)\[@\]\}", lambda array: arrays.get(array[1], ""), text)
    text = text.replace("audited", "maieutic audit")
    found = re.findall(r"maieutic\"? \"?(\w+)\"? \"?([$\w./]+)", text)
    return {(command, config_name(target.replace("$work/", "runs/"))) for command, target in found}


def config_name(target: str) -> str:
    """The same for `quickstart` and `configs/quickstart.yaml`."""
    return re.sub(r"^configs/(.*)\.yaml$", r"\1", target)


def maieutic_commands(text: str) -> list[list[str]]:
    """The words of each `maieutic` command that is shown."""
    words = [shlex.split(line.replace('"${', "'${").replace('@]}"', "@]}'")) for line in shell_lines(text)]
    return [each for each in words if each[:1] == ["maieutic"] and len(each) > 2]


def sentences(text: str) -> list[str]:
    """Of its prose: no code, tables, headings or addresses; every item of a list begins anew."""
    text = re.sub(r"```.*?```|!\[[^\]]*\]\([^)]*\)", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", ">"))]
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines))
    found = [part for block in blocks for part in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z\"'`*\[(])", block)]
    return [part for part in found if re.search(r"\w", part)]
