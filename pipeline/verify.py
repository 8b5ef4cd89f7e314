"""Answer equivalence. Never by substring: the gold number often stands inside a wrong solution."""

from __future__ import annotations


def equal(said: str, gold: str) -> bool:
    return said.strip().lower() == gold.strip().lower()


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
