"""What a challenger that holds a document is asked for, and what of its reply is believed: what can be checked.

After SPICE (arXiv 2510.24684): who poses holds a document, who reasons does not. Here the gold answer of a
task is never what the challenger claims. It is *quoted*, a span of the evidence that is a span of the
document, or *computed*, the value of an expression over numbers of the evidence. Everything else is Refused.
What no rule can check is whether the question means what the gold answers: a task that nobody solves is left
out by a condition's `pass_rate`.

    maieutic pose configs/posed_qwen3_0.6b.yaml DOCUMENTS
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from pipeline.core.schema import Fact, Message, Task
from pipeline.posing.documents import Document
from pipeline.posing.evidence import Refused, cited, numbers_in
from pipeline.posing.labelled_lines import Claim, claimed
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.reading.acts import given
from pipeline.reading.numbers.arithmetic import Computed, NotArithmetic, evaluate, written
from pipeline.reading.numbers.equality import equal, number
from pipeline.reading.numbers.whole_words import stands
from pipeline.reading.sentences import content_words
from pipeline.tasks.parsing import wrong_answer
from pipeline.tasks.split import split_of

LONGEST_ANSWER = 60  # characters: a student has to say the same words

KINDS = ("computed", "quoted")  # of gold, each with a template of its own
# The student has no text, and to name one tells it that something is missing.
_NAMES_A_TEXT = re.compile(
    r"\b(?:the|this|that|these|given|provided|above|following) (?:\w+ )?"
    r"(?:texts?|documents?|passages?|articles?|excerpts?|paragraphs?|evidence)\b(?! messages?\b)"
    r"|\b(?:mentioned|described|stated|given|listed) (?:above|here)\b|\baccording to the (?:author|sentences?)\b",
    re.I,
)


class Gold(NamedTuple):
    """An answer that the document itself gives, `quoted` from it or `computed` from its numbers."""

    answer: str
    kind: Literal["quoted", "computed"]
    used: frozenset[Fraction] = frozenset()  # numbers of the expression
    solution: str = ""


def ask(document: Document, attempt: int, prompts: Prompts = CLOSED_PROMPTS) -> list[Message]:
    """The messages of an attempt, worked examples among them where the prompts have some."""
    briefing = prompts.brief((f"challenger/{kind_of(attempt)}",), {"text": document.text})
    system: list[Message] = [{"role": "system", "content": briefing.system}] if briefing.system else []
    return [*system, *briefing.demonstrations, {"role": "user", "content": briefing.opening}]


def kind_of(attempt: int) -> str:
    """Attempts ask for either kind of gold in turn."""
    return KINDS[attempt % len(KINDS)]


def task_of(name: str, reply: str, document: Document) -> Task:
    """The underspecified task that a reply poses; its facts are the document's sentences that hold the evidence.

    Raises Refused.
    """
    claim = claimed(reply)
    question, sentences = claim.question, cited(claim.evidence, document.sentences())
    gold = _gold(claim, set[Fraction]().union(*map(numbers_in, sentences)))
    check_question(question, sentences, gold)
    whole = " ".join([*sentences, question])
    facts = [
        Fact(id=f"e{i}", text=text, public=False, needed=gold.kind == "quoted" or bool(gold.used & numbers_in(text)))
        for i, text in enumerate(sentences)
    ]
    return Task(
        id=f"posed-{name}",
        source="posed",
        specification="underspecified",
        question=question,
        full_question=whole,
        facts=tuple(facts),
        answer=gold.answer,
        solution=gold.solution,
        wrong_answer=wrong_answer(gold.answer, whole),
        kind=gold.kind,
        split=split_of(whole),
    )


def _gold(claim: Claim, told: set[Fraction]) -> Gold:
    """`told` are the numbers of whole sentences: a span may cut one short ("twenty" of "twenty five")."""
    computed = _computed(claim.expression) if claim.expression else None
    if computed is None or not computed.operations:  # a number alone is quoted, or it is nothing
        if computed and claim.answer and not equal(claim.answer, claim.expression):
            raise Refused("answer_is_not_the_value", f"{claim.answer!r} is claimed beside {claim.expression!r}")
        answer = (claim.answer or claim.expression).strip(" ,;:\"'").rstrip(" .,;:\"'")  # ".5" begins with its stop
        if len(answer) > LONGEST_ANSWER:
            raise Refused("answer_too_long", f"{answer!r} has {len(answer)} characters, at most {LONGEST_ANSWER}")
        if not answer or not any(stands(answer, span) for span in claim.evidence) or not numbers_in(answer) <= told:
            raise Refused("answer_not_in_evidence", f"{answer!r} does not stand in the evidence word for word")
        return Gold(answer, "quoted")
    standing = set[Fraction]().union(*map(numbers_in, claim.evidence)) & told
    if foreign := [number for number in computed.numbers if number not in standing]:
        raise Refused("number_not_in_evidence", f"{foreign[0]} of {claim.expression!r} stands in no evidence")
    try:
        answer = written(computed.value)
    except NotArithmetic as error:
        raise Refused("not_arithmetic", f"{claim.expression!r}: {error}") from None
    if claim.answer and not equal(claim.answer, answer):
        raise Refused("answer_is_not_the_value", f"{claim.answer!r} is claimed, {claim.expression!r} is {answer}")
    return Gold(answer, "computed", frozenset(computed.numbers), f"{claim.expression} = {answer}")


def _computed(expression: str) -> Computed:
    try:
        return evaluate(expression)
    except NotArithmetic as error:
        raise Refused("not_arithmetic", str(error)) from None


def check_question(question: str, sentences: list[str], gold: Gold) -> None:
    """Raises Refused where a question gives away what is to be found, or cannot be understood without a text."""
    if named := _NAMES_A_TEXT.search(question):
        raise Refused("question_names_a_text", f"{named[0]!r}: the student has no text")
    value = numbers_in(gold.answer) if number(gold.answer) is not None else set[Fraction]()
    if value & numbers_in(question) or stands(gold.answer.casefold(), question.casefold()):
        raise Refused("question_states_answer", f"the question states {gold.answer!r} itself")
    if told := sorted(gold.used & numbers_in(question)):
        raise Refused("question_tells_evidence", f"the question states {told[0]}, a number of the evidence")
    others = [Fact(id="e", text=text) for text in sentences if not stands(gold.answer, text)]
    if gold.kind == "quoted" and (told_facts := [f for f in others if given(question.rstrip("?") + ".", [f])]):
        raise Refused("question_tells_evidence", f"the question tells {told_facts[0].text!r} itself")
    if not content_words(question) & content_words(" ".join(sentences)):
        raise Refused("question_unrelated", "the question shares no word with its evidence")
