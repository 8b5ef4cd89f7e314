# ruff: noqa: E402 (the skip stands before what it protects)
"""The same dialogues through verifiers' current interface: `make test-verifiers`, in an environment of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed: its taskset is NOT tested in this run")

import maieutic_dialogue  # noqa: F401 - it must be there: verifiers would name its absence only by id
from maieutic_dialogue.metrics import METRICS, correct

from tests.environments.conftest import CONDITIONS, Server, build, experiment, hidden, name, student, untold
from tests.fakes import Parrot


def play(path: str, model: Any, **taskset: Any) -> tuple[list[Any], Server]:
    """The episodes of all tasks, and the server that was asked."""
    server = Server(model)
    chosen = {"id": "maieutic-dialogue", "config": path, "condition_name": "ours", **taskset}

    async def all_of_them() -> list[Any]:
        env = vf.load_environment(vf.resolve_env_config({"taskset": chosen}))
        async with server.listening() as url, env.serving():
            client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
            context = vf.ModelContext(model="student", client=client, sampling=vf.Sampling(max_tokens=48))
            return [await env.run_episode(task, context) for task in env.taskset]

    return asyncio.run(all_of_them()), server


@pytest.mark.parametrize("condition", CONDITIONS, ids=name)
def test_an_episode_of_the_taskset_is_the_dialogue_that_the_pipeline_builds(condition, written):
    played = experiment(**condition)
    theirs = student(played)
    episodes, server = play(written(played), student(played))
    built = asyncio.run(build(played, theirs))
    assert server.seen == theirs.seen
    assert all(episode.ok for episode in episodes), [episode.errors for episode in episodes]
    for episode, dialogue in zip(episodes, built, strict=True):
        (trace,) = episode.traces
        found = trace.state.dialogue
        assert (found.id, found.stop, trace.stop_condition) == (dialogue.id, dialogue.stop, dialogue.stop)
        assert [(t.party, t.text) for t in found.turns] == [(t.party, t.text) for t in dialogue.turns]
        assert trace.reward == correct(dialogue)
        assert trace.metrics == {metric.__name__: metric(dialogue) for metric in METRICS}


def test_what_is_compared_ends_in_every_way_and_earns_every_reward(written):
    episodes, _ = play(written(played := experiment(partition="verifier")), student(played))
    traces = [episode.traces[0] for episode in episodes]
    assert {trace.stop_condition for trace in traces} == {"student_done", "partner_done", "turn_cap"}
    assert {trace.reward for trace in traces} == {0.0, 1.0}


@pytest.mark.parametrize(
    "condition", [condition for condition in CONDITIONS if condition["partition"] != "mindreader"], ids=name
)
def test_no_request_of_the_taskset_holds_a_fact_before_the_partner_said_it(condition, written):
    path = written(experiment(**condition))
    episodes, server = play(path, Parrot("Hello.", "What is missing?"), overrides=["dialogue.per_task=1"])
    for episode in episodes:
        dialogue, opening = episode.traces[0].state.dialogue, episode.task.data.prompt
        mine = [body for body in server.bodies if body["messages"][1]["content"] == opening]
        sent = untold(dialogue, mine)
        assert mine and [text for text in hidden(dialogue) if text in sent] == []
        assert dialogue.id not in sent


def test_the_exam_split_has_the_exam_tasks(written):
    played = experiment(partition="facts")
    episodes, _ = play(written(played), student(played), split="exam")
    assert {episode.task.data.info["wording"] for episode in episodes} == {"exam"}
    assert len(episodes) == 16 and all(episode.ok for episode in episodes)


def test_what_stands_in_a_thought_is_no_part_of_the_turn(written):
    thought = "<think>\nHow many pens does Tom have?\n</think>\n\nWell."
    episodes, _ = play(written(experiment(partition="facts")), Parrot(thought))
    turns = [episode.traces[0].state.dialogue.turns[0] for episode in episodes]
    assert {(turn.text, turn.reasoning) for turn in turns} == {("Well.", "How many pens does Tom have?")}


def test_an_empty_turn_fails_the_episode_and_no_other(written):
    episodes, _ = play(written(experiment(partition="facts")), Parrot("  ", "The answer is 1.", "I am done."))
    assert not episodes[0].ok and "said nothing" in episodes[0].errors[0].message
    assert any(episode.ok for episode in episodes)
