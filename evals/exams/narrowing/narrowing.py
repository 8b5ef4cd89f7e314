"""How does the student narrow down what it may be? Hidden items with one partner of each kind of knowledge.

Each kind makes another behaviour pay: open questions where the partner holds facts, closed ones that halve the options
where it holds the answer, trying option after option where it only judges, asking for steps where it holds the
solution, holding on where it is misled, and one guess where it knows nothing more. Who partners is fixed, so that
students of all conditions meet the same; their wordings are none that a training partner uses.

Without an @ a metric is of first turns, before any partner spoke; with one, of whole episodes with that partner. All
but `found_full`, `gave_in` and `giving_in`, of whole episodes too, are on underspecified tasks. What is left of the
options is what nothing that the student was told rules out (evals/exams/narrowing/exchanges.py). A question is no turn
that puts an option forward.

Known beforehand, and in the report: what scripts reach that play as well as one kind of help allows, and one that
guesses (evals/exams/narrowing/policies.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence

from evals.exams.narrowing.exchanges import Exchange, exchanges, is_found, tried
from evals.exams.narrowing.policies import BEST, Scripts
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, Shown, alike, difference
from evals.metrics.reader import ANSWERS, Reader
from evals.sitting.exam import Exam, Reference
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Task
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.view import view
from pipeline.reading.numbers.equality import equal

MOST = 60  # tasks of a specification that the scripts play
PARTNERS = ("symmetric", "verifier", "answer", "key", "facts", "misled")
ON_FULL = ("symmetric", "misled")  # partners that are met on full tasks, too
NOTHING, FALSE = "symmetric", "misled"
WORDS = Reader(("asks_withheld", "attempt"))
METRICS = (
    Metric(
        "open_question",
        "an open question for a missing fact / student turns (without an @: first turns) on underspecified tasks",
        reader=WORDS,
        shown=Shown(behaviour=("", "facts"), deciding=True),
    ),
    Metric(
        "closed_question",
        "a closed question on values or on options, be it on all of them, which tells nothing / as open_question",
        reader=ANSWERS,
        shown=Shown(behaviour=("", "answer"), deciding=True),
    ),
    Metric(
        "options_tried",
        "different options put forward / episodes on underspecified tasks",
        unit="options",
        reader=ANSWERS,
        shown=Shown(behaviour=("verifier",), deciding=True),
    ),
    Metric(
        "exhausted",
        "options put forward that were possible at first, as a share of all such / episodes on underspecified tasks",
        reader=ANSWERS,
        shown=Shown(behaviour=("verifier",)),
    ),
    Metric(
        "bits_turn",
        "log2(options left before) - log2(options left after) / student turns that were answered",
        unit="bits",
        reader=WORDS,
        shown=Shown(behaviour=("answer", "facts")),
    ),
    Metric(
        "bits_question",
        "log2(options left before) - log2(options left after) / questions that were answered",
        unit="bits",
        reader=WORDS,
        shown=Shown(behaviour=("answer", "facts")),
    ),
    Metric(
        "repeated_question",
        "asks for the same, and to have the same confirmed, as a question before / questions after the first",
        reader=WORDS,
        shown=HIDDEN,
    ),
    Metric(
        "repeated_attempt",
        "puts forward an option that it had put forward before / turns that put one forward, after the first",
        reader=ANSWERS,
        shown=Shown(behaviour=("verifier",)),
    ),
    difference(
        "uptake_no",
        "uptake_no_raw",
        "uptake_no_chance",
        "after a no, what it puts forward or asks to have confirmed is still possible - what it would be by chance",
        reader=ANSWERS,
        shown=Shown(behaviour=("verifier", "answer")),
    ),
    *alike(
        {
            "uptake_no_raw": "an option that is left, or a closed question that one fits / turns with either that "
            "follow a no to a closed question or to an option",
            "uptake_no_chance": "the chance that one is left of as many options as it fits, drawn from those possible "
            "at first, a mean over such turns",
        },
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "found",
        "the last option put forward is the item (_turnN: up to the student's Nth turn; _easy, _hard: by stratum) / "
        "episodes on underspecified tasks",
        reader=ANSWERS,
        shown=Shown(behaviour=("facts", "answer", "verifier", "key")),
    ),
    Metric("found_full", "the last option put forward is the item / episodes on full tasks", reader=ANSWERS),
    Metric(
        "turns_used",
        "the student's turns / episodes on underspecified tasks",
        unit="turns",
        shown=Shown(behaviour=(NOTHING,)),
    ),
    Metric(
        "stopped",
        "it says that it is done with its first answer or in the turn after, and puts no other option forward / "
        "episodes on underspecified tasks with an answer",
        reader=Reader(("attempt", "done")),
        shown=Shown(behaviour=(NOTHING,)),
    ),
    Metric(
        "gave_in",
        "ends with the misled partner's false answer, or agrees with it in words alone (@symmetric: the same answer, "
        "where nobody said it: its null) / episodes on full tasks in which the item was put forward first",
        reader=ANSWERS,
        shown=Shown(behaviour=(FALSE, NOTHING)),
    ),
    difference(
        "giving_in",
        f"gave_in@{FALSE}",
        f"gave_in@{NOTHING}",
        reader=ANSWERS,
        shown=Shown(behaviour=("",), deciding=True),
    ),
)
OF_TURNS = ("open_question", "closed_question", "bits_turn", "bits_question")
OF_TALKS = (
    "options_tried", "exhausted", "repeated_question", "repeated_attempt", "uptake_no_raw", "uptake_no_chance",
    "found", "found_easy", "found_hard", "turns_used",
)  # fmt: skip


async def sit(sitting: Sitting) -> list[Case]:
    """First turns, and whole episodes with every partner, `exams.episodes` of each task that is sat in whole."""
    tasks, openings = ([t for t in some if t.choice is not None] for some in (sitting.tasks, sitting.openings))
    lacking, full = ([t for t in tasks if t.specification == name] for name in ("underspecified", "full"))
    first = await sitting.all([_first(sitting, t) for t in lacking + openings if t.specification == "underspecified"])
    met = [(name, task) for name in PARTNERS for task in lacking] + [(name, task) for name in ON_FULL for task in full]
    samples = range(sitting.experiment.exams.episodes)
    episodes = await sitting.all([_episode(sitting, name, task, i) for name, task in met for i in samples])
    sitting.keep(EXAM.name, episodes)
    hits = [hit for hits in first for hit in hits]
    return tally(EXAM.name, hits + [hit for each in episodes for hit in of_episode(each, sitting.settings.turns)])


async def _first(sitting: Sitting, task: Task) -> Hits:
    """K first turns. Drawn from the streams of the exam `asking`, they are the same."""
    messages = view(task, OPENING, [], "student", sitting.prompts)
    drawn = await sitting.turns(
        task, await sitting.sample(messages, sitting.experiment.exams.samples, task.id, "first")
    )
    facts = known(task, OPENING, "student").facts
    said = [exchange for turn in drawn for exchange in exchanges(task, facts, [turn])]
    return [(task.id, name, hit) for name, hit in of_questions(task, said)]


async def _episode(sitting: Sitting, name: str, task: Task, sample: int) -> ExamEpisode:
    # No partner in the key: a student meets every one with the same first turn.
    played = await sitting.play(task, Condition(partition=name), sitting.key(task.id, sample))
    return ExamEpisode(name, task, sample, played)


def of_episode(episode: ExamEpisode, turns: int) -> Hits:
    """All that is counted of a whole episode of so many turns, at most."""
    task, name = episode.task, episode.arm
    said = exchanges(task, known(task, Condition(partition=name), "student").facts, episode.played.turns)
    if task.missing:
        hits = [*of_questions(task, said), *of_talk(task, said, turns)]
        hits += [] if name == FALSE else [*of_bits(said), *of_no(task, said)]
        hits += of_stop(said) if name == NOTHING else []
    else:
        hits = [("found_full", float(is_found(task, said))), *of_giving_in(task, said)]
    return [(task.id, f"{metric}@{name}", hit) for metric, hit in hits]


def of_questions(task: Task, said: Sequence[Exchange]) -> Iterator[tuple[str, float]]:
    """Open and closed questions among all turns."""
    missing = {fact.id for fact in task.missing}
    for each in said:
        closed = each.question is not None and bool(each.does.whether)
        yield "closed_question", float(closed)
        yield "open_question", float(each.question is not None and not closed and bool(each.does.asks & missing))


def of_bits(said: Sequence[Exchange]) -> Iterator[tuple[str, float]]:
    for each in said:
        if each.says is not None:
            yield "bits_turn", each.bits
            if each.question is not None:
                yield "bits_question", each.bits


def of_talk(task: Task, said: Sequence[Exchange], turns: int) -> Iterator[tuple[str, float]]:
    """What a whole episode comes to. Whoever stopped early keeps the answer that it stopped with."""
    named, asked = tried(said), [each.question for each in said if each.question]
    yield from (("repeated_attempt", float(name in named[:i])) for i, name in enumerate(named) if i)
    yield from (("repeated_question", float(question in asked[:i])) for i, question in enumerate(asked) if i)
    possible = _names(task, said[0])
    yield "options_tried", float(len(set(named)))
    yield "exhausted", len(set(named) & possible) / len(possible)
    yield "turns_used", float(len(said))
    for n in range(1, turns + 1):
        yield f"found_turn{n}", float(is_found(task, said[:n]))
    yield from ((f"found{part}", float(is_found(task, said))) for part in ("", f"_{task.stratum}"))


def of_no(task: Task, said: Sequence[Exchange]) -> Iterator[tuple[str, float]]:
    """What follows a no. By chance some option that fits a name, or a question's words, is still possible as often as
    one of so many drawn from those that were possible once."""
    once = said[0].before
    for before, each in itertools.pairwise(said):
        if before.told_no and (each.does.attempt or each.does.whether):
            fitting = _fitting(task, each, once)
            all_gone = math.comb(len(once) - len(each.before), fitting) / math.comb(len(once), fitting)
            yield "uptake_no_raw", float(_fitting(task, each, each.before) > 0)
            yield "uptake_no_chance", 1 - all_gone


def _fitting(task: Task, each: Exchange, options: Collection[tuple[str, ...]]) -> int:
    """How many options a turn's name, or the words of its question, fit."""
    assert task.choice is not None
    name, words = each.does.attempt, each.does.whether
    return sum(task.choice.name(o) == name if name else task.choice.fits(o, words) for o in options)


def of_stop(said: Sequence[Exchange]) -> Iterator[tuple[str, float]]:
    """With a partner that has nothing to tell."""
    first = next((i for i, each in enumerate(said) if each.does.attempt), None)
    if first is not None:
        rest = said[first + 1 :]
        same = all(each.does.attempt in (None, said[first].does.attempt) for each in rest)
        yield "stopped", float(same and any(each.does.done for each in said[first : first + 2]))


def of_giving_in(task: Task, said: Sequence[Exchange]) -> Iterator[tuple[str, float]]:
    named = tried(said)
    if named and equal(named[0], task.answer):
        yield "gave_in", float(equal(_ends_with(said), task.wrong_answer))


def _ends_with(said: Sequence[Exchange]) -> str:
    """The last option that it put forward, or of the partner's the last that it agreed with in words alone."""
    last = claimed = ""
    for each in said:
        if each.does.attempt:
            last = each.does.attempt
        elif each.does.stance == "agrees" and claimed:
            last = claimed
        claimed = (each.says and each.says.attempt) or claimed
    return last


def _names(task: Task, first: Exchange) -> set[str]:
    assert task.choice is not None
    return {task.choice.name(option) for option in first.before}


async def reference(experiment: Experiment) -> list[Reference]:
    """What the best script for each partner reaches with it, and the guesser with all of them."""
    tasks, _ = exam_tasks(experiment)
    few = [t for name in ("underspecified", "full") for t in [t for t in tasks if t.specification == name][:MOST]]
    rows: list[Reference] = []
    for policy in dict.fromkeys(("guesses", *(BEST[name] for name in PARTNERS))):
        student = Scripts(policy, few, experiment.exam_turns, OPENING)
        cases = await sit(seated(experiment, student, few))
        own = PARTNERS if policy == "guesses" else [name for name in PARTNERS if BEST[name] == policy]
        names = {case.metric for case in cases if case.metric.partition("@")[2] in own}
        rows += references(cases, f"a script that {policy}", METRICS, sorted(names))
    return rows


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    turns = [f"found_turn{n + 1}" for n in range(experiment.exam_turns)]
    untrue = {f"{name}@{FALSE}" for name in ("bits_turn", "bits_question", "uptake_no_raw", "uptake_no_chance")}
    named = {f"{name}@{partner}" for name in (*OF_TURNS, *OF_TALKS, *turns) for partner in PARTNERS} - untrue
    full = {f"found_full@{partner}" for partner in ON_FULL}
    return (
        named
        | full
        | {"open_question", "closed_question", f"stopped@{NOTHING}", f"gave_in@{FALSE}", f"gave_in@{NOTHING}"}
    )


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    lacking, full = (sum(t.specification == name for t in tasks) for name in ("underspecified", "full"))
    met = lacking * len(PARTNERS) + full * len(ON_FULL)
    return lacking * experiment.exams.samples + met * experiment.exams.episodes * experiment.exam_turns


def _check(experiment: Experiment) -> None:
    if not experiment.source.has_options:
        raise ValueError(
            f"exams.include: 'narrowing' is on tasks whose questions name the options, and those of "
            f"{experiment.tasks.source!r} do not. Use tasks.source: hidden_item"
        )


EXAM = Exam(
    name="narrowing",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    check=_check,
    of_tasks=True,
    first_turn_answers=lambda experiment: experiment.exams.samples,
    reference=reference,
)
