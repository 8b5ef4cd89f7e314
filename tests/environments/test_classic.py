# ruff: noqa: E402 (the skip stands before what it protects)
"""The environment of verifiers plays the pipeline's dialogues: `make test-verifiers`, in an environment of its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

vf = pytest.importorskip(
    "verifiers.legacy", reason="verifiers 0.3 is not installed: its classic environment is NOT tested in this run"
)

from maieutic_dialogue import load_environment
from maieutic_dialogue.metrics import asked, asked_needed, lacks_facts

from evals.sitting.sitting import Sitting
from pipeline.core.schema import Turn
from pipeline.judging.outcome import is_correct, is_grounded
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.word_problems import make_task
from tests.environments.conftest import CONDITIONS, Server, build, experiment, hidden, name, student, untold
from tests.fakes import Parrot


def play(env: Any, rows: Any, model: Any) -> tuple[list[Any], Server]:
    """The scored states of all rows, and the server that was asked."""
    server = Server(model)

    async def all_of_them() -> list[Any]:
        client, states = vf.OpenAIChatCompletionsClient(server.client()), []
        for row in rows:
            state = await env.rollout(row, client, "student", dict(env.sampling_args))
            await env.rubric.score_rollout(state)
            states.append(state)
        await client.close()
        return states

    return asyncio.run(all_of_them()), server


@pytest.mark.parametrize("condition", CONDITIONS, ids=name)
def test_a_dialogue_through_verifiers_is_the_one_that_the_pipeline_builds(condition, written):
    played = experiment(**condition)
    env, ours, theirs = load_environment(written(played), "ours"), student(played), student(played)
    states, server = play(env, env.get_dataset(), ours)
    built = asyncio.run(build(played, theirs))
    assert [env.dialogue(state) for state in states] == built
    assert server.seen == theirs.seen
    assert [state["reward"] for state in states] == [is_correct(dialogue) for dialogue in built]
    assert [state["metrics"]["grounded"] for state in states] == [is_grounded(dialogue) for dialogue in built]
    assert [state["stop_condition"] for state in states] == [dialogue.stop for dialogue in built]
    for state, dialogue in zip(states, built, strict=True):
        said = [message["content"] for message in state["completion"]]
        assert said == [turn.text for turn in dialogue.turns]


def test_the_compared_dialogues_end_in_every_way_and_earn_every_reward(written):
    found = []
    for condition in ({"partition": "verifier"}, {"partition": "facts"}):
        env = load_environment(written(experiment(**condition)), "ours", overrides=["dialogue.per_task=8"])
        found += play(env, env.get_dataset(), student(experiment(**condition)))[0]
    assert {state["stop_condition"] for state in found} == {"student_done", "partner_done", "turn_cap"}
    for metric in ("correct", "grounded", "asked_needed", "lacks_facts"):
        assert {state["metrics"][metric] for state in found} == {0.0, 1.0}, metric


@pytest.mark.parametrize(
    "arm, condition",
    [
        ("facts", {"partition": "facts"}),
        ("volunteer", {"partition": "facts", "disclosure": "volunteer"}),
        ("verifier", {"partition": "verifier"}),
    ],
)
def test_an_exam_row_is_played_as_the_exams_play_it(arm, condition, written):
    played = experiment(**condition)
    env = load_environment(written(played), "ours")
    states, _ = play(env, env.get_eval_dataset(), student(played))
    found = {(state["info"]["problem"]["id"], state["info"]["sample"]): env.dialogue(state) for state in states}
    tasks, _ = load_tasks(played.tasks, "exam")
    sitting = Sitting(experiment=played, student=student(played), peer=student(played), seed=7, tasks=tuple(tasks))
    episodes = [episode for episode in asyncio.run(sitting.episodes()) if episode.arm == arm]
    assert episodes
    for episode in episodes:
        dialogue = found[episode.task.id, episode.sample]
        assert (dialogue.turns, dialogue.stop) == (episode.played.turns, episode.played.stop)


@pytest.mark.parametrize(
    "condition", [condition for condition in CONDITIONS if condition["partition"] != "mindreader"], ids=name
)
def test_no_request_holds_a_private_fact_before_the_partner_has_said_it(condition, written):
    played = experiment(**condition)
    env = load_environment(written(played), "ours")
    for row in env.get_dataset():
        (state,), server = play(env, [row], Parrot("Hello.", "What is missing?"))
        dialogue = env.dialogue(state)
        sent = untold(dialogue, server.bodies)
        assert [text for text in hidden(dialogue) if text in sent] == []
        assert dialogue.id not in sent and row["info"] not in sent


def test_the_same_seed_gives_the_same_partner_and_another_seed_another(written):
    path = written(experiment(partition="symmetric"))

    def replies(seed: int) -> list[str]:
        env = load_environment(path, "ours", seed=seed)
        states, _ = play(env, env.get_dataset(), Parrot("Well."))
        return [turn.text for state in states for turn in state["replies"]]

    assert replies(1) == replies(1) != replies(2)


def test_the_splits_are_the_experiments(written):
    played = experiment(partition="facts")
    env = load_environment(written(played), "ours")
    splits = env.get_dataset(), env.get_eval_dataset()
    found = [{json.loads(row["info"])["problem"]["id"] for row in rows} for rows in splits]
    assert found == [{task.id for task in load_tasks(played.tasks, split)[0]} for split in ("train", "exam")]
    assert not found[0] & found[1]


def test_verifiers_loads_it_by_name_and_averages_its_metrics(written):
    env = vf.load_environment("maieutic-dialogue", config=written(experiment(partition="facts")), condition_name="ours")
    server = Server(student(env.stage.cell.experiment))

    async def evaluated() -> Any:
        client = vf.OpenAIChatCompletionsClient(server.client())
        results = await env.evaluate(
            client, "student", num_examples=8, rollouts_per_example=2, on_start=lambda *_: None
        )
        await client.close()
        return results

    results = asyncio.run(evaluated())
    assert len(results["outputs"]) == 16
    found = results["metadata"]["avg_metrics"]
    assert found.keys() == {"correct", "grounded", "asked_needed", "lacks_facts", "asked", "num_turns"}
    assert found["lacks_facts"] == 5 / 8 and found["correct"] == results["metadata"]["avg_reward"]
    assert {(body["max_completion_tokens"], body["temperature"]) for body in server.bodies} == {(48, 1.0)}


@pytest.mark.parametrize(
    "condition, why",
    [
        ({"partition": "script", "voice": "model"}, r"ours\.partition: 'script' .*one model writes both sides"),
        ({"partition": "facts", "method": "q_priming"}, r"ours\.method: 'q_priming' .*student's mouth"),
        ({"partition": "facts", "voice": "model", "weights": "current"}, r"ours\.weights: 'current' .*partner\.model"),
        ({"partition": "facts", "voice": "model", "manner": "convincing"}, r"ours\.manner: 'convincing' .*judge"),
    ],
)
def test_what_cannot_be_played_here_is_refused_in_words(condition, why, written):
    with pytest.raises(ValueError, match=why):
        load_environment(written(experiment(**condition)), "ours")


def test_a_prompt_for_sampling_alone_is_refused_unless_the_condition_goes_without(written):
    ours, shown = experiment(partition="facts"), "student.sampling_prompt=demonstrated"
    with pytest.raises(ValueError, match=r"ours\.sampling_prompt: .*'demonstrated'.* Use sampling_prompt: false"):
        load_environment(written(ours), "ours", overrides=[shown])
    load_environment(written(ours), "ours", overrides=[shown, "conditions.ours.sampling_prompt=false"])


def test_an_unknown_condition_is_refused_with_those_that_there_are(written):
    with pytest.raises(RuntimeError, match=r"condition_name: 'theirs' is not in .*played\.yaml\. Known: ours"):
        vf.load_environment("maieutic-dialogue", config=written(experiment(partition="facts")), condition_name="theirs")


def test_a_config_is_overridden_as_on_the_command_line(written):
    env = load_environment(written(experiment(partition="facts")), "ours", overrides=["dialogue.turns=1"])
    states, _ = play(env, env.get_dataset(), Parrot("Well."))
    assert {len(state["completion"]) for state in states} == {1}


def test_a_partner_that_fails_is_an_error_of_that_rollout_alone(written):
    path = written(experiment(partition="facts", voice="model"))
    env = load_environment(path, "ours", overrides=["engine={kind: openai, url: 'http://127.0.0.1:1/v1', retries: 0}"])
    states, _ = play(env, env.get_dataset(1), Parrot("Well."))
    assert isinstance(states[0]["error"], vf.InfraError) and "EngineError" in str(states[0]["error"])
    assert states[0]["reward"] == 0.0 and len(env.dialogue(states[0]).turns) == 1


def test_an_empty_turn_is_an_error_not_a_turn(written):
    env = load_environment(written(experiment(partition="facts")), "ours")
    states, _ = play(env, env.get_dataset(1), Parrot("  "))
    assert isinstance(states[0]["error"], vf.EmptyModelResponseError) and states[0]["reward"] == 0.0


def test_an_answer_in_a_thought_earns_nothing_and_no_partner_hears_it(written):
    played = experiment(partition="facts", specifications=["full"])
    env = load_environment(written(played), "ours")
    gold = json.loads(env.get_dataset()[0]["info"])["problem"]["answer"]
    states, _ = play(env, env.get_dataset(1), Parrot(f"<think>\nThe answer is {gold}.\n</think>\n\nWell.", "Hm."))
    turns = env.dialogue(states[0]).turns
    assert (turns[0].text, turns[0].reasoning) == ("Well.", f"The answer is {gold}.") and states[0]["reward"] == 0.0
    alone, _ = play(env, env.get_dataset(1), Parrot("<think>\nIs that all?\n</think>\n"))
    assert isinstance(alone[0]["error"], vf.EmptyModelResponseError)


def test_of_exams_those_tasks_are_rows_that_are_sat_whole(written):
    env = load_environment(written(experiment(partition="facts")), "ours", overrides=["exams.whole=1"])
    assert [len(rows) for rows in (env.get_dataset(), env.get_eval_dataset())] == [16, 2 * 2]


def test_metrics_on_a_dialogue_that_can_be_read_off():
    task = make_task(1, "underspecified")
    ask = task.missing[0].ask

    def said(*lines: str) -> Dialogue:
        turns = tuple(Turn(party=("student", "partner")[i % 2], text=text) for i, text in enumerate(lines))
        condition = Condition(partition="facts")
        return Dialogue(
            id="1", task=task, condition_name="ours", condition=condition, seed=1, turns=turns, stop="turn_cap"
        )

    early, late = said(ask, "I do not know.", "The answer is 1."), said("The answer is 1.", "Okay.", f"So. {ask}")
    assert [metric(early) for metric in (asked_needed, lacks_facts, asked)] == [1, 1, 1]
    assert [metric(late) for metric in (asked_needed, lacks_facts, asked)] == [0, 1, 1]
