"""The learning rates of a run's students: the part `bandits` of report.json, and its table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from evals.exams.bandits.games import FRAMES, BanditSettings, Game, Round, games
from evals.exams.bandits.learning_rates import DIFFERENCES, RATES, RESAMPLES, Learned, learned, plays_of
from evals.sitting.examined_run import Run
from evals.stats.number_format import interval, number
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json
from pipeline.runs.student_files import said_files, seed_of

NAME = "bandits"


class LearnedRates(Part):
    """Of one student in one frame; `why` its rates are null, '' where they are not."""

    better: Figure
    beta: Figure
    habit: Figure
    rates: dict[str, Figure]
    why: str


class Bandits(Part):
    """The part `bandits` of report.json: student, then frame."""

    rates: tuple[str, ...]
    students: dict[str, dict[str, LearnedRates]]


def bandits_block(run: Run, resamples: int = RESAMPLES) -> Json | None:
    """Of each name's students together, from the choices that the run has stored; None where it has none."""
    settings = BanditSettings.model_validate(run.experiment.exams.own.get(NAME) or {})
    known = {(game.id, game.frame): game for game in games(settings)}
    students: Json = {}
    for name, shown in run.names.items():
        played = _stored(said_files(run.path, name, NAME), known)
        frames = {frame: [row for row in played if row[1].frame == frame] for frame in FRAMES}
        if rows := {
            frame: _plain(learned(plays_of(of_frame), resamples)) for frame, of_frame in frames.items() if of_frame
        }:
            students[shown] = rows
    return {"rates": [*RATES, *DIFFERENCES], "students": students} if students else None


def _stored(files: Sequence[Path], known: dict[tuple[str, str], Game]) -> list[tuple[int, Game, list[Round]]]:
    """Of every seed: its games, and the rounds as they were played."""
    played = []
    for file in files:
        for row in map(json.loads, file.read_bytes().splitlines()):
            played.append((seed_of(file), known[row["game"], row["frame"]], [Round(*one) for one in row["rounds"]]))
    return played


def _plain(found: Learned) -> Json:
    rates = {name: rate._asdict() for name, rate in found.rates.items()}
    figures = {"better": found.better._asdict(), "beta": found.beta._asdict(), "habit": found.habit._asdict()}
    return figures | {"rates": rates, "why": found.why}


def learned_tables(block: Json) -> list[Table]:
    """What a terminal shows, of a block with NaN or null: a row for each figure that is one."""
    table = Table(
        title="Bandits: learning rates, 95% intervals over games",
        caption="own: of rounds that the student chose, imposed: that its partner picked, unchosen: of the machine "
        "that it left. asymmetry: alpha+ - alpha-. confirmation: that of own less that of unchosen. "
        "habit: leans to what it chose last, whatever that paid. What is not here has no round, or is not identified.",
    )
    for heading in ("student", "frame", "figure", "value", "interval", "n"):
        table.add_column(heading, overflow="fold")
    for name, frames in block["students"].items():
        for frame, row in frames.items():
            known = {"better machine": row["better"], "beta": row["beta"], "habit": row["habit"], **row["rates"]}
            for of, figure in known.items():
                if figure["value"] is not None and not math.isnan(figure["value"]):
                    told = (number(figure["value"]), interval(figure), str(figure["n"]))
                    table.add_row(name, frame, of, *told)
            if row["why"]:
                table.add_row(name, frame, "learning rates", row["why"])
    return [table]


def tables(run: Run) -> list[Table]:
    """What a terminal shows of a run."""
    block = bandits_block(run)
    return learned_tables(block) if block else []
