"""Beside people: the student is given what was said before a person's turn, and says its own next turn.

After Shaikh et al., Grounding Gaps (arXiv 2311.09144), who do so at each turn of an expert. The person's turn and the
student's are labelled by one labeller. What is compared, and how, is in `evals.exams.human.beside_people`.

The student reads its role, where `exams.human.role` gives it one, the question and the turns before, and nothing
else: not the answer, the solution, or a later turn.
A person who held more, such as a teacher with the key, had an advantage that it is not given. Where tasks are real it
is not asked on questions of their train split.

The embedded base knows no such text. It is not asked, and what people did is written without it.

    maieutic eval configs/human_qwen3_0.6b.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evals.exams.grounding import METRICS as ACTS
from evals.exams.human.beside_people import students_beside_people
from evals.exams.human.people import (
    LABELS,
    HumanPlace,
    Options,
    StudentAnswers,
    in_order,
    labelled,
    people_path,
    places,
    spoken,
)
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam, Reference, options
from evals.sitting.sitting import Sitting
from pipeline.core.files import write_rows
from pipeline.core.schema import Message, Task, digest
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_acts_labeller
from pipeline.runs.progress import say
from pipeline.tasks.split import split_of

SCOPE = "@people"
UNSEEN = "(What was said before is not shown.)"  # chat templates begin with the user


# Of people's talk there is no task: the labeller of acts has all of them, and these classes say how well.
CLASSES = {
    "clarify": ("request", "question"),
    "other_question": ("question",),
    "acknowledge": ("acknowledge", "take_up"),
    "follow_up": ("question",),
    "repair": ("repair", "request"),
    "restate": ("restate",),
    "attempt": ("attempt",),
    "agree": ("agree", "take_up"),
    "disagree": ("disagree",),
    "hedge": ("hedge",),
}
NO_LABEL = Reader(unmeasured="saying that it cannot be answered: not measured, no corpus has a label for it")
METRICS = (
    Metric(
        "question",
        "asks anything (@people: in place of a person) / the student's turns",
        reader=Reader(people=("question",)),
        shown=HIDDEN,
        scopes=("people",),
    ),
    Metric(
        "grounding",
        "acknowledges, repairs or asks (@people: in place of a person) / the student's turns",
        reader=Reader(people=("question", "acknowledge", "repair")),
        shown=HIDDEN,
        scopes=("people",),
    ),
    *(
        replace(act, reader=reader, parts={}, shown=HIDDEN, scopes=("people",))
        for act in ACTS
        for reader in [Reader(people=CLASSES[act.name]) if act.name in CLASSES else NO_LABEL]
    ),
)


def reads(place: HumanPlace, system: str = "") -> list[Message]:
    """What the student reads before its turn: the party's own turns are `assistant`, and the user begins."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    if place.question or place.before[0].party == place.party:
        messages.append({"role": "user", "content": place.question or UNSEEN})
    for turn in place.before:
        if turn.party == place.party:
            messages.append({"role": "assistant", "content": turn.text})
        elif messages and messages[-1]["role"] == "user":
            messages[-1] = {"role": "user", "content": f"{messages[-1]['content']}\n\n{turn.text}"}
        else:
            messages.append({"role": "user", "content": turn.text})
    return messages


def asked_for(places: Sequence[HumanPlace], most: int, held_out: bool = False) -> list[HumanPlace]:
    """Whole conversations up to `most` turns, at least one, in an order that their text does not decide.

    `held_out`: none on a question of the train split, since a student may have learned from the same problem.
    """
    talks: dict[str, list[HumanPlace]] = {}
    for place in places:
        if (place.question or place.before) and not (
            held_out and place.question and split_of(place.question) == "train"
        ):
            talks.setdefault(place.conversation, []).append(place)
    chosen: list[HumanPlace] = []
    for name in sorted(talks, key=lambda name: digest("asked", name)):
        if chosen and len(chosen) + len(talks[name]) > most:
            break
        chosen += talks[name]
    return chosen


async def sit(sitting: Sitting) -> list[Case]:
    """The student's rates where people spoke, and all that it said there; nothing from the embedded base."""
    settings = options(sitting.experiment, Options).human
    people, _ = places(settings)
    held_out, system = not sitting.experiment.source.closed, f"{settings.role} {sitting.system}".strip()
    asked = asked_for(people, settings.most, held_out) if sitting.understands else []
    answered = await answers(sitting, asked, system)
    sitting.transcripts["people"] = [answer.model_dump(mode="json") for answer in answered]
    return rates(people, answered)


async def answers(sitting: Sitting, asked: Iterable[HumanPlace], system: str) -> list[StudentAnswers]:
    """The student's turn at each place, `exams.samples` times, and once greedily where exams.greedy."""
    exams = sitting.experiment.exams

    async def at(place: HumanPlace) -> StudentAnswers:
        messages = reads(place, system)
        drawn = [turn.text for turn in await sitting.sample(messages, exams.samples, place.id, "people")]
        best = [(await sitting.greedy(messages)).text] if exams.greedy else []
        labels = await sitting.acts([spoken(place, text) for text in (*drawn, *best)])
        acts = [None if seen is None else in_order(seen) for seen in labels]
        n = len(drawn)
        return StudentAnswers(id=place.id, said=tuple(drawn), acts=tuple(acts[:n]), greedy=acts[n] if best else None)

    return await sitting.all([at(place) for place in asked])


def rates(people: Iterable[HumanPlace], answered: Iterable[StudentAnswers]) -> list[Case]:
    """How often the student does each act where people spoke: `acknowledge@people`."""
    conversation = {place.id: place.conversation for place in people}
    sampled: Hits = []
    greedy: Hits = []
    for answer in answered:
        for acts in answer.acts:
            if acts is not None:
                sampled += [(conversation[answer.id], name + SCOPE, float(name in acts)) for name in LABELS]
        if answer.greedy is not None:
            greedy += [(conversation[answer.id], name + SCOPE, float(name in answer.greedy)) for name in LABELS]
    return tally("human", sampled) + tally("human", greedy, greedy=True)


async def read_people(experiment: Experiment) -> list[Reference]:
    """Every turn of people with its acts, into results/people.jsonl, before any student sits; what they say of people
    is in the report's own part (beside_people), so no figure is returned.
    """
    people, bad = places(options(experiment, Options).human)
    say(f"people: {len(people)} turns, {len(bad)} rows could not be read")
    for row in bad[:3]:
        say(f"  {row.where}: {row.message}")
    turns = await labelled(people, open_acts_labeller(experiment))
    if without := len(people) - len(turns):
        say(f"  {without} of them got no valid label, and are left out")
    write_rows(people_path(experiment.run), (turn.model_dump(mode="json") for turn in turns))
    return []


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    return options(experiment, Options).human.most * (experiment.exams.samples + experiment.exams.greedy)


EXAM = Exam(
    name="human",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=lambda experiment, understands: {name + SCOPE for name in LABELS},
    options=Options,
    programs=True,
    reference=read_people,
    tables=students_beside_people,
)
