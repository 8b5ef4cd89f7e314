"""The sections of a config."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, field_validator, model_validator

from pipeline.core.config_reading import Section
from pipeline.experiment.lora import DEFAULT, checked_lora
from pipeline.knowledge.condition import Method, Regime


class DialogueSettings(Section):
    """How long dialogues are, how they are sampled, and what is asked in private beside them."""

    turns: int = Field(default=4, ge=1)  # student turns
    max_tokens: int = Field(default=48, ge=1)  # per turn
    temperature: float = Field(default=1.0, ge=0)
    per_task: int = Field(default=1, ge=1)
    beliefs: int = Field(default=0, ge=0)  # K samples per private belief; 0 elicits none
    probe: str = "Say only your own answer."
    concurrency: int = Field(default=512, ge=1)
    deterministic: bool = False  # batch of one: content is equal too, not only ids (transformers, scripted)

    @property
    def at_a_time(self) -> int:
        """Dialogues that are under way at once."""
        return 1 if self.deterministic else self.concurrency


class TurnValues(Section):
    """The values of student turns (pipeline/building/turn_values.py): what the student might have said, played on."""

    siblings: NonNegativeInt = 0  # k turns sampled from one prefix; 0: no values
    rollouts: int = Field(default=2, ge=1)  # m times each of them is played on
    at: tuple[NonNegativeInt, ...] = Field(default=(0,), min_length=1)  # student turns, 0 is the first
    token_price: float = Field(
        default=0.0, ge=0
    )  # off a turn's value, for each token of the student from it on, at most 1
    question_price: float = Field(default=0.0, ge=0)  # and for each question

    @property
    def dialogues(self) -> int:
        """Played on from one dialogue, at most: of a shorter one some turns are not there."""
        return self.siblings * self.rollouts * len(self.at)

    @field_validator("at")
    @classmethod
    def _each_once(cls, at: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(at)) < len(at):
            raise ValueError(f"{list(at)} names a turn twice: its branches would count twice. Name each once")
        return at

    @field_validator("siblings")
    @classmethod
    def _can_be_compared(cls, siblings: int) -> int:
        if siblings == 1:
            raise ValueError(
                "one sibling has nothing to be compared with: 2 or more are expected, or 0 for no turn values"
            )
        return siblings


class MemorySettings(Section):
    """What students with a memory are shown of other tasks (pipeline/building/memory.py)."""

    # A directory, a hub name, or `installed`: the weights that are installed.
    embedder: str = Field(default="sentence-transformers/all-MiniLM-L6-v2", min_length=1)
    items: int = Field(default=3, ge=1)  # memories above each question, at most
    words: int | None = Field(default=None, ge=20)  # and at most so many words, for arms to be alike


class Override(Section):
    """What a learning rule needs otherwise than the others; None: as they have it."""

    learning_rate: float | None = Field(default=None, gt=0)
    epochs: float | None = Field(default=None, gt=0)


class Grpo(Section):
    """How students learn while they play (training/online/grpo.py)."""

    group: int = Field(default=8, ge=2)  # dialogues, or first turns, of one task that are compared
    tasks_per_step: int = Field(default=16, ge=1)
    discount: float = Field(default=0.7, gt=0, le=1)  # of a right answer, for each student turn before it (grpo)


class Training(Section):
    """How students learn: the LoRA adapter, the optimizer, and what each learning rule needs."""

    grpo: Grpo = Grpo()
    gap: float = Field(default=0.25, gt=0)  # least difference between the values of a pair (dpo)
    beta: float = Field(default=0.1, gt=0)  # how strongly preferences are held to the base (dpo, kto)
    held_out: float = Field(default=0.1, ge=0, lt=1)  # share of tasks whose pairs are scored and not learned (dpo)
    methods: dict[Method, Override] = {}  # what a method does otherwise
    # matched: all learn as many tokens, on as many of the same tasks as fit; shuffled: rows are dealt to them by lot (a
    # control)
    regime: Regime = "natural"
    learn: Literal["all", "after_last_error", "final"] = "all"  # which student turns carry loss
    lora: dict[str, Any] = DEFAULT  # fields of PEFT's LoraConfig; those that are left out as here, else as in PEFT
    load_in_4bit: bool = False  # the base in NF4 while it learns (QLoRA), through bitsandbytes; needs a GPU
    learning_rate: float = Field(default=2e-4, gt=0)
    epochs: float = Field(default=2, gt=0)
    # Optimizer steps of every student that learns from rows, however many rows it has, in place of epochs.
    steps: int | None = Field(default=None, ge=1)
    batch: int = Field(default=32, ge=1)
    micro_batch: int = Field(default=32, ge=1)
    max_length: int = Field(default=1024, ge=1)  # a row that is longer is an error, never cut
    # auto: where transformers on this CPU is faster with it, but for embedded bases and deterministic dialogues.
    bf16: bool | Literal["auto"] = "auto"
    gradient_checkpointing: bool = False
    save_steps: int = Field(default=100, ge=1)  # steps between checkpoints; students that play have one after each
    report_to: Literal["none", "trackio", "wandb", "tensorboard"] = "none"  # where losses and exams are shown

    @model_validator(mode="after")
    def _ends_once(self) -> Training:
        own = [name for name, other in self.methods.items() if other.epochs is not None]
        if self.steps is not None and own:
            raise ValueError(
                f"steps: {self.steps} ends every training, and methods.{own[0]}.epochs would end one otherwise. "
                "Leave one of them out"
            )
        return self

    @field_validator("lora")
    @classmethod
    def _is_pefts(cls, lora: dict[str, Any]) -> dict[str, Any]:
        return checked_lora(lora)


class Contrast(Section):
    """The difference a - b of two conditions on a metric."""

    metric: str
    a: str
    b: str
    less: tuple[str, str] | None = None  # two more, whose difference is taken off: (a - b) - (first - second)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them: a and the last one count as they are, those between with a minus."""
        return self.a, self.b, *(self.less or ())


# Stands in a table of Markdown, which a bar or a line end would break.
Heading = Annotated[str, Field(pattern=r"^[^|\r\n]+$")]


class Compare(Section):
    """What `maieutic compare` decides: one primary contrast, and families of others, each corrected for the number of
    its contrasts (Holm). What is to be looked at and decides nothing is exploratory."""

    primary: Contrast
    families: dict[
        Heading, Annotated[tuple[Contrast, ...], Field(min_length=1)]
    ] = {}  # contrasts that answer one question
    exploratory: tuple[Contrast, ...] = ()  # of no family: shown with an interval, without a corrected p
    # The columns of the transfer matrix (evals/report/transfer.py): what students are examined on, and by which metric.
    transfer: dict[Heading, str] = {}
    shapes: dict[Heading, str] = {}  # the same of the shape table (evals/report/shapes)
    # What `maieutic compare --plan CONFIG` reckons with (evals/report/planning/power.py):
    difference: float = Field(default=0.1, gt=0)  # the smallest difference on the primary contrast that matters
    pilot: str = ""  # an examined run whose spread is planned with; empty: this config's own, where it has results
    tokens_per_second: float = Field(default=0.0, ge=0)  # that the engine samples, for the hours; 0: not known

    @property
    def named(self) -> dict[str, Contrast]:
        """Every contrast by its key, the primary first."""
        lists = {f"families.{name}": family for name, family in self.families.items()}
        lists["exploratory"] = self.exploratory
        keyed = {f"{key}.{i}": item for key, items in lists.items() for i, item in enumerate(items)}
        return {f"compare.{key}": item for key, item in ({"primary": self.primary} | keyed).items()}
