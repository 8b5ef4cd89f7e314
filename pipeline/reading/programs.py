"""The program that a turn holds, in tasks whose answer is one: text alone is read here, nothing is run."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.M | re.S)
_BEGINS = re.compile(r"^(?:(?:async )?def |class |import |from [\w.]+ import |@\w)", re.M)
_GOES_ON = re.compile(
    r"(?:async )?def |class |import |from [\w.]+ import |@\w|[ \t#]|[)\]}]|[A-Za-z_]\w*(?:: [^=\n]+)? = |$"
)


def program(text: str, entry: str) -> str | None:
    """The last fenced block that defines `entry`, else the last that defines any function, else the lines from a
    definition of `entry` that stands in no fence. None where there is no program: a call that is shown is none."""
    text = text.replace("\r\n", "\n")
    blocks = [block for block in _FENCE.findall(text) if re.search(r"^[ \t]*(?:async )?def \w", block, re.M)]
    chosen = [block for block in blocks if defines(block, entry)] or blocks
    if chosen:
        return _dedented(chosen[-1])
    bare = _bare(_FENCE.sub("\n", text))
    return bare if defines(bare, entry) else None


def defines(code: str, entry: str) -> bool:
    """Whether a program has a function of that name."""
    return bool(re.search(rf"^[ \t]*(?:async )?def {re.escape(entry)}\b", code, re.M))


def fenced(code: str) -> str:
    """A program as a block of Markdown."""
    return f"```python\n{code.strip()}\n```"


def prose(text: str) -> str:
    """A text without its fenced blocks, in which no sentence stands."""
    return _FENCE.sub("\n", text) if "```" in text else text


def _bare(text: str) -> str:
    beginning = _BEGINS.search(text)
    if beginning is None:
        return ""
    lines: list[str] = []
    for line in text[beginning.start() :].split("\n"):
        if not _GOES_ON.match(line):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def _dedented(code: str) -> str:
    """Models indent a whole block where it stands in a list."""
    lines = code.rstrip().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")
