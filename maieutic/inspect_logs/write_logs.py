"""A run as logs of inspect_ai, which its viewer and its analysis read.

One log for each student and seed of each exam: a sample is a task, its scores are the metrics. `training_dialogues` and
`exam_dialogues` hold what was said: a sample is a dialogue as its student saw it.

    maieutic export runs/quickstart inspect
    inspect view --log-dir runs/quickstart/inspect
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maieutic.view.read_talks import Kind, ShownRun
from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.experiment.cell import Cell
from pipeline.experiment.places import without_place
from pipeline.runs.directory import require
from pipeline.runs.lock import writing
from pipeline.runs.progress import say, stage
from pipeline.runs.student_files import seed_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample, EvalScore

NAMES: dict[Kind, str] = {"dialogue": "training_dialogues", "exam": "exam_dialogues"}  # no exam has such a name


def check_inspect() -> None:
    """Raises ConfigError where inspect_ai is not installed."""
    if importlib.util.find_spec("inspect_ai") is None:
        raise ConfigError(
            "export inspect: inspect_ai is not installed here. Install it: pip install 'maieutic[inspect]'"
        )


def write_inspect_logs(path: Path) -> Path:
    """Write RUN/inspect anew and return it; logs of other programs that lie there stay.

    Raises ConfigError, RunError where there is no run, StoreError.
    """
    require(path)
    check_inspect()
    folder = path / "inspect"
    with writing(path), stage("export inspect") as progress:
        written = set[Path]()
        for cell, source, name, samples, scores in _logs(ShownRun(path, path.resolve().name)):
            written.add(_write(path, cell, source, name, samples, scores))
            progress()
        for earlier in {*folder.glob("*/seed-*/*.eval")} - written:
            earlier.unlink()
    if not progress.done:
        raise ConfigError(f"export inspect: {path} has no dialogues and no exam cases yet. `maieutic run` makes them.")
    say(f"export inspect: {progress.done} logs")
    return folder


Log = tuple[Cell, Path, str, "Sequence[EvalSample]", "Sequence[EvalScore]"]


def _logs(run: ShownRun) -> Iterator[Log]:
    """Where each comes from, its task's name, and what is in it; one condition and seed are held at once."""
    from maieutic.inspect_logs.case_samples import exams_in
    from maieutic.inspect_logs.talk_samples import talk_samples, talk_scores

    for kind, file in run.files():
        seeds = run.experiment.seeds if kind == "dialogue" else [seed_of(file)]
        name = file.stem if kind == "dialogue" else file.parent.name
        for seed in seeds:
            talks = (talk for _, _, talk in run.talks(kind, file, 0) if talk.dialogue.seed == seed)
            if samples := talk_samples(run, talks):
                yield Cell(run.experiment, name, seed), file, NAMES[kind], samples, talk_scores(samples)
    for file in run.case_files():
        cell = Cell(run.experiment, file.parent.name, seed_of(file), run.experiment.rounds - 1)
        for name, samples, scores in exams_in(run, cell, file):
            yield cell, file, name, samples, scores


def _write(
    run: Path, cell: Cell, source: Path, name: str, samples: Sequence[EvalSample], scores: Sequence[EvalScore]
) -> Path:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats, write_eval_log

    experiment = cell.experiment
    made = datetime.fromtimestamp(source.stat().st_mtime, UTC).isoformat()
    about: dict[str, Any] = {"run": experiment.name, "condition": cell.condition_name, "seed": cell.seed}
    if cell.condition_name in experiment.conditions:  # the base is no condition's
        about |= {"of_condition": cell.condition.model_dump(mode="json")}
    # inspect tells samples apart by these: two runs may have one name.
    which = digest(str(run.resolve()), (run / "config.yaml").read_text(encoding="utf-8"))
    key = (which, cell.condition_name, cell.seed, name)
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id=digest("eval", *key),
            run_id=digest("run", *key[:3]),
            task_id=digest("task", *key),
            created=made,
            task=name,
            task_args={"condition": cell.condition_name, "seed": cell.seed},
            tags=[cell.condition_name, f"seed-{cell.seed}"],
            dataset=EvalDataset(name=experiment.tasks.source, samples=len(samples)),
            model=f"{without_place(experiment.student.model)}/{cell.condition_name}",
            config=EvalConfig(),
            metadata=about,
        ),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=[*scores]),
        stats=EvalStats(started_at=made, completed_at=made),
        samples=[*samples],
    )
    place = run / "inspect" / cell.condition_name / f"seed-{cell.seed}" / f"{name}.eval"
    place.parent.mkdir(parents=True, exist_ok=True)
    write_eval_log(log, str(place))
    return place
