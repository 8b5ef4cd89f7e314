"""The process that holds the tests: it asks the solver for values, compares, and reports.

The model's code never enters it: what comes from there is plain data, read by a parser.
"""

from __future__ import annotations

import _ast
import builtins
import os

from pipeline.sandbox.wire import begin, clipped, error_text, say, shown, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO


class Gone(BaseException):
    """The solver can no longer be asked. No Exception, so that tests seldom catch it."""

    def __init__(self, outcome: str, told: str) -> None:
        super().__init__(outcome, told)
        self.outcome, self.told = outcome, told


class Solver:
    """The judge's end of the two pipes."""

    def __init__(self, ask: BinaryIO, answers: BinaryIO, most: int) -> None:
        self.ask, self.answers, self.most = ask, answers, most
        self.latest = ""  # call and value, for a person
        self.gone: Gone | None = None  # the first, kept for tests that catch whatever is raised

    def hear(self) -> Any:
        try:
            line = self.answers.readline(self.most + 1)
        except MemoryError:
            raise Gone("output", "an answer was too long") from None
        if len(line) > self.most:
            raise Gone("output", f"an answer was longer than {self.most} bytes")
        if not line.endswith(b"\n"):
            raise Gone("crash", "the program ended before it had answered")
        try:
            message = unpacked(line.decode("ascii"))
        except Exception:
            message = None
        if not isinstance(message, dict):
            raise Gone("error", "the program wrote to the channel of its answers")
        return message

    def asked(self, **message: Any) -> Any:
        """One question and its answer. Raises what the code raised, or Gone."""
        try:
            return self._asked(message)
        except Gone as gone:
            self.gone = self.gone or gone
            raise

    def _asked(self, message: dict[str, Any]) -> Any:
        mark = os.urandom(8).hex()  # an answer written before its question was asked cannot bear it
        try:
            say(self.ask, id=mark, **message)
        except OSError:
            raise Gone("crash", "the program ended before it was asked") from None
        answer = self.hear()
        if answer.get("id") != mark:
            raise Gone("error", "the program answered what it had not been asked")
        if "raised" in answer:
            raise raised(str(answer["raised"]), str(answer.get("told")))
        return answer.get("value")

    def proxy(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            written = [*map(shown, args), *(f"{key}={shown(value)}" for key, value in kwargs.items())]
            self.latest = f"{name}({', '.join(written)})"
            try:
                value = self.asked(name=name, args=args, kwargs=kwargs)
            except Exception as error:
                self.latest += f" raised {error_text(error)}"
                raise
            self.latest += f" gave {shown(value)}"
            return value

        return call


def raised(kind: str, told: str) -> BaseException:
    """The same error here, where it is one of Python's own, so that tests may expect it."""
    if kind == "MemoryError":
        return Gone("memory", "out of memory")
    known = vars(builtins).get(kind)
    # a StopIteration in `all(map(f, values))` would end it early, and as true
    if isinstance(known, type) and issubclass(known, Exception) and not kind.startswith("Stop"):
        try:
            return known(told)
        except TypeError:  # UnicodeDecodeError wants five arguments
            pass
    return RuntimeError(f"{clipped(kind)}: {told}")


def judge(job: dict[str, Any], solver: Solver, report: BinaryIO) -> None:
    """Ask, compare, and report test by test, so that what was found before a kill is kept."""
    try:
        solver.hear()
        say(report, ready=True)
        try:
            solver.asked(code=job["code"])
        except Exception as error:
            raise Gone("error", f"the code does not load: {error_text(error)}") from None
        if job["calls"] is not None:
            for call in job["calls"]:
                held, told = compared(solver, *call)
                say(report, held=held, told=told)
        else:
            for held, told in asserted(job["tests"], solver, job["names"]):
                say(report, held=held, told=told)
        say(report, end="done", told="")
    except Gone as gone:
        say(report, end=gone.outcome, told=gone.told)
    except MemoryError:
        say(report, end="memory", told="out of memory")


def compared(solver: Solver, name: str, args: tuple[Any, ...], expected: Any) -> tuple[bool, str]:
    try:
        held = same(solver.proxy(name)(*args), expected)
    except Exception:
        held = False
    return held, f"{solver.latest}, expected {shown(expected)}"


def same(a: Any, b: Any) -> bool:
    """As an assert's ==, but nan equals nan."""
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b or (a != a and b != b))


def asserted(tests: str, solver: Solver, names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """For each assertion or call at the top level: did it hold, and what the last call of the code gave."""
    space: dict[str, Any] = {"__name__": "tests"} | {name: solver.proxy(name) for name in names}
    tree: Any = compile(tests, "<tests>", "exec", _ast.PyCF_ONLY_AST)
    for statement in tree.body:
        held, solver.latest = True, ""
        try:
            exec(compile(_ast.Module([statement], []), "<tests>", "exec"), space)
        except Exception as error:
            held = False
            solver.latest = solver.latest or error_text(error)
        if solver.gone:
            raise solver.gone
        if is_test(statement):
            yield held, solver.latest
        elif not held:
            raise Gone("failed", "the tests could not be prepared")  # hidden ones, maybe: no more is told


def is_test(statement: _ast.AST) -> bool:
    """An assertion, or a call like HumanEval's `check(candidate)`; all else prepares the next one."""
    return isinstance(statement, _ast.Assert) or (
        isinstance(statement, _ast.Expr) and isinstance(statement.value, _ast.Call)
    )


def main() -> None:
    given, report, (ask, answers, most) = begin()
    solver = Solver(os.fdopen(ask, "wb"), os.fdopen(answers, "rb"), most)
    judge(unpacked(given.read().decode("ascii")), solver, report)
