"""Does model-written code pass its tests? Found out where it can harm nothing.

Two contained processes: `solving_process` holds the code and computes values, `checking_process` holds the tests and
compares. Nothing that the code prints, exits with, patches or writes can become a verdict.
Not the containment's work: bugs of the kernel itself. On a machine that holds secrets, run this in a virtual machine.

    found = await verdict("def f(x): return x + 1", [Call("f", (1,), 2)])
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import math
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from io import FileIO
from typing import Any, Literal, NamedTuple, cast

from pydantic import Field

from pipeline.core.config_reading import Section
from pipeline.core.errors import MaieuticError
from pipeline.sandbox import bubblewrap
from pipeline.sandbox.bubblewrap import ContainmentMissing
from pipeline.sandbox.checking_process import is_test
from pipeline.sandbox.wire import packed, unpacked

__all__ = ["Call", "ContainmentFailed", "ContainmentMissing", "Limits", "Verdict", "require_containment", "verdict"]

START = 60.0  # seconds that the two processes may take to start, on a machine under load
TOLD = 3  # failing tests that are told
LONGEST = 1 << 16  # bytes of one line of the judge's
LONGEST_PROGRAM = 1_000_000  # characters
Outcome = Literal["passed", "failed", "error", "time", "memory", "output", "crash"]


class Limits(Section):
    """Of each of the two processes; wall time is of both."""

    seconds: float = Field(5.0, gt=0, le=600)
    memory_mb: int = Field(256, ge=64)
    processes: int = Field(1, ge=1)
    file_mb: int = Field(4, ge=1)  # of one file, and of the temporary directory
    output_kb: int = Field(64, ge=1)  # of all that is printed, and of one answer


class Call(NamedTuple):
    """`name(*args)` is to equal `expected` (Python's ==, and nan is nan); all are plain data."""

    name: str
    args: tuple[Any, ...]
    expected: Any
    public: bool = True


class Verdict(NamedTuple):
    """`outcome`:

    passed   every test held
    failed   some did not; a call that raised did not hold
    error    the code does not load, or wrote where its answers go
    time     not done after `seconds` of wall time
    memory   it ran out of memory
    output   it printed or answered more than `output_kb`
    crash    its process ended before it had answered

    `passed` of `total` tests held until then. `printed` tells of public tests alone, in printable characters.
    `seconds` is the wall time from when the code was given.
    """

    outcome: Outcome
    passed: int
    total: int
    printed: str
    seconds: float


class ContainmentFailed(MaieuticError, RuntimeError):
    """The containment itself broke, so there is no verdict on the code."""


def require_containment() -> None:
    """Raises ContainmentMissing unless code can be contained here: ask before a long run."""
    bubblewrap.require_bubblewrap()


async def verdict(
    code: str,
    tests: str | Sequence[Call],
    limits: Limits = Limits(),
    unsafe: bool = False,
    *,
    entry: str = "",
) -> Verdict:
    """Run `tests` against `code`.

    `tests` as text is Python: every assertion and every call at its top level is a test (HumanEval: its `test`, then
    `check(NAME)`; MBPP: the list of asserts). Every name that they use and do not define is the code's, and so is
    `entry`, which may be the name of a function of Python's own. Only calls with plain data, and their values, pass
    between code and tests. `unsafe` runs both processes without
    containment.
    Raises ContainmentMissing, ContainmentFailed, and ValueError for tests that cannot be asked.
    """
    if not unsafe:
        await asyncio.to_thread(require_containment)
    job, told = _job(code, tests, entry)
    if len(code) > LONGEST_PROGRAM:  # unpacking it would use up the judge's memory, and the judge is not at fault
        return Verdict("error", 0, len(told), f"The program is longer than {LONGEST_PROGRAM:,} characters.", 0.0)
    stop = threading.Event()
    try:
        return await asyncio.to_thread(_run, job, told, limits, unsafe, stop)
    finally:
        stop.set()  # where we were cancelled, the thread goes on until it sees this


def _job(code: str, tests: str | Sequence[Call], entry: str) -> tuple[str, list[str | None]]:
    """What the judge is given, and how each test begins when it is told; None where it is hidden."""
    if not isinstance(tests, str):
        if not tests:
            raise ValueError("no tests: there is nothing to be judged by")
        # Public ones first: else a program could tell, in a value that is printed, what it was asked in secret.
        calls = sorted(tests, key=lambda call: not call.public)
        asked = [(call.name, call.args, call.expected) for call in calls]
        return packed({"code": code, "calls": asked}), ["" if call.public else None for call in calls]
    try:
        body = ast.parse(tests).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"tests that are not Python: {error}") from None
    asserted = [each for each in body if is_test(each)]
    names = _unbound(body) | ({entry} if entry else set())
    if not asserted or not names:
        raise ValueError("tests that assert nothing, or call nothing that the code is to define")
    return packed({"code": code, "calls": None, "tests": tests, "names": sorted(names)}), [None] * len(asserted)


def _unbound(body: list[ast.stmt]) -> set[str]:
    """Names that are used and not bound anywhere in the tests."""
    used, bound = set(), set(dir(builtins))
    for node in ast.walk(ast.Module(body, [])):
        match node:
            case ast.Name(ctx=ast.Load()):
                used.add(node.id)
            case ast.Name():
                bound.add(node.id)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.arg():
                bound.add(node.arg)
            case ast.alias():
                bound.add((node.asname or node.name).partition(".")[0])
            case ast.ExceptHandler():
                bound.add(node.name or "")
    return used - bound


def _run(job: str, told: list[str | None], limits: Limits, unsafe: bool, stop: threading.Event) -> Verdict:
    """Both processes, from start to kill."""
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(tempfile.TemporaryFile())
        given.write(job.encode("ascii"))
        given.seek(0)

        def pipe() -> tuple[FileIO, FileIO]:
            read, write = os.pipe()
            return stack.enter_context(FileIO(read, "r")), stack.enter_context(FileIO(write, "w"))

        (asked, ask), (answers, answer), (report, reporting), (prints, printing) = pipe(), pipe(), pipe(), pipe()
        channel = (ask.fileno(), answers.fileno())
        solve, judge = ["solving_process"], ["checking_process", *map(str, channel), str(limits.output_kb << 10)]
        stack.callback(bubblewrap.end, _started(solve, limits, unsafe, (asked, answer, printing), ()))
        stack.callback(bubblewrap.end, _started(judge, limits, unsafe, (given, reporting, printing), channel))
        for theirs in (asked, ask, answers, answer, reporting, printing):
            theirs.close()  # so that the end of a process is the end of its pipes
        return _watched(ChecksReport(told), report, prints, limits, stop)


def _started(
    role: list[str], limits: Limits, unsafe: bool, streams: bubblewrap.Streams, channel: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    name, *rest = role
    seconds = math.ceil(limits.seconds) + 1  # of processor time: only many threads reach it before the wall time
    if unsafe:
        numbers = map(str, (seconds, limits.memory_mb, 0, limits.file_mb, -1))
        return bubblewrap.unconfined(name, [*numbers, *rest], streams, channel)
    user, besides = bubblewrap.becomes()
    numbers = map(str, (seconds, limits.memory_mb, limits.processes + besides, limits.file_mb, user))
    return bubblewrap.start(name, [*numbers, *rest], limits.file_mb, streams, channel)


class ChecksReport:
    """What the judge has said so far."""

    def __init__(self, told: list[str | None]) -> None:
        self.told = told  # of each test, how it begins when it is told
        self.rest = b""
        self.began = math.nan  # when the code was given
        self.held: list[bool] = []
        self.quoted: list[str] = []
        self.outcome = ""
        self.why = ""

    def read(self, part: bytes) -> None:
        *lines, self.rest = (self.rest + part).split(b"\n")
        if len(self.rest) > LONGEST:
            raise ContainmentFailed("the judge writes without end")
        for line in lines:
            message = unpacked(line.decode("ascii"))
            if "ready" in message:
                self.began = time.monotonic()
            elif "held" in message:
                opening = self.told[len(self.held)]
                self.held.append(message["held"])
                if not message["held"] and opening is not None and len(self.quoted) < TOLD:
                    self.quoted.append(opening + message["told"])
            else:
                self.outcome, self.why = message["end"], message["told"]

    def verdict(self) -> Verdict:
        held, total = sum(self.held), len(self.told)
        outcome = self.outcome
        if outcome == "done":
            outcome = "passed" if held == total else "failed"
        lines = [f"{held} of {total} tests passed.", *self.quoted]
        if self.why:
            lines.insert(1, f"Then: {self.why}." if self.held else f"{self.why[0].upper()}{self.why[1:]}.")
        return Verdict(cast(Outcome, outcome), held, total, "\n".join(lines), time.monotonic() - self.began)


def _watched(so_far: ChecksReport, report: FileIO, prints: FileIO, limits: Limits, stop: threading.Event) -> Verdict:
    """Read until the judge is done or a limit is reached. What is printed is counted, and dropped."""
    opened, printed, last = time.monotonic(), 0, b""
    with selectors.DefaultSelector() as selector:
        selector.register(report, selectors.EVENT_READ)
        selector.register(prints, selectors.EVENT_READ)
        while not so_far.outcome:
            ready = not math.isnan(so_far.began)
            left = so_far.began + limits.seconds - time.monotonic() if ready else opened + START - time.monotonic()
            if left <= 0 or stop.is_set():
                so_far.outcome, so_far.why = "time", f"not done after {limits.seconds:g} s"
                break
            for key, _ in selector.select(min(0.1, left)):
                part = os.read(key.fd, 1 << 16)
                if key.fileobj is report:
                    so_far.read(part)
                    if not part and not so_far.outcome:
                        so_far.outcome, so_far.why = "crash", "the process of the tests ended"
                else:
                    printed += len(part)
                    last = part[-500:] or last
                    if not part:
                        selector.unregister(prints)
                    elif printed > limits.output_kb << 10:
                        so_far.outcome, so_far.why = "output", f"it printed more than {limits.output_kb} KiB"
    if math.isnan(so_far.began):
        raise ContainmentFailed(f"the contained processes did not start: {last.decode(errors='replace').strip()}")
    return so_far.verdict()
