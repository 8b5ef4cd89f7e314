"""Readers of turns by the name that a config or a command has for them."""

from __future__ import annotations

from inspect import iscoroutinefunction

from pipeline.core.errors import ConfigError
from pipeline.core.plugins import is_address, load_object
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.reading.embedded_world.closed import Closed
from pipeline.reading.judge_reader import JudgeReader
from pipeline.reading.protocol import Reader
from pipeline.reading.settings import READERS


def open_reader(name: str, model: str = "", engine: Engine = Engine(), exact: bool = True) -> Reader:
    """One of `READERS`, or a reader in a file of one's own, `my.py:READER`. Raises ConfigError.

    `model` is a judge's, asked through `engine`. `exact`: a network reads in float32, which is the same on
    every processor, and else in bfloat16 where this one is faster with it.
    """
    if is_address(name):
        reader: object = load_object(name, object)
        if isinstance(reader, type):
            raise ConfigError(f"{name!r} is a class, expected a reader: READER = {reader.__name__}()")
        if not isinstance(reader, Reader):
            raise ConfigError(
                f"{name!r} is of type {type(reader).__name__}, expected a Reader (pipeline.reading.protocol)"
            )
        for method in (reader.student, reader.partner):
            if not iscoroutinefunction(method):
                raise ConfigError(f"{name!r}: its method {method.__name__} is not async, expected async def")
        return reader
    if name == "closed":
        return Closed()
    if name in ("semantic", "cross_encoder"):
        from pipeline.reading.semantic.natural_reader import shipped_reader  # torch and peft take seconds to import

        return shipped_reader(name, exact)
    if name == "judge":
        if not model:
            raise ConfigError(
                "a judge of turns needs a model: judge.model of a config, --set model=NAME of eval reading"
            )
        return JudgeReader(open_model(engine, model))
    raise ConfigError(
        f"{name!r} is no reader of turns. Known: {', '.join(READERS)}, or one of your own as file.py:NAME"
    )
