"""Posing: attempts in = tasks + refusals, whatever is killed or fails; and no document reaches a student."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyarrow import parquet

from pipeline.building.build import build
from pipeline.building.make_missing import Counts
from pipeline.core.errors import ConfigError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Message, Task, question_hash
from pipeline.datasets.export import export
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.posing.challenge import task_of
from pipeline.posing.documents import Document, load_documents
from pipeline.posing.labelled_lines import Claim
from pipeline.posing.pose import MAX_TOKENS, Attempt, attempts_at, challenger_id, pose
from pipeline.posing.replies import Refusal, Reply, refusals_path, replies_path
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import TurnToRead, Unread
from pipeline.runs.store import read
from pipeline.tasks import posed as source
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel

TREES = "oak elm ash fir yew bay fig box tea gum".split()
UNSAID = "Xylophones stay in the cellar."


def hall(i: int) -> Document:
    name = TREES[i].title()
    return Document(TREES[i], f"{name} hall has {i + 12} doors.\nEach door of {name} hall has {i + 40} locks. {UNSAID}")


class Challenger(FakeModel):
    """Poses one good task and one false claim of each hall; the last two halls are asked about in the same words."""

    def __init__(self, fails: type[Exception] | None = None):
        self.fails, self.asked = fails, list[str]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        await asyncio.sleep(0)
        said = messages[0]["content"]
        self.asked.append(said)
        if self.fails and len(self.asked) % 3 == 0:
            raise self.fails("not now")
        name = said.split()[0]
        i = TREES.index(name.lower())
        evidence = [f"{name} hall has {i + 12} doors.", f"Each door of {name} hall has {i + 40} locks."]
        claim = Claim(tuple(evidence), f"How many locks are in {name} hall?", answer="7")
        if "expression" in said:
            claim = claim._replace(expression=f"{i + 12} * {i + 40}", answer=str((i + 12) * (i + 40)))
            claim = claim._replace(question="How many locks are in the hall?") if i > 7 else claim
        return Completion(f"Here:\n{claim.text}\nFine?", tokens=9, prompt_tokens=9)


WANTED = list(attempts_at([hall(i) for i in range(10)], 2, "weights", 1.0))


def posed(tasks: Path, model: Challenger, wanted: list[Attempt] = WANTED, bad: tuple[BadRow, ...] = ()) -> Counts:
    return asyncio.run(pose(model, wanted, bad, tasks, 1.0, 4))


def stored(tasks: Path) -> tuple[list[Task], list[Refusal]]:
    return list(read(tasks, Task)), list(read(refusals_path(tasks), Refusal))


def test_every_attempt_ends_as_a_task_or_as_a_refusal_with_its_whole_reply(tmp_path: Path):
    counts = posed(tmp_path / "tasks.jsonl", Challenger())
    tasks, refusals = stored(tmp_path / "tasks.jsonl")
    assert counts == (len(tasks), len(refusals), 0) == (9, 11, 0)
    assert {task.id for task in tasks} | {f"posed-{refusal.id}" for refusal in refusals} == {
        f"posed-{attempt.id}" for attempt in WANTED
    }
    assert Counter(refusal.kind for refusal in refusals) == {"answer_not_in_evidence": 10, "duplicate": 1}
    assert all(refusal.said.startswith("Here:") and refusal.message for refusal in refusals)
    replies = list(read(replies_path(tmp_path / "tasks.jsonl"), Reply))
    documents = {attempt.id: attempt.document for attempt in WANTED}
    assert [task_of(reply.id, reply.said, documents[reply.id]) for reply in replies] == tasks
    assert "7" not in {task.answer for task in tasks}  # the claim that nothing bears out
    read_back, bad = source.read(Tasks(source="posed", path=str(tmp_path / "tasks.jsonl")))
    assert bad == [] and Counter(task.specification for task in read_back) == {"underspecified": 9, "full": 9}
    assert [task for task in read_back if task.specification == "underspecified"] == tasks


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.37, 0.5, 0.83, 1.0])
def test_posing_that_was_killed_at_any_byte_loses_and_doubles_nothing(tmp_path: Path, cut: float):
    whole, killed = tmp_path / "whole" / "tasks.jsonl", tmp_path / "killed" / "tasks.jsonl"
    posed(whole, Challenger())
    killed.parent.mkdir()
    for ours, theirs in ((whole, killed), (refusals_path(whole), refusals_path(killed))):
        theirs.write_bytes(ours.read_bytes()[: int(cut * ours.stat().st_size)])
    replies_path(killed).write_bytes(replies_path(whole).read_bytes() + b'{"id": "torn')  # written before their tasks
    left = sum(map(len, stored(killed)))
    model = Challenger()
    counts = posed(killed, model)
    assert counts.skipped == left and counts.made + counts.failed == len(model.asked) == len(WANTED) - left
    tasks, refusals = stored(killed)
    ids = [task.id.removeprefix("posed-") for task in tasks] + [refusal.id for refusal in refusals]
    assert sorted(ids) == sorted(attempt.id for attempt in WANTED)
    replies = {reply.id: reply for reply in read(replies_path(killed), Reply)}
    assert set(replies) == {task.id.removeprefix("posed-") for task in tasks}
    assert len({question_hash(task.question) for task in tasks}) == len(tasks) == 9
    assert posed(killed, Challenger()) == (0, 0, len(WANTED))


def test_the_last_task_of_a_hand_written_file_is_kept_without_a_line_end_too(tmp_path: Path):
    tasks = tmp_path / "tasks.jsonl"
    posed(tasks, Challenger(), WANTED[:4])
    before = tasks.read_text(encoding="utf-8")
    tasks.write_text(before.removesuffix("\n"), encoding="utf-8")
    posed(tasks, Challenger(), WANTED[4:])
    assert tasks.read_text(encoding="utf-8").startswith(before)
    tasks.write_text(before + '{"id": "torn', encoding="utf-8")
    posed(tasks, Challenger(), WANTED[4:])
    assert "torn" not in tasks.read_text(encoding="utf-8") and len(stored(tasks)[0]) == 9


def test_what_the_engine_failed_at_is_asked_again_and_what_it_answered_is_not(tmp_path: Path):
    tasks = tmp_path / "tasks.jsonl"
    posed(tasks, Challenger(EngineError))
    failed = [refusal.id for refusal in stored(tasks)[1] if refusal.kind == "engine_error"]
    assert len(failed) == 6
    again = Challenger()
    counts = posed(tasks, again)
    assert len(again.asked) == counts.made + counts.failed == len(failed)
    assert "engine_error" not in {refusal.kind for refusal in stored(tasks)[1]}
    assert sum(map(len, stored(tasks))) == len(WANTED)


def test_a_document_that_does_not_fit_the_context_is_refused_and_stays_so(tmp_path: Path):
    tasks = tmp_path / "tasks.jsonl"
    posed(tasks, Challenger(ContextOverflow))
    assert Counter(refusal.kind for refusal in stored(tasks)[1])["context_overflow"] == 6
    assert posed(tasks, Challenger()).skipped == len(WANTED)


def test_unreadable_documents_are_refusals_once_however_often_the_command_is_given(tmp_path: Path):
    for _ in range(2):
        posed(tmp_path / "tasks.jsonl", Challenger(), [], (BadRow("here/docs.jsonl:3", "not JSON"),))
    (refusal,) = stored(tmp_path / "tasks.jsonl")[1]
    assert (refusal.kind, refusal.document, refusal.attempt) == ("bad_document", "here/docs.jsonl:3", -1)


def test_an_attempts_id_changes_with_document_weights_temperature_and_number():
    ids = [
        attempt.id
        for documents, weights, temperature in (
            ([hall(0)], "a", 1.0), ([hall(1)], "a", 1.0), ([hall(0)], "b", 1.0), ([hall(0)], "a", 0.5),
        )
        for attempt in attempts_at(documents, 3, weights, temperature)
    ]  # fmt: skip
    assert len(set(ids)) == 12 and MAX_TOKENS


def test_who_poses_is_known_by_how_it_is_sampled_too():
    half, most = ({"sampling": {"top_p": top_p}} for top_p in (0.5, 0.9))
    own: list[dict[str, object]] = [{}, half, most, {"thinking": "drop"}, {"adapter": "an/adapter"}]
    names = [challenger_id(small_experiment(challenger={"model": "x/y", **each})) for each in own]
    assert names[0] == "x/y" and len(set(names)) == len(own)


# What reads documents


def test_documents_are_lines_or_text_files_and_what_is_none_is_a_bad_row(tmp_path: Path):
    lines = tmp_path / "docs.jsonl"
    rows = [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}, {"id": "b", "text": "One. "}, {"id": "c"}, 7]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n")
    documents, bad = load_documents(lines)
    assert documents == [Document("a", "One.")]
    assert [row.where.rpartition(":")[2] for row in bad] == ["2", "3", "4", "5", "6"]
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("One.")
    (folder / "b.txt").write_bytes(b"\xff\xfe")
    (folder / "c.txt").write_text(" ")
    (folder / "d.md").write_text("Not this.")
    documents, bad = load_documents(folder)
    assert documents == [Document("a.txt", "One.")]
    assert [Path(row.where).name for row in bad] == ["b.txt", "c.txt"]


@pytest.mark.parametrize("there", [False, True])
def test_nothing_to_read_is_an_error_that_says_what_was_expected(tmp_path: Path, there: bool):
    if there:
        (tmp_path / "docs.jsonl").write_text("7\n")
    with pytest.raises(ConfigError, match=r"DOCUMENTS: .*docs\.jsonl.* Expected a JSON Lines file"):
        load_documents(tmp_path / "docs.jsonl")


def test_sentences_end_at_points_and_blank_lines_and_not_after_abbreviations():
    text = "Dr. A. Holm\ncame on\nNo. 5. He left.\n\nA heading\n\nIt rained. "
    assert Document("a", text).sentences() == ["Dr. A. Holm came on No. 5.", "He left.", "A heading", "It rained."]


# What students read

TASK = task_of("x", asyncio.run(Challenger().complete([{"role": "user", "content": hall(0).text + " expression"}],
                                                      Sampling(9))).text, hall(0))  # fmt: skip
SAID = [fact.text for fact in TASK.missing]


@pytest.mark.parametrize("name", sorted(PARTITIONS))
def test_no_view_holds_more_than_the_evidence_and_no_students_view_that(name: str):
    condition = Condition(partition=name, voice="model" if name == "script" else "rule")
    for party in ("student", "partner"):
        shown = json.dumps(view(TASK, condition, [], party)) if condition.row.partner or party == "student" else ""
        assert UNSAID not in shown
        # By its row the mindreader reads what its partner knows, and a jigsaw's parties have a share each.
        if party == "student" and name not in ("mindreader", "jigsaw"):
            assert not any(text in shown for text in SAID)


class Reluctant(FakeModel):
    """A student that only ever asks, or a partner that tells one sentence of its own."""

    def __init__(self, line: str):
        self.line = line

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        await asyncio.sleep(0)
        return Completion(self.line, tokens=3, prompt_tokens=3)


class Silent:
    """A reader for which turns do nothing."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [StudentReading() for _ in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [PartnerReading() for _ in turns]


@pytest.mark.parametrize("told", [SAID[0], "Who knows?"])
def test_a_training_row_holds_of_the_evidence_what_the_partner_said_and_nothing_else(tmp_path: Path, told: str):
    conditions = {"facts": {"partition": "facts", "voice": "model", "selection": "none"}}
    run = Experiment.model_validate({
        "name": "tiny", "out": str(tmp_path), "seeds": [1], "engine": {"kind": "scripted"}, "conditions": conditions,
        "tasks": {"source": "posed", "path": "posed.jsonl", "train": {"underspecified": 1}},
    })  # fmt: skip
    hears, reads = Instrument("cross_encoder", Silent()), Instrument("semantic", Silent())
    cast = Cast(Reluctant("What do you know?"), Reluctant(told), hears=hears, reads=reads)
    asyncio.run(build(Cell(run, "facts", 1), [TASK], [], cast, lambda: None))
    assert len(list(read(tmp_path / "dialogues" / "facts.jsonl", Dialogue))) == 1
    rows = json.dumps(parquet.read_table(export(run, "facts").path / "train.parquet").to_pylist())
    assert UNSAID not in rows and (SAID[0] in rows) == (told == SAID[0]) and SAID[1] not in rows
    card = (tmp_path / "datasets" / "facts" / "README.md").read_text()
    assert UNSAID not in card and "license: other" in card and "rights in the documents" in card
