"""One value on each axis: who knows what, how it is disclosed, and how the student learns from it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, field_validator, model_validator

from pipeline.core.schema import Specification, digest
from pipeline.knowledge.partition import Partition, find_partition, partitions

Method = Literal[
    "sft", "monologue", "q_priming", "post_completion", "expert", "dpo", "dpo_answer", "dpo_judge",
    "kto",
    "grpo", "grpo_turn", "grpo_next", "grpo_step",
]  # fmt: skip


# Their student plays while it learns: they have tasks, and no dialogues that are built before.
ONLINE: tuple[Method, ...] = ("grpo", "grpo_turn", "grpo_next", "grpo_step")
# They learn from tasks alone: by playing them, or from an expert's solutions.
FROM_TASKS: tuple[Method, ...] = (*ONLINE, "expert")
VALUED: tuple[Method, ...] = ("dpo", "grpo_turn")  # by the values of turns
STEPWISE: tuple[Method, ...] = ("grpo_step", "expert")  # of an expert's steps
# Who learns by it learns the partner's turns, to speak for the partner of a condition whose `weights` name it.
OF_PARTNER: tuple[Method, ...] = ("dpo_judge",)


# Axes that say how one learns from a dialogue, not what is said in it; selection and keep do too, and stand in its id.
LEARNING = {
    "method", "begins", "learns_from", "pass_rate", "per_task", "violations", "first_acts", "regime",
    "token_price", "question_price", "discount", "budget", "base",
}  # fmt: skip

Regime = Literal["natural", "matched", "shuffled"]
Selection = Literal["outcome", "agreement", "none", "yoked"]
Keep = Literal["all", "grounded", "no_questions", "one_answer"]


class Condition(BaseModel):
    """One value on each axis. Fields left out keep the value that every other condition has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: str  # a row of pipeline.knowledge.partition, or file.py:NAME
    disclosure: Literal["on_request", "volunteer", "chatter"] = "on_request"
    label: Literal["partner", "teacher"] = "partner"
    voice: Literal["rule", "model", "human"] = "rule"  # human: imported dialogues
    # Who speaks with voice: model: base, current (this condition's own student as it stands), or the student of another
    # condition, by its name.
    weights: str = "base"
    # Whose student sits in the student's seat while dialogues are sampled: another condition's; empty: its own.
    speaker: str = ""
    # yoked: for each dialogue that `outcome` would keep the next one of its task, whatever was said in it; by grpo the
    # rewards of a group are dealt by lot among its dialogues
    selection: Selection = "outcome"
    # by the metrics' reader: no_questions, without dialogues in which the student asks anything; one_answer, only
    # those in which it answers in its first turn and never again
    keep: Keep = "all"
    # learn from dialogues in which the partner violated its knowledge constraint?
    violations: Literal["keep", "drop"] = "keep"
    pass_rate: tuple[float, float] = (0.0, 1.0)  # learn only from tasks whose dialogues end right this often (SPICE)
    specifications: tuple[Specification, ...] | None = None  # None: all of the experiment's tasks
    sources: tuple[str, ...] | None = None  # of the tasks that it plays, where there are two; None: both
    per_task: NonNegativeInt = 0  # dialogues of each task; 0: as many as the experiment says
    # How a rule partner tells what it is asked for; convincing: a model partner says what convinces a weak judge most.
    manner: Literal["plain", "vague", "erring", "low_effort", "convincing"] = "plain"
    memory: Literal["none", "asymmetric", "uniform", "random"] = "none"  # of other tasks (pipeline/building/memory.py)
    remembers: str = ""  # the condition whose dialogues are remembered
    reveal: bool = False  # may a partner that holds the answer say it
    sampling_prompt: bool = True  # are its dialogues sampled with student.sampling_prompt, where there is one
    method: Method = "sft"  # the learning rule
    begins: str = ""  # the condition whose student goes on learning here, by playing; empty: it begins at the base
    learns_from: str = ""  # a condition whose dialogues it learns from; empty: it has its own
    base: str = ""  # the model whose student learns from them, another of the same kind; empty: the student's own
    # as_played: kept dialogues count so often that first acts come in the mix in which they were played (first_acts.py)
    first_acts: Literal["as_kept", "as_played"] = "as_kept"
    regime: Regime | None = None  # None: as training.regime says
    budget: float = Field(default=1.0, gt=0, le=1)  # share of the tasks of its pool that it learns from, or plays
    # Off the value of a turn that it learns by (dpo, grpo_turn); None: as turn_values says.
    token_price: float | None = Field(default=None, ge=0)
    question_price: float | None = Field(default=None, ge=0)
    # Of a right answer, for each student turn before it (grpo); None: as training.grpo says. At 1 a question is free.
    discount: float | None = Field(default=None, gt=0, le=1)

    @field_validator("partition")
    @classmethod
    def _known(cls, name: str) -> str:
        if name == "sham":
            raise ValueError("'sham' is not a row of its own: write partition: symmetric with label: teacher")
        find_partition(name)
        return name

    def affords(self, task_id: str) -> bool:
        """Whether a task is within the budget. A smaller budget's tasks are among a larger one's, and the same for all
        methods; how many they are is the share up to chance."""
        return self.budget == 1 or int(digest("budget", task_id), 16) < self.budget * 16**16

    def shaping(self) -> dict[str, Any]:
        """The axes that shape a dialogue: all but how one learns from it (q_priming is how it is made, too)."""
        apart = LEARNING - ({"method"} if self.method == "q_priming" else set())
        # Without a memory they say nothing, and ids are those from before there were any.
        apart |= {"memory", "remembers"} if self.memory == "none" else set()
        apart |= {"sources"} if self.sources is None else set()
        apart |= {"sampling_prompt"} if self.sampling_prompt else set()
        apart |= set() if self.speaker else {"speaker"}
        return self.model_dump(mode="json", exclude=apart)

    def shaped(self) -> Condition:
        """The same without how one learns from it: what a dialogue is stored with."""
        return Condition.model_validate(self.shaping())

    def differs(self, other: Condition) -> list[str]:
        """The axes in which who says what differs; how one selects and learns from it is none."""
        apart = {*LEARNING, "selection", "keep"}
        ours, theirs = self.model_dump(exclude=apart), other.model_dump(exclude=apart)
        return [axis for axis in ours if ours[axis] != theirs[axis]]

    @property
    def speakers(self) -> set[str]:
        """The conditions whose students speak in its dialogues, as they are or to go on learning; `base`, `current`
        and '' are among them."""
        return {self.weights, self.speaker, self.begins}

    @property
    def has_dialogues(self) -> bool:
        """Whether dialogues of its own are built; else it learns from others', or from tasks."""
        return not self.learns_from and self.method not in FROM_TASKS

    @property
    def row(self) -> Partition:
        return find_partition(self.partition)

    @property
    def is_plumbing_on_embedded(self) -> bool:
        """Whether the embedded base's behaviour in it is only what the corpus author chose: no claim rests on it."""
        sham = self.partition == "symmetric" and self.label == "teacher"
        planted = self.row.one_writer or self.row.student_reads_partner or self.row.believes_key
        return sham or planted or self.memory != "none"

    @model_validator(mode="after")
    def _partner_is_there(self) -> Condition:
        if self.row.partner is None and (self.voice == "model" or self.label == "teacher"):
            raise ValueError(f"partition {self.partition!r} has no partner, leave out voice and label")
        if self.row.one_writer and self.voice != "model":
            raise ValueError(f"partition {self.partition!r} is written by a model, use voice: model")
        if self.voice == "rule" and self.weights != "base":
            raise ValueError(f"weights: {self.weights!r} needs voice: model")
        return self

    @model_validator(mode="after")
    def _student_is_there(self) -> Condition:
        if self.speaker and (self.method in FROM_TASKS or self.voice == "human" or self.row.one_writer):
            raise ValueError(
                f"speaker: {self.speaker!r} sits in the student's seat while dialogues are sampled, and with method: "
                f"{self.method!r}, voice: {self.voice!r} and partition: {self.partition!r} none are, or without a "
                "seat. Leave it out"
            )
        if self.base and not self.learns_from:
            raise ValueError(
                f"base: {self.base!r} is of a student that learns from others' dialogues: name whose, with learns_from"
            )
        return self

    @model_validator(mode="after")
    def _has_what_it_discloses(self) -> Condition:
        if self.disclosure != "on_request" and not self.row.holds_facts:
            raise ValueError(
                f"disclosure: {self.disclosure!r} needs a partner that holds facts "
                f"({partitions(lambda row: row.holds_facts)}); in {self.partition!r} it holds none, use disclosure: "
                "on_request"
            )
        if self.disclosure == "chatter" and self.voice == "model":
            raise ValueError("disclosure: 'chatter' restates public facts by rule, use voice: rule")
        if self.disclosure == "chatter" and self.row.deals_shares:
            raise ValueError(
                f"disclosure: 'chatter' restates what both know; in {self.partition!r} each party's problem is dealt "
                "to it alone, use another partition"
            )
        if self.reveal and not self.row.holds_answer:
            raise ValueError(f"reveal: true needs a partner that holds the answer, in {self.partition!r} it does not")
        return self

    @model_validator(mode="after")
    def _has_the_manner(self) -> Condition:
        if self.manner == "convincing":
            if self.voice != "model" or self.row.one_writer:
                raise ValueError(
                    "manner: 'convincing' is of a partner that may word its turns: use voice: model, and another "
                    "partition than script"
                )
        elif self.method in OF_PARTNER:
            raise ValueError(
                f"method: {self.method!r} learns from the turns among which a judge chose, and with manner: "
                f"{self.manner!r} no partner has any. Use manner: convincing"
            )
        elif self.manner != "plain" and (
            self.voice != "rule" or self.disclosure != "on_request" or not self.row.holds_withheld
        ):
            raise ValueError(
                f"manner: {self.manner!r} is how a rule partner tells withheld facts that it is asked for: use voice: "
                "rule, disclosure: on_request and a partition whose partner holds them "
                f"({partitions(lambda row: row.holds_withheld and not row.one_writer)})"
            )
        return self

    @model_validator(mode="after")
    def _remembers_somebody(self) -> Condition:
        if (self.memory == "none") != (not self.remembers):
            raise ValueError(
                f"memory: {self.memory!r} with remembers: {self.remembers!r}: give both, the name of the condition "
                "whose dialogues are remembered in the second, or neither"
            )
        return self

    @model_validator(mode="after")
    def _selects_what_is_there(self) -> Condition:
        low, high = self.pass_rate
        if not 0 <= low <= high <= 1:
            raise ValueError(f"pass_rate: {list(self.pass_rate)}: two shares from 0 to 1 are expected, the lower first")
        if self.violations == "drop" and (self.method in FROM_TASKS or self.row.partner is None):
            raise ValueError(
                "violations: 'drop' leaves out stored dialogues in which a partner violated its knowledge constraint; "
                f"with method: {self.method!r} in partition {self.partition!r} there are none. Leave it out"
            )
        if self.first_acts == "as_played" and self.method != "sft":
            raise ValueError(
                "first_acts: 'as_played' says how often kept dialogues count, for method: sft, not for "
                f"{self.method!r}. Leave it out"
            )
        if self.selection == "yoked" and self.method not in ("sft", "grpo"):
            raise ValueError(
                "selection: 'yoked' has another dialogue's end decide what is learned, for method: sft and grpo, not "
                f"for {self.method!r}. Leave it out"
            )
        if self.method == "post_completion" and (self.selection != "outcome" or self.keep != "all"):
            raise ValueError(
                f"method: 'post_completion' learns to check whether an answer is right, and selection: "
                f"{self.selection!r} with keep: {self.keep!r} says something else of a dialogue. Leave both out"
            )
        priced = self.token_price is not None or self.question_price is not None
        if priced and self.method not in VALUED:
            raise ValueError(
                f"token_price: {self.token_price} with question_price: {self.question_price} are taken off the values "
                f"of turns, and method: {self.method!r} learns by none. Leave them out, or use {' or '.join(VALUED)}"
            )
        if self.discount is not None and self.method != "grpo":
            raise ValueError(
                f"discount: {self.discount} is taken off the reward of a whole dialogue, and method: {self.method!r} "
                "learns by none. Leave it out, or use grpo"
            )
        by_gold = (*VALUED, "dpo_answer", "kto", "grpo", "grpo_next")
        if self.selection == "none" and self.method in by_gold:
            raise ValueError(
                f"selection: 'none' says that nothing chooses what is learned, and method: {self.method!r} rewards, "
                "pairs or labels by the gold answer. Use sft, monologue or q_priming, or leave selection out"
            )
        if self.selection == "agreement" and self.voice != "model":
            raise ValueError("selection: 'agreement' needs a partner with an answer of its own, use voice: model")
        if self.selection == "agreement" and self.method in ("dpo_answer", "grpo", "grpo_next", *OF_PARTNER, *STEPWISE):
            raise ValueError(
                f"selection: 'agreement' values a turn by how its dialogues end, and method: {self.method!r} by the "
                "gold answer, a judge or an expert. Use dpo, kto, grpo_turn or sft, or selection: outcome"
            )
        return self
