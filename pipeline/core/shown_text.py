"""Text of models as data: nothing in it runs, moves the cursor, or turns the page around."""

from __future__ import annotations

import re

MOST = 20_000  # letters of one text on a page

# Control characters but tab and line feed, such as a terminal's escape; and what hides, or turns the text around it.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The same with control and invisible characters as their numbers: ‹U+001B›, ‹U+202E›."""
    return _UNSEEN.sub(lambda one: f"‹U+{ord(one[0]):04X}›", text)


def cut(text: str, most: int = MOST) -> tuple[str, int]:
    """What of a text a page shows, visibly, and how many letters it leaves out."""
    return visible(text[:most]), max(0, len(text) - most)
