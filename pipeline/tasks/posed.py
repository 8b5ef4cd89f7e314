"""Tasks as records: a JSON Lines file of `pipeline.core.schema.Task`, posed by a challenger or written by hand.

A record is `full`, or `underspecified` with needed facts that are not public. Of every underspecified one
there is a full twin too, whose question states it all, unless the file holds that itself. The split is by
the full question, as in the other sources, and the source is this one, whatever the record says; docs/posed.md has an
example.

    maieutic pose configs/posed_qwen3_0.6b.yaml DOCUMENTS     # writes such a file
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from pipeline.core.explained import explain
from pipeline.core.schema import Specification, Task, question_hash
from pipeline.reading.numbers.equality import equal
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.numbers.whole_words import stands
from pipeline.reading.sentences import sentences
from pipeline.tasks.parsing import BadRow, RowError, json_lines, local_file, parse, text_of, wrong_answer
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source
from pipeline.tasks.split import split_of

WHAT = (
    "a JSON Lines file of tasks (id, source, specification, question, full_question, facts, answer), such as "
    "`maieutic pose` writes"
)
HAS: tuple[Specification, ...] = ("full", "underspecified")


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """The tasks of the file, then the full twins that it lacks. Raises ConfigError where there is no file."""
    ids, posed, answers = set[str](), set[tuple[str, str, str]](), dict[str, str]()

    def make(row: dict[str, Any]) -> Task:
        made = task(row)
        whole = question_hash(made.full_question)
        place = made.specification, question_hash(made.question), whole
        if made.id in ids:
            raise RowError(f"the id {made.id!r} stands in an earlier row")
        if not equal(answers.get(whole, made.answer), made.answer):
            raise RowError(f"the same full question stands in an earlier row, with another answer ({answers[whole]!r})")
        if place in posed:
            raise RowError("the same question stands in an earlier row")
        ids.add(made.id)
        posed.add(place)
        answers.setdefault(whole, made.answer)
        return made

    tasks, bad = parse(json_lines(local_file(settings, WHAT)), make)
    there = {question_hash(task.full_question) for task in tasks if task.specification == "full"}
    twins = dict[str, Task]()
    for each in tasks:
        name = question_hash(each.full_question)
        twins.setdefault(name, each.told_at_once(f"posed-{name}-full"))
    return tasks + [twin for whole, twin in twins.items() if whole not in there], bad


def task(row: dict[str, Any]) -> Task:
    """One record, with the split of its full question. Raises RowError."""
    for key in ("id", "question", "full_question", "answer"):
        text_of(row, key)
    try:
        made = Task.model_validate(row)
    except ValidationError as error:
        raise RowError(explain(Task, error.errors()[0])) from None
    if made.specification not in HAS:
        raise RowError(f"specification: {made.specification!r}, expected one of {', '.join(HAS)}")
    alike = question_hash(made.question) == question_hash(made.full_question)
    if alike != (made.specification == "full"):
        raise RowError(
            f"specification: {made.specification!r}, and question and full_question are "
            f"{'alike' if alike else 'unlike'}. Of a full task they are alike; of an underspecified one the question "
            "lacks what its withheld facts tell"
        )
    texts = {fact.id: _plain(fact.text) for fact in made.missing}
    if told := [id for id, text in texts.items() if text and stands(text, _plain(made.question))]:
        raise RowError(f"facts: the question states {told[0]!r} itself, which is withheld. Leave it out of `question`")
    stated = _numbers(made.full_question)
    for fact in made.missing:
        if lost := _numbers(fact.text) - stated:
            listed = ", ".join(map(str, sorted(lost)))
            raise RowError(
                f"full_question: it lacks {listed}, which the withheld fact {fact.id!r} tells. State it there"
            )
    if made.tests is not None:
        raise RowError("tests: tasks of posed have none, so that no program is run. Use the source code for programs")
    if equal(made.wrong_answer, made.answer):
        raise RowError(f"wrong_answer: {made.wrong_answer!r} is the answer; leave it out, or give another one")
    wrong = made.wrong_answer or wrong_answer(made.answer, made.full_question)
    own = {"source": SOURCE.name, "split": split_of(made.full_question), "wrong_answer": wrong}
    return made.model_copy(update=own)


def _numbers(text: str) -> set[Fraction]:
    """Sentence by sentence, since "40. Half of them" is no number."""
    return set[Fraction]().union(*map(numbers, sentences(text)))


def _plain(text: str) -> str:
    """Whatever its white space, its case and the full stop at its end."""
    return " ".join(text.split()).rstrip(".").casefold()


SOURCE = Source(
    "posed",
    HAS,
    read=read,
    licence=Licence(
        "other",
        "Problems are those of the user's own file of tasks. Where `maieutic pose` made it, a language model posed "
        "them about the user's documents, and their facts quote those documents: the rights in the documents hold in "
        "these rows too. Pass them on only as the documents' licences allow, name the documents, and put their "
        "licence here.",
    ),
    has_facts=True,
    has_steps=True,
)
