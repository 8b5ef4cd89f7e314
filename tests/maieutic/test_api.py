"""`import maieutic`: what Python calls is what the commands do."""

import ast
import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.testing import CliRunner

import maieutic
from maieutic.cli import app
from pipeline.core.errors import ConfigError, RunError
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue

ROOT = Path(__file__).parents[2]
SMALL = (
    "engine.kind=scripted", "seeds=[1]", "tasks.train={full: 2, underspecified: 2}", "exams.beliefs=2",
    "tasks.exam={full: 2, underspecified: 2}", "exams.samples=2", "exams.episodes=1", "training.steps=2",
    "dialogue.turns=2",
    "conditions={blind: {partition: symmetric, selection: none}, facts: {partition: facts, selection: none}}",
    "compare={primary: {metric: ask_skill, a: facts, b: blind}}", "exams.stress=0",
)  # fmt: skip


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return maieutic.load("quickstart", f"out={tmp_path}/run", *SMALL)


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_that_wait_give_way_unless_the_user_says_how_they_wait(own: dict[str, str], expected: str) -> None:
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    code = "import os, maieutic; print(os.environ.get('GOMP_SPINCOUNT'))"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=ROOT, env=others | own, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == expected


def test_importing_it_is_light_and_every_function_is_annotated_and_documented() -> None:
    code = (
        "import sys, maieutic; print([m for m in ('torch', 'pydantic', 'numpy', 'rich', 'typer') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
    functions = [part for part in ast.parse(Path(maieutic.api.__file__).read_text()).body if hasattr(part, "args")]
    public = {part.name: part for part in functions if not part.name.startswith("_")}
    assert {*public, *maieutic.TYPES, "MaieuticError", "Report", "__version__"} == set(maieutic.__all__)
    for part in public.values():
        assert part.returns and ast.get_docstring(part) and all(arg.annotation for arg in part.args.args)


def test_its_annotations_name_types_that_it_offers() -> None:
    functions = [name for name in maieutic.__all__ if name.islower() and "_" not in name]
    hints = {name: get_type_hints(getattr(maieutic, name)) for name in functions}
    assert hints["load"]["return"] is hints["build"]["experiment"] is Experiment is maieutic.Experiment
    assert hints["audit"]["return"] == list[maieutic.Check] and hints["dialogues"]["return"] == list[Dialogue]
    assert get_type_hints(maieutic.Report)["summary"] is maieutic.Summary
    with pytest.raises(AttributeError, match="'Experimnt'"):
        _ = maieutic.Experimnt  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_run_that_has_everything_is_resumed_without_torch(experiment: Experiment) -> None:
    maieutic.run(experiment)
    changes = repr(["quickstart", f"out={experiment.run}", *SMALL])
    code = f"import sys, maieutic; maieutic.run(maieutic.load(*{changes})); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "False" and "; nothing is left to do in 10 of them" in found.stdout
    assert (
        "dialogues, datasets and students: there already" in found.stdout and "compare: there already" in found.stdout
    )


@pytest.mark.slow
def test_a_whole_experiment_in_python_is_that_of_the_command(experiment: Experiment, tmp_path: Path) -> None:
    report = maieutic.run(experiment)
    assert [file.name for file in report.files] == ["report.json", "report.md", "report.html"]
    assert set(report.summary.conditions) == {"base", "blind", "facts"}
    changes = [word for change in (f"out={tmp_path}/typed", *SMALL) for word in ("--set", change)]
    assert CliRunner().invoke(app, ["build", "quickstart", *changes]).exit_code == 0
    for name in ("blind", "facts"):
        made = maieutic.dialogues(experiment.run, name)
        assert len(made) == 4 and all(isinstance(dialogue, Dialogue) for dialogue in made)
        assert made == maieutic.dialogues(tmp_path / "typed", name)


def test_stage_by_stage_each_function_names_what_it_made(experiment: Experiment) -> None:
    previewed = maieutic.preview(experiment)
    assert not experiment.run.exists() and set(previewed) == {"blind", "facts"}
    assert sorted(path.name for path in maieutic.build(experiment).iterdir()) == ["blind", "facts"]
    assert previewed["facts"] in maieutic.dialogues(experiment.run, "facts")
    assert (maieutic.train(experiment) / "facts" / "seed-1" / "training.json").is_file()
    assert (maieutic.examine(experiment) / "facts" / "seed-1.jsonl").is_file()
    checks = {check.name: check.verdict for check in maieutic.audit(experiment.run)}
    assert checks and set(checks.values()) <= {"pass", "fail", "not testable"}
    assert maieutic.compare(experiment.run).summary.comparisons[0].primary


def test_what_a_notebook_calls_runs_beside_the_notebooks_own_event_loop(experiment: Experiment) -> None:
    async def cell() -> None:
        maieutic.build(experiment)

    asyncio.run(cell())
    assert len(maieutic.dialogues(experiment.run, "facts")) == 4


def test_dialogues_of_a_condition_that_is_not_there_are_refused_with_those_that_are(experiment: Experiment) -> None:
    with pytest.raises(RunError, match=r"no config\.yaml here"):
        maieutic.dialogues(experiment.run, "facts")
    maieutic.build(experiment)
    with pytest.raises(RunError, match=r"condition 'fact'\. There are: blind, facts\."):
        maieutic.dialogues(experiment.run, "fact")


def test_what_the_command_refuses_is_refused_here_too() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'ask_skill'"):
        maieutic.load("quickstart", "compare.primary.metric=ask_skil")


@pytest.mark.parametrize("function", [maieutic.preview, maieutic.build, maieutic.train, maieutic.examine, maieutic.run])
def test_a_name_in_place_of_an_experiment_is_refused_with_what_loads_it(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigError, match=r"'quickstart'. Expected what maieutic.load\('quickstart'\) returns"):
        function("quickstart")


def test_overrides_in_a_list_are_refused_with_how_they_are_given() -> None:
    with pytest.raises(ConfigError, match=r'Expected texts, as in load\("quickstart", "seeds=\[1\]"\)'):
        maieutic.load("quickstart", ["seeds=[1]"])  # type: ignore[arg-type]


def test_what_is_no_path_is_refused_with_how_paths_are_given(experiment: Experiment) -> None:
    calls: list[Any] = [
        lambda: maieutic.compare(["runs/a", "runs/b"]),  # type: ignore[arg-type]
        lambda: maieutic.compare(experiment),  # type: ignore[arg-type]
        lambda: maieutic.dialogues(experiment, "facts"),  # type: ignore[arg-type]
        lambda: maieutic.load(None),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(
            ConfigError, match=r"Expected a path, such as experiment\.run; several are several arguments"
        ):
            call()
    with pytest.raises(ConfigError, match="Expected texts"):
        maieutic.audit("own.jsonl", {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Expected a number"):
        maieutic.preview(experiment, "3")  # type: ignore[arg-type]


def test_the_config_of_a_copied_run_would_write_into_the_original_and_is_refused(experiment: Experiment) -> None:
    maieutic.build(experiment)
    copy = experiment.run.with_name("copy")
    shutil.copytree(experiment.run, copy)
    with pytest.raises(ConfigError, match=rf"which would be written to\. Say --set out={copy}"):
        maieutic.load(copy / "config.yaml")
    assert maieutic.load(copy / "config.yaml", f"out={copy}").run == copy
    (copy / "dialogues").rename(copy / "elsewhere")  # as of conditions that play none, or play while they learn
    with pytest.raises(ConfigError, match="this run was copied or moved"):
        maieutic.load(copy / "config.yaml")
    assert maieutic.load(experiment.run / "config.yaml").run == experiment.run
