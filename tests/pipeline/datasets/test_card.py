"""The card of each method: the folder that is there, the learning rule, and whose dialogues the rows are made of."""

from __future__ import annotations

import json
from functools import partial
from typing import get_args

import pyarrow.parquet as parquet
import pytest
from huggingface_hub import DatasetCard

from pipeline.building.turn_values import turn_value
from pipeline.core.schema import Task, Turn
from pipeline.datasets.card import card
from pipeline.datasets.export import export
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.survey import surveyed
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import FROM_TASKS, OF_PARTNER, STEPWISE, Condition, Method
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import read, rewrite
from tests.builders import small_experiment

METHODS: tuple[str, ...] = get_args(Method)
FACTS = Condition(partition="facts")


experiment = partial(
    small_experiment,
    seeds=[1],
    tasks={"train": {"full": 3, "underspecified": 3}},
    turn_values={"siblings": 2, "rollouts": 1},
)


def made(run: Experiment, name: str, tasks: list[Task], condition: Condition = FACTS) -> None:
    """A dialogue for each task, and two siblings of its first turn: asking, which ends right, and a wrong answer."""
    common = {"condition_name": name, "condition": condition, "seed": 1}
    dialogues, branches = [], []
    for task in tasks:
        ask, told = task.missing[0].ask, Turn(party="partner", text=task.missing[0].text, tokens=3)
        right, wrong = (
            Turn(party="student", text=f"The answer is {answer}.", tokens=5) for answer in (task.answer, "1")
        )
        asking = Turn(party="student", text=ask, tokens=5)
        siblings = (
            Sibling(turn=asking, rollouts=(Rollout(turns=(told, right), stop="student_done"),)),
            Sibling(turn=wrong, rollouts=(Rollout(turns=(told,), stop="turn_cap"),)),
        )
        branches.append(
            Branch(id=f"b-{task.id}", dialogue=task.id, task=task, round=0, prefix=(), siblings=siblings, **common)
        )
        dialogues.append(Dialogue(id=task.id, task=task, turns=(wrong, told), stop="turn_cap", **common))
    assert (
        turn_value(branches[0], 0, run.turn_values).value == 1
        and turn_value(branches[0], 1, run.turn_values).value == 0
    )
    rewrite(run.run / "dialogues" / f"{name}.jsonl", dialogues)
    rewrite(branches_path(run.run, name), branches)


def card_of(run: Experiment, name: str) -> DatasetCard:
    return DatasetCard.load(run.run / "datasets" / name / "README.md")


def test_every_method_has_a_sentence():
    assert set(METHODS) <= LEARNING_RULES.keys()


@pytest.mark.parametrize("method", METHODS)
def test_a_card_names_the_folder_the_rule_and_every_column_that_are_there(underspecified, tmp_path, method):
    needs = {"partition": "key"} if method in STEPWISE else {}
    needs |= {"voice": "model", "manner": "convincing"} if method in OF_PARTNER else {}
    run = experiment(tmp_path, conditions={"mine": FACTS.model_copy(update={"method": method, **needs})})
    if method not in FROM_TASKS:
        made(run, "mine", underspecified[:2])
    report, made_card = export(run, "mine"), card_of(run, "mine")
    assert made_card.data.configs == [{"config_name": report.path.name, "data_files": f"{report.path.name}/*.parquet"}]
    assert [path.name for path in (tmp_path / "datasets" / "mine").iterdir() if path.is_dir()] == [report.path.name]
    assert LEARNING_RULES[method].says[1:] in made_card.text
    columns = set(parquet.read_schema(report.path / "train.parquet").names)
    section = made_card.text.split("## Rows\n")[1].split("## Known limits")[0]
    first_cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    named = {name.strip("`| ") for cell in first_cells for name in cell.split(",")}
    assert named - {"matched", "times"} == columns
    assert f"{report.rows} training rows" in made_card.text


def test_a_card_of_an_experts_dialogues_says_that_none_was_sampled(tmp_path):
    prompts = {"prompts": "brief", "sampling_prompt": "demonstrated"}
    condition = FACTS.model_copy(update={"method": "expert"})
    run = experiment(tmp_path, conditions={"mine": condition}, student=prompts)
    export(run, "mine")
    text = card_of(run, "mine").text
    assert "no dialogue was sampled" in text and "The expert's dialogues are the same for every seed" in text
    assert "Temperature" not in text and "stopped or steered" not in text
    assert "samples its own dialogues" not in text and "While its dialogues were sampled" not in text


def test_a_card_says_how_a_partner_tells_and_which_tasks_are_left_out(underspecified, tmp_path):
    condition = FACTS.model_copy(update={"manner": "erring", "pass_rate": (0.1, 0.9)})
    run = experiment(tmp_path, conditions={"mine": condition})
    made(run, "mine", underspecified[:2])
    export(run, "mine")
    assert "In 30% of what it tells the numbers are wrong." in card_of(run, "mine").text
    assert "end right in 10% to 90% of cases" in card_of(run, "mine").text


def test_a_card_says_per_role_who_was_asked_and_what_was_sent(tmp_path):
    run = experiment(
        tmp_path,
        conditions={"mine": FACTS.model_copy(update={"voice": "model"})},
        engines={
            "api": {"kind": "openai", "url": "http://x/v1", "temperature": "when_set"},
            "low": {"kind": "openai", "url": "http://y/v1", "extra_body": {"effort": "low"}},
        },
        reading={"partner": "closed", "metrics": "judge"},
        partner={"model": "large", "engine": "api", "thinking": "drop", "sampling": {"top_p": 0.9}},
        judge={"model": "reader", "engine": "low"},
    )
    text = written(run)
    assert [line for line in text.splitlines() if line.startswith(("- Student: ", "- Partner: ", "- Judge"))] == [
        "- Student: `embedded`.",
        "- Student: `embedded`; engine scripted; prompts `closed`; temperature 1.0; thinking off.",
        "- Partner: `large`; engine `api` (openai); prompts `chat`; no temperature sent, top_p 0.9; "
        "thinking drop, 2048 tokens more for it (no request said so).",
        "- Judge, reading turns: `reader`; engine `low` (openai); prompts `chat`; temperature 0.0; "
        'thinking off (each request had `{"effort": "low"}`).',
    ]
    assert "- Engine: " not in text and "Temperature 1.0" not in text and "- At most " in text


def test_a_card_says_whose_weights_speak_and_not_where_they_lie(tmp_path):
    current = FACTS.model_copy(update={"voice": "model", "weights": "current"})
    run = experiment(
        tmp_path,
        conditions={"mine": current},
        engines={"api": {"kind": "openai", "url": "http://x/v1"}},
        student={"warmup": {}},
        partner={"model": "large", "engine": "api", "sampling": {"temperature": 0.5}},
    )
    text = written(run)
    partner = "- Partner: `embedded`, warmed up; engine scripted; prompts `chat`; temperature 0.5; thinking off."
    assert partner in text.splitlines() and str(tmp_path) not in text


def test_a_card_says_once_how_all_were_sampled_where_it_was_alike(tmp_path):
    text = written(experiment(tmp_path, conditions={"mine": FACTS}))
    assert "- Temperature 1.0, at most " in text and "- Engine: scripted, auto." in text and "thinking" not in text


def written(run: Experiment) -> str:
    """The card of a condition without dialogues, but for the config at its end."""
    (run.run / "dialogues").mkdir(parents=True)
    with surveyed(run, "mine") as survey:
        return card(survey, {"sft": 0}).split("## The whole config")[0]


@pytest.mark.parametrize("method", [name for name in METHODS if name not in (*FROM_TASKS, *OF_PARTNER, "q_priming")])
def test_a_card_says_whose_dialogues_they_are(underspecified, tmp_path, method):
    conditions = {"facts": FACTS, "mine": FACTS.model_copy(update={"method": method, "learns_from": "facts"})}
    run = experiment(tmp_path, conditions=conditions)
    made(run, "facts", underspecified[:2])
    for name, whose in (("facts", "are this condition's own"), ("mine", "are those of condition `facts`")):
        export(run, name)
        assert f"Its dialogues {whose}, and those in which they were played on" in card_of(run, name).text


@pytest.mark.parametrize(
    ("method", "counted", "right"),
    [("sft", "selected dialogues | 2", "1.000 (2 of 2)"), ("dpo", "in the pool | 6", "0.333 (2 of 6)")],
)
def test_a_card_counts_what_the_method_learns_from(underspecified, tmp_path, method, counted, right):
    run = experiment(tmp_path, conditions={"mine": FACTS.model_copy(update={"method": method})})
    made(run, "mine", underspecified[:2])
    export(run, "mine")
    text = card_of(run, "mine").text
    assert counted in text and right in text
    assert ("Rows were selected" in text) == ("**Rejection sampling** (" in text) == (method == "sft")


@pytest.mark.parametrize(
    ("method", "violations", "rows", "audited"),
    [
        ("sft", "keep", 2, "0.333 [0.097, 0.700] (2 of 6) | 1.000 [0.342, 1.000] (2 of 2)"),
        ("sft", "drop", 0, "0.333 [0.097, 0.700] (2 of 6) | NaN (0 of 0)"),
        ("kto", "keep", 6, "0.333 [0.097, 0.700] (2 of 6) | 0.333 [0.097, 0.700] (2 of 6)"),
        ("kto", "drop", 4, "0.333 [0.097, 0.700] (2 of 6) | 0.000 [0.000, 0.490] (0 of 4)"),
        ("dpo", "drop", 0, "0.333 [0.097, 0.700] (2 of 6) | 0.000 [0.000, 0.490] (0 of 4)"),
    ],
)
def test_a_card_says_how_often_the_partner_violates_its_constraint_and_a_file_where(
    underspecified, tmp_path, method, violations, rows, audited
):
    """Where it is asked it claims to be a language model; after a wrong answer it only tells, as its disclosure
    demands."""
    condition = FACTS.model_copy(update={"method": method, "violations": violations, "disclosure": "volunteer"})
    run = experiment(tmp_path, conditions={"mine": condition})
    made(run, "mine", underspecified[:2], condition)
    path = branches_path(tmp_path, "mine")
    rewrite(path, [spoiled(branch) for branch in read(path, Branch)])
    report, text = export(run, "mine"), card_of(run, "mine").text
    assert report.rows == rows and f"| any of these | {audited} |" in text and "| `off_role`" in text
    assert ("where the partner violated its knowledge constraint, dropped" in text) == (violations == "drop")
    tags = [json.loads(line) for line in (tmp_path / "datasets" / "mine" / "violations.jsonl").read_text().splitlines()]
    assert [(tag["id"], [b["kind"] for b in tag["violations"]]) for tag in tags] == [
        (f"b-{task.id}-0-0", ["off_role"]) for task in underspecified[:2]
    ]


def spoiled(branch: Branch) -> Branch:
    asking, wrong = branch.siblings
    told, right = asking.rollouts[0].turns
    told = told.model_copy(update={"text": f"As an AI language model I know this. {told.text}"})
    rollouts = (asking.rollouts[0].model_copy(update={"turns": (told, right)}),)
    return branch.model_copy(update={"siblings": (asking.model_copy(update={"rollouts": rollouts}), wrong)})


def test_a_card_says_who_spoke_and_how_rows_count_also_where_nobody_answers(tmp_path):
    solo = Condition(partition="solo", speaker="who", first_acts="as_played")
    text = written(experiment(tmp_path, conditions={"mine": solo, "who": FACTS}))
    assert "sat the student of condition `who`" in text
    assert "Column `times` says how often a row counts" in text and "| `times` |" in text
    shuffled = experiment(tmp_path / "other", conditions={"mine": FACTS.model_copy(update={"regime": "shuffled"})})
    assert "dealt by lot among the conditions" in written(shuffled)
