"""What Markdown shows: its commands, its links and its sentences; and the commands that CI runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS_WITH_PAGES = (ROOT / "data", ROOT / "configs")
PAGES = sorted([
    *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(folder / "README.md" for folder in FOLDERS_WITH_PAGES)
])  # fmt: skip


def shell_lines(text: str) -> list[str]:
    """The commands of its bash blocks, each on one line and without comments."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    code = re.sub(r"('[^']*')|(?<!\S)#.*", lambda found: found[1] or "", blocks)
    whole = re.findall(r"(?:[^'\n]|'[^']*')+", code)  # a quoted value may have lines
    return [line.strip() for line in whole if line.strip()]


def script(name: str) -> str:
    """A script of CI as bash reads it: without comments, each command on one line."""
    text = re.sub(r"(^|\s)#.*$", "", (ROOT / ".ci" / name).read_text(), flags=re.MULTILINE)
    return text.replace("\\\n", " ")


def run_by_ci() -> set[tuple[str, str]]:
    """(command, config or run) of each `maieutic` behind a `check` of a lane that .ci/run starts."""
    return {pair for lane in re.findall(r"bash \.ci/(\w+)", script("run")) for pair in _checked(lane)}


def _checked(lane: str) -> set[tuple[str, str]]:
    """The same of one lane: loops and arrays written out, and functions by what is in them."""
    text = f"{script('common.sh')}\n{script(lane)}"
    for loop, name, words, body in re.findall(
        r"^(for (\w+) in ([^;]+); do\n(.*?)^done)", text, re.DOTALL | re.MULTILINE
    ):
        text = text.replace(loop, "\n".join(re.sub(rf"\$\{{?{name}\b\}}?", word, body) for word in words.split()))
    arrays = dict(re.findall(r"^(\w+)=\(([\w./]+)", text, re.MULTILINE))
    text = re.sub(r"\$\{(\w+)\[@\]\}", lambda array: arrays.get(array[1], ""), text)
    functions = dict(re.findall(r"^(\w+)\(\) \{(.*?)(?:^\}| \}$)", text, re.DOTALL | re.MULTILINE))
    pairs = set()
    for called, arguments in re.findall(r'^\s*check "[^"]+" (\S+) ?(.*)$', text, re.MULTILINE):
        body = functions[called].replace('"$@"', arguments) if called in functions.keys() - {"maieutic"} else ""
        for command, target in re.findall(r'maieutic "?(\w+)"? "?([$\w./]+)', body or f"{called} {arguments}"):
            pairs.add((command, config_name(target.replace("$work/", "runs/"))))
    return pairs


def config_name(target: str) -> str:
    """The same for `quickstart` and `configs/quickstart.yaml`."""
    return re.sub(r"^configs/(.*)\.yaml$", r"\1", target)


def maieutic_commands(text: str) -> list[list[str]]:
    """The words of each `maieutic` command of its bash blocks, arrays written out."""
    lines = shell_lines(text)
    arrays = dict(re.findall(r"(\w+)=\(((?:[^')]|'[^']*')*)\)", " ".join(lines)))
    whole = [re.sub(r'"\$\{(\w+)\[@\]\}"', lambda array: arrays[array[1]], line) for line in lines]
    return [shlex.split(line) for line in whole if line.startswith("maieutic ")]


def maieutic_in_prose(text: str) -> list[list[str]]:
    """The same of `maieutic ...` in its sentences, which may be a name alone."""
    return [shlex.split(" ".join(shown.split())) for shown in re.findall(r"`(maieutic [^`]+)`", text)]


def sentences(text: str) -> list[str]:
    """Of its prose: no code, tables, headings or addresses; every item of a list begins anew."""
    text = re.sub(r"```.*?```|!\[[^\]]*\]\([^)]*\)", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", ">"))]
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines))
    found = [part for block in blocks for part in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z\"'`*\[(])", block)]
    return [part for part in found if re.search(r"\w", part)]
