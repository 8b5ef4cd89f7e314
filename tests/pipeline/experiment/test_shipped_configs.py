"""The experiments that ship: each can be loaded, and asks its source only for what it has."""

import os
from pathlib import Path

import pytest
import yaml

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import check_exams, measured
from evals.exams.registry import catalog_of
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import load
from pipeline.tasks.talks import load_source

FOLDER = Path(__file__).parents[3] / "configs"
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
