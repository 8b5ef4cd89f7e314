"""What long work shows: a bar on a terminal, plain lines with rate and time left elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

console = Console(highlight=False)
EVERY = 5.0  # seconds between plain lines, at least


class StageProgress:
    """Counts what is done of one stage. Call it with nothing for one more, or with (done, total)."""

    def __init__(self, label: str, total: int, bar: Progress | None):
        self.label, self.total, self.done = label, total, 0
        self.started = self.last = time.monotonic()
        self.bar = bar
        self.task = bar.add_task(label, total=total or None, speed="") if bar else None
        self.shown = 0

    def __call__(self, done: int | None = None, total: int | None = None) -> None:
        self.done = self.done + 1 if done is None else done
        self.total = self.total if total is None else total
        now = time.monotonic()
        rate = self.done / max(now - self.started, 1e-9)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.done, total=self.total or None, speed=f"{rate:.1f}/s")
            return
        waited = now - self.last
        if waited >= EVERY and (waited >= 6 * EVERY or self.done - self.shown >= self.total / 10):
            of = f"/{self.total}" if self.total else ""
            left = f", {seconds((self.total - self.done) / rate)} left" if self.total and rate else ""
            print(f"{self.label}: {self.done}{of}, {rate:.1f}/s{left}", flush=True)
            self.last, self.shown = now, self.done


@contextmanager
def stage(label: str, total: int = 0) -> Iterator[StageProgress]:
    """Show one stage while it runs; 0 is an unknown total."""
    if not console.is_terminal:
        yield StageProgress(label, total, None)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield StageProgress(label, total, bar)


def say(line: str) -> None:
    """One line, never wrapped."""
    console.print(line, soft_wrap=True, markup=False)


def seconds(value: float) -> str:
    """A duration for people: 42 s, 3 min 5 s, 2 h 10 min."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
