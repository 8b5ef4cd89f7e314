"""What metrics rest on is measured with the rules that are added to a reader, and by the turns that they count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evals.readers.turns.as_measured import Found, as_measured, missing
from evals.readers.turns.turns_file import LabelledRow, StudentLabels, read_turns
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Turn
from pipeline.reading.protocol import TurnToRead, Unread
from pipeline.tasks.lookup.lookup_tasks import make_task
from tests.shown import ROOT

NOTHING = StudentLabels(
    asks=(),
    generic_request=False,
    repeats_question=False,
    other_question=False,
    says_missing=False,
    attempt=None,
    tentative=False,
    done=False,
    stance="none",
)


class Repeats:
    """Says of each turn with a question mark that it repeats the problem's question, and nothing else."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [StudentReading(repeats_question="?" in turn.text) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return []


def row(id: str, text: str, asks: tuple[str, ...], public: bool = False, before: tuple[Turn, ...] = ()) -> LabelledRow:
    facts = (Fact(id="f0", text="The drill is with Ida.", public=public), Fact(id="d0", text="It rains.", needed=False))
    return LabelledRow(
        id=id,
        kind="student",
        source="lookup",
        task_id=id,
        question="Who has the drill?",
        facts=facts,
        answer="Ida",
        before=before,
        text=text,
        labels=NOTHING.model_copy(update={"asks": asks}),
    )


def test_a_repeat_asks_for_the_one_needed_fact_and_false_finds_are_counted() -> None:
    talk = (Turn(party="student", text="Hm."), Turn(party="partner", text="Go on."))
    rows = [
        row("a", "Who has the drill?", ("f0",)),
        row("b", "What do you think?", (), before=talk),
        row("c", "Who has it?", ("f0",), public=True),
        row("d", "Tell me who has it.", ("f0",)),
    ]
    found = as_measured(rows, "own", Repeats())
    assert found["a missing fact, all turns"] == Found(2, 1, 1)
    assert found["a missing fact, first turns"] == Found(2, 1, 0)
    assert found["any fact, all turns"] == Found(3, 2, 1)
    assert found["any fact, first turns"] == Found(3, 2, 0)


def test_the_labelled_look_ups_say_which_facts_are_needed_as_their_tasks_do() -> None:
    for each in read_turns(Path(ROOT / "docs/results/lookup_turns.jsonl")):
        _, seed, specification = each.task_id.split("-")
        task = make_task(int(seed), specification)  # type: ignore[arg-type]
        assert (each.question, missing(each)) == (task.question, {fact.id for fact in task.missing})
