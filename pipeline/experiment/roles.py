"""The roles of an experiment: which model speaks in each, through which engine, and how it is sampled.

    student: {model: Qwen/Qwen3-0.6B, engine: local}
    partner: {model: large, engine: api, sampling: {temperature: 0.7, top_p: 0.9}, thinking: drop}
    judge: {model: large, engine: api}

A role that names no engine is served by the lone `engine:`. One that names no model has that of another role: the
partner and the judge the student's base, the challenger the partner's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from pipeline.core.config_reading import Section, Seed
from pipeline.engines.weights import EMBEDDED

RoleName = Literal["student", "partner", "judge", "challenger"]
ROLES: tuple[RoleName, ...] = ("student", "partner", "judge", "challenger")
# Whose model, and engine, a role has that names no model.
LIKE: dict[RoleName, RoleName] = {"partner": "student", "judge": "student", "challenger": "partner"}


def _word(value: Any) -> Any:
    return "off" if value is False else value  # YAML reads a bare off as false


class RoleSampling(Section):
    """How a role's answers are drawn; defaults cut nothing off."""

    temperature: float | None = Field(default=None, ge=0)  # None: dialogue.temperature, and 0 for a judge that reads
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)  # 0: all tokens
    min_p: float = Field(default=0.0, ge=0, le=1)  # of the likeliest token's probability


class Role(Section):
    """Who speaks in a role."""

    model: str = ""  # `embedded`, a directory, a hub name, or a server's name for it; empty: another role's
    engine: str = ""  # a name in `engines`; empty: the lone `engine`
    # A set of prompts (closed, chat, instructed, brief; demonstrated for a partner or a challenger), or a folder of
    # templates, which replaces those of a set that it holds files for (docs/prompts.md). auto: closed for the embedded
    # base and scripts, else chat.
    prompts: str = "auto"
    sampling: RoleSampling = RoleSampling()
    # Whether it reasons before it answers. What it reasons is recorded and never read by another party; drop: nor by
    # itself in later turns, nor learned; keep: it is part of the role's own turns, and of what a student learns.
    thinking: Annotated[Literal["off", "drop", "keep"], BeforeValidator(_word)] = "off"
    thinking_tokens: int = Field(default=2048, ge=0)  # that reasoning may take, beyond max_tokens of an answer

    @property
    def shaping(self) -> dict[str, Any]:
        """What shapes its answers beside weights and prompts; empty where all is as in every config by default."""
        names = {"sampling", "thinking", *({"thinking_tokens"} if self.thinking != "off" else ())}
        chosen = self.model_dump(include=names)
        return {key: value for key, value in chosen.items() if value != Role().model_dump()[key]}


class Warmup(Section):
    """A stage before all conditions (training/warmup.py): on tasks that no other stage uses the base learns in which
    form one answers, and to read. The rest of how it learns is `training`."""

    full: int = Field(default=400, ge=0)  # full tasks, answered in the first turn
    told: int = Field(default=200, ge=0)  # underspecified ones, answered once a partner has told all that is missing
    # Hidden items, half of them full, each in four rows: after an open question, a closed one, a request for the next
    # step and an option that is tried, the answer to which the student uses (training/hidden_item/ways.py).
    used: int = Field(default=0, ge=0)
    # Hidden items, half of them full, under the sampling prompt: one in ten begins with an open question, one in ten
    # with a closed one, one in ten with a request for the next step. This plants how often it asks.
    ways: int = Field(default=0, ge=0)
    # Full ones under the sampling prompt, where a question of the base's own stays (training/kept_turns.py).
    kept: int = Field(default=0, ge=0)
    learning_rate: float = Field(default=5e-4, gt=0)
    epochs: float = Field(default=1, gt=0)
    seed: Seed = 0

    @model_validator(mode="after")
    def _has_tasks(self) -> Warmup:
        if not self.full + self.told + self.used:
            raise ValueError("full: 0, told: 0 and used: 0 leave nothing to learn. Raise one, or leave the warm-up out")
        return self


class Student(Role):
    """The model that is trained and examined."""

    model: str = EMBEDDED  # the base that ships, or a directory, or a hub name
    warmup: Warmup | None = None  # of the base, before all conditions; null: none
    # With which prompts dialogues are sampled, a set such as demonstrated, or a folder; empty: with its own. The rows
    # that a student learns from, and its exams, have its own prompts: what these did to it has to be learned.
    sampling_prompt: str = ""

    @model_validator(mode="after")
    def _keeps_what_there_is(self) -> Student:
        warmup = self.warmup or Warmup()
        for key, rows in (("kept", warmup.kept), ("ways", warmup.ways)):
            if rows and not self.sampling_prompt:
                raise ValueError(
                    f"warmup.{key}: {rows} rows are to have the sampling prompt, and sampling_prompt names none. "
                    f"Name one, or set warmup.{key}: 0"
                )
        return self


class Partner(Role):
    """The model behind voice: model. `weights` of a condition says which of its weights speak."""

    candidates: int = Field(default=4, ge=2)  # turns of which a convincing partner says the most convincing
    judgements: int = Field(default=4, ge=1)  # private answers of the judge to each of them
    # The share of dialogues in which it is to keep to what it may know: a build stops early where it is too certainly
    # less (pipeline/building/soundness.py). None: a build only counts.
    sound: float | None = Field(default=None, gt=0, lt=1)


class Challenger(Role):
    """Who poses tasks (`maieutic pose`), and learns to (`maieutic challenger`)."""

    adapter: str = ""  # the folder of a LoRA adapter of its model, such as `maieutic challenger` makes; empty: none
