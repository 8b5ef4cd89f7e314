"""Builds: nothing lost, nothing doubled, ids that never change, and counts that reconcile."""

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.building.build import Counts, build, planned_dialogues
from pipeline.building.concurrency import Stopped
from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.building.failures import unreadable
from pipeline.core.schema import digest
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, ContextOverflow, EngineError
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import plays_all, tasks_of
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.store import read
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.parsing import BadRow
from tests.builders import small_experiment
from tests.started import ended, started

experiment = partial(
    small_experiment,
    seeds=[1],
    tasks={"train": {"full": 6, "underspecified": 6}, "exam": {"full": 2}},
    conditions={"facts": {"partition": "facts"}, "full_only": {"partition": "facts", "specifications": ["full"]}},
)


def make(exp: Experiment, model=None, bad=(), condition="facts", seed=1) -> Counts:
    tasks, _ = load_tasks(exp.tasks, "train")
    cast = Cast(model or ScriptedModel())
    return asyncio.run(build(Cell(exp, condition, seed), tasks, list(bad), cast, lambda: None))


def stored(exp: Experiment, condition="facts") -> list[Dialogue]:
    return list(read(exp.run / "dialogues" / f"{condition}.jsonl", Dialogue))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1))
def test_a_build_cut_at_any_byte_resumes_to_the_same_dialogues(tmp_path_factory, share):
    exp = experiment(tmp_path_factory.mktemp("run"))
    make(exp)
    path, whole = exp.run / "dialogues" / "facts.jsonl", sorted(d.model_dump_json() for d in stored(exp))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    make(exp)
    assert sorted(d.model_dump_json() for d in stored(exp)) == whole


def test_building_again_makes_nothing(tmp_path):
    exp = experiment(tmp_path)
    assert make(exp) == Counts(12, 0, 0) and make(exp) == Counts(0, 0, 12)


def test_ids_depend_on_task_condition_seed_and_config_alone(tmp_path):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "train")
    ids = {
        name: [job.id for job in planned_dialogues(Cell(e, condition, seed), tasks)]
        for name, e, condition, seed in [
            ("same", exp, "facts", 1),
            ("again", experiment(tmp_path / "elsewhere"), "facts", 1),
            ("seed", exp, "facts", 2),
            ("condition", exp, "full_only", 1),
            ("config", experiment(tmp_path, dialogue={"turns": 2}), "facts", 1),
        ]
    }
    assert ids["same"] == ids["again"]
    different = [set(ids[name]) for name in ("same", "seed", "condition", "config")]
    assert len(set.union(*different)) == sum(map(len, different))


def test_ids_and_streams_are_digests_of_their_parts(tmp_path):
    exp = experiment(tmp_path)
    keys, condition, config = DialogueKeys(Cell(exp, "facts", 1, 2)), exp.conditions["facts"], exp.fingerprint()
    parts = ("facts", condition.shaping(), 1, 2, 3, config, *exp.particulars("facts"))
    assert keys.id('a "task", ü', 3) == digest('a "task", ü', *parts)
    assert keys.stream('a "task", ü', 3) == digest('a "task", ü', 1, 2, 3, config)


def test_it_is_known_without_making_tasks_that_a_condition_plays_all_of_them(tmp_path):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "train")
    for name in exp.conditions:
        assert plays_all(exp, name, tasks) == (list(tasks_of(exp, name, tasks)) == list(tasks)) == (name == "facts")
    assert not plays_all(exp, "facts", list(tasks)[1:])


def test_conditions_share_their_first_student_turns_and_seeds_do_not(tmp_path):
    partners = {"facts": {"partition": "facts"}, "blind": {"partition": "symmetric"}}
    exp = experiment(tmp_path, seeds=[1, 2], conditions=partners)
    openings = {}
    for condition in partners:
        for seed in exp.seeds:
            make(exp, condition=condition, seed=seed)
            made = [d for d in stored(exp, condition) if d.seed == seed]
            openings[condition, seed] = {d.task.id: d.turns[0].text for d in made}
    assert len(openings["facts", 1]) == 12
    assert openings["facts", 1] == openings["blind", 1] and openings["facts", 2] == openings["blind", 2]
    assert openings["facts", 1] != openings["facts", 2]


def test_a_condition_can_be_kept_to_some_specifications(tmp_path):
    exp = experiment(tmp_path)
    make(exp, condition="full_only")
    assert {d.task.specification for d in stored(exp, "full_only")} == {"full"}


class Moody(ScriptedModel):
    """Fails in a typed way on some prompts."""

    broken = True

    async def complete(self, messages, sampling):
        if self.broken and sampling.seed % 3 == 0:
            raise EngineError("out of order")
        if sampling.seed % 7 == 0:
            raise ContextOverflow("a prompt of 9 tokens")
        return (
            Completion("", tokens=1, prompt_tokens=1)
            if sampling.seed % 11 == 0
            else await super().complete(messages, sampling)
        )


def test_every_task_ends_as_a_dialogue_or_a_failure_and_errors_are_tried_again(tmp_path):
    exp, model = experiment(tmp_path, tasks={"train": {"full": 60}, "exam": {"full": 2}}), Moody()
    first = make(exp, model)
    failures = list(read(exp.run / "failures.jsonl", Failure))
    assert first.made + first.failed == 60 and first.failed == len(failures)
    assert {f.kind for f in failures} == {"engine_error", "context_overflow", "empty_turn"}
    model.broken = False
    again = make(exp, model)
    kinds = [f.kind for f in read(exp.run / "failures.jsonl", Failure)]
    assert again.skipped == first.made + kinds_standing(failures)
    assert "engine_error" not in kinds and len(kinds) + len(stored(exp)) == 60
    assert len({d.id for d in stored(exp)}) == len(stored(exp))


def test_another_seeds_engine_errors_stand_until_that_seed_is_built_again(tmp_path):
    exp, model = experiment(tmp_path, seeds=[1, 2]), Moody()
    first = make(exp, model, seed=1)
    assert first.failed > 0
    second = make(exp, model, seed=2)
    assert len(list(read(exp.run / "failures.jsonl", Failure))) == first.failed + second.failed


def test_ids_follow_the_weights_and_not_the_folder_that_they_lie_in(tmp_path):
    ids = []
    for folder, weights in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model.safetensors").write_bytes(weights)
        ids.append(experiment(tmp_path, student={"model": str(tmp_path / folder)}).fingerprint())
    assert ids[0] == ids[1] != ids[2]


def kinds_standing(failures: list[Failure]) -> int:
    return sum(f.kind != "engine_error" for f in failures)


def test_rows_that_could_not_be_read_are_failures_that_name_their_line_once(tmp_path):
    exp = experiment(tmp_path)
    for _ in range(2):
        make(exp, bad=[BadRow("tasks.jsonl:7", "the answer is empty")])
    (failure,) = read(exp.run / "failures.jsonl", Failure)
    assert (failure.kind, failure.task_id) == ("bad_task", "tasks.jsonl:7")


def test_bad_rows_of_two_files_of_one_name_are_two_failures(tmp_path):
    cell = Cell(small_experiment(tmp_path), "facts", 1)
    bad = [BadRow(f"{folder}/data.jsonl:{line}", "no question") for folder in ("a", "b") for line in (7, 8)]
    ids = [failure.id for failure in unreadable(cell, bad)]
    assert len(set(ids)) == 4
    moved = [row._replace(where=f"elsewhere/{row.where}") for row in bad]
    assert [failure.id for failure in unreadable(cell, moved)] == ids


@pytest.mark.slow
@pytest.mark.timeout(1800)  # dozens of processes, on a machine that may be busy
def test_a_build_stopped_at_fifteen_random_moments_loses_and_doubles_nothing(tmp_path):
    conditions = {"facts": {"partition": "facts"}, "verifier": {"partition": "verifier"}}
    tasks = {"train": {"full": 120, "underspecified": 120}, "exam": {"full": 1}}
    runs = [experiment(tmp_path / name, conditions=conditions, tasks=tasks) for name in ("whole", "stopped")]
    paths = []
    for exp in runs:
        paths.append(tmp_path / f"{Path(exp.out).name}.yaml")
        paths[-1].write_text(dump(exp))
    ended(started("--version"))  # the first waits until everything is imported
    took = [timed(paths[0]), timed(paths[0])]  # all of it, and nothing left to do
    rng, landed = random.Random(5), Counter()
    for _ in range(45):
        process, number = started("build", str(paths[1])), rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        lock = runs[1].run / ".lock"
        while process.is_alive() and not (lock.exists() and lock.read_text() == str(process.pid)):
            time.sleep(0.002)  # before it has begun, a signal meets the interpreter and not the program
        # Early enough to leave some work for the next.
        time.sleep(rng.uniform(0, took[1] / 2 + (took[0] - took[1]) / 10))
        if process.is_alive():
            os.kill(process.pid, number)
        assert ended(process) in (0, 130, -number)  # ended, told to stop, or dead
        landed[number.name] += process.exitcode != 0
        if landed.total() == 15:
            break
    timed(paths[1])
    assert landed.total() == 15 and len(landed) == 3, "the build was too quick to be stopped"
    for condition in conditions:
        whole, resumed = (sorted(stored(exp, condition), key=lambda d: d.id) for exp in runs)
        assert len({d.id for d in resumed}) == len(resumed) == 240
        assert whole == resumed
        tables = [(exp.run / "datasets" / condition / "sft" / "train.parquet").read_bytes() for exp in runs]
        assert tables[0] == tables[1]
    print(json.dumps({**landed, "dialogues": 480, "lost": 0, "doubled": 0, "torn": 0}))


def timed(config: Path) -> float:
    """Seconds of a build that ends by itself."""
    began = time.monotonic()
    assert ended(started("build", str(config))) == 0
    return time.monotonic() - began


def test_a_misled_partner_without_a_wrong_answer_is_a_typed_failure(tmp_path):
    exp = experiment(tmp_path, conditions={"facts": {"partition": "misled"}})
    tasks = [task.model_copy(update={"wrong_answer": ""}) for task in load_tasks(exp.tasks, "train")[0][:2]]
    work = build(Cell(exp, "facts", 1), tasks, [], Cast(ScriptedModel()), lambda: None)
    assert asyncio.run(work).failed == 2
    failures = list(read(exp.run / "failures.jsonl", Failure))
    assert {failure.kind for failure in failures} == {"no_wrong_answer"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_told_to_stop_ends_what_it_began_begins_no_more_and_resumes(tmp_path, number):
    class Interrupting(ScriptedModel):
        asked = 0

        async def complete(self, messages, sampling):
            self.asked += 1
            if self.asked == 9:
                os.kill(os.getpid(), number)
            await asyncio.sleep(0.001)
            return await super().complete(messages, sampling)

    exp = experiment(tmp_path, tasks={"train": {"full": 60}, "exam": {"full": 2}}, dialogue={"concurrency": 8})
    with pytest.raises(Stopped, match="more dialogues of facts, seed 1"):
        make(exp, Interrupting())
    begun = stored(exp)
    assert 8 <= len(begun) <= 16 and all(dialogue.stop for dialogue in begun)
    assert make(exp) == Counts(60 - len(begun), 0, len(begun))


def test_a_stop_is_not_forgotten_where_all_of_a_cell_had_begun(tmp_path):
    class Interrupting(ScriptedModel):
        asked = 0

        async def complete(self, messages, sampling):
            self.asked += 1
            if self.asked == 6:
                os.kill(os.getpid(), signal.SIGINT)
            while self.asked < 6:  # nobody is answered before all have begun
                await asyncio.sleep(0)
            return await super().complete(messages, sampling)

    exp = experiment(tmp_path, tasks={"train": {"full": 6}, "exam": {"full": 2}})
    with pytest.raises(Stopped):
        make(exp, Interrupting())
    assert len(stored(exp)) == 6
    assert make(exp) == Counts(0, 0, 6)


def test_a_second_signal_stops_a_build_at_once(tmp_path):
    class Stuck(ScriptedModel):
        async def complete(self, messages, sampling):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(3600)

    with pytest.raises(KeyboardInterrupt):
        make(experiment(tmp_path), Stuck())
