"""The repeats of a config that are not there yet, played one after the other into OUT/society.

    repeats.jsonl    a row for each repeat of the config, in its order
    others.jsonl     the same of repeats that were played for a config with other values, which may ask for them again
    <its id>.npz     what was seen of it (pipeline/society/simulate.py, Trajectory)
    config.yaml      the society, whole

A repeat is stored whole or not at all, and named by all that shapes it: the same command again plays what is missing,
and one with more values plays those alone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from pipeline.core.config_reading import read_as
from pipeline.core.errors import ConfigError, RunError
from pipeline.core.files import write_whole, written_whole
from pipeline.core.schema import Record
from pipeline.engines.open_model import open_model
from pipeline.runs.lock import writing
from pipeline.runs.progress import say, stage
from pipeline.runs.store import Appender, read, rewrite
from pipeline.society.simulate import Trajectory, simulate
from pipeline.society.society_settings import Society, at
from pipeline.society.world import World, world_of

OWN = {"id", "repeat", "seed", "neighbour_error", "topics"}  # what repeats of a setting may differ in


class Repeat(Record):
    """A row of repeats.jsonl: one society, played with one seed."""

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
        asyncio.run(_play_missing(society, _repeats(society)))
    return society.folder.parent


def _repeats(society: Society) -> list[tuple[Society, int]]:
    try:
        return society.all_repeats()
    except ValidationError as error:
        first = error.errors()[0]
        told = first["msg"].removeprefix("Value error, ")
        if where := ".".join(map(str, first["loc"])):
            told = f"{where}: {told} (found {first['input']!r})"
        raise ConfigError(f"sweep: {told}") from None
    except ValueError as error:
        raise ConfigError(f"sweep: {error}") from None


def repeats_path(folder: Path) -> Path:
    """Where a society's rows are. Raises RunError where an earlier version wrote them, under another name."""
    if (old := folder / "cells.jsonl").exists():
        raise RunError(f"{old}: made by an earlier version of maieutic. Begin in another `out`.")
    return folder / "repeats.jsonl"


async def _play_missing(society: Society, repeats: list[tuple[Society, int]]) -> None:
    folder, rows = society.folder, repeats_path(society.folder)
    others = folder / "others.jsonl"
    known = [row for file in (others, rows) for row in read(file, Repeat)]
    there = {row.id: row for row in known if (folder / f"{row.id}.npz").is_file()}
    missing = [(setting, seed) for setting, seed in repeats if setting.repeat_id(seed) not in there]
    if left := len(repeats) - len(missing):
        say(f"play: {left} of {len(repeats)} repeats there already")
    has_chat = any(setting.kind == "chat" for setting, _ in missing)
    model = open_model(society.engine, society.model) if has_chat else None
    world, of = None, ""
    with stage(f"play {society.name}", len(missing)) as tick, Appender(rows) as file:
        # Repeats of one world in a row, since a large one takes a while to draw.
        for setting, seed in sorted(missing, key=lambda repeat: _world_key(*repeat)):
            if world is None or of != _world_key(setting, seed):
                world, of = world_of(setting, seed), _world_key(setting, seed)
            trajectory = await simulate(setting, seed, world, model)
            _save(folder / f"{setting.repeat_id(seed)}.npz", trajectory)
            row = _row(setting, seed, society.repeats.index(seed), world, trajectory.neighbour_error)
            file.append(row)
            there[row.id] = row
            tick()
    if missing:
        say(f"play {society.name}: {len(missing)} repeats played")
    place = {seed: i for i, seed in enumerate(society.repeats)}
    own = [there.pop(setting.repeat_id(seed)).model_copy(update={"repeat": place[seed]}) for setting, seed in repeats]
    rewrite(others, list(there.values()))
    rewrite(rows, own)
    text = yaml.safe_dump(society.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    write_whole(folder / "config.yaml", text)


def _world_key(society: Society, seed: int) -> str:
    mixture = society.kind == "proxy"
    return f"{seed} {mixture} {society.n} {society.embedder}"


def _save(path: Path, trajectory: Trajectory) -> None:
    fields = trajectory._asdict().items()
    arrays: dict[str, Any] = {name: value for name, value in fields if isinstance(value, np.ndarray)}
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _row(society: Society, seed: int, repeat: int, world: World, error: float) -> Repeat:
    schedules = {"k": society.k, "p": society.p}
    varies: dict[str, Any] = {key: value for key, value in schedules.items() if isinstance(value, tuple)}
    varies |= {"adapt": society.adapt.model_dump()} if society.adapt.k or society.adapt.p else {}
    varies |= {"inject": [injection.model_dump() for injection in society.inject]} if society.inject else {}
    return Repeat(
        id=society.repeat_id(seed),
        k=at(society.k, 0),
        p=at(society.p, 0),
        n=society.n,
        steps=society.steps,
        kind=society.kind,
        repeat=repeat,
        seed=seed,
        q=society.q if society.factual else None,
        noise=society.noise,
        views=society.views,
        queries=len(society.asked),
        gives=society.gives,
        embedder=None if society.kind == "proxy" else society.embedder,
        neighbours=society.neighbours,
        neighbour_error=error,
        varies=varies,
        gold=society.factual.gold if society.factual else None,
        topics=tuple(world.topics),
    )
