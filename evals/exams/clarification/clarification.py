"""Does the student ask where something is missing, and not where nothing is?

After ClariQ (Aliannejadi et al. 2020; how much a request needs clarification, from 1, none, to 4, as people judged) and
Rifts (Shaikh et al. 2025, arXiv 2503.13975; classes by what users did next, one of which needs no grounding act).
Asking where nothing is needed has its price here.

The student reads the request and says its first turn, `exams.samples` times. Need is how many needed facts the
question lacks: 0 (full tasks), 1, or 2 for two and more.

Asking is a question in place of an answer. On a task the metrics' reader says so: the turn asks for a fact, for help or
for anything else that bears on the problem, which its own question said again is not, and it commits to no answer. A
request has no answer that a reader could know. There the labeller of acts says whether the turn asks anything, and
wordings what else it does (`asks_instead`): it makes no offer ("Would you like ..."), and all else in it acknowledges,
says that more has to be known, or repeats the request. Who answers and closes with a question is polite and does not
ask. The list of such wordings is ours, and nobody has measured it against people: who gives a reason for its question
in other words is missed.
- asks@needN = draws that ask / draws on items of need N.
- asks_where_needed, asks_where_needless = draws that ask / draws on items where something, where nothing is needed.
- ask_due = draws that ask and need is above none / all draws; ask_undue = that ask and need is none / all draws.
- ask_value = ask_due - ask_undue: the net benefit of asking where a needless question costs as much as a needed one
  brings (Vickers and Elkin 2006, decision curves: hits - price x false alarms, over all cases). For other prices, for
  who always and who never asks, and for AUC and slope of asking against need: asking_against_need.py in this folder.
The last three depend on how many items of either kind the exam has. That is the config's choice and no chance, so
intervals are over items within their kind. NaN where a level, or a kind, has no items.

`@requests`: a file of requests with people's need, for real models, one message each; the embedded base does not know
their words and is not asked. exams.clarification names JSON Lines of {request, need}, and the need up to which nothing
has to be asked. Neither benchmark ships here, and there is no figure of people here to reproduce. Of a row of ClariQ,
initial_request is the request and clarification_need the need, up to 1 needless (its rows repeat a request by facet;
equal lines are read once); of Rifts, whose classes are no scale, give the none class 0 and all others 1, up to 0. The
reference is scripted students alone: who always asks, never
does, asks where it is needed, and who answers and then offers more.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from evals.exams.clarification.asking_against_need import FILE, NAME, Options, Requests, level, need_of_students
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam, Reference, options
from evals.sitting.exam_partners import OPENING
from evals.sitting.item_files import items, shown
from evals.sitting.reference_rates import references
from evals.sitting.scripted_student import Scripted
from evals.sitting.sitting import Sitting, needs_real_model
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Message, Task, digest
from pipeline.engines.model import Sampling
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.acts import questions
from pipeline.reading.attempt import attempt
from pipeline.reading.labelling.context import TurnInContext
from pipeline.reading.sentences import content_words, sentences
from pipeline.reading.stored import student_reading
from pipeline.runs.progress import say
from pipeline.tasks.parsing import BadRow, RowError, text_of

_HEARD = (
    "okay|ok|sure|certainly|of course|absolutely|great|thanks|thank you|i see|hello|hi|got it|all right|sorry|happy"
)
_MORE = "more|some|one|another|a (?:bit|little|few)|the following|to (?:know|ask|understand)"
_THANKS = "thing|then|i can (?:do|help with) (?:that|this)|for (?:asking|that)|to help"
_LEADS_UP = re.compile(
    rf"^(?:{_HEARD})(?:,? (?:{_HEARD}|{_THANKS}))*[.!]"
    rf"|^(?:(?:{_HEARD}),? )?(?:i|we)(?:'d|'ll|'m| would| will| can| am)\b[^.!?]{{0,40}} (?:help|assist)\b"
    r"|^(?:that|this|it) sounds \w+[.!]|^what an? (?:\w+ )?(?:idea|question|plan)[.!]|(?:n't|\bnot) have enough\b"
    rf"|\b(?:i|we)(?:'d| would|'ll| will)? (?:(?:just|still|first) )*(?:need|have|like|want) (?:{_MORE})\b"
    r"|\b(?:please|could you|can you) (?:tell|clarify|specify|let)\b|\bit depends\b"
    r"|\b(?:more|further|some|a few) (?:details?|information|questions?|context)\b",
    re.I,
)
_DECIDES = re.compile(
    r"^\W*(?:\w+, )?(?:(?:is|am|are|was|were|do|does|did|has|have|had|should|may|might)\b"
    r"|(?:can|could|will|would)\b(?! you\b))|\bwhether\b|\bor\b.*\?\W*$",
    re.I | re.S,
)
_DENIES = re.compile(r"\b(?:not|never|no)\b|n't\b", re.I)
_OFFER = re.compile(
    r"\b(?:would|do) you (?:like|want) (?:me|another|more|some|to (?:see|hear|know))\b|\bwould you like an?\b"
    r"|\b(?:anything|something) else\b|\b(?:shall|should|may|can) i (?:also|help|go on|add|continue)\b|^how about\b",
    re.I,
)
KEY = "exams.clarification.path"
LEVELS = (0, 1, 2)  # of embedded tasks; 2: two or more
READER = Reader(("asks_any_withheld", "generic_request", "other_question", "attempt"), ("question",))
NEEDED, NEEDLESS = "asks_where_needed", "asks_where_needless"
METRICS = (
    *alike(
        {
            "asks": "asks in its first turn (@needN: by need; of a file @needN/requests) / draws on requests of that "
            "need",
            NEEDED: "asks in its first turn / draws on requests where something is needed",
            NEEDLESS: "asks in its first turn / draws on requests where nothing is needed",
        },
        reader=READER,
    ),
    Metric(
        "ask_due",
        "asks where something is needed / draws on all requests",
        parts={NEEDED: 1, NEEDLESS: 0},
        of_mix=True,
        reader=READER,
    ),
    Metric(
        "ask_undue",
        "asks where nothing is needed / draws on all requests",
        parts={NEEDED: 0, NEEDLESS: 1},
        of_mix=True,
        reader=READER,
    ),
    Metric(
        "ask_value",
        "ask_due - ask_undue: net benefit where a needless question costs what a needed one brings",
        parts={NEEDED: 1, NEEDLESS: -1},
        of_mix=True,
        reader=READER,
    ),
)


class RatedRequest(NamedTuple):
    """A request, and how much people said that it needs clarification."""

    id: str
    text: str
    need: float


def request(row: dict[str, Any]) -> RatedRequest:
    """One row of the file. Raises RowError."""
    text, need = text_of(row, "request"), row.get("need")
    if isinstance(need, bool) or not isinstance(need, int | float) or not math.isfinite(need):
        raise RowError(f"'need' is {need!r}, expected a number, the higher the more it needs clarification")
    return RatedRequest(f"clarification-{digest(text)}", text, float(need))


def read_requests(settings: Requests) -> tuple[list[RatedRequest], list[BadRow]]:
    """The requests of the file, and the rows that are none. Raises ConfigError where it cannot be read."""
    return items(settings.path, KEY, request)


async def clarification(sitting: Sitting) -> list[Case]:
    """First turns on tasks by missing facts, and on the file's requests where the student can read them."""
    tasks = [task for task in sitting.tasks if task.specification != "false_premise"]
    hits = await sitting.all([_task(sitting, task) for task in tasks])
    settings = options(sitting.experiment, Options).clarification
    if settings is not None and sitting.understands:
        asked = read_requests(settings)[0]
        hits += await sitting.all([_request(sitting, item, settings.needless) for item in asked])
    return tally(NAME, [hit for of_one in hits for hit in of_one])


async def _task(sitting: Sitting, task: Task) -> Hits:
    messages = view(task, OPENING, [], "student", sitting.prompts)
    drawn = await sitting.sample(messages, sitting.experiment.exams.samples, task.id, "first")
    turns = await sitting.turns(task, drawn)
    asks = [asks_for_something(task, student_reading(task, [turn], 0)) for turn in turns]
    return of_item(task.id, min(len(task.missing), LEVELS[-1]), bool(task.missing), asks)


def asks_for_something(task: Task, reading: StudentReading) -> bool:
    """Whether a turn on a task asks in place of answering.

    The problem's question is read as asking for a fact where that one alone answers it
    (pipeline/reading/instrument.py). Here it would make who repeats every question ask more where one fact is needed,
    whatever is missing. Who asks for that fact in other words beside it cannot be told apart, and does not count.
    """
    needed = {fact.id for fact in task.facts if fact.needed}
    repeated = needed if reading.repeats_question and len(needed) == 1 and task.choice is None else set()
    asks = bool(reading.asks - repeated) or reading.generic_request or reading.other_question
    return asks and reading.attempt is None


async def _request(sitting: Sitting, item: RatedRequest, needless: float) -> Hits:
    drawn = await sitting.sample(sitting.said_to(item.text), sitting.experiment.exams.samples, item.id, "first")
    labels = await sitting.acts([TurnInContext(text=draw.text, before=item.text, own=False) for draw in drawn])
    asks = [
        "question" in acts and asks_instead(draw.text, item.text)
        for draw, acts in zip(drawn, labels, strict=True)
        if acts is not None
    ]
    return of_item(item.id, item.need, item.need > needless, asks, FILE)


def asks_instead(text: str, request: str) -> bool:
    """Whether a turn asks in place of answering: nothing in it but questions that are no offers, and what leads up."""
    if attempt(text) is not None:
        return False
    asked, known = questions(text), content_words(request)
    rest = [part for part in sentences(text) if part not in asked]
    answers = _DECIDES.search(request) is not None  # in its own words: "Is Pluto a planet?", "Pluto is a planet."
    affirms = _DENIES.search(request) is None  # a denial is then the answer's own

    def repeats(part: str) -> bool:
        return content_words(part) <= known and not answers and not (affirms and _DENIES.search(part))

    leads = all(_LEADS_UP.search(part) or repeats(part) for part in rest)
    return leads and any(not _OFFER.search(part) for part in asked)


def of_item(id: str, need: float, needed: bool, asks: list[bool], scope: str = "") -> Hits:
    """One request's share of the metrics, from whether each of its draws asks."""
    hits: Hits = []
    for yes in asks:
        hits.append((id, level(need, scope), float(yes)))
        hits.append((id, (NEEDED if needed else NEEDLESS) + scope, float(yes)))
    return hits


class _Asks(Scripted):
    """Asks about the requests that it is given; answers all others, and may close with a line of politeness."""

    def __init__(self, about: set[str], close: str = ""):
        self.about, self.close = about, close

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        asks = messages[-1]["content"] in self.about
        return "Sure. Which one do you mean?" if asks else f"Here it is. {self.close}"


async def _reference(experiment: Experiment) -> list[Reference]:
    """Who always asks, never asks, asks where it is needed, or is only polite, on the file's requests."""
    settings = options(experiment, Options).clarification
    if settings is None:
        say("clarification: no file of requests (exams.clarification.path); tasks by missing facts alone")
        return []
    asked, bad = read_requests(settings)
    shown("clarification", asked, bad)
    if needs_real_model(experiment):
        say("clarification: the file's requests need a real model; the embedded base is not asked them")
    rows: list[Reference] = []
    for who, student in {
        "a script that always asks": _Asks({item.text for item in asked}),
        "a script that never asks": _Asks(set()),
        "a script that asks where it is needed": _Asks({item.text for item in asked if item.need > settings.needless}),
        "a script that answers and offers more": _Asks(set(), "Would you like another? What is it for?"),
    }.items():
        sitting = Sitting(experiment=experiment, student=student, peer=student, seed=0, tasks=())
        hits = [hit for item in asked for hit in await _request(sitting, item, settings.needless)]
        named = [f"ask_due{FILE}", f"ask_undue{FILE}"]
        rows += references(tally(NAME, hits), who, METRICS, named, exact=True)
    return rows


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    named = {NEEDED, NEEDLESS, *map(level, LEVELS)}
    settings = options(experiment, Options).clarification
    if settings is not None and understands:
        named |= {NEEDED + FILE, NEEDLESS + FILE}
        named |= {level(item.need, FILE) for item in read_requests(settings)[0]}
    return named


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    asked = sum(task.specification != "false_premise" for task in tasks)
    settings = options(experiment, Options).clarification
    if settings is not None and not needs_real_model(experiment):
        asked += len(read_requests(settings)[0])
    return asked * experiment.exams.samples


EXAM = Exam(
    name=NAME,
    metrics=METRICS,
    sit=clarification,
    answers=_answers,
    ratios=_ratios,
    options=Options,
    of_tasks=True,
    reference=_reference,
    tables=need_of_students,
)
