"""Who knows what: the independent variable on one screen.

Partitions are rows of data: `pipeline.knowledge.known` reads the row, and a party is shown nothing else. A new
partition is a new row here. A new kind of knowledge is a new `Item` here, which says what follows from holding it:
every disclosure, check and card asks the row, and none lists kinds. Where it is no fact, `pipeline.knowledge.briefing`
says how it is told. Both may stand in a file outside the repository, where an item has `facts`: `partition: my.py:ROW`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from pipeline.core.errors import ConfigError
from pipeline.core.plugins import failing_as, is_address, load_object
from pipeline.core.schema import Fact, Party, Task


def _withheld(task: Task) -> tuple[Fact, ...]:
    return tuple(fact for fact in task.facts if not fact.public)


@dataclass(frozen=True, eq=False)
class Item:
    """A kind of knowledge: what of a task it is, and what follows from holding it.

    `facts` are told, asked for and checked as the task's own: whatever can be said in sentences can be one of them.
    """

    says: str
    # That the question does not state, and its holder can tell: of the task, or made of its `fields`.
    facts: Callable[[Task], tuple[Fact, ...]] | None = None
    all_facts: bool = False  # with the public ones, every fact of the task
    fields: tuple[str, ...] = ()  # of the task besides its facts, that it is or is made of
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
BELIEF = Item("an answer that it believes, right on half of the tasks", fields=("answer", "wrong_answer"))
PARTNER_VIEW = Item("what the partner knows")
PARTNERS_ALONE = {ANSWER, SOLUTION, VERDICT, WHERE, WHAT, WRONG_KEY, BELIEF}  # no student is shown these
ITEMS = [kind for kind in vars().values() if isinstance(kind, Item)]  # in this order
Items = frozenset[Item]


@lru_cache  # of the few rows that there are, and asked for several times a dialogue
def in_order(items: Items) -> tuple[Item, ...]:
    """As ITEMS has them; those of a file outside the repository behind them, by what they say."""
    others = sorted(items.difference(ITEMS), key=lambda item: item.says)
    return (*(item for item in ITEMS if item in items), *others)


class Partition(NamedTuple):
    """One row. Its properties say what follows for the partner; all are False where there is none."""

    student: Items
    partner: Items | None  # None: there is no partner
    one_writer: bool = False  # one model writes both sides

    def items(self, party: Party) -> Items:
        """What a party knows; nothing where there is none."""
        return self.student if party == "student" else self.partner or frozenset()

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
        """Besides the question it knows facts that the question lacks and nothing else."""
        own = (self.partner or frozenset()) - {PUBLIC}
        return self.holds_withheld and all(item.facts and not item.fields for item in own)

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
    def believes_key(self) -> bool:
        """It is sure of an answer that may be wrong, and says it."""
        return bool({WRONG_KEY, BELIEF} & (self.partner or frozenset()))

    @property
    def tells_verdicts(self) -> bool:
        """It is told whether the student's latest attempt is right."""
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
    "fallible":       _row({PUBLIC},               {PUBLIC, BELIEF}),
    "mindreader":     _row({PUBLIC, PARTNER_VIEW}, {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "script":         _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}, one_writer=True),
}  # fmt: skip


def find_partition(name: str) -> Partition:
    """A row of PARTITIONS, or one in a file: `my.py:ROW`. Raises ConfigError where there is none that can be shown."""
    if name in PARTITIONS:  # first: it is asked for many times a turn
        return PARTITIONS[name]
    if not is_address(name):
        raise ConfigError(
            f"{name!r} is not a partition. Known: {', '.join(PARTITIONS)}; one of your own is named by its file, as in "
            "my.py:ROW"
        )
    return _outside(name)


def partitions(which: Callable[[Partition], bool]) -> str:
    """The names of those rows of PARTITIONS, as messages list them."""
    return ", ".join(name for name, row in PARTITIONS.items() if which(row))


@lru_cache
def _outside(address: str) -> Partition:
    row = load_object(address, Partition)
    for item in in_order(row.student | (row.partner or frozenset())):
        if item not in ITEMS and item.facts is None:
            raise ConfigError(
                f"{address!r}: Item({item.says!r}) has no facts, so no party would be shown it. Give it facts, a "
                "function from a task to what its holder is told in sentences, or use an item of "
                "pipeline.knowledge.partition"
            )
    if hidden := [item for item in in_order(row.student) if item in PARTNERS_ALONE]:
        raise ConfigError(
            f"{address!r}: the student's row has Item({hidden[0].says!r}), which no student is shown. Give it to the "
            "partner, or have the student read what the partner knows: PARTNER_VIEW"
        )
    own = {item: _guarded(item, address) for item in row.student | (row.partner or frozenset()) if item not in ITEMS}
    partner = None if row.partner is None else frozenset(own.get(item, item) for item in row.partner)
    return row._replace(student=frozenset(own.get(item, item) for item in row.student), partner=partner)


def _guarded(item: Item, address: str) -> Item:
    """The same, whose facts are held against their type, and name the file where they fail. Raises ConfigError."""
    if unknown := [field for field in item.fields if field.partition(".")[0] not in Task.model_fields]:
        raise ConfigError(
            f"{address!r}: Item({item.says!r}) is made of {unknown[0]!r}, which is no field of a task. Known: "
            f"{', '.join(Task.model_fields)}"
        )

    def facts(task: Task) -> tuple[Fact, ...]:
        assert item.facts is not None  # refused above
        with failing_as("partition", address):
            made = item.facts(task)
            there = made if isinstance(made, str) else tuple(made)  # of a text each letter would be one
            if isinstance(there, str) or not all(isinstance(fact, Fact) for fact in there):
                raise TypeError(f"the facts of Item({item.says!r}) are {there!r}, expected a tuple of Fact")
            return there

    return replace(item, facts=facts)
