"""What somebody may have meant who wrote a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'NAME'?", of the known name that is nearest; nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
