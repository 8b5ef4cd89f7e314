"""What each system of the comparison is given, and what it must give back.

A dialogue is TURNS requests, each with all messages so far, and between two of them a line of the partner, made
without a request. Only the standard library is used here: this runs in two environments.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable

TURNS, MAX_TOKENS, TEMPERATURE = 4, 48, 1.0
Messages = list[dict[str, str]]
Play = Callable[[], Iterable[Messages]]


def compare(ready: Callable[[str, int, list[str], list[str]], Play]) -> None:
    """Time what `ready(url, concurrency, openings, lines)` returns, and print as one line of JSON what it took.

    Arguments: URL CONCURRENCY; input: {"openings": one for each dialogue, "lines": what the partner may say}.
    The clock runs while the dialogues are played. Before it starts, tasks are put into a system's own form and one
    dialogue is played (what a library loads at its first use is not what is compared); after it has stopped, the
    dialogues are read, and every one must be there, whole.
    """
    url, concurrency, job = sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)
    openings, lines = job["openings"], job["lines"]
    check(ready(url, 1, openings[:1], lines)(), openings[:1], lines)
    play = ready(url, concurrency, openings, lines)
    began, cpu = time.perf_counter(), time.process_time()
    dialogues = play()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    check(dialogues, openings, lines)
    print(json.dumps({"dialogues": len(openings), "wall_s": round(wall, 2),
                      "cpu_ms_per_turn": round(1000 * cpu / (len(openings) * TURNS), 3)}))  # fmt: skip


def check(dialogues: Iterable[Messages], openings: list[str], lines: list[str]) -> None:
    """Stop unless there is one dialogue for each opening, with TURNS student turns and the partner's lines between."""
    opened = []
    for opening, *rest in dialogues:
        roles, texts = [message["role"] for message in rest], [message["content"] for message in rest]
        whole = roles == ["assistant", "user"] * (TURNS - 1) + ["assistant"] and all(texts)
        if not whole or not set(texts[1::2]) <= set(lines):
            raise SystemExit(f"not a whole dialogue: {[opening, *rest]}")
        opened.append(opening["content"])
    if sorted(opened) != sorted(openings):
        raise SystemExit(f"{len(openings)} dialogues were to be made; {len(opened)} came back, or with other openings")
