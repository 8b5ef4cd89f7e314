"""verifiers' classic interface (0.3): an environment asks the student and the pipeline, turn by turn."""

from __future__ import annotations

import json
from functools import partial
from itertools import zip_longest
from typing import Any

import verifiers.legacy as vf
from datasets import Dataset

from maieutic_dialogue import metrics
from maieutic_dialogue.rows import Split, rows
from maieutic_dialogue.stage import Stage
from pipeline.building.failures import TYPED
from pipeline.core.schema import Turn
from pipeline.engines.reasoning import parted
from pipeline.knowledge.records import Dialogue


class ClassicEnv(vf.MultiTurnEnv):
    """Training tasks are the dataset, exam tasks the eval dataset."""

    def __init__(self, stage: Stage):
        self.stage = stage
        rubric = vf.Rubric([metrics.correct])
        for metric in metrics.METRICS:
            rubric.add_metric(metric)
        rubric.add_score_object_provider(lambda state: {"dialogue": self.read(state)})
        settings = stage.cell.experiment.dialogue
        super().__init__(
            dataset=partial(_dataset, stage, "train"),
            eval_dataset=partial(_dataset, stage, "exam"),
            rubric=rubric,
            sampling_args={"max_tokens": settings.max_tokens, "temperature": settings.temperature},
        )

    async def setup_state(self, state: vf.State) -> vf.State:
        state["replies"], state["readings"], state["stop"] = [], [], None
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """The partner's turn. Where it ends the dialogue, or there is none, this is the final response."""
        turns = self.dialogue(state).turns
        if not turns[-1].text:
            raise vf.EmptyModelResponseError(f"the student said nothing after {len(messages) - 1} messages")
        try:
            reply, stop = await self.stage.respond(state["info"], turns)
            replies: list[Turn] = [] if reply is None else [reply]
            read = await self.stage.read(state["info"], [*turns, *replies])
        except TYPED as error:
            raise vf.InfraError(f"the partner did not answer: {type(error).__name__}: {error}") from error
        spoken: vf.Messages = [] if reply is None else [vf.UserMessage(content=reply.text)]
        state["replies"] += replies
        state["readings"] = [turn.reading for turn in read]
        if stop is not None:
            state["stop"], state["final_env_response"] = stop, spoken
        return spoken

    def dialogue(self, state: vf.State) -> Dialogue:
        """What was said so far, as the pipeline has it."""
        own = [_turn(step["response"], step["is_truncated"]) for step in state["trajectory"]]
        turns = [turn for pair in zip_longest(own, state["replies"]) for turn in pair if turn is not None]
        turns = [
            turn.model_copy(update={"reading": reading}) for turn, reading in zip_longest(turns, state["readings"])
        ]
        return self.stage.dialogue(state["info"], turns, state["stop"])

    def read(self, state: vf.State) -> Dialogue:
        """The same without a last turn that was not read, since verifiers ended the rollout with it."""
        whole = self.dialogue(state)
        return whole.model_copy(update={"turns": whole.turns[: len(state["readings"])]})

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


def _dataset(stage: Stage, split: Split) -> Dataset:
    return Dataset.from_list([row._asdict() | {"info": json.dumps(row.info)} for row in rows(stage, split)])


def _turn(response: vf.Response, cut: bool) -> Turn:
    content, usage = response.message.content, response.usage
    parts = [content] if isinstance(content, str) else [part["text"] for part in content or () if "text" in part]
    said = parted("".join(parts))
    return Turn(
        party="student",
        text=said.answer,
        reasoning=said.reasoning,
        tokens=usage.completion_tokens if usage else 0,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        finished=not cut,
    )
