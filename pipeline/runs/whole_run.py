"""A whole run while it goes on: which stages are done, which one runs, and when the last one ends.

Its stages are planned before the first begins. What is left takes as long as stages of its kind took, here or in an
earlier call: nothing else is assumed, and what was never measured is named. RUN/progress.json has all of it.

    maieutic status runs/quickstart     # reads it from outside
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from pipeline.core.files import write_whole
from pipeline.core.schema import Record
from pipeline.runs.store import read
from pipeline.runs.usage import Usage

EVERY = 2.0  # seconds between two writings, at least
FEW = 0.02  # of a stage: the first of many takes far longer than the others
ENOUGH = 0.1  # of a stage, to go by its own rate where others of its kind were measured
BUILD = "build"  # the widest kind of what plays dialogues
ANSWER = "answer"  # the kind of what asks a student for answers; its size is their number, and builds measure it


class PlannedStage(NamedTuple):
    """A stage by the label that `pipeline.runs.progress.stage` is called with; `name` is what it has in common with
    others: build, train.

    `size` is what is missing of it, in a unit that its `kinds` share; 0 where all is there. `kinds` are from the
    narrowest to the widest. One without any is brief beside the others, and not reckoned with.
    """

    name: str
    label: str
    size: float
    kinds: tuple[str, ...] = ()


class Took(Record):
    """What stages of one kind took."""

    seconds: float = 0.0
    size: float = 0.0


class StageOfRun(Record):
    """A planned stage as it stands."""

    name: str
    label: str
    size: float
    kinds: tuple[str, ...]
    state: Literal["ahead", "running", "done"]
    seconds: float  # that it took, or has taken, in all calls so far


class RunProgress(Record):
    """What progress.json holds. Times are Unix times."""

    process: int
    began: float
    updated: float
    stages: tuple[StageOfRun, ...]
    now: str  # what runs, which need not be planned; empty when all has ended
    done: int  # of what runs, in its own unit
    total: int  # 0: unknown
    took: dict[str, Took]  # by kind
    left: float | None  # seconds, of what could be measured; None: nothing could
    unmeasured: tuple[str, ...]  # names of the stages that `left` leaves out

    @property
    def stages_done(self) -> int:
        return sum(stage.state == "done" for stage in self.stages)


def progress_path(run: Path) -> Path:
    return run / "progress.json"


def read_progress(run: Path) -> RunProgress | None:
    """None where there is none, or one of another version."""
    try:
        return RunProgress.model_validate_json(progress_path(run).read_bytes())
    except (OSError, ValidationError):
        return None


class WholeRun:
    """Keeps progress.json up to date. Stages come in their planned order; one that never begins was there already."""

    def __init__(self, run: Path, planned: Sequence[PlannedStage], clock: Callable[[], float] = time.time):
        self.run, self.planned, self.clock = run, planned, clock
        earlier = read_progress(run)
        self.earlier = earlier.took if earlier else {}
        self.before = {stage.label: stage.seconds for stage in earlier.stages} if earlier else {}
        self.took: dict[str, Took] = {}
        self.seconds: dict[int, float] = {}  # of stages that have ended
        self.at = -1  # the planned stage that runs, or the last that did
        self.now, self.done, self.first, self.total, self.at_once = "", 0, 0, 0, 1
        self.began = self.last_end = self.began_stage = self.stored = clock()
        self.answered = self._answers()
        self.said, self.said_of = 0.0, ""  # when a line told of it, and of which stage
        self.store()

    def begin(self, label: str, total: int, at_once: int = 1) -> None:
        """A stage begins, which need not be planned: then it counts as the beginning of the next. `at_once`: how many
        go on, of which it is the one that is looked at."""
        self.now, self.done, self.total, self.began_stage = label, 0, total, self.clock()
        self.at_once = at_once
        self.first = 0 if total else -1
        later = range(self.at + 1, len(self.planned))
        self.at = next((i for i in later if self.planned[i].label == label), self.at)
        self.store()

    def tick(self, done: int, total: int) -> None:
        if self.first < 0:
            self.first = done - 1  # a training, which says how much it is when it begins: perhaps at a checkpoint
        self.done, self.total = done, total
        if self.clock() - self.stored >= EVERY:
            self.store()

    def end(self) -> None:
        if stage := self.running:
            self.seconds[self.at] = self._spent()
            if self.done and stage.size:
                # Of one that went on before it was looked at, what was done before that belongs to others.
                spent = self.clock() - self.began_stage if self.first > 0 else self._spent()
                self._measure(stage, spent, stage.size * (1 - self.first / max(self.total, self.done)))
            self.last_end = self.clock()
        self.now = ""
        self.store()

    @property
    def running(self) -> PlannedStage | None:
        """The planned stage that runs."""
        stage = self.planned[self.at] if 0 <= self.at < len(self.planned) else None
        return stage if stage is not None and stage.label == self.now else None

    def progress(self) -> RunProgress:
        left = [(stage.name, self._left(i)) for i, stage in enumerate(self.planned)]
        known = [seconds for _, seconds in left if seconds is not None]
        unmeasured = dict.fromkeys(name for name, seconds in left if seconds is None)
        return RunProgress(
            process=os.getpid(),
            began=self.began,
            updated=self.clock(),
            stages=tuple(map(self._as_it_stands, range(len(self.planned)))),
            now=self.now,
            done=self.done,
            total=self.total,
            took=self.earlier | self.took,
            left=sum(known) if any(known) or not unmeasured else None,
            unmeasured=tuple(unmeasured),
        )

    def store(self) -> None:
        self.stored = self.clock()
        write_whole(progress_path(self.run), self.progress().model_dump_json() + "\n")

    def close(self) -> None:
        """All has ended."""
        self.at, self.now = len(self.planned), ""
        self.store()

    def _spent(self) -> float:
        """By the stage that runs, with what came before it, such as opening a model: the sum is that of the clock."""
        return self.clock() - self.last_end

    def _share(self) -> float:
        """How much of the running stage this call has done; 0 where that is unknown, or too little to reckon with."""
        share = max(self.done - max(self.first, 0), 0) / self.total if self.running and self.total else 0.0
        return share if share >= FEW else 0.0

    def _measure(self, stage: PlannedStage, spent: float, size: float) -> None:
        for kind in stage.kinds:
            so_far = self.took.get(kind, Took())
            self.took[kind] = Took(seconds=so_far.seconds + spent, size=so_far.size + size)
        if BUILD in stage.kinds and (answers := self._answers() - self.answered):
            self.took[ANSWER] = Took(seconds=self.took[BUILD].seconds, size=answers)

    def _answers(self) -> int:
        """Of models, in dialogues."""
        lines = read(self.run / "usage.jsonl", Usage)
        return sum(usage.answers for usage in lines if usage.stage == "build")

    def _rate(self, kinds: Sequence[str]) -> float | None:
        """Seconds for one unit of size, by the narrowest kind that was measured, else as the running stage shows it;
        None where neither is."""
        took = self._shown_by_running() | self.earlier | self.took
        return next((took[kind].seconds / took[kind].size for kind in kinds if kind in took), None)

    def _shown_by_running(self) -> dict[str, Took]:
        """Of its narrowest kind only where enough of it is done: the first of many takes longest. Those that go on
        beside it are as far, so each takes that part of the time."""
        stage, share = self.running, self._share()
        if stage is None or not share or not stage.size:
            return {}
        kinds = stage.kinds[0 if share >= ENOUGH else -1 :]
        return dict.fromkeys(
            kinds, Took(seconds=(self.clock() - self.began_stage) / self.at_once, size=stage.size * share)
        )

    def _is_over(self, i: int) -> bool:
        return i < self.at or i in self.seconds or not self.planned[i].size

    def _left(self, i: int) -> float | None:
        """Seconds of one stage; None where nothing of its kinds was measured."""
        stage = self.planned[i]
        if self._is_over(i) or not stage.kinds:
            return 0.0
        rate, spent, share = self._rate(stage.kinds), self._spent(), self._share()
        if i == self.at and share and (share >= ENOUGH or rate is None):
            return (self.clock() - self.began_stage) * max(1 - self.done / self.total, 0) / share
        if rate is None:
            return None
        return max(rate * stage.size - (spent if i == self.at else 0.0), 0.0)

    def _as_it_stands(self, i: int) -> StageOfRun:
        stage, over = self.planned[i], self._is_over(i)
        seconds = self.seconds.get(i, self._spent() if i == self.at and not over else 0.0)
        seconds += self.before.get(stage.label, 0.0)
        state = "done" if over else "running" if i == self.at else "ahead"
        return StageOfRun.model_validate({**stage._asdict(), "state": state, "seconds": seconds})


FOLLOWED: ContextVar[WholeRun | None] = ContextVar("FOLLOWED", default=None)


@contextmanager
def followed(run: Path, planned: Sequence[PlannedStage]) -> Iterator[WholeRun]:
    """While the block runs, every stage of it is one of the whole run's. One that fails leaves it as it stood."""
    whole = WholeRun(run, planned)
    token = FOLLOWED.set(whole)
    try:
        yield whole
        whole.close()
    finally:
        FOLLOWED.reset(token)
