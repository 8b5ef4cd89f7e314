"""What a card says of each role: its model, the engine that was asked, its prompts, and how it was sampled."""

from __future__ import annotations

import json
from typing import NamedTuple

from pipeline.engines.model import Sampling
from pipeline.engines.settings import Engine
from pipeline.experiment.asked_in_role import in_role
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.places import without_place
from pipeline.experiment.roles import Role, RoleName
from pipeline.knowledge.condition import Condition
from pipeline.prompts.prompts import Prompts


class Asked(NamedTuple):
    """What a model is asked for in a role."""

    role: RoleName
    weights_of: RoleName  # whose model and engine answer
    what: str  # it is asked for; '' for its turns
    prompts: Prompts
    temperature: float  # where the role sets none


def roles(experiment: Experiment, condition: Condition) -> list[str]:
    """A line for each role in which a model was asked for a condition's dialogues.

    Empty where all were one model on the lone engine, sampled as by default: there one line says it of all.
    """
    asked = _asked(experiment, condition)
    named = {(experiment.role(each.weights_of).model, experiment.role(each.weights_of).engine) for each in asked}
    sampled_alike = experiment.engine.temperature == "always" and not any(
        experiment.role(each.role).shaping for each in asked
    )
    if sampled_alike and named <= {(experiment.base, "")} and "judge" not in experiment.readers:
        return []
    return [_line(experiment, each) for each in asked]


def _asked(experiment: Experiment, condition: Condition) -> list[Asked]:
    at, student = experiment.dialogue.temperature, experiment.sampling_prompts(condition)
    asked = list[Asked]()
    if condition.voice != "human" and not condition.row.one_writer:
        asked.append(Asked("student", "student", "", student, at))
    if condition.voice == "model":
        what = ", writing both sides" if condition.row.one_writer else ""
        speaks: RoleName = "partner" if condition.weights == "base" else "student"
        asked.append(Asked("partner", speaks, what, experiment.prompts("partner"), at))
    if condition.memory != "none":
        asked.append(Asked("partner", "partner", ", writing lessons", experiment.prompts("student"), 0.0))
    if condition.manner == "convincing":
        asked.append(Asked("judge", "judge", ", whom the partner is to convince", student, at))
    if "judge" in experiment.readers:
        asked.append(Asked("judge", "judge", ", reading turns", experiment.prompts("judge"), 0.0))
    return asked


def _line(experiment: Experiment, asked: Asked) -> str:
    answers, engine = experiment.role(asked.weights_of), experiment.engine_of(asked.weights_of)
    through = engine.kind if engine.kind in ("openai", "scripted") else f"{engine.kind}, {engine.dtype}"
    parts = [
        f"{asked.role.capitalize()}{asked.what}: {_model(experiment, answers.model)}",
        f"engine `{answers.engine}` ({through})" if answers.engine else f"engine {through}",
        asked.prompts.says,
        _sampling(experiment, asked, engine),
        _thinking(experiment.role(asked.role), engine),
    ]
    return "; ".join(parts) + "."


def _model(experiment: Experiment, model: str) -> str:
    """A role's model; of a base that was warmed up, what it was made from and not where in the run it lies."""
    warmed = experiment.student.warmup is not None and model == experiment.base
    named = without_place(experiment.student.model if warmed else model)
    return f"`{named}`, warmed up" if warmed else f"`{named}`"


def _sampling(experiment: Experiment, asked: Asked, engine: Engine) -> str:
    """What the requests of a role held."""
    plain = Sampling(max_tokens=0, temperature=asked.temperature)
    sent = in_role(asked.role, experiment.role(asked.role), plain)
    told = engine.kind != "openai" or engine.temperature == "always" or sent.temperature_is_set
    cuts = {"top_p": sent.top_p, "top_k": sent.top_k, "min_p": sent.min_p}
    chosen = [f"{key} {value}" for key, value in cuts.items() if value != plain._asdict()[key]]
    return ", ".join([f"temperature {sent.temperature}" if told else "no temperature sent", *chosen])


def _thinking(role: Role, engine: Engine) -> str:
    """Whether a role reasons, and what a server was told of it: the protocol itself has no key for that."""
    thinks = f"thinking {role.thinking}"
    if role.thinking != "off":
        thinks += f", {role.thinking_tokens} tokens more for it"
    if engine.kind != "openai":
        return thinks
    told = f"each request had `{json.dumps(engine.extra_body)}`" if engine.extra_body else "no request said so"
    return f"{thinks} ({told})"
