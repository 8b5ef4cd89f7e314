"""Runs the program of a turn when the turn is said, and keeps what its tests said with the turn.

A program is run contained (pipeline/sandbox/container.py), beside whatever else goes on: while one dialogue waits for
its tests others generate, with at most as many at once as the machine has cores. The same program of the same task is
run once in a process. Only what is the same in every run is kept, so that no time stands in a stored dialogue.

    maieutic build configs/code_qwen3_0.6b.yaml
"""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Iterable
from typing import Any

from pipeline.core.errors import ConfigError
from pipeline.core.schema import ExampleCall, ProgramCheck, Task, Tests, Turn, digest
from pipeline.engines.model import EngineError
from pipeline.reading.programs import program
from pipeline.sandbox import container

MOST_KEPT = 100_000  # verdicts


class Checker:
    """What was checked by this process. `unsafe`: without containment, which somebody has to type (`--unsafe`)."""

    def __init__(self) -> None:
        self.unsafe = False
        self.limits = container.Limits()
        self.kept: dict[str, asyncio.Task[ProgramCheck]] = {}
        self.runs = 0
        self._free: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    async def check(self, task: Task, code: str) -> ProgramCheck:
        """What the tests of a code task say of a program. Raises ContainmentMissing, and EngineError where the
        containment broke."""
        key = digest(task.tests.model_dump(mode="json") if task.tests else "", code, length=32)
        running = self.kept.get(key)
        if running is None or _lost(running):
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            running = self.kept[key] = asyncio.create_task(self._run(task, code))
        return await asyncio.shield(running)

    async def _run(self, task: Task, code: str) -> ProgramCheck:
        assert task.tests is not None
        tests = task.tests
        async with self._one_of_few():
            self.runs += 1
            try:
                verdict = await self._verdict(code, tests)
            except container.ContainmentFailed as error:
                raise EngineError(f"task {task.id}: no verdict on a program: {error}") from error
        first, *calls_that_fail = verdict.printed.strip().split("\n")
        return ProgramCheck(outcome=verdict.outcome, printed=" ".join([first, "; ".join(calls_that_fail)]).strip())

    async def _verdict(self, code: str, tests: Tests) -> container.Verdict:
        public = _calls(tests.public, True)
        if not tests.script:
            return await container.verdict(code, [*public, *_calls(tests.hidden, False)], self.limits, self.unsafe)
        # Assertions alone decide, since docstrings hold mistakes; their examples tell what is wrong.
        decided = await container.verdict(code, tests.script, self.limits, self.unsafe, entry=tests.entry)
        if decided.outcome == "passed" or not public:
            return decided
        shown = await container.verdict(code, public, self.limits, self.unsafe)
        if shown.outcome == "passed":
            return decided
        count, calls_that_fail = decided.printed.split("\n")[0], shown.printed.partition("\n")[2]
        return decided._replace(printed=f"{count}\n{calls_that_fail}")

    def _one_of_few(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._free is None or self._free[0] is not loop:
            self._free = loop, asyncio.Semaphore(max(2, os.cpu_count() or 1))
        return self._free[1]


CHECKER = Checker()


def _lost(running: asyncio.Task[ProgramCheck]) -> bool:
    """Nothing is to be had of it: it failed, or its event loop ended before it did."""
    if running.done():
        return running.cancelled() or running.exception() is not None
    return running.get_loop() is not asyncio.get_running_loop()


async def checked(task: Task, turn: Turn) -> Turn:
    """The turn, with what the tests say of its program where it holds one and the task asks for one."""
    if task.tests is None:
        return turn
    code = program(turn.text, task.entry)
    return turn if code is None else turn.model_copy(update={"check": await CHECKER.check(task, code)})


async def failing(tasks: Iterable[Task]) -> list[str]:
    """Ids of the tasks whose own reference does not pass their tests: nobody can solve them."""
    ours = [task for task in tasks if task.tests is not None]
    checks = await asyncio.gather(*(CHECKER.check(task, task.answer) for task in ours))
    return [task.id for task, check in zip(ours, checks, strict=True) if not check.passed]


def allow_unsafe() -> None:
    """This process runs programs without containment, because somebody typed it."""
    CHECKER.unsafe = True


def can_run(has_programs: bool) -> None:
    """Raises ContainmentMissing where there are programs to run, which can neither be contained here nor are to run
    without."""
    if has_programs and not CHECKER.unsafe:
        container.require_containment()


def _calls(examples: tuple[ExampleCall, ...], public: bool) -> list[container.Call]:
    return [container.Call(*parsed(example), public) for example in examples]


def parsed(example: ExampleCall) -> tuple[str, tuple[Any, ...], Any]:
    """Name, arguments and value of an example. Raises ConfigError where they are no plain data."""
    try:
        call = ast.parse(example.call, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords
        return call.func.id, tuple(map(ast.literal_eval, call.args)), ast.literal_eval(example.expected)
    except (AssertionError, SyntaxError, ValueError) as error:
        raise ConfigError(
            f"{example.call!r} giving {example.expected!r} is no call with plain data. Write it as an assertion"
        ) from error
