"""Values as lines of plain data between the contained processes and us, and what each of them gives up at its start.

Python's own literals, read by a parser that builds nothing else. Read in the containment too, with the standard library
alone and json left out: importing it costs half as much as starting Python.
"""

from __future__ import annotations

import _ast
import os
import resource
import sys

TYPE_CHECKING = False  # importing typing, too, costs as much as starting Python
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

CLIP = 300  # characters of a value or an error that are told
NAMES = {"nan": float("nan"), "inf": float("inf")}
CONTAINERS: dict[str, Callable[..., Any]] = {"set": set, "frozenset": frozenset, "complex": complex}


def packed(value: Any) -> str:
    """Plain data as one line of ASCII. Raises TypeError for anything else; a subclass becomes its base."""
    if value is None or value is True or value is False:
        return str(value)
    if isinstance(value, int):
        return int.__format__(value, "#x")  # decimal digits are limited in number, and slow
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, complex):
        return f"complex({packed(value.real)}, {packed(value.imag)})"
    if isinstance(value, str):
        return ascii(str.__str__(value))
    if isinstance(value, bytes | bytearray):
        return bytes.__repr__(bytes(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(packed, list.__iter__(value))) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(packed(each) + ", " for each in tuple.__iter__(value)) + ")"
    if isinstance(value, set | frozenset):
        kind = "set" if isinstance(value, set) else "frozenset"
        return f"{kind}([" + ", ".join(map(packed, value)) + "])"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{packed(key)}: {packed(each)}" for key, each in dict.items(value)) + "}"
    raise TypeError(f"a value of the type {type(value).__name__} is not plain data")


def unpacked(text: str) -> Any:
    """The reverse. Raises an Exception of some kind for anything that `packed` does not write."""
    tree: Any = compile(text, "<value>", "eval", _ast.PyCF_ONLY_AST)
    return _value(tree.body)


def _value(node: Any) -> Any:
    match node:
        case _ast.Constant():
            return node.value
        case _ast.Name():
            return NAMES[node.id]
        case _ast.UnaryOp(op=_ast.USub()):
            return -_value(node.operand)
        case _ast.List():
            return [_value(each) for each in node.elts]
        case _ast.Tuple():
            return tuple(_value(each) for each in node.elts)
        case _ast.Dict():
            return {_value(key): _value(each) for key, each in zip(node.keys, node.values, strict=True)}
        case _ast.Call():
            return CONTAINERS[node.func.id](*(_value(each) for each in node.args))  # type: ignore[attr-defined]
    raise ValueError("not plain data")


def shown(value: Any) -> str:
    """For a person: printable characters only, clipped."""
    try:
        return clipped(repr(value))
    except ValueError:  # an integer of too many digits
        return clipped(packed(value))


def clipped(text: str) -> str:
    head = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:CLIP])
    return head + "..." * (len(text) > CLIP)


def say(pipe: BinaryIO, **message: Any) -> None:
    pipe.write(packed(message).encode("ascii") + b"\n")
    pipe.flush()


def error_text(error: BaseException) -> str:
    return clipped(f"{type(error).__name__}: {error}".removesuffix(": "))


def begin() -> tuple[BinaryIO, BinaryIO, list[int]]:
    """Confine this process by its arguments; its input, its output, and the arguments that are left.

    From here on, what is printed goes to standard error, where it is counted.
    """
    seconds, memory_mb, processes, file_mb, uid, *rest = map(int, sys.argv[1:])
    _confine(seconds, memory_mb, processes, file_mb, uid)
    sys.path.pop(0)  # this package
    lowest = 3
    for kept in sorted(rest[:2]):  # the judge's channel; bubblewrap leaves its own pipes open
        os.closerange(lowest, kept)
        lowest = kept + 1
    os.closerange(lowest, 1 << 20)
    given, taken = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return given, taken, rest


def _confine(seconds: int, memory_mb: int, processes: int, file_mb: int, uid: int) -> None:
    """Lower this process's own limits for good, and become `uid` (-1: stay). Done before any code is read.

    The kernel counts no processes against its root user, whatever the limit says.
    """
    limits = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory_mb << 20,
        "RLIMIT_FSIZE": file_mb << 20,
        "RLIMIT_NOFILE": 32,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if processes:
        limits["RLIMIT_NPROC"] = processes
    for name, limit in limits.items():
        if hasattr(resource, name):  # not every system has all of them
            resource.setrlimit(getattr(resource, name), (limit, limit))
    if uid >= 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
