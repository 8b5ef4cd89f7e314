import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from typer.testing import CliRunner

from maieutic.cli import app
from pipeline.building.failures import whole_before_others
from pipeline.core.errors import RunError
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, EngineError, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.experiment import Experiment, dump, load
from pipeline.experiment.preflight import preflight
from pipeline.knowledge.records import Failure
from pipeline.runs.directory import claim
from pipeline.runs.lock import writing

ROOT = Path(__file__).parents[2]
COMMANDS = ("doctor", "pose", "preview", "build", "export", "train", "eval", "compare", "audit", "run")
CONFIG = {
    "name": "small", "tasks": {"train": {"full": 2, "underspecified": 2}, "exam": {"full": 2}},
    "engine": {"kind": "scripted"},
    "conditions": {"blind": {"partition": "symmetric"}, "facts": {"partition": "facts"}},
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A small experiment beside its run directory, with a model directory that has what can be checked ahead."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "chat_template.jinja").write_text("{{ messages }}")
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(CONFIG | {"out": str(tmp_path / "run"), "student": {"model": str(model)}}))
    return path


def call(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from maieutic.cli import app;"
        "print(CliRunner().invoke(app, ['--help']).stdout);"
        "print('heavy:', [m for m in ('torch', 'transformers', 'pydantic', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(f" {command} " in out for command in COMMANDS)
    assert "heavy: []" in out


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("dialogue.turn=2", ["dialogue.turn", "Did you mean 'turns'", "max_tokens"]),
        ("training.methods={grpo_step: {epoch: 1}}", ["Did you mean 'epochs'", "learning_rate"]),
        ("compare={primary: {metrc: ask_skill, a: facts, b: base}}", ["Did you mean 'metric'"]),
        ("memory.item=2", ["Did you mean 'items'"]),
        ("acts={labeller: classifier, path: nowhere}", ["acts.path", "'nowhere'", "eval labels"]),
        ("conditions.facts.partition=fact", ["conditions.facts.partition", "'fact'", "symmetric"]),
        ("dialogue.turns", ["--set dialogue.turns", "KEY=VALUE"]),
        ("dialogue.turns=[1", ["--set dialogue.turns=[1"]),
        ("name.first=x", ["--set name.first=x", "'name' has the value"]),
        ("student.model=./nowhere", ["student.model", "./nowhere", "no such directory"]),
        ("seeds=[99999999999999999999]", ["seeds.0", "2147483648"]),
        ("training.epochs=.inf", ["training.epochs", "finite"]),
        ("exams.include=[]", ["exams.include"]),
        ("conditions.facts.specifications=[]", ["conditions.facts.specifications", "full"]),
        ("conditions.facts.specifications=[sharded]", ["conditions.facts.specifications", "tasks.train"]),
        ("compare={primary: {metric: ask_skill, a: facts, b: facts}}", ["compare.primary", "with itself"]),
        ("compare={primary: {metric: ask_skill@nosuch, a: facts, b: base}}", ["ask_needed@nosuch", "@unhelpful"]),
        ("compare={primary: {metric: ask_skil, a: facts, b: base}}", ["Did you mean 'ask_skill'"]),
        ("tasks.source=gsm8k", ["conditions.facts.partition", "lack nothing"]),
        ("tasks={source: sharded, train: {full: 1}, exam: {full: 1}}", ["tasks.path"]),
    ],
)
@pytest.mark.parametrize("command", ["preview", "build", "run"])
def test_a_bad_value_is_named_before_anything_is_written(
    config: Path, command: str, override: str, expected: list[str]
) -> None:
    status, out, err = call(command, config, "--set", override)
    assert status == 2
    assert [part for part in expected if part not in err] == []
    assert "Traceback" not in out + err
    assert not (config.parent / "run" / "dialogues").exists()


@pytest.mark.parametrize("address", ["http://me:hunter2@host/v1", "hunter2@host/v1", "https://host/v1?key=hunter2"])
def test_an_address_that_holds_a_secret_is_refused_and_never_repeated(config: Path, address: str) -> None:
    status, out, err = call("build", config, "--set", f"engine={{kind: openai, url: '{address}'}}")
    assert status == 2 and "engine.url" in err and "key_env" in err
    assert "hunter2" not in out + err and not (config.parent / "run").exists()


def test_an_unknown_file_is_refused_with_the_files_that_there_are(config: Path) -> None:
    status, _, err = call("build", config.with_name("smal.yaml"))
    assert status == 2
    assert "smal.yaml: no such file" in err and "small.yaml" in err


def test_a_model_without_a_chat_template_is_refused_before_anything_is_written(config: Path) -> None:
    (config.parent / "model" / "chat_template.jinja").unlink()
    status, _, err = call("build", config)
    assert status == 2
    assert "student.model" in err and "no chat template" in err
    assert not (config.parent / "run").exists()


def test_a_build_that_is_started_again_makes_nothing_twice(config: Path) -> None:
    status, out, _ = call("build", config, "--set", "seeds=[1]")
    assert status == 0
    assert "build facts seed 1: 4 dialogues, 0 failures, 0 there already" in out
    stored = (config.parent / "run" / "dialogues" / "facts.jsonl").read_bytes()
    status, out, _ = call("build", config, "--set", "seeds=[1]")
    assert status == 0
    assert "dialogues and datasets: there already" in out
    assert (config.parent / "run" / "dialogues" / "facts.jsonl").read_bytes() == stored


@pytest.fixture
def posing(config: Path) -> tuple[object, ...]:
    """Arguments of a small experiment whose tasks are posed, and documents about which nothing was posed yet."""
    documents = config.parent / "texts"
    documents.mkdir()
    for name in ("elm", "oak"):
        (documents / f"{name}.txt").write_text(f"The {name} has 12 boughs. Each bough has 30 leaves.")
    counts = "train: {underspecified: 9}, exam: {full: 9}"
    tasks = f"tasks={{source: posed, path: {config.parent / 'posed' / 'tasks.jsonl'}, {counts}}}"
    return config, documents, "--set", tasks


def test_posing_again_asks_for_nothing_twice_and_every_refused_reply_is_kept(posing: tuple[object, ...]) -> None:
    status, out, _ = call("pose", *posing, "--attempts", 3)
    assert status == 0
    assert "pose: 0 tasks, 6 refused, 0 there already" in out  # the scripted engine writes no such lines
    assert "2 documents; 6 attempts = 0 tasks + 6 refused" in out and "refused: 6 no_lines" in out
    failures = Path(str(posing[0])).parent / "posed" / "tasks.failures.jsonl"
    stored = failures.read_bytes()
    assert stored.count(b"\n") == 6 and str(failures) in out
    status, out, _ = call("pose", *posing, "--attempts", 3)
    assert status == 0 and "0 tasks, 0 refused, 6 there already" in out and failures.read_bytes() == stored


def test_posing_where_every_answer_fails_is_an_error_and_what_failed_is_asked_again(posing: tuple[object, ...]) -> None:
    fails = ["elm", "oak"]

    class Failing(ScriptedModel):
        async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
            if any(f"The {tree}" in messages[0]["content"] for tree in fails):
                raise EngineError("not today")
            return await super().complete(messages, sampling)

    with patch("pipeline.experiment.open_role.open_model", lambda *_: Failing()):
        status, _, err = call("pose", *posing)
        assert status == 2 and "The engine failed at every attempt; the last: not today" in err
        fails.remove("elm")
        status, out, _ = call("pose", *posing)
    assert status == 1 and "2 attempts ended in an engine error; the same command tries them again" in out
    status, out, _ = call("pose", *posing)
    assert status == 0 and "0 tasks, 2 refused, 2 there already" in out


def test_tasks_are_posed_only_to_where_the_config_reads_them(config: Path, posing: tuple[object, ...]) -> None:
    status, _, err = call("pose", config, posing[1])
    assert status == 2 and "source 'embedded'" in err and "Expected source: posed" in err
    status, _, err = call("pose", config, config.parent / "nowhere", *posing[2:])
    assert status == 2 and "DOCUMENTS: " in err and "no such file or folder" in err
    with writing(config.parent / "posed"):
        status, _, err = call("pose", *posing)
    assert status == 2 and "another process poses into" in err and "--set tasks.path=FILE" in err


def test_a_file_of_ones_own_tasks_is_played_like_any_source(config: Path, posing: tuple[object, ...]) -> None:
    path = config.parent / "posed" / "tasks.jsonl"
    path.parent.mkdir()
    facts = [{"id": "f0", "text": "Each door has 7 locks.", "public": False}]
    rows = []
    for i in range(8):
        question = f"Hall {i} has 4 doors. How many locks is that?"
        row = {"id": f"mine-{i}", "source": "mine", "specification": "underspecified", "question": question}
        rows.append(row | {"full_question": f"Each door has 7 locks. {question}", "facts": facts, "answer": "28"})
    path.write_text("\n".join(["not a task", *map(json.dumps, rows)]))
    status, out, err = call("build", config, *posing[2:], "--set", "seeds=[1]")
    assert status == 0, err
    assert "tasks: 4 to train on, 1 rows that cannot be used, in failures.jsonl" in out
    lines = (config.parent / "run" / "dialogues" / "facts.jsonl").read_text().splitlines()
    assert [json.loads(line)["task"]["source"] for line in lines] == ["posed"] * 4


def test_training_that_is_there_is_known_by_its_record_and_not_by_the_clock(config: Path) -> None:
    changes = ("--set", "student.model=data/base", "--set", "seeds=[1]", "--set", "training.epochs=1")
    changes += ("--set", "conditions={facts: {partition: facts, selection: none}}")
    assert call("build", config, *changes)[0] == 0
    status, out, _ = call("train", config, *changes)
    assert status == 0 and "train facts seed 1: 4 rows, 1 steps" in out
    record = config.parent / "run" / "adapters" / "facts" / "seed-1" / "training.json"
    tomorrow = record.stat().st_mtime + 86400
    os.utime(record, (tomorrow, tomorrow))  # what a clock that was set back leaves
    status, out, _ = call("train", config, *changes)
    assert status == 0 and "train facts seed 1: there already" in out


def test_a_run_of_another_config_is_refused_with_the_keys_that_differ(config: Path) -> None:
    assert call("build", config, "--set", "seeds=[1]")[0] == 0
    status, _, err = call("build", config, "--set", "seeds=[1]", "--set", "dialogue.turns=3")
    assert status == 2
    assert "dialogue.turns: there 4, asked for 3" in err and "--set out=DIR" in err
    assert "seeds" not in err


def test_a_run_whose_file_of_tasks_changed_is_refused(config: Path) -> None:
    source = config.parent / "mine.jsonl"
    source.write_text('{"question": "Tom has 2 pens and 3 pens. How many?", "answer": "#### 5"}\n')
    here = load(config, (f"tasks={{source: gsm8k, path: {source}}}", "conditions={blind: {partition: symmetric}}"))
    (here.run / "dialogues").mkdir(parents=True)
    claim(here)
    (here.run / "dialogues" / "blind.jsonl").write_text("{}\n")
    claim(here)
    source.write_text(source.read_text().replace("#### 5", "#### 50"))
    with pytest.raises(RunError, match=r"mine\.jsonl is not the file that this run began with"):
        claim(here)


def test_a_run_that_moved_is_the_same_run(config: Path) -> None:
    here = load(config)
    (here.run / "dialogues").mkdir(parents=True)
    claim(here)
    (here.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    moved = here.run.rename(config.parent / "elsewhere")
    there = load(config, (f"out={moved}",))
    claim(there)
    assert yaml.safe_load((moved / "config.yaml").read_text()) == yaml.safe_load(dump(there))


@pytest.mark.parametrize(
    "change", ["training.max_length=2048", "executor=ray", "engine.url=http://127.0.0.1:1/v1", "dialogue.concurrency=9"]
)
def test_a_resumed_run_may_change_what_shapes_nothing_and_says_so_in_its_config(config: Path, change: str) -> None:
    here = load(config)
    (here.run / "dialogues").mkdir(parents=True)
    claim(here)
    (here.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    claim(load(config, (change,)))
    assert (here.run / "config.yaml").read_text() == dump(load(config, (change,)))


def test_a_second_writer_is_refused_with_the_first_ones_id_until_that_dies(config: Path) -> None:
    run = load(config).run
    code = (
        f"import sys, time\nfrom pathlib import Path\nfrom pipeline.runs.lock import writing\n"
        f"with writing(Path({str(run)!r})):\n    print('held', flush=True)\n    time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    status, _, err = call("build", config)
    assert status == 2
    assert f"process {holder.pid} is writing to this run" in err
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with writing(run):
        assert (run / ".lock").read_text() == str(os.getpid())


def test_a_condition_cannot_talk_to_a_student_that_is_trained_after_it(config: Path) -> None:
    def with_weights(name: str) -> Experiment:
        return load(config, (f"conditions.blind={{partition: symmetric, voice: model, weights: {name}}}",))

    preflight(with_weights("current"))
    for name in ("facts", "blind"):
        with pytest.raises(ValueError, match=r"conditions\.blind\.weights"):
            preflight(with_weights(name))


def test_the_old_name_of_the_embedded_base_is_no_name_of_a_hub(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = load(config, ("student.model=data/base",))
    monkeypatch.chdir(config.parent)
    with pytest.raises(ValueError, match=r"student\.model: 'data/base'.* called 'embedded' now"):
        preflight(experiment)


def test_compare_refuses_what_is_no_run(tmp_path: Path) -> None:
    status, _, err = call("compare", tmp_path)
    assert status == 2
    assert str(tmp_path) in err and "config.yaml" in err
    assert list(tmp_path.iterdir()) == []


def test_compare_plans_a_config_and_needs_runs_or_a_plan(config: Path) -> None:
    contrast = "compare={primary: {metric: ask_skill, a: facts, b: blind}, difference: 0.3}"
    status, out, _ = call("compare", "--plan", config, "--set", contrast)
    assert status == 0
    assert "ask_skill, facts − blind = 0.3" in out and "no pilot, so assumed" in " ".join(out.split())
    for arguments in ((), (config.parent, "--plan", config), (config.parent, "--set", "seeds=[1]")):
        status, _, err = call("compare", *arguments)
        assert status == 2 and "--plan CONFIG" in err
    status, _, err = call("compare", "--plan", config)
    assert status == 2 and "compare.primary" in err


def test_a_run_made_before_a_key_was_there_goes_on(config: Path) -> None:
    experiment = load(config)
    (experiment.run / "dialogues").mkdir(parents=True)
    claim(experiment)
    (experiment.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    stored = experiment.run / "config.yaml"
    stored.write_text(stored.read_text().replace("    violations: keep\n", ""))
    assert "violations" not in stored.read_text()
    claim(experiment)
    with pytest.raises(RunError, match=r"conditions\.facts\.violations"):
        claim(load(config, ("conditions.facts.violations=drop",)))


def test_claiming_leaves_another_runs_config_as_it_was(config: Path) -> None:
    first, second = load(config), load(config, ("seeds=[7]",))
    (first.run / "dialogues").mkdir(parents=True)
    claim(first)
    (first.run / "dialogues" / "facts.jsonl").write_text("{}\n")
    before = (first.run / "config.yaml").read_bytes()
    with pytest.raises(RunError):
        claim(second)
    assert (first.run / "config.yaml").read_bytes() == before


def test_a_config_that_failed_before_anything_was_made_can_be_corrected_in_place(config: Path) -> None:
    status, _, _ = call("build", config, "--set", "tasks.source=sharded")
    assert status == 2
    status, out, _ = call("build", config)
    assert status == 0
    assert "build facts seed 3: 4 dialogues" in out


@pytest.mark.parametrize(("rounds", "followed"), [(1, False), (2, True)])
def test_training_that_others_build_on_waits_for_dialogues_that_the_engine_failed_at(
    config: Path, rounds: int, followed: bool
) -> None:
    here = load(config, (f"rounds={rounds}",))
    here.run.mkdir(parents=True)
    failure = Failure(id="1", task_id="t", condition_name="facts", seed=3, kind="engine_error", message="out of order")
    (here.run / "failures.jsonl").write_text(failure.model_dump_json() + "\n")
    waiting = pytest.raises(EngineError, match="1 dialogues of round 1 ended in an engine error")
    with waiting if followed else nullcontext():
        whole_before_others(here, list(here.conditions), 0)
    whole_before_others(here, list(here.conditions), rounds - 1 if followed else 0)


def test_an_engine_that_answers_nothing_ends_a_build_with_a_status_of_its_own(config: Path) -> None:
    down = ("--set", "engine={kind: openai, url: 'http://127.0.0.1:1/v1'}", "--set", "dialogue.turns=1")
    with patch("pipeline.engines.openai.OpenAIModel._pause", return_value=0.0):
        code, _, errors = call("build", config, *down)
    assert code == 2 and "Not one of 4 dialogues could be played" in errors


def test_a_rank_in_the_environment_lets_only_a_training_past_the_lock(config: Path, tmp_path: Path) -> None:
    with patch.dict(os.environ, {"RANK": "1"}), writing(tmp_path / "run"):
        code, _, errors = call("build", config)
    assert code == 2 and "is writing to this run" in errors


def test_a_shard_of_a_build_on_ray_is_refused_since_its_workers_are_shards(config: Path) -> None:
    code, _, errors = call("build", config, "--set", "executor=ray", "--shard", "1/2")
    assert code == 2 and "with executor: ray the workers are the shards" in errors
