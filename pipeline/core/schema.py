"""The records that every stage reads and writes: tasks, turns, dialogues, failures.

A turn names its party, never a chat role: roles appear only in `pipeline.knowledge.view`. A dialogue carries
its task, so a row of `dialogues/*.jsonl` can be read, audited and trained on without other files.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache
from operator import not_
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.core.readings import PartnerReading, StudentReading

Json = dict[str, Any]  # a JSON object
Message = dict[str, str]  # role and content, as chat templates and servers take them
Party = Literal["student", "partner"]
CUT_NUMBER = re.compile(r"[-+−$£€]*\d[\d.,:/]*\Z")
Specification = Literal["full", "underspecified", "sharded", "false_premise", "overspecified"]


class Record(BaseModel):
    """Immutable, and strict about unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(Record):
    """One statement of a task. `public` facts stand in the question that the student reads."""

    id: str
    text: str = Field(min_length=1)
    needed: bool = True
    public: bool = True
    ask: str = ""  # a question that asks for this fact, where the source knows one
    # Words of which one in a question asks for this fact, where the source knows them (stems, in small letters).
    topics: tuple[str, ...] = Field(default=(), exclude_if=not_)
    # What it says of the option that is asked for, in a task with options: one value of an attribute.
    value: str = Field(default="", exclude_if=not_)


class Step(Record):
    """One step of an expert's solution, as a turn; the last one commits to the answer."""

    text: str = Field(min_length=1)
    question: str = ""  # the sub-question that it answers, where the source has one


class Draft(Record):
    """A wrong solution that the student begins from, and what a person found wrong with it."""

    steps: tuple[str, ...] = Field(min_length=1)
    answer: str = Field(min_length=1)  # that it comes to
    where: int = Field(ge=1)  # the first wrong step; 1 is the first step
    what: str = Field(min_length=1)  # what is wrong there, in the person's words
    category: str = ""  # of the error, where the source has one

    @property
    def text(self) -> str:
        lines = [f"Step {i}: {step}" for i, step in enumerate(self.steps, start=1)]
        return "\n".join([*lines, f"The answer is {self.answer}."])

    @model_validator(mode="after")
    def _is_one_of_its_steps(self) -> Draft:
        if self.where > len(self.steps):
            raise ValueError(f"the first wrong step is {self.where}, and there are {len(self.steps)}")
        return self


class ExampleCall(Record):
    """A call of the function that a task asks for, and what it gives, both as Python expressions."""

    call: str = Field(min_length=1)
    expected: str = Field(min_length=1)


class Tests(Record):
    """How the program of a code task is checked; `hidden` and `script` (assertions) are no party's to read."""

    __test__: ClassVar[bool] = False  # of tasks, not of this project

    entry: str = Field(min_length=1)  # the name of the function
    public: tuple[ExampleCall, ...] = ()  # the question shows them
    hidden: tuple[ExampleCall, ...] = ()
    script: str = ""

    @model_validator(mode="after")
    def _decide_something(self) -> Tests:
        if not self.hidden and not self.script:
            raise ValueError(f"the tests of {self.entry!r} hold no hidden call and no assertion")
        return self


class ProgramCheck(Record):
    """What the tests said of the program in a turn. `printed` names public calls alone."""

    outcome: str  # "passed", or how it failed (pipeline.sandbox.container)
    printed: str = ""

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


class Choice(Record):
    """What the answer of a task is one of, where its question names it all: every word is public.

    An option is its values, one of each attribute; a value is of one attribute alone.
    """

    noun: str = Field(min_length=1)  # "box"
    attributes: tuple[str, ...] = Field(min_length=1)  # "size", "colour"
    options: tuple[tuple[str, ...], ...] = Field(min_length=2)
    others: tuple[str, ...] = ()  # words of what is told of besides, and not asked for

    def name(self, option: tuple[str, ...]) -> str:
        """As the question has it: "the small red box"."""
        return " ".join(["the", *option, self.noun])

    def attribute(self, value: str) -> int | None:
        """Which attribute has this value; None where none has."""
        return next((i for option in self.options for i, each in enumerate(option) if each == value), None)

    def fits(self, option: tuple[str, ...], words: Collection[str]) -> bool:
        """Whether `words` hold of an option: names of options, of which it is one, or values, of which it has one of
        each attribute that they are of."""
        if any(self.attribute(word) is None for word in words):
            return self.name(option) in words
        return all(option[i] in words for i in {self.attribute(word) for word in words} if i is not None)

    @model_validator(mode="after")
    def _tells_options_apart(self) -> Choice:
        columns = [set(values) for values in zip(*self.options, strict=True)]
        if len(columns) != len(self.attributes) or len(set(self.options)) != len(self.options):
            raise ValueError(f"options {self.options} of attributes {self.attributes} are not told apart")
        if sum(map(len, columns)) != len(set().union(*columns)):
            raise ValueError(f"options {self.options} have a value of two attributes")
        return self


class Task(Record):
    """A problem, what of it is public, and its gold answer."""

    id: str
    source: str
    specification: Specification
    question: str = Field(min_length=1)  # what both parties may read
    full_question: str = Field(min_length=1)  # the whole problem
    facts: tuple[Fact, ...] = ()
    answer: str = Field(min_length=1)
    solution: str = ""
    steps: tuple[Step, ...] = ()  # of an expert, where the source has them
    # A wrong solution that `question` shows; what was found in it is a verifier's. Not stored where there is none.
    draft: Draft | None = Field(default=None, exclude_if=not_)
    wrong_answer: str = ""  # a plausible false key, for partners that are misled
    kind: str = ""
    stratum: str = ""
    split: str = "train"
    memories: tuple[str, ...] = ()  # what the student remembers of other tasks (pipeline/building/memory.py)
    # Of a task whose question names the options; left out of what is stored where it does not.
    choice: Choice | None = Field(default=None, exclude_if=not_)
    # Of a task whose answer is a program; left out of what is stored where there are none.
    tests: Tests | None = Field(default=None, exclude_if=not_)

    @model_validator(mode="after")
    def _facts_fit_specification(self) -> Task:
        ids = [fact.id for fact in self.facts]
        if len(set(ids)) != len(ids):
            raise ValueError(f"task {self.id}: fact ids {ids} are not distinct")
        hidden = bool(self.missing)
        if hidden != (self.specification in ("underspecified", "sharded")):
            raise ValueError(
                f"task {self.id}: specification {self.specification!r} with {len(self.missing)} withheld facts, which "
                'are "needed" and "public": false. Mark so what the question lacks; where it lacks nothing it is full'
            )
        return self

    @property
    def entry(self) -> str:
        """The function that a program is to define; '' where the answer is no program."""
        return self.tests.entry if self.tests else ""

    @property
    def missing(self) -> tuple[Fact, ...]:
        """Needed facts that the public question does not state."""
        return tuple(fact for fact in self.facts if fact.needed and not fact.public)

    def told_at_once(self, id: str = "") -> Task:
        """The fully specified problem: what was private is public, in the question too."""
        facts = tuple(fact.model_copy(update={"public": True}) for fact in self.facts)
        told = {"question": self.full_question, "specification": "full", "facts": facts}
        return self.model_copy(update={"id": id or self.id, **told})


class Turn(Record):
    """What one party said. Tokens are counted by its engine; a rule's words by the student's tokenizer."""

    party: Party
    text: str
    tokens: int = 0  # generated for this turn
    prompt_tokens: int = 0
    finished: bool = True  # False: cut at max_tokens
    # Before it spoke, which no other party and no reader reads; where it is kept the party itself does, and learns it.
    reasoning: str = Field(default="", exclude_if=not_)
    keeps_reasoning: bool = Field(default=False, exclude_if=not_)
    # Of the program that it holds, in a code task; left out of what is stored where it holds none.
    check: ProgramCheck | None = Field(default=None, exclude_if=not_)
    # How the partner understood a student's turn, and what the turn does by the reader of the metrics: two readers.
    # None, and not stored, where the closed reader reads it whenever it is asked.
    heard: StudentReading | None = Field(default=None, exclude_if=not_)
    reading: StudentReading | PartnerReading | None = Field(default=None, discriminator="party", exclude_if=not_)
    # What a convincing partner's turn was chosen from, which nobody reads in a dialogue; not stored of any other turn.
    convincing: Convincing | None = Field(default=None, exclude_if=not_)

    @property
    def sure_text(self) -> str:
        """What readers read: of a turn that was cut without a number at its end, since "12" may have become "125"."""
        return self.text if self.finished else CUT_NUMBER.sub("", self.text)

    @property
    def own_text(self) -> str:
        """As the party itself reads and learns it: with its reasoning, in the usual tags, where that is kept."""
        return f"<think>\n{self.reasoning}\n</think>\n\n{self.text}" if self.keeps_reasoning else self.text


class Candidate(Record):
    """A turn that a convincing partner might have said, and what its judge privately answered after it ('': none)."""

    turn: Turn
    answers: tuple[str, ...]


class Convincing(Record):
    """The candidates for a convincing partner's turn, the one that it said among them.

    `claim` is the answer that it argues for, '' where it is unsure; `before` is what the judge answered before any of
    them. Scores and shares follow from these (pipeline/judging/convinced.py).
    """

    claim: str
    before: tuple[str, ...]
    candidates: tuple[Candidate, ...] = Field(min_length=1)


def aloud(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns without what was reasoned before them, or might have been said: what anybody else may read of them."""
    unsaid = {"reasoning": "", "keeps_reasoning": False, "convincing": None}
    return tuple(turn.model_copy(update=unsaid) for turn in turns)


class Belief(Record):
    """A party's private answer: the mode of K samples off the transcript; '' when its share < 0.5 (unsure)."""

    answer: str
    share: float
    k: int

    @property
    def unread(self) -> bool:
        """Most samples hold no answer that could be read: the belief is missing, which is not the same as unsure."""
        return not self.answer and self.share >= 0.5


def digest(*parts: Any, length: int = 16) -> str:
    """A short hexadecimal hash of JSON-able parts, equal on every machine."""
    return digest_of(json_of(parts), length)


def json_of(part: Any) -> str:
    """The text of a JSON-able part that `digest` hashes."""
    return _JSON.encode(part)


def digest_of(text: str, length: int = 16) -> str:
    """The digest of parts whose text is known: `[part, part]`."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


_JSON = json.JSONEncoder(check_circular=False, sort_keys=True, ensure_ascii=False, default=str)


_NUMBER = r"\d+(?:[.,]\d+)*"
# Letters of any script, and numbers. Among letters a to z one of another script alone is a sign.
_WORDS = rf"[a-z]+|(?<![a-z])[^\W\d_a-z]{{2,}}(?![a-z])|{_NUMBER}"
# In short questions, which may be bare sums, the signs between and before numbers, and before a bracket.
_SIGNS = (
    r"|(?<=[\d)])\s*[+*-]\s*(?=[\d(])|(?<=[\d)])\s*/\s*(?=\()|(?<=[\d)])\s+/\s+(?=\d)"
    r"|(?<=\d)\s+[+*/-]\s+(?=\$\d)|(?<=\b[a-z])\s*[+*/-]\s*(?=\d)|(?<![\w)$])-(?=\d)"
)
ONE_SIGN = str.maketrans("−–×÷", "--*/")
SHORT = 12  # words


def question_hash(question: str) -> str:
    """Equal for questions that differ only in case, spacing or punctuation; splits are made on it.

    Signs count in questions of at most twelve words alone, next to numbers.
    """
    text = question.lower() if question.isascii() else unicodedata.normalize("NFC", question.lower())
    letters = _WORDS if re.search("[a-z]", text) else rf"{_NUMBER}|(?:[^\W\d_]|[{_marks()}])+"
    words = re.findall(letters, text)
    if len(words) <= SHORT:
        words = [part.strip() for part in re.findall(letters + _SIGNS, text.translate(ONE_SIGN))]
    return digest(" ".join(words))


@cache
def _marks() -> str:
    """Accents and vowel signs, which are parts of words and no letters to `re`."""
    return "".join(each for each in map(chr, range(0x300, 0x10000)) if unicodedata.category(each)[0] == "M")
