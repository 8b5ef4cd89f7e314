"""A build on a Ray cluster: whole dialogues, a shard a worker, each worker with an engine of its own.

Workers append to their shards in the run directory, which all nodes see under one path, as they see the working
directory. A shard whose worker or node dies is resumed by another worker from what is stored. The shards are taken
into the run when all have ended.

    pip install 'ray>=2.60,<3'
    maieutic build CONFIG --set executor=ray      # on this machine; with RAY_ADDRESS, on that cluster
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from pipeline.building import rounds
from pipeline.building.concurrency import Stopped, interrupted_by_sigterm
from pipeline.building.event_loop import run
from pipeline.building.failures import say_failures
from pipeline.building.make_missing import Counts
from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.progress import StageProgress, say, stage
from pipeline.runs.shards import Shard, held, merge
from pipeline.sandbox.checks import CHECKER, allow_unsafe

try:
    import ray
except ImportError as missing:
    raise ConfigError(
        "executor: 'ray' is not installed here. Install it with pip install 'ray>=2.60,<3', or use executor: local."
    ) from missing

RETRIES = 5  # workers that one shard may lose


class ClusterError(MaieuticError, RuntimeError):
    """A shard that no worker could end."""


def build_round(experiment: Experiment, group: list[str], round: int) -> None:
    """As `pipeline.building.rounds.build_round`, on the cluster. The caller holds the run directory."""
    with _connected():
        workers, gpus = _workers(experiment)
        say(f"{workers} shards, nodes of the cluster: {len(_nodes())}")
        shards = [Shard(number + 1, workers) for number in range(workers)]
        work: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES, scheduling_strategy="SPREAD")(_work)
        left = rounds.left_by_shards(experiment, group)
        total = rounds.missing(experiment, [name for name in group if name not in left], round)
        with stage(f"build {', '.join(group)}", total) as progress:
            asked = dump(experiment), os.getcwd(), CHECKER.unsafe, group, round
            started = {work.remote(*asked, shard): shard for shard in shards}
            made = _gather(experiment, started, progress)
    merge(experiment)
    for key, counts in made.items():
        cell = Cell(experiment, *key)
        say(f"{cell.label('build')}: {counts}")
        if counts.failed:
            say_failures(cell)
    if left:
        run(rounds.build_round(experiment, left, round))


def _work(config: str, folder: str, unsafe: bool, group: list[str], round: int, shard: Shard) -> list[rounds.Made]:
    os.chdir(folder)
    if unsafe:
        allow_unsafe()
    experiment = Experiment.model_validate(yaml.safe_load(config))
    with held(shard.folder(experiment.run)):
        return run(rounds.build_round(experiment, group, round, shard))


def _gather(
    experiment: Experiment, started: dict[Any, Shard], progress: StageProgress
) -> dict[tuple[str, int, int], Counts]:
    """What all shards made, by cell. A first Ctrl-C or SIGTERM lets dialogues under way end, a second one does not."""
    sums: dict[tuple[str, int, int], Counter[str]] = {}
    waiting, lines = list(started), _Lines(experiment, list(started.values()))
    with interrupted_by_sigterm():
        try:
            while waiting:
                ended, waiting = ray.wait(waiting, timeout=1)
                progress(lines.count())
                for shard in ended:
                    for each in _result(shard, started[shard]):
                        sums.setdefault(each.cell.key, Counter()).update(each.counts._asdict())
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                say("Stopping when the dialogues under way have ended. Once more stops at once.")
            for shard in waiting:
                ray.cancel(shard)
            if waiting:
                ray.wait(waiting, num_returns=len(waiting))
            if isinstance(error, KeyboardInterrupt):
                raise Stopped("on the cluster") from None
            raise
    return {key: Counts(**counts) for key, counts in sums.items()}


def _result(reference: Any, shard: Shard) -> list[rounds.Made]:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise ClusterError(
            f"shard {shard.number}/{shard.of}: no worker could end it ({type(error).__name__}: {error}). "
            "What is stored stays; the same command goes on from here."
        ) from None


class _Lines:
    """Counts the records that shards have stored so far, reading each byte once."""

    def __init__(self, experiment: Experiment, shards: list[Shard]):
        self.folders = [shard.folder(experiment.run) for shard in shards]
        self.places: Counter[str] = Counter()
        self.lines = 0
        self.before = 0
        self.before = self.count()

    def count(self) -> int:
        for folder in self.folders:
            for path in [*(folder / "dialogues").glob("*.jsonl"), *folder.glob("failures.jsonl")]:
                with path.open("rb") as file:
                    file.seek(self.places[str(path)])
                    new = file.read()
                self.places[str(path)] += len(new)
                self.lines += new.count(b"\n")
        return self.lines - self.before


@contextmanager
def _connected() -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Without an address Ray would join whatever cluster runs on this machine.
    ray.init(os.environ.get("RAY_ADDRESS", "local"), log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _workers(experiment: Experiment) -> tuple[int, int]:
    """How many workers, and the GPUs of each: a server's own GPUs are not ours."""
    kinds = {experiment.engine_of(name).kind for name in experiment.roles_in_use}
    gpus = int(ray.cluster_resources().get("GPU", 0)) if kinds & {"transformers", "vllm"} else 0
    return experiment.workers or gpus or len(_nodes()), 1 if gpus else 0
