"""What long work shows: a bar on a terminal, plain lines with rate and time left elsewhere.

Where the work is one stage of a whole run, a second bar, or a line of its own, says how far the run is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from pipeline.core.shown_text import visible
from pipeline.runs.whole_run import FOLLOWED, PlannedStage, RunProgress, WholeRun

console = Console(highlight=False, emoji=False)
EVERY, BARS = 5.0, 0.5  # seconds between plain lines, at least; and between what the whole run's bar says
WHOLE = "whole run"


class StageProgress:
    """Counts what is done of one stage. Call it with nothing for one more, or with (done, total)."""

    def __init__(self, label: str, total: int, bars: Progress | None, whole: WholeRun | None):
        self.label, self.total, self.done = label, total, 0
        # What was there before it was looked at; None until that is known, where a total of 0 said that it was not.
        self.first = 0 if total else None
        self.started = self.last = time.monotonic()
        self.bars, self.whole = bars, whole
        self.task = self.of_run = None
        if bars is not None:
            self.task = bars.add_task(label, total=total or None, said="")
            self.of_run = bars.add_task(WHOLE, said="") if whole else None
        self.shown = 0
        self._show_whole()

    def __call__(self, done: int | None = None, total: int | None = None) -> None:
        self.done = self.done + 1 if done is None else done
        self.total = self.total if total is None else total
        if self.whole is not None:
            self.whole.tick(self.done, self.total)
        now = time.monotonic()
        self.first = max(self.done - 1, 0) if self.first is None else self.first
        rate = (self.done - self.first) / max(now - self.started, 1e-9)
        left = f", {seconds((self.total - self.done) / rate)} left" if self.total and rate else ""
        if self.bars is not None and self.task is not None:
            self.bars.update(self.task, completed=self.done, total=self.total or None, said=f"{rate:.1f}/s{left}")
            self._show_whole()
            return
        waited = now - self.last
        tenth = waited >= EVERY and self.done - self.shown >= self.total / 10
        if self.whole is None and (tenth or waited >= 6 * EVERY):  # a whole run's own line says it
            of = f"/{self.total}" if self.total else ""
            print(f"{self.label}: {self.done}{of}, {rate:.1f}/s{left}", flush=True)
            self.last, self.shown = now, self.done
        self._show_whole()

    def _show_whole(self) -> None:
        if self.whole is None:
            return
        if self.bars is None:
            _say_whole(self.whole)
        elif self.of_run is not None and time.monotonic() - self.whole.said >= BARS:
            progress, self.whole.said = self.whole.progress(), time.monotonic()
            said, total = end_briefly(progress), len(progress.stages)
            self.bars.update(self.of_run, completed=progress.stages_done, total=total, said=said)


@contextmanager
def stage(label: str, total: int = 0, at_once: int = 1) -> Iterator[StageProgress]:
    """Show one stage while it runs, the first of so many that go on; 0 is an unknown total."""
    whole = FOLLOWED.get()
    if whole is not None:
        whole.begin(label, total, at_once)
    if console.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),  # so that all fits into 80 letters
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as bars:
            yield StageProgress(label, total, bars, whole)
    else:
        yield StageProgress(label, total, None, whole)
    if whole is not None:
        whole.end()


def _say_whole(whole: WholeRun) -> None:
    """A plain line: where stages of another name begin, and from time to time."""
    name, now = whole.running.name if whole.running else whole.said_of, time.monotonic()
    if name != whole.said_of or now - whole.said >= 6 * EVERY:
        whole.said_of, whole.said = name, now
        print(whole_in_words(whole.progress()), flush=True)


def say_plan(planned: Sequence[PlannedStage]) -> None:
    """What a whole run has ahead, by kind."""
    names = Counter(stage.name for stage in planned)
    there = sum(not stage.size for stage in planned)
    already = f"; nothing is left to do in {there} of them" if there else ""
    say(f"{WHOLE}: {len(planned)} stages ({', '.join(f'{n} {name}' for name, n in names.items())}){already}")


def whole_in_words(progress: RunProgress) -> str:
    """How far a run is, what runs, and when it ends."""
    so_far = f" ({progress.done} of {progress.total})" if progress.done and progress.total else ""
    now = f", now {progress.now}{so_far}" if progress.now else ""
    return f"{WHOLE}: {progress.stages_done} of {len(progress.stages)} stages done{now}; {end_in_words(progress)}"


def end_in_words(progress: RunProgress) -> str:
    """When it ends, as far as that was measured."""
    unmeasured = ", ".join(progress.unmeasured)
    if progress.left is None:
        return f"its end is not known before something of {unmeasured} is measured"
    end = clock(progress.updated + progress.left)
    if not progress.unmeasured:
        return f"ends about {end}, in {seconds(progress.left)}"
    return f"ends after {end}, in more than {seconds(progress.left)} ({unmeasured}: not measured yet)"


def end_briefly(progress: RunProgress) -> str:
    """The same, where there is a bar's room for it."""
    if progress.left is None:
        return "end not known yet"
    end = clock(progress.updated + progress.left)
    return f"ends {end}, in {seconds(progress.left)}" if not progress.unmeasured else f"ends after {end}"


def clock(moment: float) -> str:
    """A Unix time for people, with the day where it is another one."""
    then = time.localtime(moment)
    return time.strftime("%H:%M" if then[:3] == time.localtime()[:3] else "%a %d %b %H:%M", then)


def say(line: str) -> None:
    """One line, never wrapped. What a model said in it is text: it moves no cursor, and colours nothing."""
    console.print(visible(line), soft_wrap=True, markup=False)


def seconds(value: float) -> str:
    """A duration for people: 42 s, 3 min 5 s, 2 h 10 min."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
