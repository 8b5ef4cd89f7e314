"""The command. Each stage reads and writes one run directory, and says what an earlier call left ready.

    maieutic run quickstart     # build, select, export, train, examine, compare

Everything heavy is imported inside the functions, so that `maieutic --help` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import maieutic
from maieutic import api
from pipeline.core.errors import MaieuticError, root_cause

if TYPE_CHECKING:
    from pipeline.experiment.experiment import Experiment

app = typer.Typer(
    pretty_exceptions_enable=False, no_args_is_help=True,
    help="What does a student learn from a partner that knows more, or no more, than it does? Builds dialogues under "
    "each condition of an experiment, trains a student on each, examines the students and compares them.",
)  # fmt: skip
Config = Annotated[
    Path, typer.Argument(help="An experiment: a file, or the name of one that ships: quickstart.", show_default=False)
]
Society = Annotated[Path, typer.Argument(help="A society: a file, or one that ships: mirroring.", show_default=False)]
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


def _version(typed: bool) -> None:
    if typed:
        typer.echo(f"maieutic {maieutic.__version__}")
        raise typer.Exit()


Unsafe = Annotated[
    bool, typer.Option("--unsafe", callback=_unsafe, help="Run models' programs uncontained: they may do what you may.")
]
Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
]
Attempts = Annotated[int, typer.Option(min=1, help="Questions to ask for of each document.")]
Valid = Annotated[bool, typer.Option("--valid", help="Learn from all tasks alike, before there are dialogues.")]


@app.callback()
def options(version: Version = False) -> None:
    pass


@app.command()
def preview(
    config: Config,
    overrides: Overrides = None,
    dialogues: Annotated[int, typer.Option(min=1, help="Dialogues to play of each condition.")] = 5,
    unsafe: Unsafe = False,
) -> None:
    """Print one dialogue of each condition as either party sees it, how far its partner kept to its knowledge, and what
    the experiment takes."""
    with _told():
        api.preview(_load(config, overrides), dialogues)


@app.command()
def run(config: Config, overrides: Overrides = None, unsafe: Unsafe = False) -> None:
    """Do all of it: build, train, eval, compare. The same command again resumes."""
    with _told():
        experiment = _load(config, overrides)
        _print_report(api.run(experiment))
        _say_unfinished(experiment)


@app.command()
def status(run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)]) -> None:
    """Say how far a run is, from outside while `maieutic run` works on it: stages done, what runs, when it ends."""
    with _told():
        from maieutic.status.show_status import show_status

        show_status(run)


@app.command()
def build(
    config: Config,
    overrides: Overrides = None,
    shard: Annotated[
        str,
        typer.Option(metavar="NUMBER/OF", help="Make this part alone, such as 2/4; a build without it takes all in."),
    ] = "",
    unsafe: Unsafe = False,
) -> None:
    """Make every condition's dialogues, select, and export datasets."""
    with _told():
        experiment = _load(config, overrides)
        folder = api.build(experiment, shard)
        _open_next(*([folder] if shard else [experiment.run / "dialogues", folder]))
        if not shard:
            _say_unfinished(experiment, examined=False)


@app.command()
def train(config: Config, overrides: Overrides = None, unsafe: Unsafe = False) -> None:
    """Train a LoRA adapter on every condition's dataset, one for each seed."""
    with _told():
        _open_next(api.train(_load(config, overrides)))


@app.command("eval")
def eval_(
    config: Annotated[Path, typer.Argument(help="An experiment, or the word labels or reading.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="After labels: configs/labels.yaml. After reading: files of labelled turns.",
            metavar="[FILES]",
            show_default=False,
        ),
    ] = None,
    overrides: Overrides = None,
    unsafe: Unsafe = False,
    reader: Annotated[
        str,
        typer.Option(
            help="Of eval reading: semantic, cross_encoder, closed, judge (with --set model=NAME, and engine.KEY of a "
            "config), or your own as file.py:NAME."
        ),
    ] = "semantic",
    into: Annotated[Path | None, typer.Option("--json", help="Of eval reading: write the figures there.")] = None,
) -> None:
    """Examine the untrained base and every trained student. `eval labels CONFIG` measures who labels turns, and
    `eval reading FILE...` how well a reader reads them."""
    with _told():
        of_reading = into is not None or reader != "semantic"
        match str(config), files or []:
            case "labels", named if len(named) <= 1 and not of_reading:
                from evals.readers.labels.measure_labellers import measure_labellers

                # Where no config is named, the one that ships.
                _open_next(*measure_labellers(named[0] if named else Path("labels"), tuple(overrides or ())))
            case "reading", [_, *_] as turns:
                from evals.readers.turns.measure_readings import measure_readings

                _open_next(*measure_readings(turns, reader, into, tuple(overrides or ())))
            case name, [] if name != "reading" and not of_reading:
                experiment = _load(config, overrides)
                _open_next(api.examine(experiment), f"after `maieutic compare {experiment.run}` its report.html")
                _say_unfinished(experiment, built=False)
            case name, _:
                expected = "one config, labels and its config, or reading and its files, with --reader and --json"
                raise MaieuticError(f"eval {name}: expected {expected}.")


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
        if bool(runs) == bool(plan) or (overrides and not plan):
            raise MaieuticError(
                "compare: name run directories, or a config to plan with --plan CONFIG (and --set of it)."
            )
        if plan is not None:
            from evals.report.planning.power import plan as planned
            from pipeline.runs.progress import console

            console.print(planned(_load(plan, overrides)))
            return
        assert runs
        _print_report(api.compare(*runs))


@app.command()
def audit(target: Target, overrides: Overrides = None) -> None:
    """Check a run or anybody's dialogues: knowledge, leaks, luck, contamination, masks. Status 1: a check fails."""
    with _told():
        checks = api.audit(target, *(overrides or ()))
        raise typer.Exit(1 if any(check.verdict == "fail" for check in checks) else 0)


@app.command()
def view(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, such as runs/quickstart.", show_default=False)],
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the pages there instead; they open offline.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8642,
) -> None:
    """Read the dialogues and exam cases of runs in a browser: filter, search, and set conditions beside each other."""
    with _told():
        from maieutic.view.show_runs import view_runs

        view_runs(runs, export, port)


@app.command("export")
def export_(
    config: Annotated[Path, typer.Argument(help="An experiment; with inspect, a run.", show_default=False)],
    format: Annotated[
        str,
        typer.Argument(
            help="sft, prompt_completion, preference, unpaired_preference, prompt_only or privileged_context; or "
            "inspect.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
) -> None:
    """Write what was built in another of TRL's formats, too, into every condition's folder of datasets/; or a run's
    dialogues and exam cases as logs of inspect_ai."""
    with _told():
        from maieutic.workflow import claimed
        from pipeline.datasets.export import export_all, known
        from pipeline.runs.directory import require

        if format == "inspect":
            from maieutic.inspect_logs.write_logs import write_inspect_logs

            if overrides:
                raise MaieuticError("--set: a run is written as it was made. Leave it out")
            folder = write_inspect_logs(config)
            _open_next(f"{folder}: inspect view --log-dir {folder}")
            return
        known(format)
        experiment = _load(config, overrides)
        require(experiment.run)
        with claimed(experiment):
            export_all(experiment, format)
        _open_next(experiment.run / "datasets")


@app.command()
def push(
    run: Annotated[Path, typer.Argument(help="A finished run, such as runs/quickstart.", show_default=False)],
    repository: Annotated[str, typer.Argument(help="On the hub: OWNER/NAME.", show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write what would be pushed into the run's push/, and send nothing.")
    ] = False,
    public: Annotated[bool, typer.Option("--public", help="Make it public; it is private without.")] = False,
    licence: Annotated[
        str, typer.Option(metavar="LICENCE", help="Of tasks whose licence is not known here, as the hub names it.")
    ] = "",
) -> None:
    """Push a run's datasets, with their cards, and its students to the hub. Refused where a licence or what partners
    did speaks against it."""
    with _told():
        from maieutic.push.push_run import push_run, say_pushed

        say_pushed(push_run(run, repository, licence, public, dry_run), repository)


@app.command()
def pose(config: Config, documents: Documents, overrides: Overrides = None, attempts: Attempts = 2) -> None:
    """Have the challenger, or else the partner's model, pose tasks about documents that no student reads."""
    with _told():
        from pipeline.posing.pose import pose_documents

        raise typer.Exit(1 if pose_documents(_load(config, overrides), documents, attempts) else 0)


@app.command()
def challenger(config: Config, documents: Documents, overrides: Overrides = None, valid: Valid = False) -> None:
    """Train who poses on its own best replies about these documents: those whose dialogues end right half the time."""
    with _told():
        from training.challenger import learn

        _open_next(learn(_load(config, overrides), documents, valid))


@app.command()
def society(config: Society, overrides: Overrides = None) -> None:
    """Play a society of peers, each repeat that is not there yet, and report its silos."""
    with _told():
        from evals.society.society_page import write_society_report
        from pipeline.society.run_society import play_society

        _open_next(write_society_report(play_society(config, tuple(overrides or ()))))


@app.command()
def base(
    name: Annotated[str | None, typer.Argument(help="Of a local base, such as smollm2.", show_default=False)] = None,
    out: Annotated[
        Path | None, typer.Option(help="Make it there, and not where its name is found.", show_default=False)
    ] = None,
) -> None:
    """List the bases that need no hub; or make one, which student.model then finds by its name, and check it."""
    with _told():
        from maieutic.local_bases import list_bases, make_base

        if name is None and out is not None:
            raise MaieuticError("base: --out needs the name of a base")
        if name is None:
            list_bases()
        else:
            make_base(name, out)


@app.command()
def doctor(
    config: Annotated[Path | None, typer.Argument(help="Check its engine too.", show_default=False)] = None,
    overrides: Overrides = None,
) -> None:
    """Check this machine: versions, GPU, limits, engines, a config's server, and whether the embedded base answers."""
    with _told():
        from maieutic.doctor import diagnose

        if overrides and not config:
            raise MaieuticError("--set: no config is named whose keys these are. Name one, such as quickstart")
        sound = diagnose(_load(config, overrides) if config else None)
    raise typer.Exit(0 if sound else 1)


def main() -> None:
    """The entry point of the `maieutic` script."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the tokenizer warns when a process forks
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")  # a forked engine keeps the run's lock, and CUDA
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
        cause = root_cause(error)
        if not isinstance(cause, MaieuticError | OSError):
            raise
        if not isinstance(cause, MaieuticError):
            cause = OSError(f"{cause}. What is stored stays; mend the cause, and the same command goes on from here.")
        typer.secho(str(cause), fg="red", err=True)
        raise typer.Exit(2) from None


def _load(config: Path, overrides: list[str] | None) -> Experiment:
    return api.load(config, *(overrides or ()))


def _say_unfinished(experiment: Experiment, built: bool = True, examined: bool = True) -> None:
    """Exits with status 1 where an engine left something to be done, so that a script can tell."""
    from evals.stats.stored_cases import partly_examined
    from pipeline.building.failures import unfinished
    from pipeline.runs.progress import say

    if dialogues := unfinished(experiment) if built else 0:
        say(f"{dialogues} dialogues ended in an engine error; the same command tries them again.")
    if students := partly_examined(experiment) if examined else []:
        say(f"An engine failed at some scenarios of {len(students)} students' exams; the same command asks them again.")
    if dialogues or students:
        raise typer.Exit(1)


def _print_report(report: api.Report) -> None:
    from evals.report.terminal_tables import table
    from pipeline.runs.progress import console

    console.print(table(report.summary))
    _open_next(*report.files)


def _open_next(*paths: Path | str) -> None:
    from pipeline.runs.progress import say

    if paths:
        say("\nOpen next:")
    for path in paths:
        say(f"  {path}")
