"""One condition of an experiment, ready to be played by whoever asks the student.

The loop itself is `pipeline.dialogue.turn_taking.respond`: given what was said, it says what follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, Task, Turn
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import heard, respond
from pipeline.engines.model import Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.instruments import open_instruments
from pipeline.knowledge.records import Dialogue, Stop

Info = dict[str, Any]  # of one row (rows.py)


@dataclass(frozen=True)
class Stage:
    cell: Cell
    cast: Cast

    async def respond(self, info: Info, turns: Sequence[Turn]) -> tuple[Turn | None, Stop | None]:
        """What follows the student's last turn: the partner's, where it has one, and the stop, where it ends."""
        experiment, task = self.cell.experiment, Task.model_validate(info["problem"])
        turns_at_most = experiment.exam_turns if info["wording"] == "exam" else experiment.dialogue.turns
        episode = Episode(
            task=task,
            condition=self.cell.condition,
            cast=self.cast,
            settings=experiment.dialogue.model_copy(update={"turns": turns_at_most}),
            key=info["key"],
            wording=info["wording"],
        )
        said = [
            await heard(episode, turns[: i + 1]) if turn.party == "student" else turn for i, turn in enumerate(turns)
        ]
        return await respond(episode, said)

    async def read(self, info: Info, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns with what they do, for reward and metrics. Raises NotRead."""
        return await self.cast.reads.read(Task.model_validate(info["problem"]), turns)

    def dialogue(self, info: Info, turns: Sequence[Turn], stop: Stop | None) -> Dialogue:
        """What was said, as the pipeline files it."""
        return Dialogue(
            id=info["id"],
            task=Task.model_validate(info["problem"]),
            condition_name=self.cell.condition_name,
            condition=self.cell.condition.shaped(),
            seed=self.cell.seed,
            sample=info["sample"],
            turns=tuple(turns),
            stop=stop or "turn_cap",  # also where verifiers ended it
        )


class Elsewhere:
    """The student as the pipeline sees it here: its words can be counted, but it is verifiers that asks it."""

    async def complete(self, messages: list[Message], sampling: Sampling) -> NoReturn:
        raise NotImplementedError("verifiers asks the student")

    def count_tokens(self, text: str) -> int:
        """Words and signs: its tokenizer is not at hand."""
        return len(re.findall(r"\w+|[^\w\s]", text))


def open_stage(config: str, condition_name: str, seed: int | None, overrides: Sequence[str]) -> Stage:
    """Raises ConfigError for a config that cannot be run, and for a condition that cannot be played here."""
    experiment = load(Path(config), tuple(overrides))
    _check(experiment, condition_name, config)
    partner = None
    if experiment.conditions[condition_name].voice == "model":
        partner = Casting(experiment).open("partner")
    hears, reads = open_instruments(experiment)
    cast = Cast(
        student=Elsewhere(),
        partner=partner,
        student_prompts=experiment.prompts("student"),
        partner_prompts=experiment.prompts("partner"),
        hears=hears,
        reads=reads,
        generic_requests=experiment.reading.generic_requests,
    )
    return Stage(Cell(experiment, condition_name, experiment.seeds[0] if seed is None else seed), cast)


def _check(experiment: Experiment, condition_name: str, config: str) -> None:
    def refuse(key: str, value: str, why: str) -> NoReturn:
        raise ConfigError(
            f"{config}: conditions.{condition_name}.{key}: {value!r} cannot be played in verifiers: {why}"
        )

    condition = experiment.conditions.get(condition_name)
    if condition is None:
        raise ConfigError(
            f"condition_name: {condition_name!r} is not in {config}. Known: {', '.join(experiment.conditions)}."
        )
    if experiment.has_code:
        raise ConfigError(f"{config}: tasks.source: code tasks are run by `maieutic build`, and not here.")
    if condition.row.one_writer:
        refuse("partition", condition.partition, "one model writes both sides. Use another partition")
    if condition.voice == "human":
        refuse("voice", condition.voice, "its dialogues were held before. Use voice: rule or model")
    if condition.method == "q_priming":
        refuse("method", condition.method, "it puts questions in the student's mouth. Use another method, such as sft")
    if condition.weights != "base":
        refuse(
            "weights", condition.weights, "the partner's weights stay as they are. Use weights: base and partner.model"
        )
    if condition.manner == "convincing":
        refuse("manner", condition.manner, "it needs a judge in each turn. Use another manner")
    if experiment.student.sampling_prompt and condition.sampling_prompt:
        refuse(
            "sampling_prompt",
            "true",
            f"a student learns from all that it reads here, {experiment.student.sampling_prompt!r} too. Use "
            "sampling_prompt: false",
        )
    if condition.memory != "none":
        refuse("memory", condition.memory, "a build makes what is remembered. Use memory: none")
