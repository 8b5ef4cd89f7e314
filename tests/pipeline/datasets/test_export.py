"""Datasets: nothing private, loss on the student only, files whole or absent, budgets that match."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pyarrow.parquet as parquet
import pytest
from datasets import Dataset
from huggingface_hub import DatasetCard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import RunError
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.datasets import export as module
from pipeline.datasets.condition_rows import NotExportable
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import ExportReport, export
from pipeline.datasets.matching import mark_matched, match
from pipeline.datasets.rows import Row, learned, to_row
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import Training
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS, WHERE
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import rewrite
from tests.builders import small_experiment

CONDITIONS = {
    name: Condition(partition=name, voice="model" if name == "script" else "rule", selection="none")
    for name, row in PARTITIONS.items()
    if WHERE not in (row.partner or ())  # which the embedded source has nothing for
} | {
    "volunteer": Condition(partition="facts", disclosure="volunteer", selection="none"),
    "full_only": Condition(partition="facts", specifications=("full",), selection="none"),
}


experiment = partial(small_experiment, seeds=[1, 2], conditions=CONDITIONS)


def exported(made: Experiment, name: str, dialogues: list[Dialogue]) -> ExportReport:
    rewrite(made.run / "dialogues" / f"{name}.jsonl", dialogues)
    return export(made, name)


def dialogue(task: Task, *lines: str, condition_name: str = "facts", seed: int = 1, first: int = 0) -> Dialogue:
    """Student and partner in turn; ten tokens a turn."""
    parties = ["student", "partner"]
    turns = tuple(Turn(party=parties[(i + first) % 2], text=line, tokens=10) for i, line in enumerate(lines))
    return Dialogue(
        id=f"{condition_name}-{task.id}-{seed}",
        task=task,
        condition_name=condition_name,
        seed=seed,
        turns=turns,
        stop="turn_cap",
        condition=CONDITIONS[condition_name],
    )


def read_once(task: Task) -> Dialogue:
    """One turn, read and heard as natural text is."""
    turn = Turn(party="student", text="Hm.", heard=StudentReading(), reading=StudentReading())
    return dialogue(task, condition_name="key").model_copy(update={"turns": (turn,)})


def solved(task: Task, **fields: Any) -> Dialogue:
    """Wrong, asks, hears, right, done: and a last word that nobody answers."""
    return dialogue(
        task,
        "I guess the answer is 0.",
        "I see.",
        task.missing[0].ask,
        "I cannot say.",
        f"The answer is {task.answer}.",
        "Okay.",
        "I am done.",
        "Noted.",
        **fields,
    )


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("all", [0, 2, 4, 6]),
        ("after_last_error", [2, 4, 6]),
        ("final", [4]),
    ],
)
def test_learn_marks_the_turns_that_its_name_says(underspecified, which, expected):
    assert [i for i, mark in enumerate(learned(solved(underspecified[0]), which)) if mark] == expected


@pytest.mark.parametrize(
    ("lines", "all_", "after", "final"),
    [
        (["The answer is {}.", "Hm.", "The answer is 0."], [0, 2], [], []),  # right first, wrong in the end
        (["The answer is {}.", "Hm.", "I am done."], [0, 2], [0, 2], [0]),
        (["Is it {}?", "Yes.", "The answer is {}."], [0, 2], [0, 2], [2]),
        (["How many?", "Hm.", "I cannot tell."], [0, 2], [0, 2], []),
    ],
)
def test_learn_without_an_error_or_without_a_right_end(underspecified, lines, all_, after, final):
    task = underspecified[0]
    made = dialogue(task, *(line.format(task.answer) for line in lines))
    for which, expected in (("all", all_), ("after_last_error", after), ("final", final)):
        assert [i for i, mark in enumerate(learned(made, which)) if mark] == expected


@pytest.mark.parametrize("which", ["all", "after_last_error", "final"])
def test_a_turn_that_was_cut_carries_no_loss(underspecified, which):
    made = solved(underspecified[0])
    turns = [turn.model_copy(update={"finished": i != 4}) for i, turn in enumerate(made.turns)]
    whole, cut = learned(made, which), learned(made.model_copy(update={"turns": tuple(turns)}), which)
    assert whole[4] and not cut[4]
    assert cut[:4] + cut[5:] == whole[:4] + whole[5:]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("first", [0, 1])
def test_a_row_is_the_students_view_to_its_last_turn_and_learns_its_own_turns(
    underspecified, tmp_path, condition, first
):
    made = solved(underspecified[0], condition_name=condition, first=first)
    row = to_row(experiment(tmp_path), made)
    assert row is not None
    own = [turn.text for turn in made.turns if turn.party == "student"]
    assert row["messages"] == view(made.task, CONDITIONS[condition], made.turns, "student")[: len(row["messages"])]
    assert row["messages"][-1] == {"role": "assistant", "content": own[-1]}
    assert [m["content"] for m, learn in zip(row["messages"], row["learn"], strict=True) if learn] == own


@pytest.mark.parametrize("condition", sorted(set(CONDITIONS) - {"mindreader", "jigsaw"}))
def test_no_private_fact_reaches_a_row_that_no_turn_said(underspecified, tmp_path, condition):
    for task in underspecified[:10]:
        changed = task.model_copy(
            update={
                "answer": "31337",
                "solution": "s",
                "wrong_answer": "w",
                "facts": tuple(f if f.public else f.model_copy(update={"text": "A secret 31337."}) for f in task.facts),
            }
        )
        rows = [
            to_row(experiment(tmp_path), dialogue(t, "How many?", "Go on.", "I am done.", condition_name=condition))
            for t in (task, changed)
        ]
        assert rows[0] == rows[1] is not None


def test_the_dataset_reads_back_as_it_was_and_the_counts_reconcile(underspecified, tmp_path):
    made = experiment(tmp_path, training={"learn": "final"})
    dialogues = [solved(task, seed=seed) for task in underspecified[:3] for seed in (2, 1)]
    silent = dialogue(underspecified[4], "I cannot tell.")
    report = exported(made, "facts", [*dialogues, silent])
    assert (report.taken, report.rows, report.nothing_learned) == (7, 6, 1)
    rows = read_rows(made, "facts")
    assert sorted(rows, key=lambda r: r["id"]) == sorted((to_row(made, d) for d in dialogues), key=lambda r: r["id"])  # type: ignore[index]
    hub = Dataset.from_parquet(str(report.path / "train.parquet"), cache_dir=str(tmp_path / "cache"))
    assert list(hub.features) == ["id", "task_id", "seed", "round", "specification", "messages", "learn"]
    assert list(hub) == rows
    assert not parquet.read_schema(report.path / "train.parquet").metadata  # which `datasets` before 4 cannot read


def test_no_format_is_made_of_other_dialogues_than_what_is_learned_from(underspecified, tmp_path):
    made = experiment(tmp_path)
    exported(made, "facts", [solved(task) for task in underspecified[:3]])
    export(made, "facts", "prompt_completion")
    rewrite(dialogues_path(made.run, "facts"), [solved(task) for task in underspecified[:4]])
    with pytest.raises(NotExportable, match="facts: its sft rows are of other dialogues than there are now"):
        export(made, "facts", "prompt_completion")
    export(made, "facts")
    export(made, "facts", "prompt_completion")


def test_the_same_dialogues_stored_in_any_order_give_the_same_bytes(underspecified, tmp_path):
    dialogues = [solved(task, seed=seed) for task in underspecified[:4] for seed in (2, 1)]
    files = []
    for name, order in (("a", dialogues), ("b", dialogues[::-1])):
        made = experiment(tmp_path / name)
        exported(made, "facts", order)
        files.append(tmp_path / name / "datasets/facts/sft/train.parquet")
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = read_rows(made, "facts")
    assert [(row["seed"], row["id"]) for row in rows] == sorted((d.seed, d.id) for d in dialogues)


def test_an_empty_selection_gives_an_empty_dataset_with_all_columns_and_a_card(tmp_path):
    made = experiment(tmp_path)
    assert exported(made, "facts", []).rows == 0
    assert read_rows(made, "facts") == []
    assert "NaN (0 of 0)" in (tmp_path / "datasets/facts/README.md").read_text()
    with pytest.raises(RunError, match="maieutic build"):
        read_rows(made, "solo")


def test_a_write_that_fails_leaves_the_old_dataset_whole(underspecified, tmp_path):
    made = experiment(tmp_path)
    exported(made, "facts", [solved(underspecified[0])])
    rows = read_rows(made, "facts")
    with pytest.raises(Exception, match="int"):
        module.write_rows(module.dataset_path(made, "facts"), [{**rows[0], "seed": "not a number"}])
    assert read_rows(made, "facts") == rows
    assert [path.name for path in module.dataset_path(made, "facts").iterdir()] == ["train.parquet"]


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_card_says_who_knew_what_how_rows_were_made_and_what_is_wrong_with_them(underspecified, tmp_path, name):
    made = experiment(tmp_path)
    dialogues = [
        solved(underspecified[0], condition_name=name),
        dialogue(underspecified[1], "Hm.", condition_name=name),
    ]
    report = exported(made, name, dialogues)
    card = DatasetCard.load(tmp_path / "datasets" / name / "README.md")
    assert card.data.configs == [{"config_name": "sft", "data_files": "sft/*.parquet"}]
    condition = CONDITIONS[name]
    for item in condition.row.student | (condition.row.partner or frozenset()):
        assert item.says in card.text
    assert ("there is no partner" in card.text) == (condition.row.partner is None)
    for line in (
        f"| rows (the others would teach nothing) | {report.rows} |",
        "Known limits",
        "planted",
        "the student's own turns are `assistant`",
        "0.500 (1 of 2)",
        # Whoever reads its partner's mind knows the facts: no right answer of its is luck.
        "0.000 (0 of 1)" if name == "mindreader" else "1.000 (1 of 1)",
    ):
        assert line in card.text
    assert ("plumbing" in card.text.lower()) == (name in ("script", "mindreader", "misled", "fallible"))
    assert str(tmp_path) not in card.text


@pytest.mark.parametrize(("source", "licence"), [("mathdial", "cc-by-sa-4.0"), ("sharded", "mit"), ("embedded", "mit")])
def test_a_card_carries_the_licence_of_its_source(underspecified, tmp_path, source, licence):
    human = Condition(partition="key", voice="human" if source == "mathdial" else "rule")
    reads = source != "embedded"
    path = {"path": "/home/someone/problems.jsonl"} if reads else {}
    made = Experiment(name="x", out=str(tmp_path), conditions={"key": human}, tasks={"source": source} | path)
    exported(made, "key", [read_once(underspecified[0])])
    card = DatasetCard.load(tmp_path / "datasets/key/README.md")
    assert card.data.license == licence
    assert "/home/someone" not in card.text and ("problems.jsonl" in card.text) == reads


@pytest.mark.parametrize("source", ["mathdial", "mine"])
def test_only_mathdials_dialogues_are_said_to_have_its_limits(underspecified, tmp_path, source):
    (tmp_path / "mine.py").write_text(
        "from pipeline.tasks.source import Source\n"
        "SOURCE = Source('mine', ('full',), read=lambda settings: ([], []), dialogues=lambda *of: ([], []))\n"
    )
    named = source if source == "mathdial" else f"{tmp_path}/mine.py:SOURCE"
    tasks = {"source": named, "path": "talks.jsonl"}
    human = Condition(partition="key", voice="human")
    made = Experiment(name="x", out=str(tmp_path), conditions={"key": human}, tasks=tasks)
    exported(made, "key", [read_once(underspecified[0])])
    card = (tmp_path / "datasets/key/README.md").read_text()
    assert ("plays a confused pupil" in card) == ("nobody says and no view shows" in card) == (source == "mathdial")


def row(condition_name: str, task: int, copy: int = 0, seed: int = 1, tokens: int = 10) -> Row:
    name = f"{condition_name}-{task}-{copy}-{seed}"
    return {"id": name, "task_id": f"t{task}", "seed": seed, "round": 0, "tokens": tokens}


cells = st.dictionaries(
    st.sampled_from(["facts", "volunteer", "solo"]),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2), st.integers(1, 30)), max_size=25),
    min_size=2,
)


@settings(max_examples=200, deadline=None)
@given(cells)
def test_matched_rows_have_the_same_tasks_and_tokens_to_within_one_dialogue(drawn):
    rows = {
        name: [row(name, task, i, seed, tokens) for i, (task, seed, tokens) in enumerate(part)]
        for name, part in drawn.items()
    }
    keep, reports = match(rows, lambda r: r["tokens"])
    for seed in (1, 2):
        parts = {name: [r for r in part if r["seed"] == seed] for name, part in rows.items()}
        parts = {name: part for name, part in parts.items() if part}
        kept = {name: [r for r in part if r["id"] in keep[name]] for name, part in parts.items()}
        here = [report for report in reports if report.seed == seed]
        assert {r.condition_name: (r.rows, r.kept, r.kept_tokens) for r in here} == {
            name: (len(parts[name]), len(part), sum(r["tokens"] for r in part)) for name, part in kept.items()
        }
        counts = {name: Counter(r["task_id"] for r in part) for name, part in parts.items()}
        share = {task: min(count[task] for count in counts.values()) for count in counts.values() for task in count}
        totals = [sum(r["tokens"] for r in part) for part in kept.values()]
        assert max(totals, default=0) - min(totals, default=0) < 30
        for part in kept.values():  # never more of a task than the scarcest condition has
            assert all(n <= share[task] for task, n in Counter(r["task_id"] for r in part).items())
        if totals:  # the condition that sets the budget keeps its whole share
            assert any(len(part) == sum(share.values()) for part in kept.values())
    shuffled = {name: part[::-1] for name, part in rows.items()}
    assert match(shuffled, lambda r: r["tokens"])[0] == keep


def test_conditions_that_spend_alike_keep_exactly_the_same_mix():
    rows = {
        "facts": [row("facts", t, c) for t in range(8) for c in range(2)],
        "solo": [row("solo", t, c) for t in range(4, 12) for c in range(1 + t % 2)],
        "empty": [],
    }
    keep, reports = match(rows, lambda r: r["tokens"])
    mixes = [Counter(r["task_id"] for r in rows[name] if r["id"] in keep[name]) for name in ("facts", "solo")]
    assert mixes[0] == mixes[1] == Counter({"t4": 1, "t5": 2, "t6": 1, "t7": 2})
    assert {r.condition_name: (r.rows, r.kept) for r in reports} == {"facts": (16, 6), "solo": (12, 6)}


def test_conditions_that_learn_from_the_same_dialogues_keep_each_their_own():
    same = [row("facts", t, c) for t in range(6) for c in range(3)]
    rows = {"facts": same[::2], "all": same, "other": [row("other", t) for t in range(6)]}
    keep, _ = match(rows, lambda r: r["tokens"])
    totals = {name: sum(r["tokens"] for r in part if r["id"] in keep[name]) for name, part in rows.items()}
    assert len(set(totals.values())) == 1 and keep["facts"] <= {r["id"] for r in rows["facts"]}


def test_marking_adds_a_column_and_matches_within_specifications(underspecified, full, tmp_path):
    conditions = {name: CONDITIONS[name] for name in ("facts", "solo", "full_only")}
    matched = {"conditions": conditions, "training": Training(regime="matched")}
    made = experiment(tmp_path).model_copy(update=matched)
    exported(made, "facts", [solved(task) for task in underspecified[:6]])
    exported(made, "solo", [solved(task, condition_name="solo") for task in underspecified[3:9]])
    exported(made, "full_only", [dialogue(task, "Hm.", condition_name="full_only") for task in full[:5]])
    before = {name: read_rows(made, name) for name in conditions}
    mark_matched(made, lambda row: 10 * sum(row["learn"]))
    after = {name: read_rows(made, name) for name in conditions}
    kept = {name: {row["task_id"] for row in rows if row["matched"]} for name, rows in after.items()}
    assert kept["facts"] == kept["solo"] == {task.id for task in underspecified[3:6]}
    assert kept["full_only"] == {task.id for task in full[:5]}
    for name, rows in after.items():
        assert [{key: value for key, value in row.items() if key != "matched"} for row in rows] == before[name]


def test_matching_is_refused_where_one_student_is_trained_before_another_build(tmp_path):
    conditions = {
        "facts": CONDITIONS["facts"],
        "peer": Condition(partition="symmetric", voice="model", weights="facts"),
    }
    with pytest.raises(ValueError, match=r"conditions\.peer\.weights: 'facts' must be trained before"):
        Experiment(name="x", conditions=conditions, training={"regime": "matched"})
    assert Experiment(name="x", conditions=conditions).training.regime == "natural"


def test_conditions_that_spend_differently_drop_the_same_tasks_first():
    rows = {
        name: [row(name, t, tokens=tokens) for t in range(20)] for name, tokens in (("a", 10), ("b", 20), ("c", 25))
    }
    keep, _ = match(rows, lambda r: r["tokens"])
    a, b, c = ({r["task_id"] for r in part if r["id"] in keep[name]} for name, part in rows.items())
    assert (len(a), len(b), len(c)) == (20, 10, 8)
    assert c < b < a
