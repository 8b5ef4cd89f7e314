"""What is audited, a run or somebody's dataset, as the same talks; and how an answer is found in a text."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from evals.audit.refusals import can_be_used, is_free, none_fits
from evals.audit.run_talks import RunTalks, run_talks
from evals.report.counting.counted_files import DatasetRows, Pooled
from evals.report.counting.counts import pooled
from pipeline.core.errors import ConfigError
from pipeline.core.id_set import IdSet
from pipeline.core.schema import Task, digest, question_hash
from pipeline.datasets.dataset_files import dataset_path
from pipeline.experiment.experiment import Experiment
from pipeline.judging import outcome
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import find_partition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.attempt import as_written, said_numbers
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.numbers.equality import equal, is_number
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import NotRead
from pipeline.runs.directory import experiment_of
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.talks import AuditSettings, Talk, load_source, read_talks

UNKNOWN = "?"  # a question that the data do not hold


@dataclass(frozen=True)
class Material:
    """Talks and what is known about them. Of a run `experiment` says where its files are.

    `source` is the way from `out` to what was audited; a hub name stays one.
    """

    name: str
    talks: Sequence[Talk]
    bad: list[BadRow]
    settings: AuditSettings
    out: Path
    source: str
    experiment: Experiment | None = None
    _pools: dict[str, Pooled] = field(default_factory=dict, repr=False, compare=False)

    def pool(self, condition_name: str) -> Pooled:
        """What is counted over the dialogues of a run's condition. Several checks ask for it, and to read a dialogue's
        turns takes longest, so that it is gone through once."""
        assert self.experiment is not None
        source = self.experiment.conditions[condition_name].learns_from or condition_name
        if source not in self._pools:
            self._pools[source] = pooled(self.experiment, source)
        return self._pools[source]

    def forget_pools(self) -> None:
        """None is asked for any more: each holds the wordings of some thousand tasks."""
        self._pools.clear()

    def used(self) -> Sequence[Talk]:
        """What is trained on: of a run the rows of its datasets, where there are any; of a dataset all."""
        if self.experiment is None:
            return self.talks
        assert isinstance(self.talks, RunTalks)
        rows = {name: trained(self.experiment, name) for name in self.experiment.conditions}
        if all(ids is None for ids in rows.values()):
            return self.talks
        return self.talks.among({name: ids or IdSet() for name, ids in rows.items()})

    def conditions(self) -> Mapping[str, Sequence[Talk]]:
        return by_condition(self.talks)


def open_material(target: str, overrides: tuple[str, ...] = ()) -> Material:
    """A run directory, a YAML description of a dataset, or a dataset. Raises ConfigError, StoreError."""
    run, of_run = Path(target), Path(target, "config.yaml").is_file()
    name, settings = re.sub(r"^audit_", "", run.stem) or "dataset", load_source(target, overrides)
    out = Path(settings.out) if settings.out else run / "audit" if of_run else Path("runs/audit") / name
    source = os.path.relpath(run, out) if run.exists() else target
    is_free(out, source)
    can_be_used(settings.audit)
    if not of_run:
        try:
            talks, bad = read_talks(settings)
        except ConfigError as error:
            if settings.files != {"all": target}:
                raise
            # The target is the file itself, and nobody wrote the key.
            raise ConfigError(str(error).removeprefix("files.all: ")) from error
        if bad and not talks:
            raise ConfigError(none_fits(target, settings, bad))
        talks, unread = read_turns(talks, settings.audit.reads)
        bad += unread
        return Material(name=name, talks=talks, bad=bad, settings=settings.audit, out=out, source=source)
    experiment = experiment_of(run)
    return Material(
        name=experiment.name,
        talks=run_talks(experiment),
        bad=[],
        settings=settings.audit,
        out=out,
        source=source,
        experiment=experiment,
    )


def read_turns(talks: list[Talk], reader: str) -> tuple[list[Talk], list[BadRow]]:
    """The talks with what their turns do, where the gold answer is known, and those that could not be read."""
    if not any(talk.answer for talk in talks):
        return talks, []
    reads = CLOSED if reader == "closed" else Instrument(reader, open_reader(reader))

    async def read_one(talk: Talk) -> Talk | BadRow:
        if not talk.answer:
            return talk
        try:
            turns = await reads.read(dialogue_of(talk).task, talk.turns, imported=True)
        except NotRead as error:
            return BadRow(talk.id, str(error))
        return talk.model_copy(update={"turns": turns})

    async def read_all() -> list[Talk | BadRow]:
        return await asyncio.gather(*map(read_one, talks))

    made = asyncio.run(read_all())
    return [m for m in made if isinstance(m, Talk)], [m for m in made if isinstance(m, BadRow)]


def by_condition(talks: Sequence[Talk]) -> Mapping[str, Sequence[Talk]]:
    """The same by their conditions' names, in the order in which these come."""
    if isinstance(talks, RunTalks):
        return talks.conditions()
    groups: dict[str, list[Talk]] = {}
    for talk in talks:
        groups.setdefault(talk.condition_name, []).append(talk)
    return groups


def by_knowledge(material: Material) -> Iterator[tuple[str, Sequence[Talk]]]:
    """The talks of each condition; of data that are no run, whose rows may each say who knew what, apart by that."""
    for name, talks in material.conditions().items():
        if material.experiment:
            yield name, talks
            continue
        alike: dict[str, list[Talk]] = {}
        for talk in talks:
            alike.setdefault(talk.partition, []).append(talk)
        for partition, own in alike.items():
            said = f"partition {partition}" if partition else "no partition said"
            yield (name if len(alike) == 1 else f"{name}, {said}" if name else said), own


def trained(experiment: Experiment, condition_name: str) -> IdSet | None:
    """Ids of the rows that training sees: those that matching kept, and that are learned from at all; None without a
    dataset."""
    rows = DatasetRows(dataset_path(experiment, condition_name))
    return IdSet(row.id for row in rows if row.learned) if rows.files else None


def dialogue_of(talk: Talk) -> Dialogue:
    """A talk with an answer, for the functions that read dialogues. Of one talk it is the same one while it is asked
    for in a row, so that its turns are read once."""
    if not _LAST or _LAST[0][0] is not talk:
        _LAST[:] = [(talk, _dialogue_of(talk))]
    return _LAST[0][1]


_LAST: list[tuple[Talk, Dialogue]] = []


def _dialogue_of(talk: Talk) -> Dialogue:
    partition = talk.partition or "symmetric"
    return Dialogue(
        id=talk.id,
        task=Task(
            id=talk.id,
            source="talks",
            specification="full",
            question=talk.question or UNKNOWN,
            full_question=whole_question(talk) or UNKNOWN,
            answer=talk.answer,
        ),
        condition_name=talk.condition_name,
        condition=_read_as(partition),
        seed=0,
        turns=talk.turns,
        stop=_stop(talk),
    )


@lru_cache
def _read_as(partition: str) -> Condition:
    """Who wrote a talk is not known: it is read as people's; a script alone is a model's by definition."""
    return Condition(partition=partition, voice="model" if find_partition(partition).one_writer else "human")


def whole_question(talk: Talk) -> str:
    """The question with nothing missing, where it is known."""
    return str(talk.meta.get("full_question", talk.question))


def group(talk: Talk) -> str:
    """What of a dataset belongs together: talks about one question, else talks with one opening."""
    opening = talk.turns[0].text if talk.turns else ""
    return question_hash(whole_question(talk)) if whole_question(talk) else digest(opening)


def seed_of(talk: Talk) -> int:
    return int(talk.meta.get("seed", 0))


def holds(text: str, gold: str) -> bool:
    """The gold answer stands in the text, as a number however it is written or as the same words in a row."""
    if is_number(gold):
        fraction = r"(?:/\d+)?" if "/" in gold else ""  # else what is worked out in a text ("16/4") would count
        written = re.findall(rf"[-−]?\$?\d[\d,]*(?:\.\d+)?{fraction}%?", text)
        said = (text[start:end] for start, end in said_numbers(text))
        spelled = (as_written(each) for each in said if each[0].isalpha() and each.lower() != "one")  # "that one"
        return any(equal(figure, gold) for figure in (*(each.rstrip(",") for each in written), *spelled))
    return bool(_words(gold)) and f" {_words(gold)} " in f" {_words(text)} "


def _words(text: str) -> str:
    """Small letters without accents, which people leave out."""
    plain = unicodedata.normalize("NFKD", text.lower())
    return " ".join(re.findall(r"\w+", "".join(letter for letter in plain if not unicodedata.combining(letter))))


def rights(talk: Talk) -> list[bool]:
    """Whether each turn commits to the gold answer: as its attempt where it is a number, anywhere where it is words."""
    if not is_number(talk.answer):
        return [holds(turn.text, talk.answer) for turn in talk.turns]
    return [bool(right) for right in outcome.rights(dialogue_of(talk))]


def _stop(talk: Talk) -> Any:
    """How a dialogue of ours ended; closing sentences are answers in people's talk alone
    (pipeline.judging.outcome.attempts)."""
    return talk.meta.get("stop", "imported")


def shown(talk: Talk) -> str:
    """A talk as text, for people to read."""
    return "\n".join(f"{turn.party}: {turn.text}" for turn in talk.turns)
