"""Yes or no, by the word with which an answer begins, or which follows "The answer is"."""

from __future__ import annotations

import re


def yes_or_no(text: str) -> str:
    """What an answer begins with, or '' for neither."""
    match = re.match(r"\W*(?:the answer is\W*)?(yes|no)\b", text, re.I)
    return match[1].lower() if match else ""
