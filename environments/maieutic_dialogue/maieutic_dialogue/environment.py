"""Plays one condition of an experiment: verifiers asks the student, the pipeline says what follows.

The whole loop is `pipeline.episode.respond`; what is kept here is what was said, and how the dialogue ended.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import zip_longest
from typing import Any, NoReturn

import verifiers.legacy as vf

from maieutic_dialogue.metrics import rubric
from maieutic_dialogue.rows import rows
from pipeline.build import FAILURES
from pipeline.casting import Casting
from pipeline.config import Experiment
from pipeline.episode import Cast, respond
from pipeline.models import Sampling
from pipeline.schema import Dialogue, Task, Turn
from pipeline.view import Message


class DialogueEnv(vf.MultiTurnEnv):
    """Plays one condition of an experiment; after each of the student's turns the pipeline says what follows."""

    def __init__(self, experiment: Experiment, condition: str, seed: int):
        self.experiment, self.condition, self.dialogue_seed = experiment, condition, seed
        self.axes = experiment.conditions[condition]
        partner = experiment.partner.model or experiment.student.model
        self.cast = Cast(
            Elsewhere(),
            Casting(experiment).open(partner) if self.axes.voice == "model" else None,
            experiment.student.system,
            experiment.partner.system,
        )
        scored = rubric()
        scored.add_score_object_provider(lambda state: {"dialogue": self.dialogue(state)})
        super().__init__(
            dataset=partial(rows, experiment, condition, seed, "train"),
            eval_dataset=partial(rows, experiment, condition, seed, "exam"),
            rubric=scored,
            sampling_args={
                "max_tokens": experiment.dialogue.max_tokens,
                "temperature": experiment.dialogue.temperature,
            },
        )

    async def setup_state(self, state: vf.State) -> vf.State:
        state["replies"], state["stop"] = [], None
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """The partner's turn. Where it ends the dialogue, or there is none, this is the final response."""
        info, dialogue = state["info"], self.dialogue(state)
        if not dialogue.turns[-1].text:
            raise vf.EmptyModelResponseError(f"the student said nothing after {len(messages) - 1} messages")
        try:
            said, stop = await respond(
                dialogue.task,
                self.axes,
                self.cast,
                self.experiment.dialogue,
                info["key"],
                dialogue.turns,
                info["wording"],
            )
        except tuple(FAILURES) as error:
            raise vf.InfraError(f"the partner did not answer: {type(error).__name__}: {error}") from error
        spoken: vf.Messages = [] if said is None else [vf.UserMessage(content=said.text)]
        state["replies"] += [] if said is None else [said]
        if stop is not None:
            state["stop"], state["final_env_response"] = stop, spoken
        return spoken

    def dialogue(self, state: vf.State) -> Dialogue:
        """What was said so far, as the pipeline has it."""
        said = [_turn(step["response"], step["is_truncated"]) for step in state["trajectory"]]
        turns = [turn for pair in zip_longest(said, state["replies"]) for turn in pair if turn is not None]
        return Dialogue(
            id=state["info"]["id"],
            task=Task.model_validate(state["info"]["problem"]),
            condition=self.condition,
            axes=self.axes.shaping(),
            seed=self.dialogue_seed,
            sample=state["info"]["sample"],
            turns=tuple(turns),
            stop=state["stop"] or "turn_cap",  # also where verifiers ended it
        )

    # Before verifiers' own conditions (0), which would only say that there was a final response.
    @vf.stop(priority=10)
    async def student_done(self, state: vf.State) -> bool:
        return state["stop"] == "student_done"

    @vf.stop(priority=10)
    async def partner_done(self, state: vf.State) -> bool:
        return state["stop"] == "partner_done"

    @vf.stop(priority=10)
    async def turn_cap(self, state: vf.State) -> bool:
        return state["stop"] == "turn_cap"


class Elsewhere:
    """The student as the pipeline sees it here: its words can be counted, but it is verifiers that asks it."""

    async def complete(self, messages: list[Message], sampling: Sampling) -> NoReturn:
        raise NotImplementedError("verifiers asks the student")

    def count_tokens(self, text: str) -> int:
        """Words and signs: its tokenizer is not at hand."""
        return len(re.findall(r"\w+|[^\w\s]", text))


def _turn(response: vf.Response, cut: bool) -> Turn:
    content, usage = response.message.content, response.usage
    parts = [content] if isinstance(content, str) else [part["text"] for part in content or () if "text" in part]
    return Turn(
        party="student",
        text="".join(parts).strip(),
        tokens=usage.completion_tokens if usage else 0,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        finished=not cut,
    )
