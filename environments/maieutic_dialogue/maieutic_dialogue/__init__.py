"""An experiment's dialogues as an environment of verifiers: the student is the model that verifiers asks.

Tasks, views, partner, stops, random streams and reward are the pipeline's own: what is played here equals, turn by
turn, what `maieutic build` plays with the same student and seed. Gold answers and withheld facts stay in the state
of a rollout; a prompt holds what `pipeline.knowledge.view.view` shows the student, and what was said since.

    vf-eval maieutic-dialogue -a '{"config": "configs/quickstart.yaml", "condition_name": "facts"}' -m MODEL -b URL
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maieutic_dialogue.stage import open_stage
from maieutic_dialogue.taskset import Chat, DialogueEnv, DialogueTaskset

if TYPE_CHECKING:
    from maieutic_dialogue.classic import ClassicEnv

__all__ = ["Chat", "DialogueEnv", "DialogueTaskset", "load_environment"]


def load_environment(
    config: str = "configs/quickstart.yaml",
    condition_name: str = "facts",
    seed: int | None = None,
    overrides: Sequence[str] = (),
) -> ClassicEnv:
    """One condition's dialogues for the classic interface, which verifiers has up to 0.3.

    `seed` is the config's first where it is left out, `overrides` are KEY=VALUE as for `maieutic --set`.
    Raises ConfigError for a config that cannot be run, and for a condition that cannot be played here.
    """
    from maieutic_dialogue.classic import ClassicEnv

    return ClassicEnv(open_stage(config, condition_name, seed, overrides))
