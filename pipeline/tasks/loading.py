"""`load_tasks` gives the problems of one split, from whichever source the config names.

Of sources that are read the split is made by a hash of the full question, before any generation and alike in all of
them, so what one source trains on is never examined in another.
"""

from __future__ import annotations

from collections.abc import Collection

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, Task, digest, question_hash
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Split
from pipeline.tasks.sources import source_of


def load_tasks(settings: Tasks, split: Split) -> tuple[list[Task], list[BadRow]]:
    """All tasks of `stream_tasks`, held."""
    tasks, bad = stream_tasks(settings, split)
    return list(tasks), bad


def stream_tasks(settings: Tasks, split: Split) -> tuple[Collection[Task], list[BadRow]]:
    """Up to as many tasks per specification as `settings.train` or `settings.exam` says, twins sharing questions.

    Which ones is drawn by `settings.seed`; no question comes a second time (in another sharding or
    scenario) before all have come once. The bad rows are those of the whole file,
    or none where none of its tasks is wanted.
    Those of `settings.second` come after them. Raises ConfigError for a file that cannot be read and a specification
    that the source does not have.
    """
    tasks, bad = of_one_source(settings, split)
    if settings.second is None:
        return tasks, bad
    more, also_bad = of_one_source(settings.second, split)
    return [*tasks, *more], [*bad, *also_bad]


def no_task(settings: Tasks, bad: list[BadRow]) -> ConfigError:
    """What to say where a source gave no task to train on."""
    why = (
        f"{len(bad)} rows cannot be used; the first: {bad[0].where}: {bad[0].message}" if bad else "no row was refused"
    )
    return ConfigError(
        f"tasks.train: the source {settings.source!r} gave no task ({why}). Expected counts per specification, such as "
        f"{{full: 300}}{', and a file with usable rows' if settings.path else ''}."
    )


def base_tasks(settings: Tasks, counts: dict[Specification, int]) -> list[Task]:
    """So many tasks of split base, of a source that has it: no student is trained or examined on them."""
    make = source_of(settings).make
    assert make is not None
    return list(make(settings.model_copy(update={"train": counts}), "base"))


def of_one_source(settings: Tasks, split: Split) -> tuple[Collection[Task], list[BadRow]]:
    """As `stream_tasks`, without those of `settings.second`."""
    source, counts = source_of(settings), settings.train if split == "train" else settings.exam
    for name in counts:
        if name not in source.specifications:
            at = f" with tasks.path {settings.path!r}" if settings.path else ""
            raise ConfigError(
                f"tasks.{split}.{name}: source {settings.source!r}{at} has no {name!r} tasks. "
                f"It has: {', '.join(source.specifications)}."
            )
    if source.make:
        return source.make(settings, split), []
    assert source.read is not None
    tasks, bad = source.read(settings)
    drawn = [
        task
        for name, count in counts.items()
        for task in _draw(
            [task for task in tasks if task.split == split and task.specification == name], settings.seed
        )[:count]
    ]
    return drawn, bad if any(counts.values()) else []


def _draw(tasks: list[Task], seed: int) -> list[Task]:
    repeats: dict[str, int] = {}
    keyed = []
    for task in tasks:
        question = question_hash(task.full_question)
        repeats[question] = repeats.get(question, 0) + 1
        keyed.append((repeats[question], digest(seed, question), task))
    return [task for *_, task in sorted(keyed, key=lambda item: item[:2])]


def load_dialogues(
    settings: Tasks, condition_name: str, condition: Condition, seed: int
) -> tuple[list[Dialogue], list[BadRow]]:
    """Imported dialogues on questions of the train split, drawn by `settings.seed`: of each specification up to as many
    as `settings.train` says.

    Raises ConfigError as `load_tasks` does.
    """
    read = source_of(settings).dialogues
    if read is None:
        raise ConfigError(
            f"tasks.source: {settings.source!r} has no dialogues to import. Use a source that has, such as mathdial."
        )
    dialogues, bad = read(settings, condition_name, condition, seed)
    train = [dialogue for dialogue in dialogues if dialogue.task.split == "train"]
    train.sort(key=lambda dialogue: digest(settings.seed, dialogue.task.id, [turn.text for turn in dialogue.turns]))
    by_kind = {name: [one for one in train if one.task.specification == name][:n] for name, n in settings.train.items()}
    return [dialogue for part in by_kind.values() for dialogue in part], bad
