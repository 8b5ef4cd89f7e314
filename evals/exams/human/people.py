"""What people said next, turn by turn, from any corpus of dialogues that `pipeline.tasks.talks.read_talks` can read.

A turn that stands in several rows, as in a corpus whose rows are beginnings of others, counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Party, Record, Turn, digest
from pipeline.reading.acts import ACTS, given, questions
from pipeline.reading.labelling.context import TurnInContext, Unlabelled
from pipeline.reading.labelling.labeller import Labeller, label
from pipeline.tasks.parsing import BadRow, public_facts
from pipeline.tasks.talks import Talk, load_source, read_talks

LABELS = (*ACTS, "question", "grounding")  # any question; any act that is a question, acknowledges or repairs
GROUNDING = frozenset({"acknowledge", "repair", "clarify", "follow_up", "other_question"})
POSITIONS = ("1", "2", "3", "later")  # of the party's turns in its dialogue
Acts = tuple[str, ...]  # in the order of LABELS


class People(Section):
    """Dialogues of people, whose next turn the student's is laid beside (exams.human)."""

    source: str = Field(min_length=1)  # YAML that says how they are read (pipeline/tasks/talks.py)
    party: Party = "student"  # whose turns: people said them, and the student is asked for its own
    role: str = ""  # said to the student before the dialogue: whose place it takes; empty: nothing says so
    turns: Literal["every", "last"] = "every"  # last: of each dialogue the party's last one alone
    most: int = Field(default=300, ge=1)  # turns that the student is asked for, in whole dialogues
    # Where people labelled the last turn: a field of the dialogue's `meta` with a list of yes and no, and the act that
    # each of these stands for, "" for none.
    labels: dict[str, tuple[str, ...]] = {}
    # Where several people said what comes next: a field of `meta` with a list of their turns. Those are then asked for.
    several: str = ""


class Options(Section):
    human: People

    @model_validator(mode="before")
    @classmethod
    def _is_described(cls, given: dict[str, Any]) -> dict[str, Any]:
        if "human" not in given:
            raise ValueError(
                "human: the exam beside people needs a section exams.human with the source of their dialogues. Give "
                "it, or take 'human' out of exams.include"
            )
        return given


class HumanTurn(Record):
    """What a person said next. Dialogues that begin alike, up to the party's first turn, are one conversation."""

    id: str  # of all that was said up to here
    conversation: str
    position: str
    text: str
    acts: Acts
    people: Acts | None = None  # the labels that people gave it, None where they gave none
    others: tuple[Acts, ...] = ()  # of what other people said in its place


class StudentAnswers(Record):
    """What the student said in place of a human turn: each draw's text and acts (None: no valid label), and the greedy
    one's.
    """

    id: str
    said: tuple[str, ...]
    acts: tuple[Acts | None, ...]
    greedy: Acts | None = None


class HumanPlace(NamedTuple):
    """Where a person spoke: what stood before, and what was said."""

    id: str
    conversation: str
    position: str
    question: str
    before: tuple[Turn, ...]  # alternating
    party: Party
    text: str
    people: Acts | None = None
    others: tuple[str, ...] = ()


def people_path(run: Path) -> Path:
    return run / "results" / "people.jsonl"


def spoken(place: HumanPlace, text: str) -> TurnInContext:
    """A text, a person's or a student's, said at this place."""
    facts = public_facts(place.question)
    told = {fact for turn in place.before if turn.party != place.party for fact in given(turn.text, facts)}
    asked_before = any(questions(turn.text) for turn in place.before if turn.party == place.party)
    before = place.before[-1].text if place.before else ""
    return TurnInContext(
        text=text, before=before, own=False, facts=facts, told=frozenset(told), asked_before=asked_before
    )


def in_order(acts: Iterable[str]) -> Acts:
    """The acts with "grounding" where any of them is one, as files have them."""
    seen = set(acts)
    seen |= {"grounding"} if seen & {*GROUNDING, "question"} else set()
    return tuple(name for name in LABELS if name in seen)


async def labelled(places: Sequence[HumanPlace], labeller: Labeller = None) -> list[HumanTurn]:
    """Every person's turn with its acts, and those of others in its place. A turn without a valid label is left out."""
    texts = [spoken(place, text) for place in places for text in (place.text, *place.others)]
    labels = await label(texts, labeller)
    acts = iter(None if isinstance(seen, Unlabelled) else in_order(seen) for seen in labels)
    turns = []
    for place in places:
        own, others = next(acts), [next(acts) for _ in place.others]
        if own is not None:
            turns.append(
                HumanTurn(
                    id=place.id,
                    conversation=place.conversation,
                    position=place.position,
                    text=place.text,
                    acts=own,
                    people=place.people,
                    others=tuple(other for other in others if other is not None),
                )
            )
    return turns


def places(settings: People) -> tuple[list[HumanPlace], list[BadRow]]:
    """Every turn of the party, once, in the order of the files. Raises ConfigError for what cannot be read."""
    for field, means in settings.labels.items():
        if strange := [name for name in means if name and name not in LABELS]:
            raise ConfigError(
                f"exams.human.labels.{field}: {strange[0]!r} is not an act. Known: {', '.join(LABELS)}, or '' for none."
            )
    talks, bad = read_talks(load_source(settings.source))
    by_id: dict[str, HumanPlace] = {}
    for talk in talks:
        for place in _of_talk(talk, settings):
            if place.id not in by_id or place.people is not None:
                by_id[place.id] = place
    if not by_id:
        raise ConfigError(
            f"exams.human.source: {settings.source} has no turn of the {settings.party} in {len(talks)} dialogues "
            f"({len(bad)} rows could not be read). Set exams.human.party to the other, or correct the roles there."
        )
    return list(by_id.values()), bad


def _of_talk(talk: Talk, settings: People) -> list[HumanPlace]:
    turns, others = merged(talk.turns), list[str]()
    if settings.several:
        first, *others = _several(talk, settings.several) or [""]
        if not turns or turns[-1].party == settings.party or not first:
            return []  # nobody's turn is known there
        turns = (*turns, Turn(party=settings.party, text=first))
    own = [i for i, turn in enumerate(turns) if turn.party == settings.party]
    if not own:
        return []
    texts = [turn.text for turn in turns]
    # Where the data has no question, the reader lets the first turn stand for it.
    question = "" if talk.question == texts[0] else talk.question
    return [
        HumanPlace(
            id=digest(question, settings.party, texts[: i + 1]),
            conversation=digest(question, texts[: own[0] + 1]),
            position=str(position) if str(position) in POSITIONS else POSITIONS[-1],
            question=question,
            before=turns[:i],
            party=settings.party,
            text=texts[i],
            people=_flagged(talk, settings) if i == own[-1] else None,
            others=tuple(others) if i == own[-1] else (),
        )
        for position, i in enumerate(own, start=1)
        if i == own[-1] or (settings.turns == "every" and not settings.several)
    ]


def _several(talk: Talk, field: str) -> list[str]:
    texts = talk.meta.get(field)
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()] if isinstance(texts, list) else []


def merged(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns without empty ones, consecutive ones of one party as one."""
    together: list[Turn] = []
    for turn in turns:
        text = turn.text.strip()
        if text and together and together[-1].party == turn.party:
            together[-1] = Turn(party=turn.party, text=f"{together[-1].text}\n{text}")
        elif text:
            together.append(Turn(party=turn.party, text=text))
    return tuple(together)


def _flagged(talk: Talk, settings: People) -> Acts | None:
    if not settings.labels:
        return None
    acts: set[str] = set()
    for field, means in settings.labels.items():
        flags = talk.meta.get(field)
        if not isinstance(flags, list) or len(flags) != len(means) or {*map(str, flags)} - {"True", "False"}:
            return None
        acts |= {name for name, flag in zip(means, flags, strict=True) if str(flag) == "True"}
    return in_order(acts)
