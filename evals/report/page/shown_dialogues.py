"""Some dialogues for the report, as each party sees them. What models said is data: it is shown, and never runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evals.report.summary_types import Summary
from pipeline.core.schema import Json, Message
from pipeline.core.shown_text import cut
from pipeline.datasets.rejection_sampling import kept
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import final_answer, is_correct
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read

KINDS = ((True, True), (True, False), (False, True))  # of those shown: lacks a fact, was kept
KEPT = {True: "kept", False: "not kept", None: ""}  # "" where this dialogue alone does not decide it
BRIEF = 200  # letters of an answer in a line about a dialogue


def samples(summary: Summary, runs: Iterable[Experiment]) -> list[Json]:
    """Per condition up to three dialogues (kept and dropped underspecified ones, a full one), from both views.

    The condition that the primary contrast is about comes first.
    """
    made = []
    for run, experiment in zip(summary.runs, runs, strict=True):
        for name, shown in run.names.items():
            if name != "base":
                dialogues = read(dialogues_path(Path(run.path), name), Dialogue)
                made += [_sample(experiment, shown, dialogue) for dialogue in _pick(experiment, dialogues)]
    first = next((row.a for row in summary.comparisons if row.primary), "")
    return sorted(made, key=lambda sample: sample["condition"] != first)


def _pick(experiment: Experiment, dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """The first by id of each of KINDS."""
    chosen: dict[tuple[bool, bool], Dialogue] = {}
    for dialogue in dialogues:
        may_be = [kind for kind in KINDS if kind[0] == bool(dialogue.task.missing)]
        if all(kind in chosen and chosen[kind].id <= dialogue.id for kind in may_be):
            continue  # whether it was kept takes long to say
        is_kept = _kept(experiment, dialogue)
        kind = bool(dialogue.task.missing), is_kept is not False
        chosen[kind] = min(chosen.get(kind, dialogue), dialogue, key=lambda d: d.id)
    return [chosen[kind] for kind in KINDS if kind in chosen]


def _sample(experiment: Experiment, shown: str, dialogue: Dialogue) -> Json:
    condition, task = experiment.conditions[dialogue.condition_name], dialogue.task
    views = {"student": view(task, condition, dialogue.turns, "student", experiment.sampling_prompts(condition))}
    if condition.row.partner is not None:
        views["partner"] = view(task, condition, dialogue.turns, "partner", experiment.partner_prompts(condition))
    final = final_answer(dialogue)
    return {
        "condition": shown,
        "task": task,
        "seed": dialogue.seed,
        "stop": dialogue.stop.replace("_", " "),
        "kept": KEPT[_kept(experiment, dialogue)],
        "right": is_correct(dialogue),
        "answer": cut(task.answer, BRIEF)[0],
        "final": None if final is None else cut(final, BRIEF)[0],
        "views": {party: list(map(_shown, messages)) for party, messages in views.items()},
    }


def _kept(experiment: Experiment, dialogue: Dialogue) -> bool | None:
    name = dialogue.condition_name
    return kept(dialogue, experiment.conditions[name], experiment.regime_of(name))


def _shown(message: Message) -> Json:
    text, left_out = cut(message["content"])
    return {"role": message["role"], "text": text, "left_out": left_out}
