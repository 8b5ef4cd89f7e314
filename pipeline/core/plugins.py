"""Objects of a file outside the repository, named in a config as `file.py:NAME`: an exam, a task source.

    load_object("my_exam.py:EXAM", Exam)

The file is run once a process, so the same address gives the same object. Its path is relative to the working folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeVar

from pipeline.core.errors import ConfigError, MaieuticError, meant, root_cause

T = TypeVar("T")


def is_address(text: str) -> bool:
    """Whether a name in a config is the address of an object in a file: `file.py:NAME`."""
    file, colon, name = text.rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def file_of(address: str) -> Path:
    """The file of `file.py:NAME`; $VARIABLES and ~ are expanded."""
    return Path(os.path.expandvars(address.rpartition(":")[0])).expanduser().resolve()


def load_object(address: str, expected: type[T]) -> T:
    """The object that `file.py:NAME` names.

    Raises ConfigError, which names the file and the attribute, where there is no such file, it cannot be run, has no
    such name, or what it has is no `expected`.
    """
    file, _, name = address.rpartition(":")
    if not is_address(address):
        raise ConfigError(f"{address!r} is not the address of an object. Expected file.py:NAME, as in my.py:EXAM.")
    path = file_of(address)
    if not path.is_file():
        raise ConfigError(
            f"{address!r}: {file!r} is not a file in {Path.cwd()}. Correct the path, or call from the "
            "folder that it is relative to."
        )
    module = _module(path, address)
    if not hasattr(module, name):
        known = [other for other, value in vars(module).items() if isinstance(value, expected) and _own(other, module)]
        raise ConfigError(
            f"{address!r}: {file} has no {name!r}.{meant(name, known)} "
            f"{'It has' if expected is object else f'Of type {expected.__name__} it has'}: "
            f"{', '.join(known) or 'nothing'}."
        )
    value = getattr(module, name)
    if not isinstance(value, expected):
        raise ConfigError(
            f"{address!r}: {name} in {file} is of type {type(value).__name__}, expected {expected.__name__}."
        )
    return value


@contextmanager
def failing_as(key: str, address: str) -> Iterator[None]:
    """What code of an address raises, as a MaieuticError that names key and address, with the line behind it.

    This project's own errors, and those of files and engines, stay what they are. Raises MaieuticError.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        cause = root_cause(error)
        if isinstance(cause, MaieuticError | OSError):
            raise
        file = file_of(address)
        lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if Path(frame.filename) == file]
        at = f" in line {lines[-1]}" if lines else ""
        raise MaieuticError(
            f"{key}: {address!r} failed{at}: {type(cause).__name__}: {cause}. Mend that file."
        ) from error


def _own(name: str, module: ModuleType) -> bool:
    """Whether a name of a module was made in it, as far as can be told: not Python's, and not imported."""
    value = vars(module)[name]
    made_in = value.__module__ if isinstance(value, type | FunctionType) else module.__name__
    foreign = made_in != module.__name__ or isinstance(value, ModuleType | type(annotations))
    return not foreign and not name.startswith("__")


def _module(path: Path, address: str) -> ModuleType:
    """The file as a module, run once. It is known to Python by its path, so that pydantic resolves its annotations."""
    known_as = f"maieutic_plugin:{path}"
    if known_as in sys.modules:
        return sys.modules[known_as]
    specification = importlib.util.spec_from_file_location(known_as, path)
    assert specification is not None and specification.loader is not None  # the name ends in .py
    module = importlib.util.module_from_spec(specification)
    sys.modules[known_as] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[known_as]
        raise ConfigError(f"{address!r}: {path} cannot be run: {type(error).__name__}: {error}.") from error
    return module
