"""A small finished run whose dialogues hold what a page, a terminal or a parser might trip over."""

from __future__ import annotations

from pathlib import Path

import pytest

import maieutic
from pipeline.core.schema import Turn
from pipeline.datasets.export import export
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.directory import experiment_of
from pipeline.runs.store import read, rewrite

HOSTILE = "<script>window.hacked = 1</script> \x1b[31mred\x1b[2J \u202egnihton \u2028 שלום {{ 7 * 7 }} ```\n---\n# no"
LONG = HOSTILE + (" " + "long" * 250) * 10_000  # 10 MB


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conditions on a warmed-up base, one without a student; then a partner of `facts` says LONG."""
    run = tmp_path_factory.mktemp("push") / "run"
    maieutic.run(maieutic.load(
        "quickstart", f"out={run}", "name=small", "engine.kind=scripted", "seeds=[1]",
        "tasks.train={full: 3, underspecified: 3}", "tasks.exam={full: 2, underspecified: 2}", "dialogue.turns=2",
        "conditions={facts: {partition: facts, selection: none}, blind: {partition: symmetric, method: kto}}",
        "exams.include=[asking]", "exams.beliefs=2", "exams.samples=2", "exams.episodes=1", "exams.stress=0",
        "student.warmup={full: 4, told: 2}", "training.steps=2", "training.lora={r: 2}",
        "compare={primary: {metric: ask_skill, a: facts, b: blind}}",
    ))  # fmt: skip
    export(experiment_of(run), "facts", "prompt_completion")
    said_by_the_partner(run, "facts", LONG)  # into both formats
    maieutic.compare(run)
    return run


def said_by_the_partner(run: Path, condition_name: str, text: str) -> Dialogue:
    """The first dialogue of a condition, once its partner has said this before the student's last turn."""
    file = dialogues_path(run, condition_name)
    first, *rest = read(file, Dialogue)
    turns = (first.turns[0], Turn(party="partner", text=text), Turn(party="student", text="The answer is 7."))
    told = first.model_copy(update={"turns": turns})
    rewrite(file, [told, *rest])
    export(experiment_of(run), condition_name)
    return told
