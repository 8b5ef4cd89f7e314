"""Every role has a model, an engine and a way of sampling of its own, or another's where it names none."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.engines.settings import Engine
from pipeline.experiment.asked_in_role import InRole, in_role
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump, load
from pipeline.experiment.open_role import engines_in_use, memory_said, open_role
from pipeline.experiment.preflight import preflight
from pipeline.experiment.roles import Role, RoleSampling
from tests.builders import small_experiment

API = {"kind": "openai", "url": "http://127.0.0.1:1/v1"}
PEER = {"peer": {"partition": "symmetric", "voice": "model"}}


def experiment(**config: Any) -> Experiment:
    return Experiment.model_validate({"name": "x", "conditions": PEER, "engine": {"kind": "scripted"}, **config})


def refused(tmp_path: Path, text: str) -> str:
    (tmp_path / "x.yaml").write_text("name: x\nconditions: {facts: {partition: facts}}\n" + text)
    with pytest.raises(ConfigError) as error:
        load(tmp_path / "x.yaml")
    return str(error.value)


def test_a_lone_engine_serves_every_role() -> None:
    exp = experiment()
    assert {exp.engine_of(name).kind for name in ("student", "partner", "judge", "challenger")} == {"scripted"}
    assert exp.roles_in_use == ("student", "partner")


def test_a_role_has_the_model_and_engine_of_another_where_it_names_none() -> None:
    exp = experiment(student={"model": "small", "engine": "local"}, engines={"local": API, "api": API},
                     partner={"model": "large", "engine": "api"})  # fmt: skip
    served = {name: (exp.role(name).model, exp.role(name).engine) for name in ("judge", "challenger")}
    assert served == {"judge": ("small", "local"), "challenger": ("large", "api")}
    lone = experiment(student={"model": "small", "engine": "local"}, engines={"local": API}, partner={"model": "x"})
    assert lone.engine_of("partner").kind == "scripted"  # who names a model and no engine has the lone engine


def test_roles_of_one_engine_and_model_share_an_instance_and_are_counted_apart() -> None:
    exp = experiment()
    casting = Casting(exp)
    cast = casting.cast(Cell(exp, "peer", 1))
    assert open_role(exp, "student").model is open_role(exp, "partner").model
    assert cast.partner is not None
    asyncio.run(cast.student.complete([], Sampling(5)))
    asyncio.run(cast.partner.complete([], Sampling(5)))
    assert {role: tally.answers for role, tally in casting.meter.roles.items()} == {"student": 1, "partner": 1}


class Recorder(ScriptedModel):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sampling] = []

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.asked.append(sampling)
        return await super().complete(messages, sampling)


def test_a_role_is_asked_with_its_own_sampling_and_greedily_where_an_exam_asks_so() -> None:
    model = Recorder()
    role = Role(sampling=RoleSampling(temperature=0.6, top_p=0.9, top_k=20, min_p=0.05), thinking="drop")
    student = InRole(model, "student", role)
    for temperature in (1.0, 0.0):
        asyncio.run(student.complete([], Sampling(40, temperature=temperature, seed=7)))
    drawn, greedy = model.asked
    assert (drawn.temperature, drawn.top_p, drawn.top_k, drawn.min_p) == (0.6, 0.9, 20, 0.05)
    assert (drawn.seed, drawn.thinking, drawn.max_tokens) == (7, True, 40 + role.thinking_tokens)
    assert greedy.temperature == 0 and greedy.temperature_is_set  # its server takes a temperature
    assert in_role("judge", role, Sampling(40, 0.0)).temperature == 0.6  # what reads is greedy by default alone
    assert in_role("partner", Role(), Sampling(40, temperature=0.7, seed=3)) == Sampling(40, temperature=0.7, seed=3)


def test_nobody_is_asked_greedily_whose_server_is_sent_no_temperature() -> None:
    engine = {"kind": "openai", "url": "http://x/v1", "temperature": "when_set"}
    refused = r"exams\.greedy: true .* so the server would sample them"
    with pytest.raises(ConfigError, match=refused):
        preflight(small_experiment(engine=engine))
    for more in ({"exams": {"greedy": False}}, {"student": {"sampling": {"temperature": 1.0}}}):
        preflight(small_experiment(engine=engine, **more))


def test_a_role_speaks_at_its_own_temperature_and_none_where_dialogues_are_greedy() -> None:
    own = {"student": {"model": "x/y", "sampling": {"temperature": 0.6}}}
    made = experiment(**own, dialogue={"temperature": 1.0})
    asked = in_role("student", made.role("student"), Sampling(40, temperature=1.0))
    assert made.temperature_of("student") == asked.temperature == 0.6
    with pytest.raises(
        ValueError, match=r"student\.sampling\.temperature: 0\.6: dialogue\.temperature: 0 asks every role"
    ):
        experiment(**own, dialogue={"temperature": 0.0})


def test_ids_change_with_how_a_role_is_sampled_and_not_with_who_serves_it() -> None:
    plain = experiment().fingerprint()
    for other in ({"sampling": {"top_p": 0.9}}, {"thinking": "drop"}):
        assert experiment(partner=other).fingerprint() != plain != experiment(student=other).fingerprint()
        assert experiment(judge=other).fingerprint() == plain
    assert experiment(engines={"local": {"kind": "scripted"}}, student={"engine": "local"}).fingerprint() == plain
    effort = {"kind": "scripted", "extra_body": {"reasoning_effort": "low"}}
    assert experiment(engine=effort).fingerprint() != plain


def test_models_beside_each_other_on_vllm_divide_the_memory_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    exp = experiment(engine={"kind": "vllm"}, student={"model": "A/small"}, partner={"model": "A/large"})
    shares = {name: engine.gpu_memory_utilization for name, engine in engines_in_use(exp).items()}
    assert shares == {"student": 0.45, "partner": 0.45}
    said = {True: "vLLM: shares of a GPU's memory: A/small 0.45, A/large 0.45",
            False: "vLLM on a CPU: 1 GiB of keys and values for each of A/small, A/large"}  # fmt: skip
    for gpu, words in said.items():
        monkeypatch.setattr("torch.cuda.is_available", lambda gpu=gpu: gpu)
        assert memory_said(exp) == words
    small, large = ({"kind": "vllm", "gpu_memory_utilization": share} for share in (0.2, 0.7))
    exp = experiment(engines={"a": small, "b": large}, student={"model": "A/small", "engine": "a"},
                     partner={"model": "A/large", "engine": "b"})  # fmt: skip
    assert [engine.gpu_memory_utilization for engine in engines_in_use(exp).values()] == [0.2, 0.7]


def test_one_model_on_vllm_has_its_own_share_whatever_roles_it_plays() -> None:
    exp = experiment(engine={"kind": "vllm"}, student={"model": "A/small"})
    assert {engine.gpu_memory_utilization for engine in engines_in_use(exp).values()} == {None}
    assert memory_said(exp) == ""


def test_more_memory_than_there_is_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "engines: {a: {kind: vllm, gpu_memory_utilization: .6}, b: {kind: vllm, "
                    "gpu_memory_utilization: .7}}\nstudent: {model: A/x, engine: a}\n"
                    "judge: {model: A/y, engine: b}\nacts: {labeller: judge}")  # fmt: skip
    assert "engines: a, b run beside each other, and their gpu_memory_utilization comes to 1.3 of a GPU" in error


def test_one_server_asked_with_one_key_has_one_pace() -> None:
    slow = {**API, "url": f"{API['url']}/", "requests_per_minute": 60}
    roles: dict[str, Any] = {"student": {"engine": "a"}, "partner": {"engine": "b", "model": "x"}}
    with pytest.raises(ValueError, match=r"engines\.b\.requests_per_minute: 60, and engines\.a has null for the same"):
        experiment(engines={"a": API, "b": slow}, **roles)
    for change in ({"requests_per_minute": None}, {"key_env": "OTHER_KEY"}, {"url": "http://127.0.0.1:2/v1"}):
        experiment(engines={"a": API, "b": {**slow, **change}}, **roles)
    experiment(engines={"a": API, "b": slow}, student={"engine": "a"})  # nobody asks the second


def test_an_engine_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    error = refused(tmp_path, "engines: {api: {kind: scripted}}\npartner: {engine: apy}")
    assert "partner.engine: 'apy' is not in engines. Known: api" in error


def test_a_servers_key_that_is_not_set_is_missed_where_a_role_in_use_needs_it() -> None:
    api = {"api": {**API, "key_env": "PLANTED_KEY"}}
    with pytest.raises(ConfigError, match=r"^engines\.api\.key_env: PLANTED_KEY is not set in the environment"):
        preflight(experiment(engines=api, partner={"model": "x", "engine": "api"}))
    preflight(experiment(engines=api))
    preflight(experiment(engines=api, challenger={"model": "x", "engine": "api"}))


def test_what_is_wrong_with_an_engine_is_said_with_its_key() -> None:
    nowhere = {"kind": "openai"}
    with pytest.raises(ConfigError, match=r"^engines\.api\.url: '' is no address"):
        open_role(experiment(engines={"api": nowhere}, partner={"model": "x", "engine": "api"}), "partner")
    with pytest.raises(ConfigError, match=r"^engine\.url: '' is no address"):
        open_role(experiment(engine=nowhere), "student")
    one, other = Engine().standing_at("engines.one"), Engine().standing_at("engines.other")
    assert one == other and hash(one) == hash(other)  # they share models


def test_a_key_written_into_a_config_is_refused_and_not_repeated(tmp_path: Path) -> None:
    error = refused(tmp_path, "engine: {kind: openai, url: http://x/v1, key_env: sk-planted}")
    assert "engine.key_env: the name of an environment variable in capitals is expected" in error
    assert "sk-planted" not in error


@pytest.mark.parametrize("text", ["partner: {judge: X}", "reading: {model: X}", "acts: {model: X}"])
def test_where_a_judge_was_named_before_it_is_said_where_it_is_named_now(tmp_path: Path, text: str) -> None:
    error = refused(tmp_path, text)
    assert "not a key any more" in error and "a role of its own: judge: {model: NAME}" in error


def test_what_was_to_convince_a_judge_is_not_measured_by_it() -> None:
    with pytest.raises(ValueError, match=r"reading\.metrics: 'judge' would measure what conditions\.c"):
        experiment(conditions={"c": {**PEER["peer"], "manner": "convincing"}}, judge={"model": "X"},
                   reading={"metrics": "judge", "partner": "closed"})  # fmt: skip


def test_a_bare_off_is_a_word_in_yaml_too(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\nconditions: {facts: {partition: facts}}\nstudent: {thinking: off}")
    assert load(path).student.thinking == "off"
    path.write_text(dump(load(path)))
    assert load(path).student.thinking == "off"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{effort: low, messages: []}", "'messages' is written into each request from the config's other keys"),
        ("{max_tokens: 5}", "'max_tokens' is written into each request"),
        ("{api_key: sk-planted}", "'api_key' looks like a secret"),
        ("{more: [{metadata: {password: sk-planted}}]}", "'password' looks like a secret"),
        ("{headers: ['Authorization: Bearer sk-planted']}", "'a value of it' looks like a secret"),
        ("{token: planted}", "'token' looks like a secret"),
    ],
)
def test_what_an_engine_adds_to_requests_replaces_nothing_and_holds_no_secret(
    tmp_path: Path, body: str, said: str
) -> None:
    error = refused(tmp_path, f"engine: {{kind: openai, url: http://x/v1, extra_body: {body}}}")
    assert f"engine.extra_body: {said}" in error and "sk-planted" not in error


def test_a_field_of_a_schema_may_be_called_password(tmp_path: Path) -> None:
    path, schema = tmp_path / "c.yaml", "{guided_json: {properties: {password: {type: string}}, max_token: 5}}"
    engine = f"engine: {{kind: openai, url: http://x/v1, extra_body: {schema}}}"
    path.write_text(f"name: x\nconditions: {{facts: {{partition: facts}}}}\n{engine}\n")
    assert load(path).engine.extra_body["guided_json"]["properties"] == {"password": {"type": "string"}}


@pytest.mark.parametrize("reading", [{"partner": "semantic"}, {"metrics": "cross_encoder"}], ids=str)
def test_two_instruments_are_two_by_what_auto_comes_to(reading):
    student = {"model": "/models/own"}
    natural: dict[str, Any] = {
        "student": student, "engine": {"kind": "transformers"}, "tasks": {"source": "lookup"}
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"reading: partner and metrics are both '(semantic|cross_encoder)'"):
        small_experiment(**natural, reading=reading)
    assert small_experiment(**natural).readers == ("cross_encoder", "semantic")
    assert small_experiment(reading={"partner": "closed", "metrics": "closed"}).readers == ("closed", "closed")


def test_a_partner_on_vllm_beside_a_trainer_has_its_share_of_the_gpu_named() -> None:
    engine: dict[str, Any] = {"kind": "vllm"}
    peer = {"partition": "key", "voice": "model", "method": "grpo"}
    made = partial(small_experiment, student={"model": "x/y"}, dialogue={"per_task": 4})
    with pytest.raises(ConfigError, match=r"conditions\.peer: method 'grpo' with the partner on vLLM .* Name the gpu_"):
        preflight(made(engine=engine, conditions={"peer": peer}))
    preflight(made(engine=engine, conditions={"peer": peer | {"method": "sft"}}))
    preflight(made(engine=engine, conditions={"peer": peer | {"weights": "current"}}))
    preflight(made(engine=engine | {"gpu_memory_utilization": 0.3}, conditions={"peer": peer}))
