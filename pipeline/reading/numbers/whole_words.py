"""Where words stand in a text as whole words and whole numbers."""

from __future__ import annotations

import re

SCALES = r"(?:dozen|hundred|thousand|million|billion|trillion)"
_QUOTES = str.maketrans("‘’“”", "''\"\"")  # one character for one: places stay


def stands(span: str, text: str) -> list[re.Match[str]]:
    """Where a span stands in a text as whole words and numbers: neither "5" nor "5 men" stands in "2.5 men", or in
    ".5 men"."""
    before = r"(?<![\w\-−])(?<!\d[.,:/])" + r"(?<!\d )(?<!^\.)(?<![^\w.]\.)" * span[:1].isdigit()
    after = rf"(?!\w|[.,:/]\d|-\w|\s+{SCALES}\b)" + r"(?! \d{3}(?!\d))" * span[-1:].isdigit()
    return list(re.finditer(before + re.escape(span.translate(_QUOTES)) + after, text.translate(_QUOTES)))
