"""Does the student make use of what it is told?

The informative partner volunteers the missing facts, so that asking is not needed; `chatter` restates
public ones in the same turns. `gain` and `uptake` are differences between the two. For
verdicts, the control is the partner that says nothing useful. A verifier ends a talk at its first right answer, where
the control lets the student go on to a wrong one; so `gain_verdict` counts in both whether any answer was right.
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.metrics.case import Case, tally
from evals.metrics.metric import HIDDEN, Metric, Shown, difference
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ARMS
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Task
from pipeline.experiment.experiment import Experiment
from pipeline.reading.stored import is_right

KINDS = ("under", "full", "false_premise")
AT_THE_END = "the answer at the end is right (_turnN: after the student's Nth turn) / episodes on"
FIRST = Shown(behaviour=("",))
METRICS = (
    # The informative partner volunteers, so that asking is not needed; its control is as talkative.
    difference(
        "gain",
        "accuracy_under@volunteer",
        "accuracy_under@chatter",
        "final accuracy with facts volunteered - with chatter in the same turns",
        reader=ANSWERS,
        shown=Shown(behaviour=("",), deciding=True, methods=("",)),
    ),
    difference(
        "uptake",
        "uptake_under@volunteer",
        "uptake_under@chatter",
        "right after an informative turn - right after chatter",
        reader=ANSWERS,
        shown=FIRST,
    ),
    difference(
        "gain_verdict",
        "solved_full@verifier",
        "solved_full@unhelpful",
        "some answer is right with a verifier - with an unhelpful partner, full tasks",
        reader=ANSWERS,
        shown=FIRST,
    ),
    difference(
        "uptake_verdict",
        "uptake_full@verifier",
        "uptake_full@unhelpful",
        "right after a verdict - right after an unhelpful turn, full tasks",
        reader=ANSWERS,
        shown=FIRST,
    ),
    Metric("accuracy_under", f"{AT_THE_END} underspecified tasks", reader=ANSWERS, shown=HIDDEN),
    Metric("accuracy_full", f"{AT_THE_END} full tasks", reader=ANSWERS, shown=HIDDEN),
    Metric("solved_full", "some answer of the talk is right / episodes on full tasks", reader=ANSWERS, shown=HIDDEN),
    Metric("accuracy_false_premise", f"{AT_THE_END} false-premise tasks", reader=ANSWERS, shown=HIDDEN),
    Metric(
        "uptake_under",
        "right in a turn that follows on a fact told unasked (@volunteer), or in the same turns with another partner, "
        "whatever that said / such turns before which it was wrong, underspecified tasks",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "uptake_full",
        "right in the turn after an attempt of its own was answered / such turns before which it was wrong, full tasks",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "uptake_false_premise",
        "right after a partner's turn / turns that follow a wrong attempt, false-premise tasks",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
)


async def sit(sitting: Sitting) -> list[Case]:
    """Attempts after each partner's turns, in the whole episodes that all exams share."""
    return feedback(await sitting.episodes(), sitting.settings.turns)


def feedback(episodes: Iterable[ExamEpisode], turns: int) -> list[Case]:
    """P(right after | wrong before) around each partner turn; accuracy at the end and by student turn, to `turns`."""
    hits = []
    for episode in episodes:
        task, position = episode.task, 0
        # Of the last answer so far, and of this turn's; None where there is none.
        standing: bool | None = None
        solved = False
        now: bool | None = None
        kind = kind_of(task)
        for i, turn in enumerate(episode.played.turns):
            if turn.party == "partner":
                continue
            # In these turns the informative partner has told a fact, or judged an attempt; the control in the same.
            informed = 0 < position <= len(task.missing) if task.missing else now is not None
            now = is_right(task, episode.played.turns, i)
            wrong_before = standing is False
            standing = standing if now is None else now
            solved |= bool(now)
            right = bool(standing)
            if wrong_before and informed:
                hits.append((task.id, f"uptake_{kind}@{episode.arm}", float(right)))
            position += 1
            hits.append((task.id, f"accuracy_{kind}_turn{position}@{episode.arm}", float(right)))
        # Whoever stopped early keeps the answer that it stopped with.
        right = bool(standing)
        hits.append((task.id, f"accuracy_{kind}@{episode.arm}", float(right)))
        if kind == "full":
            hits.append((task.id, f"solved_full@{episode.arm}", float(solved)))
        for later in range(position + 1, turns + 1):
            hits.append((task.id, f"accuracy_{kind}_turn{later}@{episode.arm}", float(right)))
    return tally("feedback", hits)


def kind_of(task: Task) -> str:
    """Of KINDS."""
    return "under" if task.missing else task.specification


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    turns = ["", *(f"_turn{i + 1}" for i in range(experiment.exam_turns))]
    named = {f"accuracy_{kind}{turn}@{arm}" for kind in KINDS for turn in turns for arm in ARMS}
    named |= {f"solved_full@{arm}" for arm in ARMS}
    return named | {f"uptake_{kind}@{arm}" for kind in KINDS for arm in ARMS}


EXAM = Exam(
    name="feedback",
    metrics=METRICS,
    sit=sit,
    answers=lambda experiment, tasks: 0,  # the episodes are all
    ratios=_ratios,
    episodes=True,
    programs=True,
)
