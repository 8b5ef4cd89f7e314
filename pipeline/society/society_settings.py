"""A society: one YAML file, of which each combination of its `sweep` is played once with each seed of its `repeats`.

maieutic society configs/mirroring.yaml --set 'sweep.k=[1, 5]'
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, field_validator, model_validator

from pipeline.core.config_reading import Folder, Section, Seed
from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.engines.settings import Engine
from pipeline.engines.weights import weights_id
from pipeline.tasks.parsing import read_text

Probability = Annotated[float, Field(ge=0, le=1)]
# A value, or [step, value] pairs: it holds from that step on, the first step being 0.
Range = NonNegativeInt | tuple[tuple[NonNegativeInt, NonNegativeInt], ...]
Chance = Probability | tuple[tuple[NonNegativeInt, Probability], ...]
SWEPT = ("k", "p", "n", "q", "noise", "views", "gives", "kind", "embedder", "neighbours", "steps")


class Knowledge(Section):
    """What there is to know, and who holds how much of it at first."""

    # JSON Lines of `text` and `claim`, what the text speaks for; $VARIABLES expand. Empty: sentences about flowers that
    # are made up (pipeline/society/flowers.py), or with kind proxy a Gaussian mixture of as many topics.
    path: str = ""
    topics: int = Field(default=6, ge=1)  # flowers, or components of the mixture
    items: int = Field(default=8, ge=1)  # that each agent holds at first
    focus: Probability = 0.8  # chance that an item is of the agent's own topic; otherwise it is of any
    dimensions: int = Field(default=8, ge=2)  # of the mixture
    spread: float = Field(default=0.35, gt=0)  # of its components, where their means are 1 apart from the centre

    def file(self) -> Path:
        """Where `path` lies. Raises ConfigError."""
        path = Path(os.path.expandvars(self.path))
        if not path.is_file():
            raise ConfigError(f"knowledge.path: {str(path)!r}: no such file. Expected JSON Lines of text and claim")
        return path

    def text(self) -> str:
        """The contents of `path`, damaged bytes as surrogates. Raises ConfigError."""
        return read_text(self.file(), "knowledge.path")


class Injection(Section):
    """An item from outside that a share of the agents, drawn at random, receives before a step."""

    step: NonNegativeInt  # the first is 0, as in the schedules of k and p
    share: Probability
    text: str = Field(min_length=1)  # of kind proxy: the name of a topic, half way between it and the query


class Factual(Section):
    """The query has a right answer. A verifier says whether an answer is right, and not which one is."""

    gold: str = Field(min_length=1)  # a claim of the knowledge: a flower, or a `claim` of the file


class Adapt(Section):
    """What an agent's own k and p gain at a step that leaves its answer as it was, and lose at one that changes it."""

    k: int = 0
    p: float = 0.0


class Society(Section):
    """A society of peers: how many, who hears whom, and what each of them knows. `maieutic society` plays it."""

    name: str
    out: Folder = ""  # the run directory; empty: runs/NAME
    repeats: tuple[Seed, ...] = tuple(range(10))  # seeds; each draws its own knowledge, one for the whole sweep
    kind: Literal["proxy", "retrieval", "chat"] = "proxy"
    n: int = Field(default=30, ge=1)  # agents
    steps: int = Field(default=80, ge=1)  # T
    k: Range = 5  # neighbours whom an agent may hear; 0: none
    p: Chance = 0.5  # chance that it mirrors the one that it hears; otherwise it is given an item
    gives: Literal["any", "nearest"] = "any"  # which item of the other's: one at random, or that nearest to the query
    query: str = "What is your favourite flower, and why?"
    queries: tuple[str, ...] = ()  # several that are all answered at each step, instead of `query`
    views: int = Field(default=1, ge=1)  # answers of each agent to each query, from its items nearest to it
    noise: Probability = 0.0  # chance that what is heard is another agent's answer, or an item, drawn at random
    adapt: Adapt = Adapt()
    inject: tuple[Injection, ...] = ()
    factual: Factual | None = None
    q: Probability = 0.0  # share of agents that hold a verifier, with `factual`
    knowledge: Knowledge = Knowledge()
    embedder: str = "installed"  # of texts: a directory or hub name, or the weights that are installed
    neighbours: Literal["exact", "approximate"] = "exact"
    where: bool | None = None  # keep the answers' embeddings of each repeat; None: of at most 1000 agents
    model: str = ""  # of chat agents: a directory, a hub name or a server's model
    engine: Engine = Field(default_factory=Engine)
    max_tokens: int = Field(default=48, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    sweep: dict[str, tuple[Any, ...]] = {}  # values of the keys in SWEPT

    @property
    def folder(self) -> Path:
        return Path(self.out or f"runs/{self.name}") / "society"

    @property
    def asked(self) -> tuple[str, ...]:
        return self.queries or (self.query,)

    @field_validator("sweep")
    @classmethod
    def _known(cls, sweep: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        for key, values in sweep.items():
            if key not in SWEPT:
                raise ValueError(f"{key!r} cannot be swept. Known: {', '.join(SWEPT)}")
            if not values:
                raise ValueError(f"{key}: no values. Give at least one, such as {key}: [1]")
        return sweep

    @model_validator(mode="after")
    def _fits_together(self) -> Society:
        if len(set(self.repeats)) != len(self.repeats) or not self.repeats:
            raise ValueError(f"repeats: {list(self.repeats)} must be distinct seeds, at least one")
        if self.kind == "chat" and not self.model and self.engine.kind != "scripted":
            raise ValueError("model: chat agents need one, a directory or a hub name. Or set engine.kind: scripted")
        most = max(value for _, value in self.k) if isinstance(self.k, tuple) else self.k
        if most > self.n - 1 and not {"k", "n"} & self.sweep.keys():
            raise ValueError(f"k: {most} sources of {self.n} agents: each has {self.n - 1} others. Lower k, or raise n")
        if self.factual is None and (self.q or "q" in self.sweep):
            raise ValueError("q: verifiers need a query that has a right answer. Set factual.gold, or q: 0")
        if self.q and not {"q", "n"} & self.sweep.keys() and not round(self.q * self.n):
            raise ValueError(f"q: {self.q:g} of {self.n} agents is nobody. Set q: 0, or at least {1 / self.n:.3f}")
        if self.kind == "proxy" and self.knowledge.path and "kind" not in self.sweep:
            raise ValueError("knowledge.path: kind proxy draws its knowledge. Set kind: retrieval, or leave path out")
        if self.views > self.knowledge.items and "views" not in self.sweep:
            raise ValueError(f"views: {self.views} answers need as many items. Raise knowledge.items, or lower views")
        if "embedder" in self.sweep and "proxy" in self.sweep.get("kind", (self.kind,)):
            raise ValueError("sweep.embedder: kind proxy embeds nothing. Set kind: retrieval, or leave embedder out")
        times = [injection.step for injection in self.inject]
        for values in (self.k, self.p):
            times += [step for step, _ in values] if isinstance(values, tuple) else []
        if "steps" not in self.sweep and max(times, default=0) >= self.steps:
            raise ValueError(
                f"k, p, inject: step {max(times)} never comes, the last of {self.steps} steps is {self.steps - 1}. "
                "Raise steps, or name an earlier one"
            )
        for values in (self.k, self.p):
            if isinstance(values, tuple) and (not values or values[0][0] != 0 or list(values) != sorted(values)):
                raise ValueError("k, p: a schedule is [step, value] pairs in order, the first at step 0")
        return self

    def all_repeats(self) -> list[tuple[Society, int]]:
        """Each combination of the sweep as a society of its own, with each seed. Raises ValueError, also where two
        values of a key come to the same, as 0 and 0.0 do: they would be one repeat."""
        fixed = self.model_dump(exclude={"sweep"}, exclude_unset=True)
        combinations = itertools.product(*self.sweep.values())
        made = [Society.model_validate(fixed | dict(zip(self.sweep, values, strict=True))) for values in combinations]
        for key, values in self.sweep.items():
            if len({repr(getattr(society, key)) for society in made}) < len(values):
                raise ValueError(f"{key}: {list(values)} has a value twice. Give each once; repeats are seeds")
        return [(society, seed) for society in made for seed in self.repeats]

    def repeat_id(self, seed: int) -> str:
        """Names what is played by all that shapes it, a file of knowledge by its contents. Raises ConfigError."""
        shaping = self.model_dump(mode="json", exclude={"name", "out", "repeats", "sweep", "where", "engine"})
        if self.knowledge.path:
            shaping["knowledge"]["path"] = digest(self.knowledge.text())
        if self.kind != "chat":
            return digest(shaping, "", seed)
        weights = weights_id(self.model)  # a hub name, or a hash of files
        more = [part for part in ("" if weights == self.model else weights, self.engine.extra_body) if part]
        return digest(shaping, self.engine.kind, seed, *more)


def at(value: Any, step: int) -> Any:
    """A value, or that of a schedule at one step."""
    if not isinstance(value, tuple):
        return value
    return [each for since, each in value if since <= step][-1]
