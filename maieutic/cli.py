"""The command. Each stage reads and writes one run directory, and says what an earlier call left ready.

    maieutic run configs/quickstart.yaml     # build, select, export, train, examine, compare

Everything heavy is imported inside the functions, so that `maieutic --help` answers at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipeline.experiment.experiment import Experiment

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True,
    help="What does a student learn from a partner that knows more, or no more, than it does? Builds dialogues under "
    "each condition of an experiment, trains a student on each, examines the students and compares them.",
)  # fmt: skip
Config = Annotated[Path, typer.Argument(help="An experiment, such as configs/quickstart.yaml.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a value, such as dialogue.turns=2. Repeatable."),
]
Documents = Annotated[Path, typer.Argument(help="JSON Lines (id, text), or a folder of .txt.", show_default=False)]
Target = Annotated[str, typer.Argument(help="A run; or a dataset, or its description.", show_default=False)]


def _unsafe(typed: bool) -> None:
    if typed:
        from pipeline.sandbox.checks import allow_unsafe

        allow_unsafe()


Unsafe = Annotated[
    bool, typer.Option("--unsafe", callback=_unsafe, help="Run models' programs uncontained: they may do what you may.")
]
Attempts = Annotated[int, typer.Option(min=1, help="Questions to ask for of each document.")]


@app.command()
def doctor(
    config: Annotated[Path | None, typer.Argument(help="Check its engine too.", show_default=False)] = None,
    overrides: Overrides = None,
) -> None:
    """Check this machine: versions, GPU, limits, engines, a config's server, and whether the embedded base answers."""
    with _told():
        from maieutic.doctor import diagnose
        from pipeline.experiment.experiment import load

        sound = diagnose(load(config, tuple(overrides or ())) if config else None)
    raise typer.Exit(0 if sound else 1)


@app.command()
def pose(config: Config, documents: Documents, overrides: Overrides = None, attempts: Attempts = 2) -> None:
    """Have the partner's model pose tasks about documents that no student reads, into the config's tasks.path."""
    with _told():
        from pipeline.posing.pose import pose_documents

        raise typer.Exit(1 if pose_documents(_load(config, overrides), documents, attempts) else 0)


@app.command()
def preview(config: Config, overrides: Overrides = None, unsafe: Unsafe = False) -> None:
    """Print one dialogue of each condition as either party sees it, and what the experiment costs."""
    with _told():
        from evals.examining.cost import most_answers
        from maieutic.preview import show
        from pipeline.experiment.assignment import exam_tasks

        experiment = _load(config, overrides)
        tasks, aside = exam_tasks(experiment)
        show(experiment, most_answers(experiment, tasks, len(aside)))


@app.command()
def build(
    config: Config,
    overrides: Overrides = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="NUMBER/OF", help="Make this part alone, such as 2/4; a build without it takes all in."),
    ] = None,
    unsafe: Unsafe = False,
) -> None:
    """Make every condition's dialogues, select, and export datasets."""
    with _told():
        if shard is not None:
            from pipeline.building.rounds import build_shard, shard_of

            experiment = _load(config, overrides)
            part = shard_of(experiment, shard)
            with _writing(experiment, shared=True):
                _open_next(build_shard(experiment, part))
            return
        with _writing(_load(config, overrides)) as experiment:
            _rounds(experiment, training=False)
            _open_next(experiment.run / "dialogues", experiment.run / "datasets")
            _say_unfinished(experiment)


@app.command()
def train(config: Config, overrides: Overrides = None) -> None:
    """Train a LoRA adapter on every condition's dataset, one for each seed."""
    with _told(), _training(_load(config, overrides)) as experiment:
        from pipeline.building.rounds import groups, waits
        from training.students import train_all

        for group in groups(experiment):
            for round in range(experiment.rounds):
                if waits(experiment, group, round):
                    break
                train_all(experiment, group, round)
        _open_next(experiment.run / "adapters")


@app.command("export")
def export_(
    config: Config,
    format: Annotated[
        str,
        typer.Argument(
            help="sft, prompt_completion, preference, unpaired_preference, prompt_only or privileged_context.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
) -> None:
    """Write what was built in another of TRL's formats, too, into every condition's folder of datasets/."""
    with _told():
        from pipeline.datasets.export import export_all, known
        from pipeline.runs.directory import require

        known(format)
        require(_load(config, overrides).run)
    with _told(), _writing(_load(config, overrides)) as experiment:
        export_all(experiment, format)
        _open_next(experiment.run / "datasets")


@app.command("eval")
def eval_(
    config: Annotated[Path, typer.Argument(help="An experiment, or the word labels.", show_default=False)],
    labels: Annotated[
        Path | None, typer.Argument(help="After labels: configs/labels.yaml.", metavar="[CONFIG]", show_default=False)
    ] = None,
    overrides: Overrides = None,
    unsafe: Unsafe = False,
) -> None:
    """Examine the untrained base and every trained student. `eval labels CONFIG` measures who labels turns."""
    if labels is not None:
        with _told():
            from evals.readers.labels.measure_labellers import measure_labellers

            _open_next(*measure_labellers(str(config), labels, tuple(overrides or ())))
        return
    with _told(), _writing(_load(config, overrides)) as experiment:
        from evals.examining.examine import examine_all

        asyncio.run(examine_all(experiment))
        _open_next(experiment.run / "results", f"after `maieutic compare {experiment.run}` its report.html")


@app.command()
def compare(
    runs: Annotated[list[Path] | None, typer.Argument(help="Run directories, such as runs/quickstart.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="CONFIG", help="Say what a run of this config would find, and cost, instead."),
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Compare examined runs: the deciding table, and a report in the run (of several: in a folder of the first)."""
    with _told():
        from pipeline.core.errors import ConfigError
        from pipeline.runs.directory import require, writing

        if bool(runs) == bool(plan) or (overrides and not plan):
            raise ConfigError(
                "compare: name run directories, or a config to plan with --plan CONFIG (and --set of it)."
            )
        if plan is not None:
            from evals.report.power import plan as planned
            from pipeline.runs.progress import console

            console.print(planned(_load(plan, overrides)))
            return
        assert runs
        for run in runs:
            require(run)
        with writing(runs[0]):
            _compare(runs)


@app.command()
def audit(target: Target, overrides: Overrides = None) -> None:
    """Check a run or anybody's dialogues: knowledge, leaks, luck, contamination, masks. Status 1: a check fails."""
    with _told():
        from evals.audit.audit import audit as audit_all

        raise typer.Exit(0 if audit_all(target, tuple(overrides or ())) else 1)


@app.command()
def society(config: Config, overrides: Overrides = None) -> None:
    """Play a society of peers, each cell that is not there yet, and report its silos."""
    with _told():
        from evals.society.society_page import write_society_report
        from pipeline.society.run_society import play_society

        _open_next(write_society_report(play_society(config, tuple(overrides or ()))))


@app.command()
def run(config: Config, overrides: Overrides = None, unsafe: Unsafe = False) -> None:
    """Do all of it: build, train, eval, compare. The same command again resumes."""
    with _told(), _writing(_load(config, overrides)) as experiment:
        from evals.examining.examine import examine_all

        _rounds(experiment, training=True)
        asyncio.run(examine_all(experiment))
        _compare([experiment.run])
        _say_unfinished(experiment)


def main() -> None:
    """The entry point of the `maieutic` script."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the tokenizer warns when a process forks
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    # Ours is the one progress display; set these to 0 to see the libraries' own, of downloads for example.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    app()


@contextmanager
def _told() -> Iterator[None]:
    """Errors that this project defines are written to be read: they are printed, and the status is 2."""
    try:
        yield
    except KeyboardInterrupt:
        typer.secho("\nStopped; what is stored stays. The same command goes on from here.", fg="yellow", err=True)
        raise typer.Exit(130) from None
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        ours = type(cause).__module__.partition(".")[0] in ("pipeline", "training", "evals")
        if not ours and not isinstance(cause, OSError):
            raise
        if not ours and not isinstance(cause, FileNotFoundError):
            cause = OSError(f"{cause}. What is stored stays; mend the cause, and the same command goes on from here.")
        typer.secho(str(cause), fg="red", err=True)
        raise typer.Exit(2) from None


def _load(config: Path, overrides: list[str] | None) -> Experiment:
    from evals.metrics.catalog import check_metrics
    from evals.sitting.scaffold import check_scaffold
    from pipeline.experiment.experiment import load
    from pipeline.runs.directory import check

    experiment = load(config, tuple(overrides or ()))
    check(experiment)
    check_metrics(config, experiment)
    check_scaffold(config, experiment)
    return experiment


@contextmanager
def _writing(experiment: Experiment, shared: bool = False) -> Iterator[Experiment]:
    from pipeline.runs.directory import claim, writing

    with writing(experiment.run, shared):
        claim(experiment, shared)
        yield experiment


@contextmanager
def _training(experiment: Experiment) -> Iterator[Experiment]:
    """As `_writing`; of the processes of `accelerate launch` the first holds the run and speaks."""
    if os.environ.get("RANK", "0") == "0":
        with _writing(experiment):
            yield experiment
        return
    from pipeline.runs.progress import console

    console.quiet = True
    yield experiment


def _rounds(experiment: Experiment, training: bool) -> None:
    from pipeline.building.rounds import branch_round, build_round, groups, waits, whole_before_others
    from pipeline.runs.progress import say
    from pipeline.runs.shards import merge

    if taken := merge(experiment):
        say(f"shards: {taken} dialogues and failures taken in")
    for group in groups(experiment):
        for round in range(experiment.rounds):
            if not training and waits(experiment, group, round):
                return
            if experiment.executor == "ray":
                from pipeline.building import cluster

                cluster.build_round(experiment, group, round)
            else:
                asyncio.run(build_round(experiment, group, round))
            asyncio.run(branch_round(experiment, group, round))
            _export(experiment, group)
            if training:
                from training.students import train_all

                whole_before_others(experiment, group, round)
                train_all(experiment, group, round)


def _say_unfinished(experiment: Experiment) -> None:
    """Exits with status 1 where dialogues are still to be made, so that a script can tell."""
    from pipeline.building.rounds import unfinished
    from pipeline.runs.progress import say

    if left := unfinished(experiment):
        say(f"{left} dialogues ended in an engine error; the same command tries them again.")
        raise typer.Exit(1)


def _export(experiment: Experiment, group: list[str]) -> None:
    from pipeline.datasets.export import export, mark_matched
    from pipeline.judging.leaks import leak_stated, privileged
    from pipeline.runs.pool import Pool
    from pipeline.runs.progress import say, stage

    for name in group:
        condition = experiment.conditions[name]
        with stage(f"select {name}"):
            report = export(experiment, name)
            leaks = [privileged(condition) and leak_stated(dialogue) for dialogue in Pool(experiment, name)]
        kinds = {
            "preference": "branches used",
            "prompt_only": "tasks to play",
            "unpaired_preference": "dialogues labelled",
        }
        kind = kinds.get(report.path.name, "dialogues kept")
        among = f" of {len(leaks)}" if kind == "dialogues kept" else ""
        stated = f", leak_stated in {sum(leaks)}" if privileged(condition) and leaks else ""
        say(
            f"select {name}: {report.taken}{among} {kind}{stated}, {report.rows} rows, "
            f"{report.nothing_learned} without anything to learn"
        )
    if experiment.training.regime == "matched":
        from training.sft import token_counter

        for match in mark_matched(experiment, token_counter(experiment)):
            say(
                f"match {match.condition_name} seed {match.seed}: {match.kept} of {match.rows} rows, "
                f"{match.kept_tokens} of {match.tokens} student tokens"
            )


def _compare(runs: list[Path]) -> None:
    from evals.report.report import table, write
    from evals.report.summary import summarize
    from pipeline.runs.progress import console, stage

    with stage("compare"):
        summary = summarize(runs)
        # Of several runs the report is nobody's own: it must not replace that of the first.
        others = "-".join(run.resolve().name for run in runs[1:])
        folder = runs[0] / f"compared-with-{others}" if others else runs[0]
        folder.mkdir(exist_ok=True)
        written = write(folder, summary)
    console.print(table(summary))
    _open_next(*written)


def _open_next(*paths: Path | str) -> None:
    from pipeline.runs.progress import say

    say("\nOpen next:")
    for path in paths:
        say(f"  {path}")


if __name__ == "__main__":
    main()
