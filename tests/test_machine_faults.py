"""Whole commands, as processes, on a machine that does not behave."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import read
from tests.started import ended, started

ROOT = Path(__file__).parents[1]
CONDITIONS = ("blind", "facts")


def write_config(folder: Path, name: str = "run", tasks: int = 3) -> Path:
    """Two conditions of a model that answers at once, `tasks` full problems and as many underspecified ones."""
    experiment = Experiment.model_validate({
        "name": name, "out": str(folder / name), "seeds": [1], "engine": {"kind": "scripted"}, "dialogue": {"turns": 2},
        "tasks": {"train": {"full": tasks, "underspecified": tasks}, "exam": {"full": 2, "underspecified": 2}},
        "conditions": {
            "blind": {"partition": "symmetric", "selection": "none"},
            "facts": {"partition": "facts", "selection": "none"},
        },
        "training": {"epochs": 1, "batch": 4}, "exams": {"samples": 1, "episodes": 1, "beliefs": 1},
        "compare": {"primary": {"metric": "ask_skill", "a": "facts", "b": "blind"}},
    })  # fmt: skip
    config = folder / f"{name}.yaml"
    config.write_text(dump(experiment))
    return config


def obey_permissions() -> None:
    """Root overrules permissions. A process that gave that up (CAP_DAC_OVERRIDE) is refused like anybody."""
    ctypes.CDLL(None).prctl(24, 1)


def start(command: str, argument: Path) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "maieutic", command, str(argument)]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, preexec_fn=obey_permissions)


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its status, and what it said, with the lines joined that a terminal would have wrapped."""
    out, err = process.communicate()
    return process.returncode, out, " ".join(err.split())


def wait_for_bytes(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists() or not path.stat().st_size:
        assert process.poll() is None, f"it ended before it wrote {path.name}"
        time.sleep(0.005)


def holds(run: Path, pid: int) -> bool:
    return (run / ".lock").exists() and (run / ".lock").read_text() == str(pid)


def assert_whole(run: Path, each: int) -> None:
    for condition in CONDITIONS:
        ids = [dialogue.id for dialogue in read(run / "dialogues" / f"{condition}.jsonl", Dialogue)]
        assert len(ids) == len(set(ids)) == each


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be written to."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_to_is_refused_in_words(tmp_path: Path, locked: Path) -> None:
    below_a_file = tmp_path / "file"
    below_a_file.write_text("")
    for place, why in ((locked, "Permission denied"), (below_a_file, "Not a directory")):
        config = write_config(tmp_path)
        config.write_text(config.read_text().replace(str(tmp_path / "run"), str(place / "run")))
        status, _, err = end(start("build", config))
        assert status == 2 and "Traceback" not in err
        assert f"out: {place / 'run'} cannot be written ({why}). Make it writable" in err and "--set out=DIR" in err


@pytest.mark.slow
def test_a_run_that_turns_read_only_ends_in_words_and_goes_on_when_it_is_mended(tmp_path: Path) -> None:
    config, run = write_config(tmp_path), tmp_path / "run"
    dialogues = run / "dialogues"
    dialogues.mkdir(parents=True)
    (dialogues / "facts.jsonl").touch(0o444)  # the second condition's, so the first one is made
    status, _, err = end(start("build", config))
    assert status == 2 and "Traceback" not in err
    assert "Permission denied" in err and "facts.jsonl" in err and "the same command goes on from here" in err
    before = (dialogues / "blind.jsonl").read_bytes()
    assert before.count(b"\n") == 6

    files = [path for path in run.rglob("*") if path.is_file()]
    for path, mode in [*((file, 0o444) for file in files), (run, 0o555)]:
        path.chmod(mode)
    for command, argument in (("build", config), ("compare", run)):
        status, _, err = end(start(command, argument))
        assert status == 2 and "Traceback" not in err
        assert f"{run} cannot be written (Permission denied). Make it writable" in err
    for path, mode in [*((file, 0o644) for file in files), (run, 0o755)]:
        path.chmod(mode)

    assert end(start("build", config))[0] == 0
    assert (dialogues / "blind.jsonl").read_bytes() == before
    assert_whole(run, 6)


AT_ONCE = """
import sys
import maieutic.cli, maieutic.workflow, pipeline.tasks.embedded
print("ready", flush=True)
sys.stdin.readline()
maieutic.cli.main()
"""


@pytest.mark.slow
def test_of_two_builds_that_begin_at_once_one_is_refused_with_the_others_id(tmp_path: Path) -> None:
    config, pipe = write_config(tmp_path, tasks=100), subprocess.PIPE
    line = [sys.executable, "-c", AT_ONCE, "build", str(config)]
    both = [subprocess.Popen(line, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    (refused, _, err), (built, out, _) = sorted((end(process) for process in both), reverse=True)
    winner = next(process for process in both if process.returncode == 0)
    assert (refused, built) == (2, 0)
    assert f"process {winner.pid} is writing to this run" in err and "Traceback" not in err
    assert "build facts seed 1: 200 dialogues, 0 failures, 0 there already" in out
    assert_whole(tmp_path / "run", 200)


@pytest.mark.slow
def test_a_second_build_is_refused_until_the_first_was_killed_and_then_goes_on(tmp_path: Path) -> None:
    config, stored = write_config(tmp_path, tasks=100), tmp_path / "run" / "dialogues" / "blind.jsonl"
    first = start("build", config)
    wait_for_bytes(stored, first)
    first.send_signal(signal.SIGSTOP)  # it lives, and cannot end before the second has tried
    status, _, err = end(start("build", config))
    assert status == 2 and f"process {first.pid} is writing to this run" in err
    first.kill()
    end(first)
    status, out, _ = end(start("build", config))
    assert status == 0 and "build facts seed 1: 200 dialogues" in out
    assert_whole(tmp_path / "run", 200)


JUMPING = """
import itertools, sys, time
real, days = time.time, itertools.cycle((0, 1, -1, 400, -4000))
time.time = lambda: real() + 86400 * next(days)
time.time_ns = lambda: int(time.time() * 1e9)
import maieutic.cli
maieutic.cli.main()
"""


@pytest.mark.slow
def test_a_clock_that_jumps_by_days_changes_nothing_that_is_made_or_said(tmp_path: Path) -> None:
    said, env = {}, os.environ | {"PYTHONHASHSEED": "0"}  # PEFT writes a set of names in its order
    for name, program in (("steady", "import maieutic.cli; maieutic.cli.main()"), ("jumping", JUMPING)):
        config = write_config(tmp_path, name)
        line = [sys.executable, "-c", program, "run", str(config)]
        for when in ("first", "again"):
            done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
            lines = [re.sub(r", (\d+ min )?\d+ s$", "", text) for text in done.stdout.replace(name, "").splitlines()]
            said[name, when] = [text for text in lines if re.match("(build|select|train|examine) [^/]*$", text)]
    assert said["jumping", "first"] == said["steady", "first"] and said["jumping", "again"] == said["steady", "again"]
    assert {f"examine {name} seed 1: there already" for name in CONDITIONS} <= set(said["jumping", "again"])
    made = {name: contents(tmp_path / name) for name in ("steady", "jumping")}
    assert len(made["steady"]) > 20 and made["steady"] == made["jumping"]
    print(json.dumps({"files equal under a jumping clock": len(made["steady"])}))


# The seconds that a training took, and what engines were asked: in the reports' three formats.
LOGS = re.compile(
    rb'"seconds": [\d.]+|"engine": \[.*?\],\n "problems"|## What the engines were asked.*?(?=\n## )'
    rb"|<h2>What the engines were asked.*?</section>",
    re.DOTALL,
)


def contents(run: Path) -> dict[str, bytes]:
    """Every file that a run made, without the run's name, its folder, and its logs of how it went."""
    return {
        str(path.relative_to(run)): re.sub(LOGS, b"", path.read_bytes())
        .replace(str(run).encode(), b"RUN")
        .replace(run.name.encode(), b"NAME")
        for path in run.rglob("*")
        if path.is_file() and path.name not in (".lock", "usage.jsonl", "progress.json", "finished.json")
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)  # dozens of processes, on a machine that may be busy
def test_a_run_stopped_at_random_never_shows_half_a_result_and_ends_alike(tmp_path: Path) -> None:
    rng, landed = random.Random(8), Counter[str]()
    whole, stopped = (write_config(tmp_path, name) for name in ("whole-run", "stopped-run"))
    run, completed = tmp_path / "stopped-run", 0
    ended(started("--version"))  # the first waits until everything is imported
    began = time.monotonic()
    assert ended(started("run", str(whole))) == 0
    took, expected = time.monotonic() - began, contents(tmp_path / "whole-run")
    while landed.total() < 10 or not completed:
        process = started("run", str(stopped))
        while process.is_alive() and not holds(run, process.pid):
            time.sleep(0.002)  # before it has begun, a signal meets the interpreter and not the program
        if rng.random() < 0.3:  # a third while an adapter is being saved, a short time that is seldom met
            while process.is_alive() and not list(run.glob("adapters/*/.seed-1.*")):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.03))
        else:
            time.sleep(rng.uniform(0, took))
        number = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)) if landed.total() < 10 else None
        if number and process.is_alive():
            os.kill(process.pid, number)
        assert ended(process) in (0, 130, -(number or 0))
        there = contents(run) if run.exists() else {}
        if process.exitcode:
            assert number is not None
            landed[number.name] += 1
            adapters = [str(folder.relative_to(run)) for folder in run.glob("adapters/*/seed-1")]
            assert all(name in there for name in expected if name.rpartition("/")[0] in adapters)
            for name in there.keys() & expected.keys():
                appended = name.endswith(".jsonl") and not name.startswith("results")
                assert appended or there[name] == expected[name], f"half of {name} after {number.name}"
        else:
            completed += 1
            assert there == expected
            shutil.rmtree(run)
    print(json.dumps({**landed, "runs completed": completed, "files torn, lost or left over": 0}))


SECRETS = ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "ANTHROPIC_API_KEY")
SMALL = (
    "seeds=[1]", "tasks.train={full: 10, underspecified: 40}", "tasks.exam={full: 4, underspecified: 4}",
    "conditions={volunteer: {partition: facts, disclosure: volunteer}, facts: {partition: facts, selection: none}}",
    "exams.samples=1", "exams.beliefs=1", "compare.families={}", "training.steps=2",
)  # fmt: skip


@pytest.mark.slow
def test_secrets_of_the_environment_stand_in_no_file_and_no_output_of_a_whole_run(tmp_path: Path) -> None:
    planted = {name: f"planted-in-{name.lower()}" for name in SECRETS}
    sets = [part for change in (*SMALL, f"out={tmp_path / 'run'}") for part in ("--set", change)]
    said = b""
    for arguments in (
        ["doctor"],
        ["preview", "configs/quickstart.yaml", *sets],
        ["run", "configs/quickstart.yaml", *sets],
    ):
        line = [sys.executable, "-m", "maieutic", *arguments]
        done = subprocess.run(line, cwd=ROOT, env=os.environ | planted, capture_output=True, check=True)
        said += done.stdout + done.stderr
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    parts = [(path.name, part) for path in files for part in unpacked(path)] + [("what it said", said)]
    # The search finds what is there: a dialogue's id in the Parquet files, and the experiment in what is for people.
    dialogue = next(read(tmp_path / "run" / "dialogues" / "facts.jsonl", Dialogue)).id.encode()
    assert "train.parquet" in {name for name, part in parts if dialogue in part}
    assert {"config.yaml", "README.md", "report.html"} <= {name for name, part in parts if b"quickstart" in part}
    shapes = [shape for value in planted.values() for shape in (value.encode(), base64.b64encode(value.encode())[:-4])]
    assert [(name, shape) for name, part in parts for shape in (*shapes, b"planted-in") if shape in part] == []
    print(json.dumps({"secrets": len(planted), "files searched": len(files), "found": 0}))


def unpacked(path: Path) -> Iterator[bytes]:
    """A file's bytes, and what its compression may hide: the values of Parquet, the members of a zip (PyTorch's)."""
    yield path.read_bytes()
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        yield f"{table.schema.metadata} {table.to_pylist()}".encode()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())
