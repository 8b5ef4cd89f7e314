"""Freed memory, given back to the system. glibc keeps what lies between tensors that live, and batches of another shape
seldom fit there: a model of 135 M weights came to hold 11 GB, of which it used 2.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import time

EVERY = 10.0  # seconds; it takes some milliseconds, and what is given back has to be asked for again


class FreedMemory:
    """What one engine frees, given back at most every EVERY seconds."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def give_back_now_and_then(self) -> None:
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            give_back()


def collect() -> None:
    """What a trainer held, given back: it and its model hold each other, so that both stay until they are looked for,
    and CUDA's cache keeps what nobody holds."""
    import torch  # takes seconds

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    give_back()


def give_back() -> None:
    """Where the C library is glibc; others do so by themselves, or cannot."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
