"""Which grounding acts does the student use, at which position, and after what?

Rates are P(act | position) over the student's turns in whole episodes with the exam partner that
tells what it is asked for, standardised over positions 1 to 3 with equal weights, so that longer talks do not count as
more grounding. `follow_up`, `restate`, `agree` and `disagree` are over positions 2 and 3: nothing was said before the
first. Later positions are those of talks that still go on, so who solves sooner is measured there on its hardest tasks.
`repair@garbled` is P(repair | the partner's turn made no sense).

What a turn asks for, commits to, agrees with and says again is read by the metrics' instrument; taking note of what was
said, and mending it, by the labeller of acts (`acts` of a config), as is a hedge where no answer is hedged. A turn
without a label of the latter has no case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, Shown
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ASKED, OPENING
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.acts import ACTS
from pipeline.reading.labelling.context import TurnInContext
from pipeline.reading.stored import partner_reading, student_reading

POSITIONS = (1, 2, 3)  # of the student's turns, with equal weights, so that longer talks do not count as more grounding
LATER = POSITIONS[1:]  # of acts that need something told, or a partner's turn, before them
GARBLED = ("Well the one is the.", "It was for the how.")
FIRST = Shown(behaviour=("",))
LABELLED = {"acknowledge", "repair"}  # acts that no reading of a turn has: the labeller of acts decides


def _act(name: str, does: str, reader: Reader, shown: Shown = HIDDEN, positions: tuple[int, ...] = POSITIONS) -> Metric:
    """An act's rate, a mean over positions."""
    return Metric(
        name,
        f"{does} / the student's turns at that position",
        reader=reader,
        parts={f"{name}/{position}": 1 / len(positions) for position in positions},
        shown=shown,
    )


METRICS = (
    _act("clarify", "asks for a fact of the task", Reader(("asks_withheld",)), FIRST),
    _act("other_question", "asks something else", Reader(("other_question", "generic_request", "repeats_question"))),
    _act("acknowledge", "takes note of what was said", Reader(people=("acknowledge", "take_up")), FIRST),
    _act("follow_up", "asks for a fact again after an answer", Reader(("asks_withheld", "tells")), FIRST, LATER),
    _act(
        "repair",
        "mends a misunderstanding (@garbled: after a turn that made no sense)",
        Reader(people=("repair", "request")),
        Shown(behaviour=("garbled",)),
    ),
    _act("restate", "repeats a fact that it was told", Reader(("tells",)), positions=LATER),
    _act("attempt", "commits to an answer", Reader(("attempt",))),
    _act("agree", "agrees with the partner's last turn", Reader(("stance",)), positions=LATER),
    _act("disagree", "disagrees with the partner's last turn", Reader(("stance",)), positions=LATER),
    _act("hedge", "says that it is unsure", Reader(("tentative", "attempt"), ("hedge",))),
    _act("refuse", "says that something is missing", Reader(("says_missing",))),
)


async def sit(sitting: Sitting) -> list[Case]:
    """Acts in whole episodes, and after a turn that made no sense."""
    return await grounding(sitting, await sitting.episodes()) + await repair(sitting)


class Seen(NamedTuple):
    """A student's turn, with the acts that were read off it."""

    task: str
    position: int  # 1 is the student's first turn
    turn: TurnInContext
    acts: frozenset[str]


async def grounding(sitting: Sitting, episodes: Iterable[ExamEpisode]) -> list[Case]:
    """One hit or miss per act and student turn, by position."""
    work = [_of_episode(sitting, episode) for episode in episodes if episode.arm == ASKED]
    seen = [turn for of_episode in await sitting.all(work, asked=False) for turn in of_episode]
    labels = await sitting.acts([one.turn for one in seen])
    hits = [
        (one.task, f"{act}/{one.position}", float(act in together(one.acts, labelled)))
        for one, labelled in zip(seen, labels, strict=True)
        if labelled is not None
        for act in ACTS
    ]
    return tally("grounding", hits)


def together(read: frozenset[str], labelled: frozenset[str]) -> frozenset[str]:
    """All acts of a turn. One that mends what was said asks nothing else; without an answer a hedge shows in words."""
    mends = {"other_question"} if "repair" in labelled else set()
    more = LABELLED if "attempt" in read else LABELLED | {"hedge"}
    return (read - mends) | (labelled & more)


async def _of_episode(sitting: Sitting, episode: ExamEpisode) -> list[Seen]:
    task, turns = episode.task, episode.played.turns
    seen: list[Seen] = []
    told: frozenset[str] = frozenset()
    asked_before = False
    for i, turn in enumerate(turns):
        if turn.party == "partner":
            told |= partner_reading(task, turns, i).tells
            continue
        if len(seen) < POSITIONS[-1]:
            in_context = TurnInContext(
                text=turn.text,
                before=turns[i - 1].text if i else "",
                own=False,
                facts=task.facts,
                told=told,
                asked_before=asked_before,
            )
            acts = await _read_acts(sitting, task, turns, i, told, asked_before)
            seen.append(Seen(task=task.id, position=len(seen) + 1, turn=in_context, acts=acts))
        asked_before |= student_reading(task, turns, i).asks_anything
    return seen


async def _read_acts(
    sitting: Sitting, task: Task, turns: Sequence[Turn], i: int, told: frozenset[str], asked_before: bool
) -> frozenset[str]:
    """The acts that the metrics' instrument reads off the student's turn number `i`. Raises NotRead."""
    read = student_reading(task, turns, i)
    acts = {
        "clarify": bool(read.asks),
        "other_question": read.asks_anything and not read.asks,
        "follow_up": bool(read.asks) and asked_before and bool(told),
        "restate": bool(told & await sitting.stated(task, turns, i)) if told else False,
        "attempt": read.attempt is not None,
        "agree": read.stance == "agrees",
        "disagree": read.stance == "disagrees",
        "hedge": read.tentative,
        "refuse": read.says_missing,
    }
    return frozenset(name for name, does in acts.items() if does)


async def repair(sitting: Sitting) -> list[Case]:
    """The student's turn after a garbled one."""
    hits = await sitting.all([_after_garbled(sitting, task, i) for i, task in enumerate(sitting.tasks)])
    return tally("grounding", [hit for of_task in hits for hit in of_task])


async def _after_garbled(sitting: Sitting, task: Task, i: int) -> Hits:
    turns: list[Turn] = []
    for part in (0, 1):
        messages = view(task, OPENING, turns, "student", sitting.prompts)
        seed = stream(sitting.key(task.id, "garbled", part))
        turns.append(await speak(sitting.student, messages, "student", sitting.settings, seed))
        if part == 0:
            turns.append(Turn(party="partner", text=GARBLED[i % len(GARBLED)]))
    [seen] = await sitting.acts(
        [TurnInContext(text=turns[-1].text, before=turns[-2].text, own=False, facts=task.facts)]
    )
    return [] if seen is None else [(task.id, "repair@garbled", float("repair" in seen))]


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    there = [position for position in POSITIONS if position <= experiment.exam_turns]
    return {f"{act}/{position}" for act in ACTS for position in there} | {"repair@garbled"}


EXAM = Exam(
    name="grounding",
    metrics=METRICS,
    sit=sit,
    answers=lambda experiment, tasks: 2 * len(tasks),
    ratios=_ratios,
    episodes=True,
)
