"""Which grounding acts does the student use, at which position, and after what?

Rates are P(act | position) over the student's turns in whole episodes with the exam partner that
tells what it is asked for, standardised over positions 1 to 3 with equal weights, so that longer talks do not count as
more grounding.
`repair@garbled` is P(repair | the partner's turn made no sense).
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, Shown
from evals.metrics.reader import ATTEMPT, FACT, REFUSE, Reader
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ASKED, OPENING
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.acts import ACTS, given, questions
from pipeline.reading.labelling.context import TurnInContext

POSITIONS = (1, 2, 3)  # of the student's turns, with equal weights, so that longer talks do not count as more grounding
GARBLED = ("Well the one is the.", "It was for the how.")
FIRST = Shown(behaviour=("",))


def _act(name: str, does: str, *classes: str, unmeasured: str = "", shown: Shown = HIDDEN) -> Metric:
    """An act's rate over POSITIONS; the experiment's labeller says who does it."""
    return Metric(
        name,
        f"{does} / the student's turns at that position",
        reader=Reader(classes, unmeasured, configured=True),
        parts={f"{name}/{position}": 1 / len(POSITIONS) for position in POSITIONS},
        shown=shown,
    )


METRICS = (
    _act("clarify", "asks for a fact of the task", "request", "question", unmeasured=FACT, shown=FIRST),
    _act("other_question", "asks something else", "question", unmeasured=FACT),
    _act("acknowledge", "takes note of what was said", "acknowledge", "take_up", shown=FIRST),
    _act("follow_up", "asks again after an answer", "question", unmeasured=FACT, shown=FIRST),
    _act(
        "repair",
        "mends a misunderstanding (@garbled: after a turn that made no sense)",
        *("repair", "request"),
        shown=Shown(behaviour=("garbled",)),
    ),
    _act("restate", "repeats a fact that it was told", "restate", unmeasured=FACT),
    _act("attempt", "commits to an answer", "attempt", unmeasured=ATTEMPT),
    _act("agree", "agrees in words", "agree", "take_up"),
    _act("disagree", "disagrees in words", "disagree"),
    _act("hedge", "says that it is unsure", "hedge"),
    _act("refuse", "says that it cannot be answered", unmeasured=REFUSE),
)


async def sit(sitting: Sitting) -> list[Case]:
    """Acts in whole episodes, and after a turn that made no sense."""
    return await grounding(sitting, await sitting.episodes()) + await repair(sitting)


async def grounding(sitting: Sitting, episodes: Iterable[ExamEpisode]) -> list[Case]:
    """One hit or miss per act and student turn, by position (1 is the first turn)."""
    turns: list[TurnInContext] = []
    places: list[tuple[str, int]] = []
    for episode in episodes:
        if episode.arm != ASKED:
            continue
        told: set[str] = set()
        position, asked_before, before = 0, False, ""
        for turn in episode.played.turns:
            if turn.party == "partner":
                told |= set(given(turn.text, episode.task.facts))
            else:
                position += 1
                if position <= POSITIONS[-1]:
                    facts = episode.task.facts
                    turns.append(
                        TurnInContext(
                            text=turn.text,
                            before=before,
                            own=False,
                            facts=facts,
                            told=frozenset(told),
                            asked_before=asked_before,
                        )
                    )
                    places.append((episode.task.id, position))
                asked_before |= bool(questions(turn.text))
            before = turn.text
    hits = [
        (task, f"{act}/{position}", float(act in seen))
        for (task, position), seen in zip(places, await sitting.acts(turns), strict=True)
        if seen is not None
        for act in ACTS
    ]
    return tally("grounding", hits)


async def repair(sitting: Sitting) -> list[Case]:
    """The student's turn after a garbled one."""
    hits = await sitting.all([_after_garbled(sitting, task, i) for i, task in enumerate(sitting.tasks)])
    return tally("grounding", [hit for of_task in hits for hit in of_task])


async def _after_garbled(sitting: Sitting, task: Task, i: int) -> Hits:
    turns: list[Turn] = []
    for part in (0, 1):
        messages = view(task, OPENING, turns, "student", sitting.system)
        seed = stream(sitting.key(task.id, "garbled", part))
        turns.append(await speak(sitting.student, messages, "student", sitting.settings, seed))
        if part == 0:
            turns.append(Turn(party="partner", text=GARBLED[i % len(GARBLED)]))
    [seen] = await sitting.acts(
        [TurnInContext(text=turns[-1].text, before=turns[-2].text, own=False, facts=task.facts)]
    )
    return [] if seen is None else [(task.id, "repair@garbled", float("repair" in seen))]


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    return {f"{act}/{position}" for act in ACTS for position in POSITIONS} | {"repair@garbled"}


EXAM = Exam(
    name="grounding",
    metrics=METRICS,
    sit=sit,
    answers=lambda experiment, tasks: 2 * len(tasks),
    ratios=_ratios,
    episodes=True,
)
