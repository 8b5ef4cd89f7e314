"""What an experiment's YAML file holds, key by key, and what follows from it.

Whether it fits together is asked by `pipeline.experiment.experiment.Experiment`; what it asks of is this record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, NonNegativeInt

from pipeline.core.config_reading import Section, Seed
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, digest
from pipeline.engines.model import Sampling
from pipeline.engines.settings import Engine
from pipeline.engines.weights import is_embedded_base, weights_id
from pipeline.experiment.asked_in_role import in_role
from pipeline.experiment.exam_settings import Exams
from pipeline.experiment.prices import TokenPrice
from pipeline.experiment.roles import LIKE, Challenger, Partner, Role, RoleName, Student
from pipeline.experiment.settings import Compare, DialogueSettings, MemorySettings, Training, TurnValues
from pipeline.knowledge.briefing import shapes
from pipeline.knowledge.condition import Condition, Regime
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts, prompts_of
from pipeline.reading.settings import AUTO, ActsSettings, ReadingSettings
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Source
from pipeline.tasks.sources import source_of

BEFORE_WARMUP = "before_warmup"  # who sits the exams as the base did before its warm-up
UNTRAINED = (BEFORE_WARMUP, "base")  # who sit exams beside the students, in the order of tables
WHOLE = 0.9  # of a GPU's memory, which models on vLLM that run beside each other divide


class Fields(Section):
    """The keys of a config's first level, and what follows from them. Whether they fit together is not asked here."""

    name: str
    out: str = ""  # the run directory; empty: runs/NAME
    pilot_of: str = ""  # a config, by name or path, that this one is to help choose: they share no seed and no problem
    seeds: tuple[Seed, ...] = (1, 2, 3)
    rounds: int = Field(default=1, ge=1)  # of sample, select, train
    tasks: Tasks = Tasks()
    student: Student = Student()
    partner: Partner = Partner()
    judge: Role = Role()  # reads turns (reading, acts), and is whom a convincing partner is to convince
    challenger: Challenger = Challenger()  # poses tasks (maieutic pose)
    engine: Engine = Engine()  # of every role that names no other
    engines: dict[str, Engine] = {}
    prices: dict[str, TokenPrice] = {}  # by a model's name, or by a name in `engines`
    executor: Literal["local", "ray"] = "local"  # who builds: this process, or workers of a Ray cluster
    workers: NonNegativeInt = 0  # on Ray, each with a shard; 0: one per GPU of the cluster, per node where none
    dialogue: DialogueSettings = DialogueSettings()
    turn_values: TurnValues = TurnValues()
    memory: MemorySettings = MemorySettings()
    conditions: dict[str, Condition]
    training: Training = Training()
    exams: Exams = Exams()
    reading: ReadingSettings = ReadingSettings()
    acts: ActsSettings = ActsSettings()
    compare: Compare | None = None

    @property
    def run(self) -> Path:
        return Path(self.out or f"runs/{self.name}")

    @property
    def source(self) -> Source:
        """Where its tasks come from; a second source aside. Raises ConfigError where there is none of that name."""
        return source_of(self.tasks)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Of `tasks.parts`, in their order."""
        return tuple(map(source_of, self.tasks.parts))

    @property
    def has_code(self) -> bool:
        """Whether it has tasks whose answers are programs, which have to be run."""
        return any(source.has_programs for source in self.sources)

    @property
    def is_closed(self) -> bool:
        """Whether all is said in the embedded world's own language, by its base or by a script."""
        speakers: tuple[RoleName, ...] = ("student", "partner")
        closed_voices = all(self.is_scripted(role) or self.is_embedded(role) for role in speakers)
        return closed_voices and all(source.closed for source in self.sources)

    @property
    def base(self) -> str:
        """The model that every student starts from: `student.model`, or what its warm-up makes of it in the run."""
        return str(self.run / "warmup" / "base") if self.student.warmup else self.student.model

    def without_warmup(self) -> Self:
        """The same with the base as it was before its warm-up."""
        return self.model_copy(update={"student": self.student.model_copy(update={"warmup": None})})

    def on_base_of(self, condition_name: str) -> Self:
        """The same with the base that a condition's student learns on, where that is another one."""
        condition = self.conditions.get(condition_name)  # `base` is none
        if condition is None or condition.base in ("", self.student.model):
            return self
        return self.model_copy(
            update={"student": self.student.model_copy(update={"model": condition.base, "warmup": None})}
        )

    @property
    def examined(self) -> tuple[str, ...]:
        """Whoever sits the exams, in this order: the base, before its warm-up too, and the students."""
        before = (BEFORE_WARMUP,) if self.student.warmup else ()
        return (*before, "base", *self.conditions)

    @property
    def readers(self) -> tuple[str, str]:
        """The partner's and the metrics' reader by name, none of them auto."""
        natural = ("cross_encoder", "semantic")
        partner, metrics = ("closed", "closed") if self.is_closed else natural
        chosen = self.reading
        return (
            partner if chosen.partner == AUTO else chosen.partner,
            metrics if chosen.metrics == AUTO else chosen.metrics,
        )

    def role(self, name: RoleName) -> Role:
        """Who speaks in a role, with the model and the engine that it has from another one where it names none."""
        own: Role = {
            "student": self.student.model_copy(update={"model": self.base}),
            "partner": self.partner,
            "judge": self.judge,
            "challenger": self.challenger,
        }[name]
        if own.model or name not in LIKE:
            return own
        other = self.role(LIKE[name])
        return own.model_copy(update={"model": other.model, "engine": own.engine or other.engine})

    def engine_of(self, name: RoleName) -> Engine:
        """The engine that serves a role. Raises KeyError where it names one that is not in `engines`."""
        return self.named_engines[self.role(name).engine]

    def price_of(self, name: RoleName) -> TokenPrice | None:
        """What the tokens of a role cost: its model's price, else its engine's; None where neither has one."""
        role = self.role(name)
        return self.prices.get(role.model) or self.prices.get(role.engine)

    def temperature_of(self, name: RoleName) -> float:
        """At which a role speaks in dialogues."""
        asked = Sampling(max_tokens=0, temperature=self.dialogue.temperature)
        return in_role(name, self.role(name), asked).temperature

    def answer_tokens(self, name: RoleName) -> int:
        """That one turn of a role takes at most, its reasoning included."""
        role = self.role(name)
        return self.dialogue.max_tokens + (role.thinking_tokens if role.thinking != "off" else 0)

    @property
    def named_engines(self) -> dict[str, Engine]:
        """All engines by name; the lone one is called ''."""
        return {"": self.engine, **{name: it.standing_at(f"engines.{name}") for name, it in self.engines.items()}}

    @property
    def vllm_models(self) -> dict[str, set[str]]:
        """The models in use that run on vLLM in this process, by the name of their engine."""
        models: dict[str, set[str]] = {}
        for name in self.roles_in_use:
            if self.engine_of(name).kind == "vllm":
                models.setdefault(self.role(name).engine, set()).add(self.role(name).model)
        return models

    def is_scripted(self, name: RoleName) -> bool:
        """Whether a fixed script answers for a role, whatever its model."""
        return self.engine_of(name).kind == "scripted"

    @property
    def judged(self) -> bool:
        """Whether a judge is asked anything."""
        convinced = any(condition.manner == "convincing" for condition in self.conditions.values())
        return convinced or "judge" in (*self.readers, self.acts.labeller)

    @property
    def roles_in_use(self) -> tuple[RoleName, ...]:
        """The roles that building, training and examining ask a model in."""
        conditions = self.conditions.values()
        spoken = any(condition.voice == "model" and condition.weights == "base" for condition in conditions)
        remembered = any(condition.memory != "none" for condition in conditions)  # the partner writes lessons
        partner: tuple[RoleName, ...] = ("partner",) if spoken or remembered else ()
        return ("student", *partner, *(("judge",) if self.judged else ()))

    @property
    def exam_turns(self) -> int:
        """Student turns of an exam's whole episodes, at most."""
        return self.exams.turns or self.dialogue.turns

    def per_task(self, condition_name: str) -> int:
        """Dialogues that a condition plays of each task from the start.

        Q-priming has no use for siblings of turns: it plays as many dialogues as the others' pool has, where the
        condition does not say otherwise.
        """
        if own := self.conditions[condition_name].per_task:
            return own
        of_branches = self.turn_values.dialogues if self.conditions[condition_name].method == "q_priming" else 0
        return self.dialogue.per_task * (1 + of_branches)

    def turn_values_of(self, condition: Condition) -> TurnValues:
        """How the turns are valued that a condition learns by: `turn_values`, with its own prices where it has some."""
        prices = {"token_price": condition.token_price, "question_price": condition.question_price}
        return self.turn_values.model_copy(update={key: own for key, own in prices.items() if own is not None})

    def sources_of(self, condition_name: str) -> list[Source]:
        """The sources whose tasks a condition plays."""
        named = self.conditions[condition_name].sources
        return [source for source in self.sources if named is None or source.name in named]

    def regime_of(self, condition_name: str) -> Regime:
        """How much of its rows a condition's student learns."""
        return self.conditions[condition_name].regime or self.training.regime

    def with_regime(self, regime: Regime) -> list[str]:
        return [name for name in self.conditions if self.regime_of(name) == regime]

    def stretches(self, condition_name: str) -> dict[tuple[str, Specification], range]:
        """Which of `tasks.train` a condition plays: positions among the tasks of each source and specification.

        With `tasks.per_condition` each specification has a stretch of its own, so that no problem, told whole and
        told with something missing, comes twice.
        """
        condition, most = self.conditions[condition_name], self.tasks.per_condition
        plays = {source.name for source in self.sources_of(condition_name)}
        mine = {
            (source.name, specification): count
            for source, tasks in zip(self.sources, self.tasks.parts, strict=True)
            if source.name in plays
            for specification, count in tasks.train.items()
            if condition.specifications is None or specification in condition.specifications
        }
        if not most:
            return {cell: range(count) for cell, count in mine.items()}
        return {cell: range(i * most // len(mine), (i + 1) * most // len(mine)) for i, cell in enumerate(mine)}

    def is_embedded(self, name: RoleName) -> bool:
        """Whether an embedded base speaks in a role; a warm-up leaves it one, before it is made too."""
        model = self.role(name).model
        return is_embedded_base(self.student.model if model == self.base else model)

    @property
    def has_planted_acts(self) -> bool:
        """Whether the rates of the student's acts were planted: by the corpus of an embedded base, or by a script."""
        return self.source.closed and (self.is_scripted("student") or self.is_embedded("student"))

    def prompts(self, name: RoleName) -> Prompts:
        """With which templates a role is prompted. Raises ConfigError for a folder of them that cannot be used."""
        closed = self.is_scripted(name) or self.is_embedded(name)
        try:
            return prompts_of(self.role(name).prompts, "closed" if closed else "chat")
        except ConfigError as error:
            raise ConfigError(f"{name}.prompts: {error}") from error

    def sampling_prompts(self, condition: Condition) -> Prompts:
        """With which templates the student is prompted while a condition's dialogues are sampled; its rows have those
        of `prompts`. Dialogues of people were not sampled. Raises ConfigError."""
        own = self.prompts("student")
        if not (self.student.sampling_prompt and condition.sampling_prompt and condition.voice != "human"):
            return own
        try:
            return prompts_of(self.student.sampling_prompt, own.set)
        except ConfigError as error:
            raise ConfigError(f"student.sampling_prompt: {error}") from error

    def partner_prompts(self, condition: Condition) -> Prompts:
        """Those of a model partner. A rule reads none: the closed ones say shortest what it knows."""
        return self.prompts("partner") if condition.voice == "model" else CLOSED_PROMPTS

    def fingerprint(self) -> str:
        """Of all that shapes the dialogues of every condition; part of every dialogue's id."""
        return digest(
            [weights_id(self.base), ""],
            [weights_id(self.partner.model), ""],
            self.dialogue.model_dump(exclude={"concurrency", "per_task"}),
            *self._shaping("student", "partner"),
        )

    def _shaping(self, *names: RoleName) -> list[Any]:
        """How roles are sampled; nothing where each is sampled as by default, and ids are those of such configs."""
        shaping = {name: [self.role(name).shaping, self.engine_of(name).extra_body] for name in names}
        return [shaping] if any(any(parts) for parts in shaping.values()) else []

    def particulars(self, condition_name: str) -> list[Any]:
        """What else shapes the dialogues of one condition, and of no other."""
        condition, shaping = self.conditions[condition_name], list[Any]()
        if condition.memory != "none":
            most = [] if self.memory.words is None else [self.memory.words]
            shaping.append([weights_id(self.memory.embedder), self.memory.items, *most])
        convincing = condition.manner == "convincing"
        if convincing:
            judge = weights_id(self.role("judge").model)
            shaping.append([judge, self.partner.candidates, self.partner.judgements])
        words = shapes(condition, self.sampling_prompts(condition), self.prompts("partner"))
        if words != shapes(condition, CLOSED_PROMPTS, CLOSED_PROMPTS):
            shaping.append(words)
        if self.readers != ("closed", "closed"):
            judge = self.judge.model if "judge" in self.readers else ""
            shaping.append([*self.readers, judge, self.reading.generic_requests])
        if "judge" in self.readers and self.prompts("judge").shapes("judge/turn") != CLOSED_PROMPTS.shapes(
            "judge/turn"
        ):
            shaping.append(self.prompts("judge").shapes("judge/turn"))
        if convincing or "judge" in self.readers:
            shaping += self._shaping("judge")
        return shaping
