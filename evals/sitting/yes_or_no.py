"""Yes or no, by the word with which an answer begins, or which follows "The answer is". "No idea." is neither."""

from __future__ import annotations

import re


def yes_or_no(text: str) -> str:
    """What an answer begins with, or '' for neither."""
    neither = r"(?!\s+(?:and no|idea|way (?:to|of)|one|clue|information|opinion|view|comment|preference)\b)"
    match = re.match(rf"\W*(?:the answer is\W*)?(yes|no)\b{neither}", text, re.I)
    return match[1].lower() if match else ""
