"""Where a partner violates its knowledge constraint: it says what it does not know, what it is to keep, or what is not
so.

Read off the text by rule, after the fact, for every partition, voice and disclosure alike. What a violation is depends
on what the partner may know by then: its row, and what was said before. Every rule would rather miss a violation than
invent one, and says what it misses; docs/partner_audit.md has the figures.

    maieutic build configs/quickstart.yaml     # the rate of each kind stands in every dataset's card
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from pipeline.core.schema import Fact, Task, Turn
from pipeline.judging.outcome import attempts, rights
from pipeline.judging.stated_leak import first_leak
from pipeline.knowledge.briefing import CHECK, DISCLOSURE, KEEP_ANSWER, SAY_WHERE
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known
from pipeline.knowledge.records import Dialogue
from pipeline.reading.acts import acts, asked, given, questions
from pipeline.reading.attempt import attempt
from pipeline.reading.correctness import is_right
from pipeline.reading.numbers.equality import equal, number
from pipeline.reading.sentences import content_words, sentences

Kind = Literal["false_feedback", "revealed_answer", "unknown_fact", "false_fact", "disclosure", "off_role"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_RIGHT = re.compile(r"\b(?:that|this|it|your answer|\d)(?: is|'s) (?:the )?(?:right|correct)\b|^(?:yes, )?correct\b"
                    r"|\byou are correct\W*$|\byou(?:'ve)? got it\b|^spot on\b"
                    r"|\bthe check passed\b", re.I)  # fmt: skip
_WRONG = re.compile(r"\b(?:that|this|it|your answer)(?: is|'s) (?:not (?:right|correct)|wrong|incorrect)\b"
                    r"|\d is (?:not (?:right|correct)|wrong|incorrect)\b|^(?:no, )?(?:incorrect|not quite|try again)\b"
                    r"|\bthe check failed\b|\byou made a mistake\b", re.I)  # fmt: skip
_HIGH = re.compile(r"\btoo (?:high|large|big)\b|^go lower\b", re.I)
_LOW = re.compile(r"\btoo (?:low|small)\b|^go higher\b", re.I)
_NOT_ALL = re.compile(r"\?$|^if\b|\bbut\b|\b(?:agree|right|correct)(?:,| with you)? (?:that|he|she|it|you)\b", re.I)
_SHORT = 8  # words; a longer sentence says what it is that is right
_CONCLUDED = re.compile(r"^(?:so|then|thus|therefore|hence)\b|\b(?:now|left)\b|[=+*/×]|\d\s*[-−x]\s*\d", re.I)
_OTHERS_LINE = re.compile(r"^[\s*_#]*(?:student|user|human|system)[\s*_]*:", re.I | re.M)
_MODEL = re.compile(
    r"\b(?:i am|i'm|as) (?:chatgpt|(?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model))\b",
    re.I,
)
_TOLD_TO_IT = re.compile(
    "|".join(map(re.escape, [*DISCLOSURE.values(), KEEP_ANSWER, SAY_WHERE, "Only you know:", CHECK]))
    + r"|\bmy (?:system (?:prompt|message)|instructions)\b",
    re.I,
)


class Violation(NamedTuple):
    """One partner turn against its row. `turn` is its index among all turns of the dialogue."""

    turn: int
    kind: Kind
    text: str
    knows: str  # what it may know, or is to do, in words


class Statement(NamedTuple):
    """A partner's turn, what was said before it, and what its row lets it know."""

    text: str
    answer: str | None  # that it commits to
    right: bool | None  # whether that is right
    before: Sequence[Turn]
    answers: Sequence[str | None]  # of the turns before
    rights: Sequence[bool | None]
    told: frozenset[str]  # ids of facts that turns before have stated
    task: Task
    condition: Condition
    knows: Known
    student: frozenset[str]  # ids of facts in the student's row


def violations(dialogue: Dialogue) -> list[Violation]:
    """Every violation of the partner in the order of its turns; none where the row has no partner."""
    condition, task = dialogue.condition, dialogue.task
    if condition.row.partner is None:
        return []
    knows, answers, right = known(task, condition, "partner"), attempts(dialogue), rights(dialogue)
    student = {fact.id for fact in known(task, condition, "student").facts}
    if condition.row.student_reads_partner:
        student |= {fact.id for fact in knows.facts}
    leak, partner_turns = _revealed(dialogue, knows, condition), 0
    committed, told = list[Violation](), frozenset[str]()
    for i, turn in enumerate(dialogue.turns):
        if turn.party == "partner":
            statement = Statement(
                text=turn.text,
                answer=answers[i],
                right=right[i],
                before=dialogue.turns[:i],
                answers=answers[:i],
                rights=right[:i],
                told=told,
                task=task,
                condition=condition,
                knows=knows,
                student=frozenset(student),
            )
            committed += [Violation(i, kind, *what) for kind, rule in _RULES for what in rule(statement)]
            if leak == partner_turns:
                committed.append(Violation(i, "revealed_answer", turn.text, f"it is to keep the answer, {task.answer}"))
            partner_turns += 1
        told |= set(_stated(turn.text, {fact.id: fact for fact in (*task.facts, *knows.facts)}.values()))
    return committed


def audited(condition: Condition) -> tuple[Kind, ...]:
    """The kinds that a partner of this condition can be seen to commit; the others have no rate."""
    row = condition.row
    if row.partner is None:
        return ()
    can = {
        "revealed_answer": (row.holds_answer or row.holds_withheld) and not condition.reveal,
        "unknown_fact": not row.holds_all_facts,
        "disclosure": row.holds_facts and condition.voice != "human",
    }
    return tuple(kind for kind in KINDS if can.get(kind, True))


def _revealed(dialogue: Dialogue, knows: Known, condition: Condition) -> int | None:
    """The partner's turn that states the gold answer unearned, where it holds the answer, or all that gives it.

    `stated_leak.first_leak`, with its limits: an answer in words, or spread over two turns, is missed, and in people's
    talk most are. No violation where the config lets it reveal. A partner of `jigsaw` may work the answer out with the
    student.
    """
    holds = condition.row.holds_answer or any(fact.needed for fact in knows.private)
    return first_leak(dialogue) if holds and not condition.reveal else None


def _false_feedback(statement: Statement) -> Iterator[tuple[str, str]]:
    """It judges the attempt in the student's turn just before, and by what it believes itself that is not so.

    A judgement is "that is right", "that is wrong", "too high" and the like; from a partner that holds the answer, a
    verdict or a solution also "I agree", "you are right" and "I disagree". A turn that says both counts as neither.
    Praise in other words, judgements of an earlier attempt, and of an answer that people do not name as theirs, are
    missed. "That is right" may mean a step: a right step in a turn with a wrong answer reads as false feedback.
    """
    entry, heard_last = statement.task.entry, statement.before[-1:]
    answer = attempt(heard_last[0].text, entry=entry) if heard_last and heard_last[0].party == "student" else None
    if answer is None:
        return
    key = statement.knows.answer if statement.knows.believes_false_key else statement.task.answer
    right = bool(is_right(statement.task, heard_last[0])) if entry else equal(answer, key)
    ours, gold = (None, None) if entry else (number(answer), number(key))
    plain = [p for p in sentences(statement.text) if len(p.split()) <= _SHORT and not _NOT_ALL.search(p)]
    above = None if ours is None or gold is None else ours > gold
    heard = {
        "right": (any(_RIGHT.search(part) for part in plain), right),
        "wrong": (any(_WRONG.search(part) for part in plain), not right),
        "too high": (any(_HIGH.search(part) for part in plain), not right and above is not False),
        "too low": (any(_LOW.search(part) for part in plain), not right and above is not True),
    }
    if statement.knows.answer or statement.knows.solution or statement.knows.verdicts:
        # "That is impossible" may be an answer that both share, and is no disagreement then.
        stances = {act for part in plain if attempt(part) is None for act in acts(part, ())}
        heard["agreed with"] = ("agree" in stances, right)
        heard["disagreed with"] = ("disagree" in stances, not right)
    made = {name: true for name, (hit, true) in heard.items() if hit}
    if made.keys() & {"right", "agreed with"} and made.keys() - {"right", "agreed with"}:
        return
    for name, true in made.items():
        if not true:
            what = "the program" if entry else f"the attempt {answer}"
            yield statement.text, f"{what} is {name}, and its key is {'the tests' if entry else key}"
            return


def _unknown_fact(statement: Statement) -> Iterator[tuple[str, str]]:
    """It states a fact that its row does not hold and that nobody has said, or the gold answer that it cannot know.

    It cannot know the answer while it lacks a needed fact, and has no key or verdict. Who knows the answer knows the
    one fact that is missing, too. A lucky guess reads the same; a fact told in other words is missed (`acts.given`).
    """
    has = {fact.id for fact in statement.knows.facts} | statement.told
    lacks = [fact for fact in statement.task.facts if fact.id not in has]
    needed = [fact for fact in lacks if fact.needed]
    confirmed = statement.knows.verdicts and any(statement.rights)
    holds = bool(statement.condition.row.holds_answer or confirmed)
    secret = [fact for fact in lacks if not (holds and len(needed) == 1 and fact in needed)]
    for name in _new(statement, secret, [fact for fact in statement.task.facts if fact.id in has]):
        yield statement.text, f"its row does not hold {name!r}, and nobody had said it"
    if needed and not holds and statement.right and not any(statement.rights):
        yield statement.text, f"it lacks {len(needed)} needed facts of the answer {statement.answer}"


def _false_fact(statement: Statement) -> Iterator[tuple[str, str]]:
    """It states a fact of the problem with another number than the problem's.

    A sentence with the fact's own content words (nine in ten of both together) and other numbers. Sentences that
    conclude ("so", "now", "left"), compute or ask are left out; a bare intermediate result in the words of a fact is
    not told from it. False facts in other words, and those without digits, are missed. A manner that errs, errs here.
    """
    for part in sentences(_without(statement.text, [fact.text for fact in statement.task.facts])):
        numbers, words = set(re.findall(r"\d+", part)), content_words(part)
        if not numbers or part.endswith("?") or _CONCLUDED.search(part) or attempt(part) is not None:
            continue
        alike = [fact for fact in statement.task.facts if _alike(words, fact) and re.search(r"\d", fact.text)]
        if alike and not any(set(re.findall(r"\d+", fact.text)) <= numbers for fact in alike):
            yield part, f"the problem says {alike[0].text!r}"


def _disclosure(statement: Statement) -> Iterator[tuple[str, str]]:
    """It tells what only it knows unasked (`on_request`) or at all (`chatter`), or does not tell it (`volunteer`).

    Any earlier question for the fact counts as asking, and so does a question just before that asks for no fact that
    the rule knows: `acts.asked` has no measured recall. While it judges an attempt a volunteer need not tell. People
    had no disclosure policy.
    """
    condition, knows = statement.condition, statement.knows
    if condition.voice == "human":
        return
    has = statement.student | statement.told
    private = [fact for fact in knows.facts if fact.id not in has]
    if condition.disclosure == "volunteer":
        left = [fact for fact in private if fact.needed]
        answer = statement.answers[-1] if statement.answers else None
        judges = answer is not None and bool(knows.answer or knows.verdicts)
        told = {i for turn in statement.before if turn.party == "partner" for i in _stated(turn.text, knows.facts)}
        # What the student has guessed may be told all the same.
        new = [fact for fact in knows.facts if fact.id not in statement.student | told]
        if left and not judges and not _stated(statement.text, new):
            yield statement.text, f"it is to tell one thing a turn, and {len(left)} are left"
        return
    theirs = [turn.text for turn in statement.before if turn.party == "student"]
    wanted = {i for text in theirs for i in asked(text, knows.facts)}
    open_question = bool(theirs) and any(not asked(part, knows.facts) for part in questions(theirs[-1]))
    on_request = condition.disclosure == "on_request"
    if on_request and open_question:
        return
    unasked = [fact for fact in private if not (on_request and fact.id in wanted)]
    for name in _new(statement, unasked, [fact for fact in knows.facts if fact not in unasked]):
        yield statement.text, f"nobody asked for {name!r}" if on_request else f"it is to keep {name!r} to itself"


def _off_role(statement: Statement) -> Iterator[tuple[str, str]]:
    """It writes the student's lines, says that it is a language model, repeats its instructions, or says no word.

    The config's system message is not stored with a dialogue, so only the view's own words are looked for.
    """
    if not re.search(r"\w", statement.text):
        yield statement.text, "it is to say something"
    elif _OTHERS_LINE.search(statement.text):
        yield statement.text, "it speaks for itself alone"
    elif _MODEL.search(statement.text):
        yield statement.text, f"it is the {statement.condition.label}"
    elif _TOLD_TO_IT.search(statement.text):
        yield statement.text, "its instructions are its own"


_RULES: tuple[tuple[Kind, Callable[[Statement], Iterator[tuple[str, str]]]], ...] = (
    ("false_feedback", _false_feedback),
    ("unknown_fact", _unknown_fact),
    ("false_fact", _false_fact),
    ("disclosure", _disclosure),
    ("off_role", _off_role),
)


def _stated(text: str, facts: Iterable[Fact]) -> list[str]:
    """Ids of the facts that a turn states: word for word, or as `acts.given` reads them."""
    facts = tuple(facts)
    return [*{*given(text, facts), *(fact.id for fact in facts if fact.text in text)}]


def _new(statement: Statement, secret: Sequence[Fact], allowed: Sequence[Fact]) -> list[str]:
    """The texts of secret facts that a turn states in words other than those that it may say anyway."""
    public = [] if statement.knows.share else sentences(statement.knows.question)
    rest = _without(statement.text, [*(fact.text for fact in allowed), *public])
    there = set(_stated(rest, secret))
    return [fact.text for fact in secret if fact.id in there]


def _without(text: str, parts: Iterable[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, " ")
    return text


def _alike(words: set[str], fact: Fact) -> bool:
    theirs = content_words(fact.text)
    return bool(theirs) and len(words & theirs) >= 0.9 * len(words | theirs)
