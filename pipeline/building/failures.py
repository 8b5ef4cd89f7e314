"""What went wrong: the typed failures of a build, and who has to know of them.

Every task of every condition ends as a dialogue or as a failure in failures.jsonl. Failures of the engine are tried
again by the same command, the others stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import digest
from pipeline.dialogue.episode import EmptyTurn, OnlyReasoning, UnparsedScript
from pipeline.engines.model import ContextOverflow, EngineDown, EngineError
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE
from pipeline.knowledge.records import Failure, FailureKind
from pipeline.reading.protocol import NotRead
from pipeline.runs.dialogue_pool import reference
from pipeline.runs.progress import say
from pipeline.runs.store import read, rewrite
from pipeline.tasks.parsing import BadRow


class NoWrongAnswer(MaieuticError, ValueError):
    """The partition needs a wrong answer for the task, and none could be made from its gold answer."""


KIND_OF: dict[type[Exception], FailureKind] = {
    ContextOverflow: "context_overflow",
    EngineError: "engine_error",
    EmptyTurn: "empty_turn",
    OnlyReasoning: "only_reasoning",
    UnparsedScript: "unparsed_script",
    NoWrongAnswer: "no_wrong_answer",
    NotRead: "not_read",
}
# Errors that end one dialogue, and not the build.
TYPED = tuple(KIND_OF)


def failure_of(cell: Cell, id: str, task_id: str, error: Exception) -> Failure:
    """The failure that an error of `TYPED` is stored as. What a judge's engine failed to read is the engine's."""
    of_engine = isinstance(error, NotRead) and error.engine
    return Failure(
        id=id,
        task_id=task_id,
        condition_name=cell.condition_name,
        seed=cell.seed,
        round=cell.round,
        kind="engine_error" if of_engine else KIND_OF[type(error)],
        message=str(error),
    )


def unreadable(cell: Cell, bad: Iterable[BadRow]) -> Iterator[Failure]:
    """The rows of the source that could not be read; each names its line, and of two files of one name it is counted
    which."""
    met = Counter[str]()
    for row in bad:
        name = row.where.rpartition("/")[2]
        again = (met[name],) if met[name] else ()
        met[name] += 1
        yield Failure(
            id=digest(name, *cell.key, *again),
            task_id=row.where,
            condition_name=cell.condition_name,
            seed=cell.seed,
            round=cell.round,
            kind="bad_task",
            message=row.message,
        )


def failures_of(folder: Path, cell: Cell) -> list[Failure]:
    """Those of one cell in a folder's failures.jsonl."""
    return [failure for failure in read(folder / "failures.jsonl", Failure) if cell.holds(failure)]


def standing_failures(folder: Path) -> Iterator[str]:
    """Ids of a folder's failures that are not tried again."""
    return (failure.id for failure in read(folder / "failures.jsonl", Failure) if failure.kind != "engine_error")


def forget_engine_errors(folder: Path, cell: Cell) -> None:
    """Drop the engine's failures of one cell from failures.jsonl: they are about to be tried again."""
    failures = list(read(folder / "failures.jsonl", Failure))
    standing = [failure for failure in failures if failure.kind != "engine_error" or not cell.holds(failure)]
    if len(standing) != len(failures):
        rewrite(folder / "failures.jsonl", standing)


def check_engine(folder: Path, cell: Cell) -> None:
    """Raises EngineDown where nothing came of a cell but errors of the engine: others would fare no better."""
    failures = [failure for failure in failures_of(folder, cell) if failure.kind != "bad_task"]
    if failures and all(failure.kind == "engine_error" for failure in failures):
        raise EngineDown(
            f"Not one of {len(failures)} dialogues could be played, the engine failed at all of them; the last: "
            f"{failures[-1].message}. Mend that; the same command tries them again, here or in another `out`."
        )


def say_failures(cell: Cell) -> None:
    """What went wrong in one cell, by kind."""
    failures = failures_of(cell.experiment.run, cell)
    if not failures:
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(failure.kind for failure in failures).items())
    say(f"  failures.jsonl: {kinds}; the last: {failures[-1].message}")
    if any(failure.kind == "engine_error" for failure in failures):
        say("  Engine errors are tried again by the same command.")


def whole_before_others(experiment: Experiment, group: list[str], round: int) -> None:
    """Raises EngineError where others would learn from these students, and dialogues or branches that decide what they
    learn are to be made again."""
    speakers = {name for condition in experiment.conditions.values() for name in condition.speakers}
    followed = {name for name in group if name in speakers or round + 1 < experiment.rounds}
    pools = {pool for name in followed for pool in _pools(experiment, name)}
    branched = {pool for name in followed if _by_branches(experiment, name) for pool in _pools(experiment, name)}
    dialogues, branches = _failure_files(experiment)
    open_ = sum(
        failure.kind == "engine_error" and failure.condition_name in names and failure.round == round
        for file, names in ((dialogues, pools), (branches, branched))
        for failure in read(file, Failure)
    )
    if open_:
        raise EngineError(
            f"{open_} dialogues of round {round + 1} ended in an engine error, and what comes next builds on their "
            "students: training waits for them. `maieutic build`, or `maieutic run`, tries them again."
        )


def _pools(experiment: Experiment, condition_name: str) -> Iterator[str]:
    """Whose dialogues decide what a condition's student learns: among them those that it is matched with, or dealt rows
    of, and those whose tokens are its budget."""
    conditions, regime = experiment.conditions, experiment.regime_of(condition_name)
    for name in (condition_name, *(experiment.with_regime(regime) if regime != "natural" else ())):
        yield conditions[name].learns_from or name
    if conditions[condition_name].method in ONLINE and (pool := reference(experiment, condition_name)):
        yield pool


def _by_branches(experiment: Experiment, condition_name: str) -> bool:
    """Whether branches decide what its student learns: pairs of turns, and the tokens of who plays."""
    method = experiment.conditions[condition_name].method
    return method in ONLINE or method.startswith("dpo")


def unfinished(experiment: Experiment) -> int:
    """Dialogues and branches that ended in an engine error: they are tried again."""
    files = _failure_files(experiment)
    return sum(failure.kind == "engine_error" for file in files for failure in read(file, Failure))


def _failure_files(experiment: Experiment) -> tuple[Path, Path]:
    return experiment.run / "failures.jsonl", experiment.run / "branches" / "failures.jsonl"
