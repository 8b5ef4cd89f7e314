"""A build in parts: each writes files of its own, and the whole run takes them in.

A dialogue belongs to the shard that its id names, so shards share no dialogue, whoever makes them and when.
What two shards of different cuts both made is taken in once.

    maieutic build configs/quickstart.yaml --shard 1/2      # and 2/2, on this machine or another
    maieutic build configs/quickstart.yaml                  # takes in what they made, and makes the rest
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import tenacity

from pipeline.core.errors import ConfigError
from pipeline.core.id_set import IdSet
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.directory import same
from pipeline.runs.lock import Held, writing
from pipeline.runs.made_with import require_shards_alike, take
from pipeline.runs.progress import say
from pipeline.runs.store import Appender, read, read_ids, rewrite
from pipeline.runs.usage import Usage

HELD = 60.0  # seconds in which the process of a lost node, or of a lost driver, lets go of its shard


class Shard(NamedTuple):
    """Part `number` (from 1) of `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Raises ConfigError for what is not such as 2/4."""
        match = re.fullmatch(r"(\d+)/(\d+)", str(text))
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.number <= shard.of:
            raise ConfigError(f"--shard {text}: expected NUMBER/OF, from 1/OF to OF/OF, such as 2/4")
        return shard

    def takes(self, id: str) -> bool:
        """Whether an id (hexadecimal) belongs to this shard."""
        return int(id, 16) % self.of == self.number - 1

    def folder(self, run: Path) -> Path:
        return run / "shards" / f"{self.number}-of-{self.of}"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """`pipeline.runs.lock.writing`, waiting for a process that lets go. Raises Held after HELD seconds."""
    with ExitStack() as stack:
        for attempt in tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Held),
            stop=tenacity.stop_after_delay(HELD),
            wait=tenacity.wait_fixed(1),
            before_sleep=lambda _: say(f"Waiting for {folder}, which another process writes."),
            reraise=True,
        ):
            with attempt:
                stack.enter_context(writing(folder))
        yield


def merge(experiment: Experiment) -> int:
    """Take in what shards made, and remove them; the number of records that were new.

    A kill at any moment loses and doubles nothing: a shard is removed when all of it is on disk elsewhere.
    Raises RunError where a shard is still being written after HELD seconds (workers whose driver died let go later),
    and where one is another experiment's: then nothing is taken in.
    """
    run = experiment.run
    for left in (run / "shards").glob(".*.taken"):  # by a merge that was killed
        shutil.rmtree(left)
    folders = sorted(folder for folder in (run / "shards").glob("*-of-*") if folder.is_dir())
    made: dict[str, IdSet] = {}  # by file of dialogues
    taken = 0
    for folder in folders:
        same(experiment, folder)
    require_shards_alike(run, folders)
    for folder in folders:
        with held(folder):
            for part in sorted((folder / "dialogues").glob("*.jsonl")):
                whole = run / "dialogues" / part.name
                if part.name not in made:
                    made[part.name] = IdSet(read_ids(whole, Dialogue))
                new = _take_dialogues(whole, part, made[part.name])
                made[part.name] |= IdSet(new)
                taken += len(new)
            take(run, folder)
            taken += _take_failures(run, folder / "failures.jsonl", made)
            _take_usage(run / "usage.jsonl", folder / "usage.jsonl")
            # At once, so that a kill never leaves a shard without its config.
            shutil.rmtree(folder.rename(folder.with_name(f".{folder.name}.taken")))
    if folders and not any((run / "shards").iterdir()):
        (run / "shards").rmdir()
    return taken


def _take_dialogues(whole: Path, part: Path, made: IdSet) -> set[str]:
    """The ids of those that were new."""
    new: set[str] = set()
    with Appender(whole) as file:
        for dialogue in read(part, Dialogue):
            if dialogue.id not in made and dialogue.id not in new:
                file.append(dialogue)
                new.add(dialogue.id)
        file.sync()
    return new


def _take_failures(run: Path, part: Path, made: dict[str, IdSet]) -> int:
    """Where one shard failed at what another made, the dialogue stands."""
    before = list(read(run / "failures.jsonl", Failure))
    after = {
        failure.id: failure for failure in before if failure.id not in made.get(f"{failure.condition_name}.jsonl", ())
    }
    added = [
        f for f in read(part, Failure) if f.id not in made.get(f"{f.condition_name}.jsonl", ()) and f.id not in after
    ]
    rewrite(run / "failures.jsonl", [*after.values(), *added])
    return len(added)


def _take_usage(whole: Path, part: Path) -> None:
    there = {usage.id for usage in read(whole, Usage)}
    with Appender(whole) as file:
        for usage in read(part, Usage):
            if usage.id not in there:
                file.append(usage)
