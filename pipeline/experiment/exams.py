"""What a config says of its exams: which are sat, how much is sampled, and the files that some of them read."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pipeline.core.schema import Party
from pipeline.core.settings import Section


class HumanReference(Section):
    """Dialogues of people, whose next turn the student's is laid beside (evals/exams/human/human.py)."""

    source: str = Field(min_length=1)  # YAML that says how they are read (pipeline/tasks/talks.py)
    party: Party = "student"  # whose turns: people said them, and the student is asked for its own
    turns: Literal["every", "last"] = "every"  # last: of each dialogue the party's last one alone
    most: int = Field(default=300, ge=1)  # turns that the student is asked for, in whole dialogues
    # Where people labelled the last turn: a field of the dialogue's `meta` with a list of yes and no, and the act that
    # each of these stands for, "" for none.
    labels: dict[str, tuple[str, ...]] = {}
    # Where several people said what comes next: a field of `meta` with a list of their turns. Those are then asked for.
    several: str = ""


class LoadedQuestions(Section):
    """Questions that presuppose something false (evals/exams/presupposition.py)."""

    # JSON Lines of question, presupposition, direct_question, direct_answer; empty: those that ship.
    path: str = ""


class Requests(Section):
    """Requests of which people said how much they need clarification (evals/exams/clarification.py)."""

    path: str = Field(min_length=1)  # JSON Lines of request and need, a number
    needless: float  # up to this need nothing has to be asked: 1 on ClariQ's scale of 1 to 4


class TutoringSource(Section):
    """Problems that people tutored (evals/exams/tutoring.py)."""

    path: str = Field(min_length=1)  # MathDial's JSON Lines file; $VARIABLES are expanded
    most: int = Field(default=100, ge=1)  # of its problems that a real model is asked to tutor


class WrongSolutions(Section):
    """Wrong solutions in which teachers found the error (evals/exams/verdict_use/verdict_use.py)."""

    path: str = Field(min_length=1)  # StepVerify's JSON list; $VARIABLES are expanded
    most: int = Field(default=100, ge=1)  # of its rows that a student is asked about


class ClaimsSource(Section):
    """Claims to be argued about (evals/exams/persuasion/claims.py), instead of those that ship."""

    path: str = Field(min_length=1)  # CSV in LOGICOM's columns; $VARIABLES are expanded
    most: int = Field(default=50, ge=1)


class TherapySource(Section):
    """Therapists' turns with labels (evals/exams/support/therapists.py), from which a labeller learns."""

    train: str = Field(min_length=1)  # BOLT's CSV (prompt, completion); $VARIABLES are expanded
    valid: str = Field(min_length=1)
    embedder: str = Field(default="installed", min_length=1)  # a directory, a hub name, or the test extra's weights


ExamName = Literal[
    "asking", "collapse", "grounding", "feedback", "human", "lost", "agreement", "presupposition", "persuader",
    "private", "common_ground", "updating", "clarification", "persuasion", "disclosure", "register", "spread",
    "tutoring", "alone", "verdict_use",
]  # fmt: skip


class LostExam(Section):
    """Underspecified conversation (evals/exams/lost/lost.py)."""

    samples: int = Field(default=10, ge=2)  # talks of each task in each mode; the paper's N


class Exams(Section):
    include: tuple[ExamName, ...] = Field(default=("asking", "collapse", "grounding", "feedback"), min_length=1)
    human: HumanReference | None = None
    presupposition: LoadedQuestions | None = None
    clarification: Requests | None = None
    tutoring: TutoringSource | None = None
    verdict_use: WrongSolutions | None = None
    claims: ClaimsSource | None = None
    helper: Literal["rule", "model"] = "rule"  # who rewrites the persuader's turns; model: the untrained base
    disclosure: TherapySource | None = None
    lost: LostExam = LostExam()
    samples: int = Field(default=8, ge=1)  # K first turns per task at the sampling temperature
    episodes: int = Field(default=2, ge=1)  # whole episodes per task and exam partner
    beliefs: int = Field(default=8, ge=1)
    greedy: bool = True
    scaffold: Literal["none", "cqot"] = "none"  # private critical questions before each of the student's turns
    turns: int | None = Field(default=None, ge=1)  # student turns of whole episodes; None: as many as in training
    # Tasks of each specification that only first turns are asked on (embedded only): in the held-out wording, reported
    # without a bar (@stress), and of the kinds that tasks.held_out names (@held_out).
    stress: int = Field(default=0, ge=0)
    held_out: int = Field(default=0, ge=0)
    # Training problems that lacked something, which exam `alone` poses whole with the partner gone (@helped).
    helped: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _human_is_described(self) -> Exams:
        if ("human" in self.include) != (self.human is not None):
            raise ValueError(
                "human: an exam beside people needs both 'human' in exams.include and a section exams.human with the "
                "source of their dialogues. Give both, or neither"
            )
        return self

    @model_validator(mode="after")
    def _helped_are_asked_alone(self) -> Exams:
        if self.helped and "alone" not in self.include:
            raise ValueError(
                f"helped: {self.helped} problems are for exam alone, which is not sat. Add 'alone' to exams.include, "
                "or drop it"
            )
        return self

    @model_validator(mode="after")
    def _files_are_of_exams_that_are_included(self) -> Exams:
        files = {
            "presupposition": self.presupposition,
            "clarification": self.clarification,
            "verdict_use": self.verdict_use,
        }
        for name, section in files.items():
            if section is not None and name not in self.include:
                raise ValueError(
                    f"{name}: a file for an exam that is not sat. Add {name!r} to exams.include, or drop it"
                )
        return self
