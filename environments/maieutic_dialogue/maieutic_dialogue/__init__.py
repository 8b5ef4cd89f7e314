"""An experiment's dialogues as an environment of verifiers: the student is the model that verifiers asks.

Tasks, views, partner, stops, random streams and reward are the pipeline's own: what is played here equals, turn by
turn, what `maieutic build` plays with the same student and seed. Gold answers and withheld facts stay in the state
of a rollout; a prompt holds what `pipeline.view.view` shows the student, and what was said since.

    vf-eval maieutic-dialogue -a '{"config": "configs/quickstart.yaml", "condition": "facts"}' -m MODEL -b URL
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import verifiers.legacy as vf

from maieutic_dialogue.environment import DialogueEnv
from pipeline.config import ConfigError, Experiment, load

__all__ = ["DialogueEnv", "load_environment"]


def load_environment(
    config: str = "configs/quickstart.yaml",
    condition: str = "facts",
    seed: int | None = None,
    overrides: Sequence[str] = (),
) -> vf.Environment:
    """The dialogues of one condition: its training tasks as the dataset, the exam tasks as the eval dataset.

    `seed` is the config's first where it is left out, `overrides` are KEY=VALUE as for `maieutic --set`.
    Raises ConfigError for a config that cannot be run, and for a condition that cannot be played here.
    """
    experiment = load(Path(config), tuple(overrides))
    _check(experiment, condition, config)
    return DialogueEnv(experiment, condition, experiment.seeds[0] if seed is None else seed)


def _check(experiment: Experiment, name: str, config: str) -> None:
    def refuse(key: str, value: str, why: str) -> NoReturn:
        raise ConfigError(f"{config}: conditions.{name}.{key}: {value!r} cannot be played in verifiers: {why}")

    axes = experiment.conditions.get(name)
    if axes is None:
        raise ConfigError(f"condition: {name!r} is not in {config}. Known: {', '.join(experiment.conditions)}.")
    if axes.partition == "script":
        refuse("partition", axes.partition, "one model writes both sides. Use another partition")
    if axes.voice == "human":
        refuse("voice", axes.voice, "its dialogues were held before. Use voice: rule or model")
    if axes.method == "q_priming":
        refuse("method", axes.method, "it puts questions in the student's mouth. Use another method, such as sft")
    if axes.weights != "base":
        refuse("weights", axes.weights, "the partner's weights stay as they are. Use weights: base and partner.model")
