"""In which order an experiment's stages happen, round by round, and who may write while they do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.building.failures import whole_before_others
from pipeline.building.rounds import branch_round, build_round, groups, needs_training_first
from pipeline.datasets.export import export, mark_matched
from pipeline.experiment.experiment import Experiment
from pipeline.judging.leaks import leak_stated, privileged
from pipeline.runs.directory import claim, writing
from pipeline.runs.pool import Pool
from pipeline.runs.progress import console, say, stage
from pipeline.runs.shards import merge

# What a dataset in such a format has, where it is not made of the dialogues that selection kept.
KINDS = {
    "preference": "branches used",
    "prompt_only": "tasks to play",
    "unpaired_preference": "dialogues labelled",
}


@contextmanager
def claimed(experiment: Experiment, shared: bool = False) -> Iterator[None]:
    """Hold the run directory for this experiment, or `shared` with those who make other shards. Raises RunError."""
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


def make_rounds(experiment: Experiment, training: bool) -> None:
    """Dialogues and datasets of every round, and its students where they are to be trained as well."""
    if taken := merge(experiment):
        say(f"shards: {taken} dialogues and failures taken in")
    for group in groups(experiment):
        for round in range(experiment.rounds):
            if not training and needs_training_first(experiment, group, round):
                return
            if experiment.executor == "ray":
                from pipeline.building import cluster  # Ray need not be installed

                cluster.build_round(experiment, group, round)
            else:
                asyncio.run(build_round(experiment, group, round))
            asyncio.run(branch_round(experiment, group, round))
            select(experiment, group)
            if training:
                from training.train_round import train_round  # heavy: TRL

                whole_before_others(experiment, group, round)
                train_round(experiment, group, round)


def train_rounds(experiment: Experiment) -> None:
    """The students of what is built; of later rounds those whose dialogues could be made."""
    from training.train_round import train_round  # heavy: TRL

    for group in groups(experiment):
        for round in range(experiment.rounds):
            if needs_training_first(experiment, group, round):
                break
            train_round(experiment, group, round)


def select(experiment: Experiment, group: list[str]) -> None:
    """Rejection sampling and datasets of a group of conditions; says what of each was kept."""
    for name in group:
        condition = experiment.conditions[name]
        with stage(f"select {name}"):
            report = export(experiment, name)
            leaks = [privileged(condition) and leak_stated(dialogue) for dialogue in Pool(experiment, name)]
        kind = KINDS.get(report.path.name, "dialogues kept")
        among = f" of {len(leaks)}" if kind == "dialogues kept" else ""
        stated = f", leak_stated in {sum(leaks)}" if privileged(condition) and leaks else ""
        say(
            f"select {name}: {report.taken}{among} {kind}{stated}, {report.rows} rows, "
            f"{report.nothing_learned} without anything to learn"
        )
    if experiment.training.regime == "matched":
        from training.trainers.sft import token_counter  # heavy: TRL

        for match in mark_matched(experiment, token_counter(experiment)):
            say(
                f"match {match.condition_name} seed {match.seed}: {match.kept} of {match.rows} rows, "
                f"{match.kept_tokens} of {match.tokens} student tokens"
            )


def write_report(runs: list[Path]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """The summary of examined runs, and the files of the report; of several runs in a folder of the first."""
    from evals.report.report import write  # heavy: figures
    from evals.report.summary import summarize

    with stage("compare"):
        summary = summarize(runs)
        # Of several runs the report is nobody's own: it must not replace that of the first.
        others = "-".join(run.resolve().name for run in runs[1:])
        folder = runs[0] / f"compared-with-{others}" if others else runs[0]
        folder.mkdir(exist_ok=True)
        return summary, tuple(write(folder, summary))
