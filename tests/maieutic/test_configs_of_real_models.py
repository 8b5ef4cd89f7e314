"""The configs of two models, previewed with servers in place of both: who is asked for what, and what is said of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from maieutic.cli import app
from pipeline.experiment.experiment import load
from tests.pipeline.building.test_servers_by_role import Dialect
from tests.pipeline.tasks.conftest import sharded_row
from tests.servers import serving

CONFIGS = Path(__file__).parents[2] / "configs"
STUDENT, LARGE = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-4B"
SHORT = (
    "tasks.train={full: 0, sharded: 2}", "tasks.exam={full: 1, sharded: 1}", "dialogue.turns=2",
    "training.report_to=none",  # whose library a preview has no use for
)  # fmt: skip
READER = """
from pipeline.core.readings import PartnerReading, StudentReading


class Nothing:
    async def student(self, turns): return [StudentReading() for _ in turns]

    async def partner(self, turns): return [PartnerReading() for _ in turns]


PARTNER, METRICS = Nothing(), Nothing()
"""


class StandIn:
    """A server of some models that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def app(self) -> web.Application:
        served = web.Application()
        served.router.add_post("/v1/chat/completions", self.answer)
        return served

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        said = {"message": {"role": "assistant", "content": "How many are there?"}, "finish_reason": "stop"}
        return web.json_response({"choices": [said], "usage": {"prompt_tokens": 40, "completion_tokens": 10}})


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with problems in shards, where MAIEUTIC_DATA is."""
    (tmp_path / "sharded_gsm8k").mkdir()
    rows = [sharded_row(i) for i in range(40)]
    (tmp_path / "sharded_gsm8k" / "sharded_gsm8k.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setenv("MAIEUTIC_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "reader.py").write_text(READER, encoding="utf-8")  # the natural ones take long
    return tmp_path


def preview(data: Path, name: str, *overrides: str) -> str:
    readers = [f"reading.{who}={data / 'reader.py'}:{who.upper()}" for who in ("partner", "metrics")]
    sets = [f"--set={override}" for override in (*SHORT, *readers, *overrides)]
    result = CliRunner().invoke(app, ["preview", str(CONFIGS / f"{name}.yaml"), "--dialogues", "2", *sets])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def served(engine: str, address: str) -> tuple[str, ...]:
    return f"engines.{engine}.kind=openai", f"engines.{engine}.url={address}", f"engines.{engine}.key_env=STUDENT_KEY"


def test_a_teacher_behind_an_api_is_asked_in_its_dialect_watched_and_paid(data, monkeypatch) -> None:
    monkeypatch.setenv("TEACHER_KEY", "planted-teacher-key")
    monkeypatch.setenv("STUDENT_KEY", "planted-student-key")
    student, teacher = StandIn(), Dialect("TEACHER", "planted-teacher-key", fails=False)
    refuses = ("max_tokens_field=max_completion_tokens", "temperature=when_set", "extra_body={reasoning_effort: low}")
    with serving(student.app()) as near, serving(teacher.app()) as far:
        said = preview(
            data, "teacher_api_qwen3_0.6b", *served("local", near), f"engines.api.url={far}",
            *(f"engines.api.{key}" for key in refuses),
        )  # fmt: skip
    assert teacher.refused == [] and {body["model"] for body in student.asked} == {STUDENT}
    assert teacher.log["reasoning_tokens"] == 12 * teacher.log["answers"] > 0
    assert "facts: 2 of 2 dialogues kept to what the partner may know" in said and "# Goal" in said
    build = said.split("what it takes, as these dialogues went")[1]
    assert "build student" in build and "partner" in build and "`prices` in the config" not in said
    assert "planted-teacher-key" not in said


def test_a_larger_partner_beside_the_student_is_asked_by_its_own_name_and_sampling(data, monkeypatch) -> None:
    monkeypatch.setenv("STUDENT_KEY", "planted-student-key")
    server = StandIn()
    with serving(server.app()) as address:
        said = preview(data, "partner_4b_qwen3_0.6b", *served("small", address), *served("large", address))
    bodies = {model: [body for body in server.asked if body["model"] == model] for model in (STUDENT, LARGE)}
    assert len(server.asked) == sum(map(len, bodies.values())) and all(bodies.values())
    assert {body["temperature"] for body in server.asked} == {0.7}
    assert {(body.get("top_p"), body.get("top_k")) for body in bodies[LARGE]} == {(0.8, 20)}
    assert not any("top_p" in body for body in bodies[STUDENT])
    assert {body["max_tokens"] for body in server.asked} == {400}
    kept = {
        "peer": 2,
        "volunteer": 0,
        "facts": 2,
        "verifier": 2,
    }  # who is to tell unasked, and asks instead, violates it
    assert all(f"{name}: {count} of 2 dialogues kept" in said for name, count in kept.items())


def test_the_teacher_of_the_config_reads_turns_too_where_its_comment_says_how() -> None:
    path = CONFIGS / "teacher_api_qwen3_0.6b.yaml"
    [line] = [line for line in path.read_text().splitlines() if "--set reading.metrics=judge" in line]
    judged = load(path, tuple(re.findall(r"--set (\S+)", line)))
    assert judged.roles_in_use == ("student", "partner", "judge") and judged.engine_of("judge").key_env == "TEACHER_KEY"
