"""The picture in the README: one dialogue of the quickstart, as either party sees it, drawn from `preview`.

python docs/two_sides.py     # writes docs/two_sides.svg
"""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path

import maieutic
from pipeline.core.schema import Message, Party
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view

SHOWN = (
    "seeds=[416]",  # one of the few in which the untrained base asks at once, and for what is missing
    "conditions={facts: {partition: facts}}",
    "compare=null",
    "dialogue.deterministic=true",
)
WIDTH, COLUMN, LINE, LETTERS = 900, 415, 19, 48  # of the picture, a column, a line and its text
FONTS = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
PALE, OWN, OTHER, SECRET = "#f3f4f6", "#dbeafe", "#ffffff", "#fef3c7"
NAMES: dict[Party, str] = {"student": "What the student sees", "partner": "What the partner sees"}


def draw(dialogue: Dialogue) -> str:
    """SVG: the student's view on the left, the partner's on the right; what only the partner is told is yellow."""
    left, left_end = _column("student", dialogue, 20)
    right, right_end = _column("partner", dialogue, WIDTH - 20 - COLUMN)
    height = max(left_end, right_end) + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{FONTS}" font-size="14" fill="#111827">\n'
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff" stroke="#e5e7eb"/>\n{left}{right}</svg>\n'
    )


def _column(party: Party, dialogue: Dialogue, x: int) -> tuple[str, int]:
    """The boxes of one party's view from `x` on, and where the last one ends."""
    parts = [f'<text x="{x}" y="34" font-size="16" font-weight="600">{NAMES[party]}</text>\n']
    y = 48
    for text, color, indent in _boxes(view(dialogue.task, dialogue.condition, dialogue.turns, party)):
        lines = textwrap.wrap(text, LETTERS if indent else LETTERS + 6)
        width, height = COLUMN - 40 * bool(indent), LINE * len(lines) + 14
        corner = x + (40 if indent == "right" else 0)
        parts.append(
            f'<rect x="{corner}" y="{y}" width="{width}" height="{height}" rx="8" fill="{color}" stroke="#d1d5db"/>\n'
        )
        for i, line in enumerate(lines):
            parts.append(f'<text x="{corner + 12}" y="{y + 21 + LINE * i}">{escape(line, quote=False)}</text>\n')
        y += height + 8
    return "".join(parts), y


def _boxes(messages: list[Message]) -> list[tuple[str, str, str]]:
    """(text, color, side) of each box: the briefing first, then turns, one's own on the right."""
    first, boxes = True, list[tuple[str, str, str]]()
    for message in messages:
        own = message["role"] == "assistant"
        paragraphs = message["content"].split("\n\n")
        if first:
            told = paragraphs.pop(0).split("\n")
            secret = [line for line in told if "only you know" in line.lower()]
            boxes.append((told[0], PALE, ""))
            if secret:
                boxes.append((" ".join(secret), SECRET, ""))
            boxes.append((told[-1], PALE, ""))
            first = False
        boxes += [(text, OWN if own else OTHER, "right" if own else "left") for text in paragraphs]
    return boxes


def picture() -> str:
    """That of the dialogue which preview shows."""
    dialogue = maieutic.preview(maieutic.load("quickstart", *SHOWN))["facts"]
    assert isinstance(dialogue, Dialogue)
    return draw(dialogue)


if __name__ == "__main__":
    Path(__file__).with_name("two_sides.svg").write_text(picture(), encoding="utf-8")
