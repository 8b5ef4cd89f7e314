"""Examine one student: every exam of the config, one file of cases.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from evals.asking import asking, asking_episodes
from evals.collapse import collapse
from evals.feedback import feedback
from evals.grounding import grounding, repair
from evals.sitting import Case, Episode, Sitting
from pipeline.config import Experiment
from pipeline.models import Model
from pipeline.schema import Task


def results_path(run: Path, condition: str, seed: int) -> Path:
    return run / "results" / condition / f"seed-{seed}.jsonl"


async def examine(
    experiment: Experiment,
    condition: str,
    seed: int,
    student: Model,
    peer: Model,
    tasks: list[Task],
    stress: list[Task],
) -> Path:
    """Write results/<condition>/seed-N.jsonl (cases) and seed-N.episodes.jsonl (what was said)."""
    sitting = Sitting(experiment, student, peer, seed, tuple(tasks), tuple(stress))
    include = experiment.exams.include
    cases: list[Case] = []
    episodes: list[Episode] = []
    if {"asking", "grounding", "feedback"} & set(include):
        episodes = await sitting.episodes()
    if "asking" in include:
        cases += await asking(sitting) + asking_episodes(episodes)
    if "collapse" in include:
        cases += await collapse(sitting)
    if "grounding" in include:
        cases += grounding(episodes) + await repair(sitting)
    if "feedback" in include:
        cases += feedback(episodes)
    if sitting.outcomes:
        cases.append(Case("all", "all", "unanswered", sum(sitting.outcomes), len(sitting.outcomes)))
    path = results_path(experiment.run, condition, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(
        path.with_suffix(".episodes.jsonl"),
        [
            {
                "arm": e.arm,
                "task": e.task.id,
                "sample": e.sample,
                "stop": e.played.stop,
                "turns": [[turn.party, turn.text] for turn in e.played.turns],
            }
            for e in episodes
        ],
    )
    _write(path, [case._asdict() for case in cases])
    return path


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    os.replace(temporary, path)
