"""The process that holds the model's code: asked for one call at a time, it answers with plain data.

It computes values and nothing else. No expected value, no test and no verdict ever enters it, so there is none to
read, to patch or to forge.
"""

from __future__ import annotations

import sys

from pipeline.sandbox.wire import begin, clipped, say, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO


def solve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Load the code, then answer call after call until there are no more."""
    say(answers, ready=True)
    module = type(sys)("solution")
    sys.modules["solution"] = module

    def value() -> Any:
        if "code" in message:
            return exec(compile(message["code"], "<solution>", "exec"), module.__dict__)
        return module.__dict__[message["name"]](*message["args"], **message["kwargs"])

    for line in asked:
        message = unpacked(line.decode("ascii"))
        try:
            say(answers, id=message["id"], value=value())
        except BaseException as error:  # SystemExit and KeyboardInterrupt are ways to fail like any other
            say(answers, id=message["id"], raised=type(error).__name__, told=_words(error))


def _words(error: BaseException) -> str:
    try:
        return clipped(str(error))
    except BaseException:
        return "an error that cannot be printed"


def main() -> None:
    asked, answers, _ = begin()
    solve(asked, answers)
