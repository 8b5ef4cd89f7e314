"""What every exam shares: the student, the fixed partners, the tasks.

An exam is a fixed scenario, the same for every student: tasks, wordings and random streams are named by
task, seed and sample, never by condition. Exam partners use wordings that no training partner uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from evals.metrics.metric import HIDDEN, Metric
from evals.sitting.exam_partners import ARMS
from pipeline.core.random_streams import stream
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Belief, Message, Task, Turn, digest
from pipeline.dialogue.beliefs import believe
from pipeline.dialogue.episode import Cast, EmptyTurn, Episode, Played
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Model, Sampling
from pipeline.engines.weights import is_embedded_base
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.briefing import student_system
from pipeline.knowledge.condition import Condition
from pipeline.prompts.prompts import Prompts
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.labelling.context import TurnInContext, Unlabelled
from pipeline.reading.labelling.labeller import Labeller, label
from pipeline.reading.protocol import NotRead, measured
from pipeline.reading.settings import MEASURED
from pipeline.sandbox.checks import checked

UNANSWERED = (EmptyTurn, ContextOverflow, EngineError, NotRead)
T = TypeVar("T")
SOLO = Condition(partition="solo")  # content-free turns in the partner's place


# What is counted of all exams of a sitting together.
COUNTED = (
    Metric(
        "unanswered",
        "scenarios in which the student, or the model that it talks with, failed to answer / scenarios",
        shown=HIDDEN,
    ),
    Metric(
        "unlabelled",
        "turns to which the labeller of acts gave no valid label, left out / turns that it was shown",
        shown=HIDDEN,
    ),
    Metric("silent", "answers of the student without a word / its answers", shown=HIDDEN),
    Metric("cut", "answers of the student that end at max_tokens, not by themselves / its answers", shown=HIDDEN),
    Metric(
        "unread",
        "scenarios left out since a turn in them could not be read / scenarios",
        shown=HIDDEN,
    ),
)

# The same, of who puts critical questions to a plan before it answers (evals.sitting.scaffold).
NOTED = (
    Metric("questions_read", "answers that begin with yes or no / critical questions that the student put to itself"),
    Metric("plans_passed", "answers before which a plan passed enough critical questions / answers"),
    Metric("plans_made", "plans before answers / answers", unit="plans"),
)


def counted(experiment: Experiment) -> tuple[Metric, ...]:
    """Those of COUNTED that a config can have: what ships labels and reads every turn, a judge or one's own may not."""
    unanswered, unlabelled, silent, cut, unread = COUNTED
    labels = (unlabelled,) if experiment.acts.may_give_none else ()
    notes = NOTED if experiment.exams.scaffold == "cqot" else ()
    return (unanswered, *labels, silent, cut, *((unread,) if set(experiment.readers) - set(MEASURED) else ()), *notes)


class ExamEpisode(NamedTuple):
    """One exam episode of the student with the partner of an arm."""

    arm: str
    task: Task
    sample: int
    played: Played


@dataclass
class Sitting:
    """One student at the exams of one seed. `peer` is always the untrained base.

    `scripted`: the student is a script of an exam's own, which understands whatever it is asked.
    """

    experiment: Experiment
    student: Model
    peer: Model
    seed: int
    tasks: tuple[Task, ...]
    openings: tuple[Task, ...] = ()  # more of these, that only first turns are asked on
    first_turn_tasks: tuple[Task, ...] = ()  # of other kinds, wordings or sources, that only first turns are asked on
    scripted: bool = False
    outcomes: list[bool] = field(default_factory=list)  # per scenario: the student failed to answer
    errors: list[str] = field(default_factory=list)  # of the engine, not of the student, a scenario each
    label_errors: list[str] = field(default_factory=list)  # of the engine of who labels acts, a turn each
    hears: Instrument = CLOSED  # with which a rule partner understands
    reads: Instrument = CLOSED  # with which turns are measured
    labeller: Labeller = None  # who reads the acts; None: the rules
    unlabelled: list[bool] = field(default_factory=list)  # per turn that a labeller was shown: it gave no label
    unread: list[bool] = field(default_factory=list)  # per scenario: a turn could not be read
    # What was said, to be stored beside the cases, by the name of its file: seed-N.NAME.jsonl.
    transcripts: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"episodes": []})
    _episodes: list[ExamEpisode] | None = None  # once they were played
    _sampled: dict[str, list[Completion]] = field(default_factory=dict)  # by stream and by what was read

    @property
    def settings(self) -> DialogueSettings:
        return self.experiment.dialogue.model_copy(update={"beliefs": 0, "turns": self.experiment.exam_turns})

    @property
    def prompts(self) -> Prompts:
        """The student's."""
        return self.experiment.prompts("student")

    @property
    def system(self) -> str:
        """The student's system message where it is asked about no task."""
        return student_system(self.prompts)

    @property
    def understands(self) -> bool:
        """Whether the student understands text beyond the embedded world."""
        return self.scripted or not needs_real_model(self.experiment)

    def key(self, *parts: object) -> str:
        return "-".join(map(str, ("exam", self.seed, *parts)))

    def said_to(self, text: str) -> list[Message]:
        """What the student reads where `text` is all that it is told."""
        system: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": text}]

    async def sample(self, messages: list[Message], count: int, *key: object) -> list[Completion]:
        """`count` answers of the student at the sampling temperature. An exam that asks for what another was given, of
        the same stream, gets the same."""
        named, settings = digest(self.key(*key), count, messages), self.settings
        if named not in self._sampled:
            self._sampled[named] = await asyncio.gather(
                *(
                    self.student.complete(
                        messages,
                        Sampling(
                            max_tokens=settings.max_tokens,
                            temperature=settings.temperature,
                            seed=stream(self.key(*key), i),
                        ),
                    )
                    for i in range(count)
                )
            )
        return self._sampled[named]

    async def turns(self, task: Task, answers: Sequence[Completion]) -> list[Turn]:
        """What the student said, as turns; a program in them is run where the task asks for one."""
        turns = [Turn(party="student", text=answer.text, finished=answer.finished) for answer in answers]
        ran = await asyncio.gather(*(checked(task, turn) for turn in turns))
        return [turn for [turn] in await asyncio.gather(*(self.read(task, [turn]) for turn in ran))]

    async def acts(self, turns: Sequence[TurnInContext]) -> list[frozenset[str] | None]:
        """The acts of each turn; None, counted, where the labeller gave no valid label."""
        labels = await label(turns, self.labeller)
        self.unlabelled.extend(isinstance(acts, Unlabelled) for acts in labels)
        self.label_errors.extend(acts.message for acts in labels if isinstance(acts, Unlabelled) and acts.engine)
        return [None if isinstance(acts, Unlabelled) else acts for acts in labels]

    def cast(self, partner: Model | None = None) -> Cast:
        """The student with a partner, by rule where none is given."""
        return Cast(
            student=self.student,
            partner=partner,
            student_prompts=self.prompts,
            partner_prompts=self.experiment.prompts("partner"),
            hears=self.hears,
            reads=self.reads,
            generic_requests=self.experiment.reading.generic_requests,
        )

    async def believe(self, model: Model, messages: list[Message], k: int, key: str, task: Task) -> Belief:
        """A private belief of the student or of its partner."""
        return await believe(model, messages, self.settings, k, key, task, self.reads)

    async def read(self, task: Task, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns with their readings. Raises NotRead: the scenario is left out then, and counted."""
        return await self.reads.read(task, turns)

    async def last(self, task: Task, turns: Sequence[Turn]) -> StudentReading:
        """What the last of the turns does, the student's. Raises NotRead."""
        return await self.reads.student(measured(task, turns, len(turns) - 1))

    async def answer(self, task: Task, said: Completion | Turn, asked: str = "") -> StudentReading:
        """What the student said that is part of no dialogue does, in answer to what it was `asked`.

        Raises NotRead.
        """
        before = [Turn(party="partner", text=asked)] if asked else []
        return await self.last(task, [*before, Turn(party="student", text=said.text, finished=said.finished)])

    async def stated(self, task: Task, turns: Sequence[Turn], i: int) -> frozenset[str]:
        """Ids of the facts that the student's turn number `i` states itself. Raises NotRead."""
        turn = replace(measured(task, turns, i), party="partner")  # whose readings say what is told
        return (await self.reads.partner(turn)).tells

    async def greedy(self, messages: list[Message]) -> Completion:
        return await self.student.complete(messages, Sampling(max_tokens=self.settings.max_tokens, temperature=0.0))

    async def all(self, work: list[Coroutine[Any, Any, T]], asked: bool = True) -> list[T]:
        """The results of all scenarios but those that a model could not answer, or nobody could read: both are counted.

        `asked`: the student is asked something in them; False where turns from before are only read.
        """
        admitted = asyncio.Semaphore(self.settings.concurrency)

        async def admit(scenario: Coroutine[Any, Any, T]) -> T:
            async with admitted:
                return await scenario

        results = await asyncio.gather(*map(admit, work), return_exceptions=True)
        kept: list[T] = []
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, UNANSWERED):
                raise result
            if asked:
                self.outcomes.append(isinstance(result, UNANSWERED) and not isinstance(result, NotRead))
            self.unread.append(isinstance(result, NotRead))
            if isinstance(result, EngineError) or (isinstance(result, NotRead) and result.engine):
                self.errors.append(str(result))
            if not isinstance(result, BaseException):
                kept.append(result)
        return kept

    async def episodes(self) -> list[ExamEpisode]:
        """Every task with every arm that it is for, `exams.episodes` times; made once, however many exams read them."""
        if self._episodes is None:
            self._episodes = await self.all(
                [
                    self._episode(arm, task, sample)
                    for arm in ARMS
                    for task in self.tasks
                    if task.specification in ARMS[arm].specifications
                    for sample in range(self.experiment.exams.episodes)
                ]
            )
            self.keep("episodes", self._episodes)
        return self._episodes

    def keep(self, name: str, episodes: Sequence[ExamEpisode]) -> None:
        """Store whole episodes in a file of that name."""
        self.transcripts[name] = [
            {
                "arm": episode.arm,
                "task": episode.task.id,
                "sample": episode.sample,
                "stop": episode.played.stop,
                "turns": [[turn.party, turn.text] for turn in episode.played.turns],
                **_readings(episode.played.turns),
            }
            for episode in episodes
        ]

    async def _episode(self, arm: str, task: Task, sample: int) -> ExamEpisode:
        partner = ARMS[arm]
        # No arm in the key: a student meets every partner with the same first turn.
        key = self.key(task.id, sample)
        return ExamEpisode(arm, task, sample, await self.play(task, partner.condition, key, partner.wording))

    async def play(self, task: Task, condition: Condition, key: str, wording: str = "exam", beliefs: int = 0) -> Played:
        """One episode of the student with a partner by rule, or with nobody where the condition is `solo`."""
        settings = self.settings.model_copy(update={"beliefs": beliefs})
        cast = self.cast()
        return await play(
            Episode(task=task, condition=condition, cast=cast, settings=settings, key=key, wording=wording)
        )


def _readings(turns: Sequence[Turn]) -> dict[str, Any]:
    """What was read and heard of them, to be stored; nothing where the closed reader reads them whenever asked."""
    if all(turn.reading is None and turn.heard is None for turn in turns):
        return {}
    return {
        name: [read.model_dump(mode="json") if read else None for read in of_turns]
        for name, of_turns in (("readings", [t.reading for t in turns]), ("heard", [t.heard for t in turns]))
    }


def needs_real_model(experiment: Experiment) -> bool:
    """Whether the student is an embedded base, which knows the words of the embedded world alone."""
    return not experiment.is_scripted("student") and is_embedded_base(experiment.student.model)
