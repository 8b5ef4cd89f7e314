"""Who knows what: the independent variable on one screen.

Partitions are rows of data: `pipeline.knowledge.known` reads the row, and a party is shown nothing else. A new
partition is a new row here. A new kind of knowledge is a new `Item` here, which says what follows from holding it:
every disclosure, check and card asks the row, and none lists kinds. Where it is no fact, `pipeline.knowledge.briefing`
says how it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.core.schema import Fact, Task


def _withheld(task: Task) -> tuple[Fact, ...]:
    return tuple(fact for fact in task.facts if not fact.public)


@dataclass(frozen=True, eq=False)
class Item:
    """A kind of knowledge: what of a task it is, and what follows from holding it."""

    says: str
    facts: Callable[[Task], tuple[Fact, ...]] | None = None  # that the question does not state, and its holder can tell
    all_facts: bool = False  # with the public ones, every fact of the task
    fields: tuple[str, ...] = ()  # of the task besides its facts, that it is
    gives_answer: bool = False  # who holds it knows the gold answer


PUBLIC = Item("the question as posed")
SHARE = Item("its own share of the facts")
WITHHELD = Item("the facts that the question lacks", facts=_withheld, all_facts=True)
ANSWER = Item("the gold answer", fields=("answer",), gives_answer=True)
SOLUTION = Item("the full problem and a worked solution", fields=("solution", "steps"), gives_answer=True)
VERDICT = Item("whether the student's latest attempt is right")
WHERE = Item("which step of the first solution is the first wrong one", fields=("draft.where",))
WHAT = Item("what is wrong there", fields=("draft.what",))
WRONG_KEY = Item("a wrong answer that it believes", fields=("wrong_answer",))
PARTNER_VIEW = Item("what the partner knows")
ITEMS = [kind for kind in vars().values() if isinstance(kind, Item)]  # in this order
Items = frozenset[Item]


class Partition(NamedTuple):
    """One row. Its properties say what follows for the partner; all are False where there is none."""

    student: Items
    partner: Items | None  # None: there is no partner
    one_writer: bool = False  # one model writes both sides

    @property
    def holds_private(self) -> bool:
        """It knows something besides the question."""
        return bool((self.partner or frozenset()) - {PUBLIC})

    @property
    def holds_withheld(self) -> bool:
        """It knows facts that the question does not state."""
        return any(item.facts for item in self.partner or ())

    @property
    def holds_facts(self) -> bool:
        """It has facts of its own to tell, withheld ones or its share."""
        return self.holds_withheld or SHARE in (self.partner or ())

    @property
    def holds_only_facts(self) -> bool:
        """Besides the question it knows withheld facts and nothing else."""
        return self.holds_withheld and all(item.facts for item in (self.partner or frozenset()) - {PUBLIC})

    @property
    def holds_all_facts(self) -> bool:
        return any(item.all_facts for item in self.partner or ())

    @property
    def holds_answer(self) -> bool:
        """It knows the gold answer, or a solution that ends in it."""
        return any(item.gives_answer for item in self.partner or ())

    @property
    def holds_solution(self) -> bool:
        return SOLUTION in (self.partner or ())

    @property
    def believes_false_key(self) -> bool:
        return WRONG_KEY in (self.partner or ())

    @property
    def tells_verdicts(self) -> bool:
        return VERDICT in (self.partner or ())

    @property
    def tells_mistakes(self) -> bool:
        """It knows where a first solution, which stands in the question, goes wrong."""
        return WHERE in (self.partner or ())

    @property
    def deals_shares(self) -> bool:
        """Each party has its own share of the question."""
        return SHARE in self.student

    @property
    def student_reads_partner(self) -> bool:
        """The student knows what the partner knows."""
        return PARTNER_VIEW in self.student

    @property
    def informs(self) -> bool:
        """The partner knows anything that the student does not."""
        if self.student_reads_partner:
            return False
        return bool((self.partner or frozenset()) - self.student) or self.deals_shares


def _row(student: set[Item], partner: set[Item] | None, one_writer: bool = False) -> Partition:
    return Partition(frozenset(student), None if partner is None else frozenset(partner), one_writer)


PARTITIONS = {
    #                     the student knows        the partner knows
    "solo":           _row({PUBLIC},               None),
    "symmetric":      _row({PUBLIC},               {PUBLIC}),
    "verifier":       _row({PUBLIC},               {PUBLIC, VERDICT}),
    "verifier_where": _row({PUBLIC},               {PUBLIC, VERDICT, WHERE}),
    "verifier_what":  _row({PUBLIC},               {PUBLIC, VERDICT, WHERE, WHAT}),
    "answer":         _row({PUBLIC},               {PUBLIC, ANSWER}),
    "key":            _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "facts":          _row({PUBLIC},               {PUBLIC, WITHHELD}),
    "jigsaw":         _row({SHARE},                {SHARE}),
    "misled":         _row({PUBLIC},               {PUBLIC, WRONG_KEY}),
    "mindreader":     _row({PUBLIC, PARTNER_VIEW}, {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "script":         _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}, one_writer=True),
}  # fmt: skip
