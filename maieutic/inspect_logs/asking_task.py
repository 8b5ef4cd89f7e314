"""The exam of asking as a task of inspect_ai, for any model that it can ask.

    inspect eval maieutic/asking -T config=lookup_smollm2_small --model openai/MODEL
    inspect eval maieutic/asking -T config=lookup_smollm2_small -T partner=facts --model openai/MODEL

Tasks, views, partners, readers and metrics are those of `maieutic eval`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, generate, solver

from evals.exams.asking import ASK_COMPLETE, ASKS, PREMATURE, STUDENT_TURNS, first_turn, said, whole_episode
from evals.metrics.case import Hits
from evals.sitting.exam_partners import ARMS, OPENING
from evals.sitting.sitting import ExamEpisode, Sitting
from maieutic.inspect_logs.talk_samples import chat
from pipeline.core.errors import ConfigError
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Message, Task, Turn
from pipeline.dialogue.episode import EmptyTurn, Played
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.assignment import exam_tasks, in_whole
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.instruments import open_instruments
from pipeline.knowledge.view import view
from pipeline.reading.protocol import NotRead

OF_EPISODES = (*ASKS, ASK_COMPLETE.name, PREMATURE.name, STUDENT_TURNS.name)  # what a dialogue has once


@inspect_task
def asking(config: str, partner: str = "", overrides: Sequence[str] | str = ()) -> InspectTask:
    """First turns on the config's exam tasks; with a `partner` of the exams (`facts`), whole dialogues with it.

    `overrides` are KEY=VALUE as for `maieutic --set`. Raises ConfigError.
    """
    experiment = load(Path(config), (overrides,) if isinstance(overrides, str) else tuple(overrides))
    if experiment.is_embedded("student") or experiment.is_scripted("student"):
        raise ConfigError(
            f"{config}: student.model {experiment.student.model!r} speaks the embedded world's language alone: its "
            "prompts are for no other model. Name a config of a real one, such as lookup_smollm2_small."
        )
    if partner and partner not in ARMS:
        raise ConfigError(f"partner: {partner!r} is no partner of the exams. Known: {', '.join(ARMS)}.")
    tasks = exam_tasks(experiment)[0]
    if partner:
        whole, _ = in_whole(experiment, tasks)
        tasks = [task for task in whole if task.specification in ARMS[partner].specifications]
    sitting = _sitting(experiment, tasks)
    return InspectTask(
        dataset=MemoryDataset([_sample(sitting, task) for task in tasks], name=experiment.tasks.source),
        solver=dialogue(sitting, partner) if partner else generate(),
        scorer=reader(sitting, partner),
        epochs=experiment.exams.episodes if partner else experiment.exams.samples,
        config=GenerateConfig(
            max_tokens=experiment.answer_tokens("student"), temperature=experiment.temperature_of("student")
        ),
    )


class Asked:
    """The model that inspect evaluates, as a student."""

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        output = await get_model().generate(chat(messages), config=GenerateConfig(seed=sampling.seed))
        return _completion(output)

    def count_tokens(self, text: str) -> int:
        """Words: its tokenizer is not at hand."""
        return len(text.split())


def _completion(output: ModelOutput) -> Completion:
    used = output.usage
    return Completion(
        text=output.completion.strip(),
        tokens=used.output_tokens if used else 0,
        prompt_tokens=used.input_tokens if used else 0,
        finished=output.stop_reason not in ("max_tokens", "model_length"),
    )


def _sitting(experiment: Experiment, tasks: Iterable[Task]) -> Sitting:
    hears, reads = open_instruments(experiment)
    seed, asked = experiment.seeds[0], Asked()
    return Sitting(experiment, student=asked, peer=asked, seed=seed, tasks=tuple(tasks), hears=hears, reads=reads)


def _sample(sitting: Sitting, task: Task) -> Sample:
    return Sample(
        id=task.id,
        input=chat(view(task, OPENING, [], "student", sitting.prompts)),
        target=task.answer,
        metadata={"specification": task.specification, "missing": [fact.text for fact in task.missing]},
    )


@solver
def dialogue(sitting: Sitting, partner: str) -> Any:
    """Let the model talk with an exam partner, which answers by rule."""
    tasks, arm = {task.id: task for task in sitting.tasks}, ARMS[partner]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = tasks[str(state.sample_id)]
        try:
            played = await sitting.play(task, arm.condition, sitting.key(task.id, state.epoch - 1), arm.wording)
        except (EmptyTurn, NotRead) as error:
            state.store.set("failed", str(error))
            return state
        state.store.set("turns", [turn.model_dump(mode="json") for turn in played.turns])
        state.messages = chat(view(task, arm.condition, played.turns, "student", sitting.prompts))
        last = [turn.text for turn in played.turns if turn.party == "student"][-1]
        state.output = ModelOutput.from_content(str(state.model), last)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def reader(sitting: Sitting, partner: str) -> Any:
    """What the config's reader of turns reads: 1 or 0 a metric, NaN where a task has no case of it."""
    tasks = {task.id: task for task in sitting.tasks}
    names = OF_EPISODES if partner else _first_turn_metrics(sitting.tasks)

    async def score(state: TaskState, target: Target) -> Score:
        task = tasks[str(state.sample_id)]
        if failed := state.store.get("failed"):
            return Score.unscored(explanation=failed)
        try:
            hits = _of_dialogue(task, partner, state) if partner else await _of_first(sitting, task, state)
        except NotRead as error:
            return Score.unscored(explanation=str(error))
        found = {metric.partition("@")[0]: hit for _, metric, hit in hits}
        return Score(value={name: found.get(name, float("nan")) for name in names}, answer=state.output.completion)

    return score


async def _of_first(sitting: Sitting, task: Task, state: TaskState) -> Hits:
    [turn] = await said(sitting, task, [_completion(state.output)])
    return first_turn(task, turn)


def _of_dialogue(task: Task, partner: str, state: TaskState) -> Hits:
    turns = tuple(Turn.model_validate(turn) for turn in state.store.get("turns"))
    return whole_episode(ExamEpisode(partner, task, state.epoch - 1, Played(turns, "turn_cap", {}, {})))


def _first_turn_metrics(tasks: Iterable[Task]) -> list[str]:
    """Those that any of the tasks can have a case of."""
    nothing = Turn(party="student", text="-", reading=StudentReading())
    return list(dict.fromkeys(metric for task in tasks for _, metric, _ in first_turn(task, nothing)))
