"""What the base says in its first turn under the sampling prompt, so that a warm-up leaves what that prompt does.

What a warm-up teaches outweighs demonstrations: a base that asked in a third of its first turns under them asked in
none afterwards, and nothing that a partner could reward was sampled any more. So some rows of the warm-up have the
sampling prompt. Their tasks are full: where the base itself asks something there, its own question stays, and else the
task is worked out. How often one asks under that prompt is kept, and when to ask is in none of these rows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.files import write_whole
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, digest
from pipeline.engines.model import Sampling
from pipeline.engines.weights import weights_id
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.open_role import open_role
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.reading.attempt import attempt
from pipeline.reading.sentences import sentences
from pipeline.runs.progress import stage

# Only what is known to the student matters here, and that is the same in all of these.
CONDITION = Condition(partition="symmetric")


def kept_questions(experiment: Experiment, tasks: Sequence[Task], place: Path) -> dict[str, str]:
    """By task id what the base asks in its first turn under the sampling prompt; tasks where it does not are left out.

    They are sampled once and kept in the file `place`, with what they were made from. Raises EngineError, ConfigError.
    """
    prompts = experiment.sampling_prompts(CONDITION)
    settings = experiment.dialogue
    made_from = digest(
        weights_id(experiment.student.model), prompts.shapes("student"), [task.id for task in tasks],
        settings.temperature, settings.max_tokens,
    )  # fmt: skip
    if place.is_file():
        stored = json.loads(place.read_text(encoding="utf-8"))
        if stored["made_from"] == made_from:
            return dict(stored["questions"])
    said = asyncio.run(_first_turns(experiment, tasks))
    questions = {task.id: question for task, text in zip(tasks, said, strict=True) if (question := asks(text))}
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps({"made_from": made_from, "questions": questions}, indent=1) + "\n")
    return questions


def asks(text: str) -> str | None:
    """The first question of a turn that holds no answer."""
    if attempt(text) is not None:
        return None
    return next((sentence for sentence in sentences(text) if sentence.endswith("?")), None)


async def _first_turns(experiment: Experiment, tasks: Sequence[Task]) -> list[str]:
    cold = experiment.without_warmup()
    model, prompts, settings = open_role(cold, "student"), cold.sampling_prompts(CONDITION), cold.dialogue
    with stage("warm-up: its own first turns", len(tasks)) as progress:

        async def one(task: Task) -> str:
            sampling = Sampling(
                max_tokens=settings.max_tokens, temperature=settings.temperature, seed=stream("kept", task.id)
            )
            said = await model.complete(view(task, CONDITION, [], "student", prompts), sampling)
            progress()
            return said.text

        return list(await asyncio.gather(*map(one, tasks)))
