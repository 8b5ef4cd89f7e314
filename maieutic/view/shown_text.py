"""Text of models as data: nothing in it runs, moves the cursor, or turns the page around."""

from __future__ import annotations

import re

MOST = 20_000  # letters of one text on a page; all of it is behind a link

# Control characters but line feed and tab: a terminal's escape becomes the picture of it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What turns the direction of the text around it, or hides: shown by its number.
_INVISIBLE = re.compile(r"[\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


def visible(text: str) -> str:
    """The same with control characters as their pictures, and invisible ones as their numbers: ␛, ‹U+202E›."""
    text = _CONTROL.sub(lambda one: chr(0x2400 + ord(one[0])) if one[0] < " " else f"‹U+{ord(one[0]):04X}›", text)
    return _INVISIBLE.sub(lambda one: f"‹U+{ord(one[0]):04X}›", text)


def cut(text: str) -> tuple[str, int]:
    """What of a text a page shows, visibly, and how many letters it leaves out."""
    return visible(text[:MOST]), max(0, len(text) - MOST)
