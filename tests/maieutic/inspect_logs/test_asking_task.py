"""The exam of asking over a model of inspect_ai: the figures are those of the same answers in `maieutic eval`."""

from __future__ import annotations

import asyncio
import gc
from collections import defaultdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from evals.exams.asking import first_turns, of_episodes
from evals.metrics.case import Case
from evals.sitting.sitting import Sitting
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import load

pytest.importorskip("inspect_ai", reason="exams in inspect are NOT tested: inspect_ai is not installed")
pytestmark = pytest.mark.filterwarnings("default", "ignore::ResourceWarning")  # of inspect_ai, and what it imports
CONFIG = "quickstart"
REAL = (  # tasks and readers of the embedded world, which are quick, and a student of some other model
    "student={model: some/model}", "reading={partner: closed, metrics: closed}", "exams.greedy=false",
    "tasks.exam={full: 8, underspecified: 8}", "exams.samples=2", "exams.episodes=1",
)  # fmt: skip


def reply(problem: str, turns: int) -> str:
    """A student that asks for one thing wherever there are boxes, and answers in its second turn."""
    asks = "boxes" in problem and turns < 2
    return "How many boxes are there?" if asks else "The answer is 5."


class Student:
    async def complete(self, messages: list[Any], sampling: object) -> Completion:
        said = reply(messages[1]["content"], len(messages) - 2)
        return Completion(text=said, tokens=3, prompt_tokens=9)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def evaluated(tmp_path: Path, **arguments: str) -> dict[str, float]:
    """Means by metric of the task, found as the command line finds it."""
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    (found,) = {point.load() for point in entry_points(group="inspect_ai", name="maieutic")}

    def said(messages: list[Any], *_: object) -> ModelOutput:
        text = reply(messages[1].text, len(messages) - 2)
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=9, output_tokens=3)  # else a tokenizer would be fetched
        return output

    [log] = eval(
        found.asking(config=CONFIG, overrides=list(REAL), **arguments),
        model=get_model("mockllm/model", custom_outputs=said),
        log_dir=str(tmp_path),
        display="none",
    )
    gc.collect()  # streams that it leaves open warn here, where no warning is an error
    assert log.status == "success" and log.results
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


def shares(cases: list[Case]) -> dict[str, float]:
    hits, n = defaultdict[str, float](float), defaultdict[str, int](int)
    for case in cases:
        name = case.metric.partition("@")[0]
        hits[name], n[name] = hits[name] + case.hits, n[name] + case.n
    return {name: hits[name] / n[name] for name in n}


def sitting() -> Sitting:
    experiment = load(Path(CONFIG), REAL)
    tasks = tuple(exam_tasks(experiment)[0])
    return Sitting(experiment, student=Student(), peer=Student(), seed=1, tasks=tasks)


def test_first_turns_of_any_model_are_measured_as_those_of_a_student(tmp_path):
    of_exam = shares(asyncio.run(first_turns(sitting())))
    found = evaluated(tmp_path)
    assert found == pytest.approx(of_exam)
    assert 0 < found["ask_needed"] < 1 and 0 < found["ask_needless"] < 1


def test_whole_dialogues_with_an_exam_partner_are_measured_as_those_of_a_student(tmp_path):
    episodes = asyncio.run(sitting().episodes())
    of_exam = shares(of_episodes(one for one in episodes if one.arm == "facts"))
    found = evaluated(tmp_path, partner="facts")
    assert found == pytest.approx({name: of_exam[name] for name in found})
    assert {"ask_needed", "ask_complete", "premature", "student_turns"} <= {*found}


def test_a_config_whose_prompts_only_an_embedded_base_understands_is_refused():
    from maieutic.inspect_logs.asking_task import asking

    with pytest.raises(ConfigError, match="Name a config of a real one"):
        asking(CONFIG)
    with pytest.raises(ConfigError, match="no partner of the exams"):
        asking(CONFIG, partner="nobody", overrides=REAL)
