"""Students that play while they learn: scored on the ids that they sampled."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from pipeline.core.schema import Message
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.engines.decoding.decode import Answer
from pipeline.engines.model import Completion, ContextOverflow, Sampling
from pipeline.engines.transformers import TransformersModel, load_tokenizer
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.condition import ONLINE, Condition
from pipeline.runs.student_files import RECORD
from pipeline.tasks.loading import load_tasks
from training.inputs.job import PreparedTrainer, TrainingJob
from training.inputs.student_rows import student_rows
from training.inputs.token_counts import TokenCounts
from training.online.grpo import grpo_trainer, rollouts
from training.online.partners import open_partners
from training.online.rewards import without_spread
from training.online.session import Session
from training.student import train

CLOSING = ExitStack()
BASE = Path("data/base")
WEIGHTS = "adapter_model.safetensors"


def experiment(model: Path, out: Path, method: str = "grpo", **sections: Any) -> Experiment:
    return Experiment(
        name="tiny",
        out=str(out),
        seeds=(1, 2),
        engine={"kind": "transformers", "dtype": "float32"},  # to compare, whatever a processor is faster in
        conditions={"facts": Condition(partition="key" if method == "grpo_step" else "facts", method=method)},
        **{
            "student": {"model": str(model)},
            "tasks": {"train": {"full": 2, "underspecified": 4}},
            "dialogue": {"turns": 3, "max_tokens": 24},
            "reading": {"partner": "closed", "metrics": "closed"},
            "turn_values": {"siblings": 2, "rollouts": 2},
            "training": {
                "bf16": False,
                "lora": {"r": 4},
                "learning_rate": 1e-2,
                "grpo": {"group": 4, "tasks_per_step": 2},
            },
        }
        | sections,
    )


def job(made: Experiment, name: str = "facts") -> TrainingJob:
    model = AutoModelForCausalLM.from_pretrained(made.student.model)
    tokenizer = load_tokenizer(made.student.model)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    lora = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    return TrainingJob(Cell(made, name, 1), model, tokenizer, lora)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """As after a training: what a trainer started has ended."""
    with CLOSING:
        yield


def prepared(made: Experiment) -> tuple[PreparedTrainer, list[dict[str, Any]]]:
    """A trainer whose adapter is not nothing, and the first batch that it would play."""
    export(made, "facts")
    ready = grpo_trainer(job(made), [row for row in read_rows(made, "facts") if row["seed"] == 1])
    CLOSING.callback(ready.close)
    torch.manual_seed(0)
    for name, weights in ready.trainer.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.1)
    ready.trainer.model.train()
    return ready, next(iter(ready.trainer.get_train_dataloader()))


@pytest.fixture
def asked(monkeypatch) -> list[tuple[list[int], list[int]]]:
    """Every prompt that an engine read, with the ids that it sampled."""
    calls: list[tuple[list[int], list[int]]] = []
    original = TransformersModel.complete_ids

    async def listen(self: TransformersModel, prompt: list[int], sampling: Sampling) -> Answer:
        answer = await original(self, prompt, sampling)
        calls.append(([*prompt], answer.ids))
        return answer

    monkeypatch.setattr(TransformersModel, "complete_ids", listen)
    return calls


class Says:
    """An engine that samples these ids, in order, or raises. Texts are encoded, and end as turns do."""

    def __init__(self, tokenizer: Any, *answers: str | list[int] | Exception):
        self.tokenizer, self.answers = tokenizer, iter(answers)

    async def complete_ids(self, prompt: list[int], sampling: Sampling) -> Answer:
        answer, end = next(self.answers), self.tokenizer.eos_token_id
        if isinstance(answer, Exception):
            raise answer
        ids = [*self.tokenizer.encode(answer, add_special_tokens=False), end] if isinstance(answer, str) else answer
        text = self.tokenizer.decode(ids, skip_special_tokens=True).strip()
        return Answer(ids, Completion(text, tokens=len(ids), prompt_tokens=len(prompt), finished=ids[-1] == end))

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        return (await self.complete_ids([], sampling)).completion

    def count_tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))


def turns(ids: list[int], own: list[int]) -> list[tuple[int, int]]:
    """Where the student's turns begin and end."""
    edges = [i for i in range(len(own) + 1) if (own[i - 1] if i else 0) != (own[i] if i < len(own) else 0)]
    return list(zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize("method", ONLINE)
@pytest.mark.parametrize("kind", ["embedded", "qwen3"])
def test_the_trainer_is_given_exactly_the_ids_that_were_sampled(kind, method, request, tmp_path, asked, monkeypatch):
    monkeypatch.setattr("training.online.rewards.NO_SPREAD", -1.0)  # no group is left out
    ready, batch = prepared(experiment(request.getfixturevalue(kind), tmp_path, method))
    trainer, tokenizer = ready.trainer, load_tokenizer(str(request.getfixturevalue(kind)))
    found = trainer.rollout_func([example["prompt"] for example in batch], trainer)
    assert all(module.training for module in trainer.model.modules())
    sampled, changed = 0, 0
    for prompt, ids, own in zip(found["prompt_ids"], found["completion_ids"], found["env_mask"], strict=True):
        assert len(own) == len(ids) and own[0] == own[-1] == 1
        spans = turns(ids, own)
        assert len(spans) == 1 or method == "grpo"
        for begin, end in spans:
            assert ([*prompt, *ids[:begin]], ids[begin:end]) in asked
            again = tokenizer.encode(tokenizer.decode(ids[begin:end]), add_special_tokens=False)
            sampled, changed = sampled + 1, changed + (again != ids[begin:end])
    assert changed > 0, "nothing here would have been changed by encoding it again"
    assert sampled == len(asked) or method == "grpo_turn"


@pytest.mark.parametrize("kind", ["embedded", "qwen3"])
def test_the_trainers_log_probabilities_are_those_of_sampling(kind, request, tmp_path, asked):
    settings = {"dialogue": {"turns": 3, "max_tokens": 24, "temperature": 0.8}}
    ready, batch = prepared(experiment(request.getfixturevalue(kind), tmp_path, **settings))
    trainer: Any = ready.trainer
    given = trainer._generate_and_score_completions(batch)
    ids = torch.cat([given["prompt_ids"], given["completion_ids"]], 1)
    seen = torch.cat([given["prompt_mask"], given["completion_mask"]], 1)
    scored, _, _ = trainer._get_per_token_logps_and_entropies(
        trainer.model, ids, seen, given["completion_ids"].shape[1], batch_size=5
    )
    own = (given["completion_mask"] * given["tool_mask"]).bool()
    asked.sort()
    expected: dict[tuple[int, ...], torch.Tensor] = {}
    with torch.no_grad():
        for prompt, sampled in asked:  # read anew, alone and without padding
            logits = trainer.model(torch.tensor([[*prompt, *sampled]])).logits[0, len(prompt) - 1 : -1] / 0.8
            expected[*prompt, *sampled] = logits.log_softmax(-1).gather(1, torch.tensor(sampled)[:, None])[:, 0]
    for row in range(len(ids)):
        prompt = ids[row][: given["prompt_ids"].shape[1]][given["prompt_mask"][row].bool()].tolist()
        completion = given["completion_ids"][row].tolist()
        for begin, end in turns(completion, own[row].int().tolist()):
            found = scored[row, begin:end].detach()
            assert torch.allclose(found, expected[*prompt, *completion[:end]], atol=1e-4)


HEARD = {
    "embedded": "<|user|>A{0}<|assistant|>How many?{0}<|user|>How many?{0}<|assistant|>many{0}"
    "<|user|>C{0}<|assistant|>8",
    "qwen3": "<|im_start|>user\nA{0}\n{1}How many?{0}\n<|im_start|>user\nHow many?{0}\n{1}many{0}\n"
    "<|im_start|>user\nC{0}\n{1}8",
}


@pytest.mark.parametrize("kind", HEARD)
def test_a_student_reads_on_from_its_own_ids(kind, request):
    """The partner repeats its words, its second turn is in ids that no tokenizer writes, and is cut."""
    tokenizer = load_tokenizer(str(request.getfixturevalue(kind)))
    odd = [id for letter in "many" for id in tokenizer.encode(letter, add_special_tokens=False)]
    assert odd != tokenizer.encode("many", add_special_tokens=False)
    session, messages = Session(Says(tokenizer, "How many?", odd, "8")), []  # type: ignore[arg-type]
    for heard in ("A", "How many?", "C"):
        messages.append({"role": "user", "content": heard})
        said = asyncio.run(session.complete(messages, Sampling(9)))
        messages.append({"role": "assistant", "content": said.text})
    begin = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    whole = HEARD[kind].format(tokenizer.eos_token, begin) + tokenizer.eos_token
    assert tokenizer.decode([*session.prompt, *session.ids]) == whole
    own = [session.ids[begin:end] for begin, end in turns(session.ids, session.own)]
    end = [tokenizer.eos_token_id]
    assert own == [tokenizer.encode("How many?", add_special_tokens=False) + end, odd, [*tokenizer.encode("8"), *end]]


@pytest.mark.slow
def test_one_seed_gives_the_same_bytes_and_another_seed_does_not(tmp_path):
    whole = {"dialogue": {"turns": 2, "max_tokens": 64}, "tasks": {"train": {"full": 6}}}
    first, again = experiment(BASE, tmp_path / "a", **whole), experiment(BASE, tmp_path / "b", **whole)
    for made in (first, again):
        export(made, "facts")
    adapters = [train(Cell(made, "facts", 1)) for made in (first, again)]
    other = train(Cell(first, "facts", 2))
    assert (adapters[0] / WEIGHTS).read_bytes() == (adapters[1] / WEIGHTS).read_bytes()
    assert (adapters[0] / WEIGHTS).read_bytes() != (other / WEIGHTS).read_bytes()
    assert any(weights.any() for name, weights in load_file(other / WEIGHTS).items() if "lora_B" in name)


@pytest.mark.slow
def test_two_processes_play_and_learn_the_same_as_one(tmp_path):
    alone, both = (experiment(BASE, tmp_path / name) for name in ("alone", "both"))
    for made in (alone, both):
        export(made, "facts")
    (tmp_path / "config.yaml").write_text(dump(both))
    script = (
        "import sys; from pathlib import Path; from pipeline.experiment.cell import Cell\n"
        "from pipeline.experiment.experiment import load\n"
        "from training.student import train"
    )
    (tmp_path / "run.py").write_text(f"{script}\ntrain(Cell(load(Path(sys.argv[1])), 'facts', 1))\n")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [str(tmp_path / "run.py"), str(tmp_path / "config.yaml")]
    subprocess.run(command, check=True, capture_output=True, timeout=280, env=os.environ | {"PYTHONPATH": "."})
    train(Cell(alone, "facts", 1))
    ours, theirs = (json.loads((made.run / f"adapters/facts/seed-1/{RECORD}").read_text()) for made in (alone, both))
    for key in ("sampled_tokens", "trained_tokens", "dialogues", "optimizer_steps"):
        assert ours[key] == theirs[key]
    assert ours["reward_last"] == pytest.approx(theirs["reward_last"])


ONE_FAILS = """
from accelerate import PartialState
from pipeline.engines.model import EngineError
from training.online.grpo import failing_together

def play():
    if PartialState(cpu=True).process_index == 1:
        raise EngineError("the queue is full")
    return []

try:
    failing_together(play)
except EngineError as error:
    print(f"stopped: {error}")
PartialState().destroy_process_group()  # else a process whose peer has ended may abort while it ends itself
"""


@pytest.mark.slow
def test_an_engine_that_fails_one_process_stops_the_others_too(tmp_path):
    (tmp_path / "run.py").write_text(ONE_FAILS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = os.environ | {"PYTHONPATH": "."}
    said = subprocess.run(
        [*command, tmp_path / "run.py"], check=True, capture_output=True, timeout=120, env=environment
    ).stdout
    assert said.count(b"stopped: the queue is full") == 2


SLOW = {"grpo", "grpo_next"}


@pytest.mark.parametrize(
    "method", [pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each for each in ONLINE]
)
def test_training_records_what_was_played(tmp_path, method, asked):
    made = experiment(
        BASE, tmp_path, method, tasks={"train": {"full": 6}},
        training={"lora": {"r": 4}, "grpo": {"group": 4, "tasks_per_step": 3}},
    )  # fmt: skip
    export(made, "facts")
    record = json.loads((train(Cell(made, "facts", 1)) / RECORD).read_text())
    cost = 2 if method == "grpo_turn" else 1
    assert record["optimizer_steps"] == 6 * 5 // (12 * cost) == record["dialogues"] // (12 * cost)
    assert record["sampled_tokens"] == sum(len(sampled) for _, sampled in asked)
    # Groups without spread are sampled, and teach nothing; of grpo_turn the rollouts that give a turn its value, too.
    assert record["trained_tokens"] <= record["sampled_tokens"] - (method == "grpo_turn")
    assert record["rows"] == len([row for row in read_rows(made, "facts") if row["seed"] == 1])
    assert record["sequences"] == 12 * record["optimizer_steps"]
    least = -1 if method == "grpo_step" else 0
    assert least <= record["reward_first"] <= 1 and least <= record["reward_last"] <= 1


def test_members_of_a_group_have_one_prompt_and_draws_of_their_own(embedded, tmp_path):
    ready, batch = prepared(experiment(embedded, tmp_path))
    found = ready.trainer.rollout_func([example["prompt"] for example in batch], ready.trainer)
    groups = [found["prompt_ids"][i : i + 4] for i in (0, 4)]
    assert groups[0] == groups[0][:1] * 4 and groups[1] == groups[1][:1] * 4 and groups[0] != groups[1]
    assert len({tuple(ids) for ids in found["completion_ids"]}) == 8


def test_a_yoked_student_plays_the_same_and_its_rewards_are_dealt_by_lot(tmp_path):
    played = []
    for name, selection in (("facts", "outcome"), ("facts_yoked", "yoked")):
        learns = {name: Condition(partition="facts", method="grpo", selection=selection)}
        made = experiment(BASE, tmp_path / selection, dialogue={"turns": 3, "max_tokens": 64})
        made = made.model_copy(update={"conditions": learns})
        export(made, name)
        trainer, *_, close = grpo_trainer(job(made, name), student_rows(Cell(made, name, 1)))
        CLOSING.callback(close)
        batches = [[example["prompt"] for example in batch] for batch in trainer.get_train_dataloader()]
        found = [trainer.rollout_func(batch, trainer) for batch in batches]
        played.append({key: [each for part in found for each in part[key]] for key in ("completion_ids", "reward")})
    own, yoked = played  # though rows have ids of their own, by which their order would be another
    assert own["completion_ids"] == yoked["completion_ids"]
    assert yoked["reward"] != own["reward"]
    for i in range(0, len(own["reward"]), 4):
        assert Counter(yoked["reward"][i : i + 4]) == Counter(own["reward"][i : i + 4])


def test_members_of_a_group_are_compared_as_if_those_that_failed_had_not_been_there(embedded, tmp_path, caplog):
    ready, batch = prepared(experiment(embedded, tmp_path))
    play, rewards = ready.trainer.rollout_func, [1.0, None, 0.0, None]
    ready.trainer.rollout_func = lambda *asked: play(*asked) | {"reward": rewards * 2}
    learned = ready.trainer._generate_and_score_completions(batch)
    spread = 0.5**0.5  # of two: each is as far from the mean
    for advantages in learned["advantages"].view(2, 4):
        assert advantages.tolist() == pytest.approx([spread, 0, -spread, 0], abs=1e-3)
    assert "returned None" not in caplog.text


@pytest.mark.parametrize("selection", ["outcome", "yoked"])
def test_a_failure_of_the_partner_is_no_sample_of_the_student(embedded, tmp_path, selection):
    learns = Condition(partition="symmetric", voice="model", weights="current", method="grpo", selection=selection)
    made = experiment(embedded, tmp_path, tasks={"train": {"full": 1}})
    made = made.model_copy(update={"conditions": {"facts": learns}})
    (task,), _ = load_tasks(made.tasks, "train")
    student, right = job(made), f"The answer is {task.answer}. I am done."
    engine: Any = Says(student.tokenizer, right, "Hm.", "", "Hm.", ContextOverflow("full"), "")

    class Sampler:
        def play(self, trainer: Any, work: Any) -> Any:
            return asyncio.run(work(engine))

        def check(self, trainer: Any, sessions: Any) -> None: ...

    counts, sampler, partners = TokenCounts(lambda: 0), Sampler(), open_partners(student)
    trainer: Any = SimpleNamespace(accelerator=SimpleNamespace(process_index=0), state=SimpleNamespace(global_step=0))
    rollout = rollouts(student, {task.id: task}, counts, sampler, partners)  # type: ignore[arg-type]
    found = rollout([[{"role": "user", "content": task.question, "task": task.id}]] * 4, trainer)
    first, *failures, last = found["reward"]
    assert failures == [None, None] and {first, last} == {0, 1}, "not compared"
    assert [any(mask) for mask in found["env_mask"]] == [True, False, False, True]
    assert counts.sampled > counts.trained == sum(map(sum, found["env_mask"]))


def test_groups_that_were_all_rewarded_alike_are_left_out_of_the_loss(embedded, tmp_path):
    assert without_spread([0.1, 0.1, 0.2, 0.3], 2) == [True, True, False, False]
    cut = {"turns": 3, "max_tokens": 1}
    for method, learned in (("grpo_step", False), ("grpo", True)):
        ready, batch = prepared(experiment(embedded, tmp_path / method, method, dialogue=cut))
        found = ready.trainer.rollout_func([example["prompt"] for example in batch], ready.trainer)
        assert set(found["reward"]) == ({0.0} if learned else {-1.0})
        assert any(map(any, found["env_mask"])) is learned
        assert ready.token_counts.trained == 0 < ready.token_counts.sampled  # their loss is 0
    made = experiment(embedded, tmp_path / "trained", "grpo_step", dialogue=cut)
    export(made, "facts")
    adapter = train(Cell(made, "facts", 1))
    record = json.loads((adapter / RECORD).read_text())
    assert record["sampled_tokens"] > record["trained_tokens"] == record["loss"] == 0
    weights = load_file(adapter / "adapter_model.safetensors")
    assert all(not values.any() for name, values in weights.items() if "lora_B" in name), "it began with zeros"


@pytest.mark.parametrize("weights", ["base", pytest.param("current", marks=pytest.mark.slow)])
def test_a_model_partner_is_read_and_not_learned_and_its_tokens_are_counted(embedded, tmp_path, weights, asked):
    condition = Condition(partition="symmetric", voice="model", weights=weights, method="grpo")
    made = experiment(embedded, tmp_path, tasks={"train": {"full": 2, "underspecified": 2}})
    made = made.model_copy(update={"conditions": {"facts": condition}})
    export(made, "facts")
    record = json.loads((train(Cell(made, "facts", 1)) / RECORD).read_text())
    own = record["trained_tokens"]
    assert record["sampled_tokens"] == sum(len(sampled) for _, sampled in asked) > own


def test_a_prompt_that_does_not_fit_trains_nothing_and_stops_nothing(embedded, tmp_path):
    ready, batch = prepared(experiment(embedded, tmp_path, dialogue={"max_tokens": 4096}))
    found = ready.trainer.rollout_func([example["prompt"] for example in batch], ready.trainer)
    assert found["reward"] == [0.0] * 8 and found["env_mask"] == [[0]] * 8
    ready.trainer._generate_and_score_completions(batch)
