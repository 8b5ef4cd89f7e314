"""In which order an experiment's stages happen, round by round, and who may write while they do."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from maieutic.finished_stages import (
    compared,
    finish_compare,
    finish_rounds,
    finish_select,
    finish_warmup,
    rounds_finished,
    selected,
    warmed_up,
)
from maieutic.show_views import first_look
from pipeline.building.event_loop import run
from pipeline.building.failures import whole_before_others
from pipeline.building.rounds import (
    branch_round,
    build_round,
    due_rounds,
    groups,
    is_built,
    needs_training_first,
    require_speakers,
)
from pipeline.core.schema import digest
from pipeline.engines.open_model import require_installed
from pipeline.experiment.experiment import Experiment
from pipeline.judging.stated_leak import privileged
from pipeline.knowledge.condition import OF_PARTNER, ONLINE, Method
from pipeline.runs.directory import claim
from pipeline.runs.finished import REPORT
from pipeline.runs.lock import writing
from pipeline.runs.progress import console, say, say_plan, stage
from pipeline.runs.shards import merge
from pipeline.runs.whole_run import followed
from pipeline.sandbox.checks import can_run

if TYPE_CHECKING:
    from evals.report.summary_types import Summary
    from pipeline.datasets.export import ExportReport
    from training.train_round import BesideBuilding


@contextmanager
def claimed(experiment: Experiment, shared: bool = False) -> Iterator[None]:
    """Hold the run directory for this experiment, or `shared` with those who make other shards. Raises RunError; before
    there is one ConfigError, where an engine that it needs is not installed."""
    if not experiment.run.exists():
        require_installed(experiment.named_engines[name] for name in experiment.vllm_models)
    with writing(experiment.run, shared):
        claim(experiment, shared)
        yield


@contextmanager
def claimed_by_first(experiment: Experiment) -> Iterator[None]:
    """As `claimed`; of the processes of `accelerate launch` the first holds the run and speaks."""
    if os.environ.get("RANK", "0") == "0":
        with claimed(experiment):
            yield
        return
    console.quiet = True
    yield


@contextmanager
def followed_stages(experiment: Experiment) -> Iterator[None]:
    """Say how far the whole run is while its stages go on, also to whoever asks from outside (`maieutic status`)."""
    from maieutic.status.planned_stages import planned_stages  # heavy: exams

    planned = planned_stages(experiment)
    say_plan(planned)
    with followed(experiment.run, planned):
        yield


def warm_up(experiment: Experiment) -> None:
    """What its base is to learn before all conditions, unless it has learned it. Nothing without `student.warmup`."""
    if not experiment.student.warmup:
        return
    if warmed_up(experiment):
        say("warm-up: there already")
        return
    from training.warmup import warm_up  # heavy: TRL

    warm_up(experiment, experiment.student.warmup)
    finish_warmup(experiment)


def make_rounds(experiment: Experiment, training: bool) -> None:
    """Dialogues and datasets of every round, and its students where they are to be trained as well."""
    if taken := merge(experiment):
        say(f"shards: {taken} dialogues and failures taken in")
    if rounds_finished(experiment, training):
        say(f"dialogues{', datasets and students' if training else ' and datasets'}: there already")
        return
    in_groups = groups(experiment)
    for group in in_groups:
        for round in range(experiment.rounds):
            if training:
                require_speakers(experiment, group)
            elif needs_training_first(experiment, group, round):
                return
            beside = _trained_beside(experiment, group, round) if training else None
            if experiment.executor == "ray":
                from pipeline.building import cluster  # Ray need not be installed

                cluster.build_round(experiment, group, round)
            else:
                begins = training and not any(experiment.run.glob("dialogues/*.jsonl"))
                look = first_look if begins else None
                run(build_round(experiment, group, round, look=look, built=beside))
            run(branch_round(experiment, group, round))
            select(experiment, group, beside.selected if beside else ())
            if training:
                from training.train_round import train_round  # heavy: TRL

                whole_before_others(experiment, group, round)
                if group is in_groups[-1] and round == experiment.rounds - 1:
                    from evals.examining.students import begin_exams_early

                    train_round(experiment, group, round, partial(begin_exams_early, experiment))
                else:
                    train_round(experiment, group, round)
    finish_rounds(experiment, training)


def _trained_beside(experiment: Experiment, group: list[str], round: int) -> BesideBuilding | None:
    """Who trains students while dialogues are made; None where these were made and selected before."""
    if selected(experiment, group):
        return None
    from training.train_round import BesideBuilding

    return BesideBuilding(experiment, group, round, partial(_select_one, experiment))


def train_rounds(experiment: Experiment) -> None:
    """The students of what is built."""
    from training.train_round import train_round  # heavy: TRL

    can_run(experiment.has_code and any(each.method in ONLINE for each in experiment.conditions.values()))
    for group, round in due_rounds(experiment):
        if round and not is_built(experiment, group, round):
            say(f"round {round + 1} of {', '.join(group)} has no dialogues yet; `maieutic build` makes them")
            break
        whole_before_others(experiment, group, round)
        train_round(experiment, group, round)


def select(experiment: Experiment, group: list[str], before: Collection[str] = ()) -> None:
    """Rejection sampling and datasets of a group of conditions, without those of which it was done just `before`; says
    what of each was kept."""
    if selected(experiment, group):
        say(f"select {', '.join(group)}: there already")
        return
    from pipeline.datasets.matching import mark_matched  # heavy: datasets

    for name in group:
        if name not in before:
            with stage(f"select {name}"):
                _select_one(experiment, name)
    if experiment.with_regime("matched"):
        from training.trainers.sft import token_counter  # heavy: TRL

        for match in mark_matched(experiment, token_counter(experiment)):
            say(
                f"match {match.condition_name} seed {match.seed}: {match.kept} of {match.rows} rows, "
                f"{match.kept_tokens} of {match.tokens} student tokens, {match.tasks} tasks, {match.common} in common"
            )
    finish_select(experiment, group)


def _select_one(experiment: Experiment, name: str) -> None:
    from pipeline.datasets.export import export  # heavy, as the next: datasets
    from pipeline.datasets.first_acts import mark_as_played

    report = export(experiment, name)
    kept = _kept(report, experiment.conditions[name].method)
    say(f"select {name}: {kept}{_leaks(experiment, report)}, {report.rows} rows, "
        f"{report.nothing_learned} without anything to learn")  # fmt: skip
    if experiment.conditions[name].first_acts == "as_played":
        say(f"first acts {name}: {mark_as_played(experiment, name)}")


def _kept(report: ExportReport, method: Method) -> str:
    """What the method takes of its pool, in words."""
    match report.path.name:
        case "preference" if method in OF_PARTNER:
            return f"what the partner might have said in {report.taken} dialogues"
        case "preference":
            return f"{report.taken} branches used"
        case "prompt_only":
            return f"{report.taken} tasks to play"
        case "unpaired_preference":
            return f"{report.taken} dialogues labelled"
        case "sft" if not report.dialogues and report.taken:
            return f"{report.taken} dialogues of an expert"
        case _:
            return f"rejection sampling kept {report.taken} of {report.dialogues} dialogues"


def _leaks(experiment: Experiment, report: ExportReport) -> str:
    stated = privileged(experiment.conditions[report.condition_name]) and report.dialogues
    return f", leak_stated in {report.leaks}" if stated else ""


def _report_folder(runs: list[Path]) -> Path:
    """The run; of several a folder of the first. Their report is nobody's own: it must not replace that of the first,
    nor that of others with the same names."""
    if len(runs) == 1:
        return runs[0]
    folder = runs[0] / f"compared-with-{'-'.join(run.resolve().name for run in runs[1:])}"
    ours, report = [str(run.resolve()) for run in runs], folder / "report.json"
    if report.is_file():
        there = [str(Path(run["path"]).resolve()) for run in json.loads(report.read_bytes())["runs"]]
        if there != ours:
            return folder.with_name(f"{folder.name}-{digest(ours)[:6]}")
    return folder


def write_report(runs: list[Path]) -> tuple[Summary, tuple[Path, ...]]:
    """The summary of examined runs, and the files of the report; of several runs in a folder of the first."""
    folder = _report_folder(runs)
    files = tuple(folder / name for name in REPORT)
    if compared(folder, runs):
        from evals.report.summary_types import Summary

        say("compare: there already, of the same answers")
        return Summary.model_validate_json(files[0].read_bytes()), files
    from evals.report.report_page import write
    from evals.report.summary import summarize

    with stage("compare"):
        summary = summarize(runs)
        folder.mkdir(exist_ok=True)
        write(folder, summary)
    finish_compare(folder, runs)
    return summary, files
