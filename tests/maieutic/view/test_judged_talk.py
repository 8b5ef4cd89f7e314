"""A list calls a dialogue kept only where it decides that itself."""

from __future__ import annotations

from pathlib import Path

from maieutic.view.judged_talk import judge_talk
from maieutic.view.read_talks import Talk
from maieutic.view.show_runs import shown_runs
from maieutic.view.talk_page import student_prompts
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from tests.evals.made_run import CONDITIONS, made_run


def test_where_other_dialogues_of_a_task_decide_a_list_does_not_say_kept(tmp_path: Path) -> None:
    some = CONDITIONS["facts"].model_copy(update={"pass_rate": (0.2, 0.8)})
    made = made_run(tmp_path / "run", conditions=CONDITIONS | {"facts": some}, turn_values=TurnValues(siblings=3))
    run = shown_runs([made])[0]
    said: dict[str, set[bool | None]] = {}
    for kind, file in run.files():
        for _, _, talk in run.talks(kind, file, 0) if kind == "dialogue" else ():
            said.setdefault(talk.dialogue.condition_name, set()).add(judge_talk(run, talk).kept)
    assert said == {"facts": {None}, "volunteer": {True, False}, "blind": {True, False}}


def kept_of(run_path: Path, conditions: dict[str, Condition]) -> dict[str, bool | None]:
    """Of each dialogue under `facts`, by its task."""
    [run] = shown_runs([made_run(run_path, conditions=conditions)])
    files = [file for kind, file in run.files() if kind == "dialogue" and file.stem == "facts"]
    talks = [talk for file in files for _, _, talk in run.talks("dialogue", file, 0)]
    return {talk.dialogue.task.id: judge_talk(run, talk).kept for talk in talks}


def test_of_a_method_that_does_not_select_nothing_is_called_kept(tmp_path: Path) -> None:
    learns = CONDITIONS["facts"].model_copy(update={"method": "kto"})
    assert {*kept_of(tmp_path / "run", CONDITIONS | {"facts": learns}).values()} == {None}


def test_a_page_shows_the_prompt_for_sampling_where_the_student_had_it(tmp_path: Path) -> None:
    [run] = shown_runs([made_run(tmp_path / "run")])
    student = run.experiment.student.model_copy(update={"prompts": "chat", "sampling_prompt": "demonstrated"})
    without = CONDITIONS["blind"].model_copy(update={"sampling_prompt": False})
    run.experiment = run.experiment.model_copy(
        update={"student": student, "conditions": CONDITIONS | {"blind": without}}
    )
    talks = {
        file.stem: talk for kind, file in run.files() if kind == "dialogue" for _, _, talk in run.talks(kind, file, 0)
    }
    shown = {name: student_prompts(run, talk).says for name, talk in talks.items()}
    plain = student_prompts(run, Talk("exam", talks["facts"].dialogue)).says
    assert shown["facts"] == shown["volunteer"] != plain and shown["blind"] == plain
