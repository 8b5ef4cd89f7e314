"""The cells of a config that are not there yet, played one after the other into OUT/society.

    cells.jsonl      a row for each cell of the config, in its order
    <cell id>.npz    what was seen of it (pipeline/society/play.py, Played)
    config.yaml      the society, whole

A cell is stored whole or not at all, and named by all that shapes it: the same command again plays what is missing, and
one with more values plays those alone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole, written_whole
from pipeline.core.schema import Record
from pipeline.core.settings import read_as
from pipeline.engines.model import open_model
from pipeline.runs.directory import writing
from pipeline.runs.progress import say, stage
from pipeline.runs.store import Appender, read, rewrite
from pipeline.society.play import Played, play
from pipeline.society.society_settings import Society, at
from pipeline.society.world import World, world_of

OWN = {"id", "repeat", "seed", "neighbour_error", "topics"}  # what repeats of a setting may differ in


class Cell(Record):
    """A row of cells.jsonl: one society."""

    id: str
    k: int  # of a schedule its first value
    p: float
    n: int
    steps: int
    kind: str
    repeat: int  # place of the seed in the config
    seed: int
    q: float | None = None  # share of agents with a verifier; None: the query has no right answer
    noise: float = 0.0
    views: int = 1
    queries: int = 1
    gives: str = "any"
    embedder: str | None = None  # None: a proxy has none
    neighbours: str = "exact"
    neighbour_error: float = 0.0
    varies: dict[str, Any] = {}  # schedules, adaptation and injections, where there are any
    gold: str | None = None
    topics: tuple[str, ...] = ()  # what each silo is about, by id

    @property
    def setting(self) -> dict[str, Any]:
        """All that its repeats share."""
        return {key: value for key, value in self.model_dump().items() if key not in OWN and value is not None}


def play_society(config: Path, overrides: tuple[str, ...] = ()) -> Path:
    """Play what is missing; returns the run directory. Raises ConfigError, and what an engine raises."""
    society = read_as(Society, config, overrides)
    with writing(society.folder.parent):
        asyncio.run(_play_missing(society, _cells(society)))
    return society.folder.parent


def _cells(society: Society) -> list[tuple[Society, int]]:
    try:
        return list(society.cells())
    except ValidationError as error:
        first = error.errors()[0]
        told = first["msg"].removeprefix("Value error, ")
        if where := ".".join(map(str, first["loc"])):
            told = f"{where}: {told} (found {first['input']!r})"
        raise ConfigError(f"sweep: {told}") from None


async def _play_missing(society: Society, cells: list[tuple[Society, int]]) -> None:
    folder, rows = society.folder, society.folder / "cells.jsonl"
    there = {row.id: row for row in read(rows, Cell) if (folder / f"{row.id}.npz").is_file()}
    missing = [(one, seed) for one, seed in cells if one.cell_id(seed) not in there]
    if left := len(cells) - len(missing):
        say(f"play: {left} of {len(cells)} cells there already")
    model = open_model(society.engine, society.model) if any(one.kind == "chat" for one, _ in missing) else None
    world, of = None, ""
    with stage(f"play {society.name}", len(missing)) as tick, Appender(rows) as file:
        # Cells of one world in a row, since a large one takes a while to draw.
        for one, seed in sorted(missing, key=lambda cell: _world_key(*cell)):
            if world is None or of != _world_key(one, seed):
                world, of = world_of(one, seed), _world_key(one, seed)
            played = await play(one, seed, world, model)
            _save(folder / f"{one.cell_id(seed)}.npz", played)
            row = _row(one, seed, society.repeats.index(seed), world, played.neighbour_error)
            file.append(row)
            there[row.id] = row
            tick()
    if missing:
        say(f"play {society.name}: {len(missing)} cells played")
    rewrite(rows, [there[one.cell_id(seed)] for one, seed in cells])
    text = yaml.safe_dump(society.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    write_whole(folder / "config.yaml", text)


def _world_key(society: Society, seed: int) -> str:
    mixture = society.kind == "proxy"
    return f"{seed} {mixture} {society.n} {society.embedder}"


def _save(path: Path, played: Played) -> None:
    found = played._asdict().items()
    arrays: dict[str, Any] = {name: value for name, value in found if isinstance(value, np.ndarray)}
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _row(one: Society, seed: int, repeat: int, world: World, error: float) -> Cell:
    varies: dict[str, Any] = {key: getattr(one, key) for key in ("k", "p") if isinstance(getattr(one, key), tuple)}
    varies |= {"adapt": one.adapt.model_dump()} if one.adapt.k or one.adapt.p else {}
    varies |= {"inject": [each.model_dump() for each in one.inject]} if one.inject else {}
    return Cell(
        id=one.cell_id(seed), k=at(one.k, 0), p=at(one.p, 0), n=one.n, steps=one.steps, kind=one.kind, repeat=repeat,
        seed=seed, q=one.q if one.factual else None, noise=one.noise, views=one.views, queries=len(one.asked),
        gives=one.gives, embedder=None if one.kind == "proxy" else one.embedder, neighbours=one.neighbours,
        neighbour_error=error, varies=varies, gold=one.factual.gold if one.factual else None, topics=world.topics,
    )  # fmt: skip
