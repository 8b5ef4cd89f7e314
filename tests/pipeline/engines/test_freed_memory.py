"""Memory that was freed between what lives on is given back."""

from __future__ import annotations

import platform

import psutil
import pytest

from pipeline.engines.decoding.freed_memory import give_back

BLOCK, BLOCKS = 100_000, 3_000  # bytes, less than what malloc takes from the system piece by piece


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone keeps it")
def test_what_was_freed_below_something_that_lives_is_given_back() -> None:
    blocks = [bytearray(b"x" * BLOCK) for _ in range(BLOCKS)]
    blocks[:-1] = []
    held = psutil.Process().memory_info().rss
    give_back()
    assert held - psutil.Process().memory_info().rss > BLOCK * BLOCKS / 2
    assert len(blocks[0]) == BLOCK
