"""What `import maieutic` offers. The commands call these functions, so that both do the same.

Everything heavy is imported inside the functions, so that `import maieutic` and `maieutic --help` answer at once.
For the same reason types are named as `maieutic.Experiment`: they are imported when somebody asks for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import maieutic

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class Report(NamedTuple):
    """A comparison: what report.json holds, and the files that were written (report.html, .md, .json)."""

    summary: maieutic.Summary
    files: tuple[Path, ...]


def _in_a_notebook_too(work: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Where an event loop runs already, as in a notebook, in a thread of its own: engines need a loop of their own.

    Work in such a thread cannot be interrupted, only the process can end: what is stored stays.
    """

    @wraps(work)
    def apart(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work(*args, **kwargs)
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work, *args, **kwargs).result()

    return apart


def _an_experiment(given: object, function: str) -> None:
    """Raises ConfigError where a name or a file was given, as to `load`."""
    from pipeline.core.errors import ConfigError
    from pipeline.experiment.experiment import Experiment

    if not isinstance(given, Experiment):
        raise ConfigError(f"maieutic.{function}: {given!r}. Expected what maieutic.load({given!r}) returns")


def _texts(overrides: tuple[object, ...], function: str, name: str, example: str) -> None:
    """Raises ConfigError where overrides are no texts."""
    from pipeline.core.errors import ConfigError

    if not all(isinstance(override, str) for override in overrides):
        raise ConfigError(
            f'maieutic.{function}: {overrides!r}. Expected texts, as in {function}("{name}", "{example}")'
        )


def _paths(given: tuple[object, ...], function: str) -> list[Path]:
    """Raises ConfigError for what is no path, such as a list of several, or an experiment."""
    from pipeline.core.errors import ConfigError

    for each in given:
        if not isinstance(each, str | Path):
            raise ConfigError(
                f"maieutic.{function}: {each!r}. Expected a path, such as experiment.run; several are several arguments"
            )
    return [Path(str(each)) for each in given]


def _lies_where_it_was_made(config: Path, experiment: maieutic.Experiment, overrides: tuple[str, ...]) -> None:
    """Raises ConfigError for the config of a copied run: what it names is the one that it was copied from."""
    from pipeline.core.errors import ConfigError
    from pipeline.experiment.experiment import is_dumped

    run = config.resolve().parent
    made = any((run / name).is_dir() for name in ("dialogues", "datasets", "adapters"))  # some conditions play none
    of_a_run = config.name == "config.yaml" and made and is_dumped(config.read_text(encoding="utf-8"))
    if of_a_run and run != experiment.run.resolve() and not any(each.startswith("out=") for each in overrides):
        raise ConfigError(
            f"{config}: this run was copied or moved: its `out` is {experiment.run}, which would be written to. "
            f"Say --set out={config.parent}"
        )


def load(config: str | Path, *overrides: str) -> maieutic.Experiment:
    """Read an experiment and check all that can be checked ahead.

    `config` is a file, or the name of a config that ships, such as "quickstart". `overrides` are what --set takes:
    "seeds=[1]", "dialogue.turns=2". Raises ConfigError with file, key, value and what was expected.
    """
    from evals.examining.exam_checks import check_exams
    from pipeline.experiment.experiment import load as read
    from pipeline.experiment.preflight import preflight

    _texts(overrides, "load", "quickstart", "seeds=[1]")
    (path,) = _paths((config,), "load")
    experiment = read(path, overrides)
    _lies_where_it_was_made(path, experiment, overrides)
    preflight(experiment)
    check_exams(path, experiment, overrides)
    return experiment


@_in_a_notebook_too
def preview(experiment: maieutic.Experiment, dialogues: int = 5) -> dict[str, maieutic.Dialogue | maieutic.Failure]:
    """Print one dialogue of each condition as either party sees it, how far a partner that is a model kept to its
    knowledge in `dialogues` of them, and what the experiment takes.

    Returns the first dialogue of each condition that plays, as `build` would store it. Nothing is written.
    """
    from evals.examining.answers_asked import most_answers
    from maieutic.show_preview import show_preview
    from pipeline.core.errors import ConfigError
    from pipeline.experiment.assignment import exam_tasks
    from pipeline.runs.progress import say

    _an_experiment(experiment, "preview")
    if not isinstance(dialogues, int) or dialogues < 1:
        raise ConfigError(f"preview: {dialogues!r} dialogues. Expected a number, 1 or more")
    if not Path(experiment.base).exists() and experiment.student.warmup:
        say("The base is not warmed up yet: it speaks as it is.")
        experiment = experiment.without_warmup()
    tasks, first_turn_tasks = exam_tasks(experiment)
    return show_preview(experiment, most_answers(experiment, tasks, len(first_turn_tasks)), dialogues)


@_in_a_notebook_too
def build(experiment: maieutic.Experiment, shard: str = "") -> Path:
    """Make every condition's dialogues, select, and export datasets; what is there already stays.

    `shard`, such as "2/4", makes that part of the dialogues alone; a build without it takes all parts in. What an
    engine error left to be made stands in failures.jsonl, and the same call tries it again.
    Returns the folder of the datasets, or the shard's. Raises EngineDown where the engine answers nothing at all.
    """
    from maieutic.workflow import claimed, make_rounds, warm_up
    from pipeline.building.rounds import build_shard, shard_of

    _an_experiment(experiment, "build")
    if shard:
        part = shard_of(experiment, shard)
        if experiment.student.warmup and not Path(experiment.base).exists():
            with claimed(experiment):
                warm_up(experiment)
        with claimed(experiment, shared=True):
            return build_shard(experiment, part)
    with claimed(experiment):
        warm_up(experiment)
        make_rounds(experiment, training=False)
    return experiment.run / "datasets"


@_in_a_notebook_too
def train(experiment: maieutic.Experiment) -> Path:
    """Train a LoRA adapter on every condition's dataset, one for each seed. Returns the folder of the adapters."""
    from maieutic.workflow import claimed_by_first, train_rounds

    _an_experiment(experiment, "train")
    with claimed_by_first(experiment):
        train_rounds(experiment)
    return experiment.run / "adapters"


@_in_a_notebook_too
def examine(experiment: maieutic.Experiment) -> Path:
    """Have the untrained base and every trained student sit the exams. Returns the folder of the results."""
    from evals.examining.students import examine_all
    from maieutic.workflow import claimed, warm_up

    _an_experiment(experiment, "examine")
    with claimed(experiment):
        warm_up(experiment)
        examine_all(experiment)
    return experiment.run / "results"


def compare(run: str | Path, *others: str | Path) -> Report:
    """Compare the students of examined runs, and write the report into the run, of several into a folder of the first.

    Raises RunError where a directory holds no run, StoreError for a broken record.
    """
    from maieutic.workflow import write_report
    from pipeline.runs.directory import require
    from pipeline.runs.lock import writing

    runs = _paths((run, *others), "compare")
    for each in runs:
        require(each)
    with writing(runs[0]):
        return Report(*write_report(runs))


@_in_a_notebook_too
def run(experiment: maieutic.Experiment) -> Report:
    """Do all of it: build, train, examine, compare, round by round. The same call again resumes."""
    from evals.examining.students import examine_all
    from maieutic.workflow import claimed, followed_stages, make_rounds, warm_up, write_report
    from pipeline.runs.processes import kept

    _an_experiment(experiment, "run")
    with claimed(experiment), followed_stages(experiment), kept():
        warm_up(experiment)
        make_rounds(experiment, training=True)
        examine_all(experiment)
        return Report(*write_report([experiment.run]))


@_in_a_notebook_too
def audit(target: str | Path, *overrides: str) -> list[maieutic.Check]:
    """Check a run's dialogues, or anybody's: knowledge, leaks, luck, contamination, masks. Prints and writes its page.

    `target` is a run, a dataset, or its description in YAML; `overrides` are keys of that description. Each check has
    a `verdict`: "pass", "fail" or "not testable". Raises ConfigError for what cannot be read.
    """
    from evals.audit.audit import audit as audit_all

    _texts(overrides, "audit", "talks.jsonl", "audit.near=0.9")
    return audit_all(str(*_paths((target,), "audit")), overrides)


def dialogues(run: str | Path, condition_name: str) -> list[maieutic.Dialogue]:
    """All dialogues that a run made under one condition, of every seed and round, in the order in which they ended.

    Raises RunError where there are none, with the conditions that have some; StoreError for a broken record.
    """
    from pipeline.core.errors import RunError
    from pipeline.knowledge.records import Dialogue
    from pipeline.runs.directory import require
    from pipeline.runs.store import read

    (path,) = _paths((run,), "dialogues")
    folder = path / "dialogues"
    require(path)
    file = folder / f"{condition_name}.jsonl"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.jsonl"))) or "none, it is not built"
        raise RunError(f"{run}: no dialogues of condition {condition_name!r}. There are: {known}.")
    return list(read(file, Dialogue))
