"""A list calls a dialogue kept only where it decides that itself."""

from __future__ import annotations

from pathlib import Path

from maieutic.view.judged_talk import judge_talk
from maieutic.view.read_talks import ShownRun, Talk
from maieutic.view.show_runs import shown_runs
from maieutic.view.talk_page import student_prompts
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import dump
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from tests.builders import small_experiment
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


def test_an_episode_is_shown_with_the_question_that_was_read(tmp_path: Path) -> None:
    made = small_experiment(
        tmp_path / "run", tasks={"source": "lookup", "exam": {"full": 4, "underspecified": 4}}, exams={"stress": 4}
    )
    made.run.mkdir()
    (made.run / "config.yaml").write_text(dump(made), encoding="utf-8")
    tasks, first_turn_tasks = exam_tasks(made)
    assert {task.id for task in tasks} & {task.id for task in first_turn_tasks}
    shown = ShownRun(made.run, "run").tasks
    assert [shown[task.id].question for task in tasks] == [task.question for task in tasks]


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
