"""The experiments that ship: each can be loaded, and asks its source only for what it has."""

import math
import os
import re
from pathlib import Path

import pytest
import yaml

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import check_exams, measured
from evals.exams.registry import catalog_of
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import load
from pipeline.experiment.open_role import engines_in_use
from pipeline.experiment.preflight import preflight
from pipeline.tasks.talks import load_source

QUESTION = 400  # tokens of a question, with what stands before it
FOLDER = Path(__file__).parents[3] / "configs"
REAL = sorted(FOLDER.glob("*_qwen3_0.6b.yaml"))
EXPERIMENTS = [path for path in sorted(FOLDER.glob("*.yaml")) if "conditions" in yaml.safe_load(path.read_text())]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_shipped_config_is_valid_and_its_source_has_what_it_counts(path):
    experiment = load(path)
    assert experiment.tasks.train.keys() | experiment.tasks.exam.keys() <= set(experiment.source.specifications)
    assert experiment.compare is not None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("audit_*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_description_of_a_dataset_is_valid(path):
    assert load_source(str(path)).files


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_exams_of_a_shipped_config_measure_what_it_compares(path):
    experiment = load(path)
    check_exams(path, experiment)
    compare = experiment.compare
    named = [*(contrast.metric for contrast in compare.named.values()), *compare.transfer.values()]
    known = catalog_of([experiment])
    assert {ratio for metric in named for ratio in known.signed_sum(metric).weights} <= measured(experiment)


@pytest.mark.parametrize("path", [path for path in EXPERIMENTS if path in REAL], ids=lambda path: path.stem)
def test_the_longest_talk_of_a_shipped_config_can_be_learned_and_read(path):
    experiment = load(path)
    for condition in experiment.conditions.values():
        said = experiment.dialogue.turns * experiment.answer_tokens("student")
        if condition.voice == "model":
            said += (experiment.dialogue.turns - 1) * experiment.dialogue.max_tokens
        room = min(experiment.training.max_length, experiment.engine_of("student").max_model_len or math.inf)
        assert said + QUESTION <= room


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_an_engine_is_alone_only_where_one_model_speaks(path):
    config = yaml.safe_load(path.read_text())
    models = {config.get(role, {}).get("model") for role in ("student", "partner", "judge", "challenger")}
    assert ("engine" in config) == (len(models - {None}) < 2)


def test_the_index_says_of_every_config_once_what_it_needs_and_takes():
    rows = [line.split("|")[1:-1] for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w[\w.]*)`", row[0])]
    assert sorted(named) == sorted(path.stem for path in FOLDER.glob("*.yaml"))
    assert all(len(row) == 4 and row[3].strip() for row in rows)


def test_models_that_share_a_gpu_say_how_much_of_it_each_has():
    parts = engines_in_use(load(FOLDER / "partner_4b_qwen3_0.6b.yaml"))
    assert {role: engine.gpu_memory_utilization for role, engine in parts.items()} == {"student": 0.3, "partner": 0.55}


def test_the_exams_of_a_real_model_cost_what_a_preview_can_say(monkeypatch):
    if not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: the tasks and files of the config of all exams are not read")
    monkeypatch.chdir(FOLDER.parent)
    experiment = load(FOLDER / "exams_qwen3_0.6b.yaml")
    tasks, aside = exam_tasks(experiment)
    assert {task.specification for task in tasks} == {"full", "sharded"} and not aside
    for name in experiment.exams.include or ():
        alone = experiment.model_copy(update={"exams": experiment.exams.model_copy(update={"include": (name,)})})
        assert most_answers(alone, tasks, 0) > 0, name


def test_a_memory_may_embed_with_what_is_installed():
    made = load(FOLDER / "memory_smollm2.yaml", ("student.model=data/base", "student.warmup=null"))
    assert made.memory.embedder == "installed"
    preflight(made)
