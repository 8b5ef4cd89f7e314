"""A list calls a dialogue kept only where it decides that itself."""

from __future__ import annotations

from pathlib import Path

from maieutic.view.judged_talk import judge_talk
from maieutic.view.show_runs import shown_runs
from pipeline.experiment.settings import TurnValues
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
