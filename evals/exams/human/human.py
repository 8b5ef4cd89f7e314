"""Beside people: the student is given what was said before a person's turn, and says its own next turn.

After Shaikh et al., Grounding Gaps (arXiv 2311.09144), who do so at each turn of an expert. The person's turn and the
student's are labelled by one labeller. What is compared, and how, is in `evals.exams.human.beside_people`.

The student reads the question and the turns before, and nothing else: not the answer, the solution, or a later turn.
A person who held more, such as a teacher with the key, had an advantage that it is not given. Where tasks are real it
is not asked on questions of their train split.

The embedded base knows no such text. It is not asked, and what people did is written without it.

    maieutic eval configs/human_qwen3_0.6b.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evals.exams.human.people import Acts, Place, in_order, places, spoken
from evals.metrics.catalog import LABELS
from evals.sitting.sitting import Case, Sitting, needs_real_model, tally
from pipeline.core.schema import Message, Record, digest
from pipeline.experiment.exams import HumanReference
from pipeline.tasks.parsing import split_of

SCOPE = "@people"
UNSEEN = "(What was said before is not shown.)"  # chat templates begin with the user


class Answer(Record):
    """What the student said in place of a human turn: each draw's text and acts (None: no valid label), and the greedy
    one's.
    """

    id: str
    said: tuple[str, ...]
    acts: tuple[Acts | None, ...]
    greedy: Acts | None = None


def reads(place: Place, system: str = "") -> list[Message]:
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


def asked_for(found: Sequence[Place], most: int, held_out: bool = False) -> list[Place]:
    """Whole conversations up to `most` turns, at least one, in an order that their text does not decide.

    `held_out`: none on a question of the train split, since a student may have learned from the same problem.
    """
    talks: dict[str, list[Place]] = {}
    for place in found:
        if (place.question or place.before) and not (
            held_out and place.question and split_of(place.question) == "train"
        ):
            talks.setdefault(place.conversation, []).append(place)
    chosen: list[Place] = []
    for name in sorted(talks, key=lambda name: digest("asked", name)):
        if chosen and len(chosen) + len(talks[name]) > most:
            break
        chosen += talks[name]
    return chosen


async def human(sitting: Sitting, settings: HumanReference) -> tuple[list[Case], list[Answer]]:
    """The student's rates where people spoke, and all that it said there; nothing from the embedded base."""
    found, _ = places(settings)
    if needs_real_model(sitting.experiment):
        return [], []
    said = await answers(sitting, asked_for(found, settings.most, not sitting.experiment.source.closed))
    return rates(found, said), said


async def answers(sitting: Sitting, asked: Iterable[Place]) -> list[Answer]:
    """The student's turn at each place, `exams.samples` times, and once greedily where exams.greedy."""
    exams = sitting.experiment.exams

    async def one(place: Place) -> Answer:
        messages = reads(place, sitting.system)
        said = [turn.text for turn in await sitting.sample(messages, exams.samples, place.id, "people")]
        best = [(await sitting.greedy(messages)).text] if exams.greedy else []
        found = await sitting.acts([spoken(place, text) for text in (*said, *best)])
        seen = [None if one is None else in_order(one) for one in found]
        drawn = len(said)
        return Answer(id=place.id, said=tuple(said), acts=tuple(seen[:drawn]), greedy=seen[drawn] if best else None)

    return await sitting.all([one(place) for place in asked])


def rates(found: Iterable[Place], said: Iterable[Answer]) -> list[Case]:
    """How often the student does each act where people spoke: `acknowledge@people`."""
    conversation = {place.id: place.conversation for place in found}
    sampled: list[tuple[str, str, float]] = []
    greedy: list[tuple[str, str, float]] = []
    for answer in said:
        for seen in answer.acts:
            if seen is not None:
                sampled += [(conversation[answer.id], name + SCOPE, float(name in seen)) for name in LABELS]
        if answer.greedy is not None:
            greedy += [(conversation[answer.id], name + SCOPE, float(name in answer.greedy)) for name in LABELS]
    return tally("human", sampled) + tally("human", greedy, greedy=True)
