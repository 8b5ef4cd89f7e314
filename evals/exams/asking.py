"""Does the student ask for what it needs, and only then?

The headline is the first student turn, before any partner spoke: `ask_needed` on underspecified tasks,
`ask_needless` on full ones, their difference `ask_skill`. Whole episodes carry the partner's name
after an @; first turns in a held-out wording are @stress, on kinds of problems that no training had @held_out,
on tasks of a second source @SOURCE, on those that say more than is needed @overspecified.

To ask is to ask for a fact of the task, or for help in general ("What am I missing?"), in any words; the same reader
says so of both kinds of tasks. Where something is missing, only what is missing is needed. To put the problem's own
question to the partner is asking for a fact where one fact alone answers it, and not elsewhere, where natural readers
take it for one now and then; nor is asking about the method. A student that asks alike everywhere, in words that name
nothing or for all that may be missing, has an `ask_skill` of 0. Below 0 is who asks for facts that stand there:
needless on full tasks, and not needed on others. What scripts reach as a reader sees them:
`python -m evals.examining.asking_scripts CONFIG`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, Shown, difference
from evals.metrics.reader import ANSWERS, ASKING, Reader
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ARMS, LACKING, OPENING
from evals.sitting.false_premise import rejects
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.engines.model import Completion
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.stored import is_right, partner_reading, student_reading

QUESTIONS = Reader(("asks_withheld", "tells"))
ATTEMPTS = Reader(("attempt", "tells"))

ASK_SKILL = difference(
    "ask_skill",
    "ask_needed",
    "ask_needless",
    reader=ASKING,
    shown=Shown(behaviour=("",), deciding=True, methods=("",)),
)
ASK_NEEDED = Metric(
    "ask_needed",
    "asks for a missing needed fact, or for help in general, before the first attempt; without a partner (@stress: "
    "other wording, @held_out: other kinds; @easy, @hard: by stratum, of look-ups one hop and two): in the first "
    "student turn / draws on underspecified tasks",
    reader=ASKING,
    shown=Shown(behaviour=("", "facts"), deciding=True),
)
ASK_SPECIFIC = Metric(
    "ask_specific",
    "asks for a missing needed fact, before the first attempt / as ask_needed",
    reader=Reader(("asks_withheld", "attempt")),
    shown=Shown(behaviour=("",)),
)
ASK_GENERIC = Metric(
    "ask_generic",
    "asks for help and names nothing, before the first attempt / as ask_needed",
    reader=Reader(("generic_request", "attempt")),
    shown=Shown(behaviour=("",)),
)
ASK_NEEDLESS = Metric(
    "ask_needless",
    "asks for any fact of the task, or for help in general, before the first attempt; without a partner: in the first "
    "student turn / draws on full tasks",
    reader=ASKING,
    shown=Shown(behaviour=("",), deciding=True, methods=("",)),
)
ATTEMPT_UNKNOWING = Metric(
    "attempt_unknowing",
    "the first student turn commits to an answer / draws on underspecified tasks",
    reader=ANSWERS,
    shown=HIDDEN,
)
PREMISE_REJECTED = Metric(
    "premise_rejected",
    "the first student turn rejects the premise: it says that it is impossible, or disagrees, and gives no other "
    "answer / draws on false-premise tasks",
    reader=Reader(("attempt", "stance")),
    shown=HIDDEN,
)
FIRST_ACCURACY = Metric(
    "first_accuracy",
    "the first student turn is right (_easy, _hard: by stratum) / draws on full tasks",
    reader=ANSWERS,
    shown=Shown(behaviour=("",)),
)
ASK_COMPLETE = Metric(
    "ask_complete",
    "every missing needed fact was obtained before the first attempt / episodes on underspecified tasks",
    reader=ATTEMPTS,
    shown=Shown(behaviour=("facts",)),
)
PREMATURE = Metric(
    "premature",
    "the first attempt came while a needed fact was unknown / episodes on underspecified tasks with an attempt",
    reader=ATTEMPTS,
    shown=Shown(behaviour=("facts",), methods=("facts",)),
)
YIELD = Metric(
    "yield",
    "facts asked for that were told at once, rightly, and were unknown / facts asked for, a turn, while one was "
    "missing and the partner held facts",
    reader=QUESTIONS,
    shown=Shown(behaviour=("facts",)),
)
UNPROMPTED = Metric(
    "unprompted",
    "partner turns that told an unknown fact / partner turns before which the student asked nothing, while a fact was "
    "missing and the partner held facts",
    reader=QUESTIONS,
    shown=HIDDEN,
)
YIELD_LIFT = difference("yield_lift", "yield", "unprompted", reader=QUESTIONS, shown=HIDDEN)
DUPLICATES = Metric(
    "duplicates",
    "missing facts asked for that were told already / facts asked for, a turn",
    reader=QUESTIONS,
    shown=HIDDEN,
)
STUDENT_TURNS = Metric(
    "student_turns",
    "the student's turns / episodes",
    unit="turns",
    shown=HIDDEN,
)
METRICS = (
    ASK_SKILL, ASK_NEEDED, ASK_SPECIFIC, ASK_GENERIC, ASK_NEEDLESS, ATTEMPT_UNKNOWING, PREMISE_REJECTED, FIRST_ACCURACY,
    ASK_COMPLETE, PREMATURE, YIELD, UNPROMPTED, YIELD_LIFT, DUPLICATES, STUDENT_TURNS,
)  # fmt: skip
STRATA = ("easy", "hard")
# Of first turns, which are drawn exams.samples times a task, and of whole episodes, exams.episodes times.
ASKS = tuple(metric.name for metric in (ASK_NEEDED, ASK_SPECIFIC, ASK_GENERIC, ASK_NEEDLESS))
FIRST_TURN = (
    *ASKS,
    *(metric.name for metric in (ATTEMPT_UNKNOWING, PREMISE_REJECTED, FIRST_ACCURACY)),
    *(f"{FIRST_ACCURACY.name}_{stratum}" for stratum in STRATA),
)
EPISODE = (
    *ASKS,
    *(metric.name for metric in (ASK_COMPLETE, PREMATURE, YIELD, UNPROMPTED, DUPLICATES, STUDENT_TURNS)),
)
# Which first moves, on which tasks, a metric of first turns counts: what the turn values predicts of it.
MOVES_OF: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ASK_NEEDED.name: (LACKING, ("ask", "ask_generic")),
    ATTEMPT_UNKNOWING.name: (LACKING, ("attempt", "guess")),
    ASK_NEEDLESS.name: (("full",), ("ask_known", "ask_generic")),
}


async def sit(sitting: Sitting) -> list[Case]:
    """First turns, and whole episodes with every partner."""
    episodes = await sitting.episodes()
    return await first_turns(sitting) + of_episodes(episodes)


def first_turn(task: Task, turn: Turn, scope: str = "") -> Hits:
    """The metrics of an opening turn. A turn that also commits to an answer does not count as asking."""
    does = student_reading(task, [turn], 0)
    answers, right = does.attempt is not None, bool(is_right(task, [turn], 0))
    hits = _asks(task, [] if answers else [does])
    if task.missing:
        hits.append(("attempt_unknowing", answers))
    elif task.specification == "false_premise":
        hits.append(("premise_rejected", rejects(task, does)))
    else:
        strata = ["", f"_{task.stratum}"] if task.stratum else [""]
        hits += [(f"first_accuracy{part}", right) for part in strata]
    return [(task.id, f"{metric}{scope}", float(hit)) for metric, hit in hits]


def _asks(task: Task, turns: Sequence[StudentReading]) -> list[tuple[str, bool]]:
    """Whether any of these turns of the student, which hold no answer, asks for what it needs, or needlessly."""
    asked = frozenset().union(*(does.asks for does in turns))
    generic = any(does.generic_request for does in turns)
    if not task.missing:
        return [] if task.specification == "false_premise" else [("ask_needless", bool(asked) or generic)]
    specific = bool(asked & {fact.id for fact in task.missing})
    return [("ask_needed", specific or generic), ("ask_specific", specific), ("ask_generic", generic)]


def whole_episode(episode: ExamEpisode) -> Hits:
    """The metrics of one episode, as the design defines them."""
    task, turns = episode.task, episode.played.turns
    missing = {fact.id for fact in task.missing}
    public = {fact.id for fact in task.facts if fact.public}
    known = set(public)
    hits: list[tuple[str, float]] = []
    before_any_answer: list[StudentReading] = []
    attempted = False
    for i, turn in enumerate(turns):
        if turn.party == "partner":
            known |= partner_reading(task, turns, i).tells
            continue
        does = student_reading(task, turns, i)
        if does.attempt is None and not attempted:
            before_any_answer.append(does)
        elif not attempted:
            attempted = True
            if missing:
                hits += [("premature", not missing <= known), ("ask_complete", missing <= known)]
        hits += [("duplicates", fact in known - public) for fact in does.asks]
        if i + 1 < len(turns) and not missing <= known:
            told = partner_reading(task, turns, i + 1).tells - known
            hits += [("yield", fact in told) for fact in does.asks]
            if not does.asks_anything:
                hits.append(("unprompted", bool(told)))
    hits += _asks(task, before_any_answer)
    if missing and not attempted:
        hits.append(("ask_complete", missing <= known))
    hits.append(("student_turns", sum(turn.party == "student" for turn in turns)))
    return [(task.id, f"{metric}@{episode.arm}", float(hit)) for metric, hit in hits]


async def first_turns(sitting: Sitting) -> list[Case]:
    """K samples a task at the sampling temperature, and greedy in a column of its own."""
    exams, prompts = sitting.experiment.exams, sitting.prompts

    async def of_task(task: Task, scope: str) -> tuple[Hits, Hits]:
        messages = view(task, OPENING, [], "student", prompts)
        drawn = await said(sitting, task, await sitting.sample(messages, exams.samples, task.id, "first"))
        best = await said(sitting, task, [await sitting.greedy(messages)] if exams.greedy else [])
        return _first_turns(task, drawn, scope), _first_turns(task, best, scope)

    own = [*sitting.tasks, *sitting.openings]
    work = [of_task(task, "@overspecified" if task.specification == "overspecified" else "") for task in own]
    work += [of_task(task, scope_of(sitting.experiment, task)) for task in sitting.first_turn_tasks]
    results = await sitting.all(work)
    sampled = [hit for hits, _ in results for hit in hits]
    return tally("asking", sampled) + tally("asking", [hit for _, hits in results for hit in hits], greedy=True)


def _first_turns(task: Task, turns: Iterable[Turn], scope: str) -> Hits:
    """Without a scope what is asked stands by stratum, too."""
    hits = [hit for turn in turns for hit in first_turn(task, turn, scope)]
    by_stratum = task.stratum and not scope
    return hits + [(id, f"{metric}@{task.stratum}", hit) for id, metric, hit in hits if by_stratum and metric in ASKS]


async def said(sitting: Sitting, task: Task, answers: Sequence[Completion]) -> list[Turn]:
    """First turns as they are read: where the premise is false as a reply to who asks, with whom one can disagree."""
    turns = await sitting.turns(task, answers)
    if task.specification != "false_premise":
        return turns
    does = await asyncio.gather(*(sitting.answer(task, turn, asked=task.question) for turn in turns))
    return [turn.model_copy(update={"reading": each}) for turn, each in zip(turns, does, strict=True)]


def scope_of(experiment: Experiment, task: Task) -> str:
    """The scope of a task that only first turns are asked on."""
    _, *second = (source.name for source in experiment.sources)
    if task.source in second:
        return f"@{task.source}"
    return "@held_out" if task.kind in experiment.tasks.held_out else "@stress"


def of_episodes(episodes: Iterable[ExamEpisode]) -> list[Case]:
    # A partner that has no facts to tell, or tells none of them, cannot yield any: there the metrics do not exist.
    of_facts = (YIELD.name, UNPROMPTED.name)
    hits = [
        (task, metric, hit)
        for episode in episodes
        for task, metric, hit in whole_episode(episode)
        if ARMS[episode.arm].yields or metric.partition("@")[0] not in of_facts
    ]
    return tally("episodes", hits)


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    second = [f"@{source.name}" for source in experiment.sources[1:]]
    asked = {"@stress": experiment.exams.stress, "@held_out": experiment.exams.held_out}
    scopes = ("", *(scope for scope, tasks in asked.items() if tasks), *second)
    first = {metric + scope for metric in FIRST_TURN for scope in scopes}
    first |= {f"{metric}@{stratum}" for metric in ASKS for stratum in STRATA}
    if experiment.tasks.exam.get("overspecified"):
        first |= {f"{metric}@overspecified" for metric in FIRST_TURN if metric.startswith((ASK_NEEDLESS.name, "first"))}
    return first | {f"{metric}@{arm}" for metric in EPISODE for arm in ARMS}


def _each(experiment: Experiment) -> int:
    return experiment.exams.samples + experiment.exams.greedy


EXAM = Exam(
    name="asking",
    metrics=METRICS,
    sit=sit,
    answers=lambda experiment, tasks: len(tasks) * _each(experiment),
    first_turn_answers=_each,
    ratios=_ratios,
    episodes=True,
    programs=True,
)
