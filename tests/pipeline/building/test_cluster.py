"""A build on a real Ray cluster of three nodes on this machine, one of which is killed while it works."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.knowledge.records import Dialogue
from pipeline.runs.shards import Shard
from pipeline.runs.store import read
from tests.builders import small_experiment
from tests.pipeline.runs.test_shards import lines, make

HERE = importlib.util.find_spec("ray") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HERE, reason="Ray is not installed: builds on Ray are NOT tested in this run"),
    pytest.mark.filterwarnings("default"),  # Ray's own
]
SHARDS = [Shard(1, 2), Shard(2, 2)]


experiment = partial(
    small_experiment,
    seeds=[1],
    workers=2,
    dialogue={"concurrency": 4},
    tasks={"train": {"full": 1500, "underspecified": 1500}, "exam": {"full": 1}},
)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.timeout(1800)  # workers of Ray start slowly on a busy machine
def test_a_build_whose_node_is_killed_gives_the_dialogues_of_one_machine(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RAY_worker_niceness", "0")  # at Ray's own 15 they starve beside another busy process
    import ray
    from ray.cluster_utils import Cluster

    from pipeline.building import cluster as executor

    alone, exp = experiment(tmp_path / "alone"), experiment(tmp_path / "ray", executor="ray")
    make(alone)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    files = [shard.folder(exp.run) / "dialogues" / "facts.jsonl" for shard in SHARDS]
    locks = [shard.folder(exp.run) / ".lock" for shard in SHARDS]
    seen: dict[str, list[int]] = {}

    def kill() -> None:
        while not all(file.exists() and file.read_bytes().count(b"\n") > 100 for file in files):
            time.sleep(0.01)
        before = [int(lock.read_text()) for lock in locks]
        of_the_node = {each.process.pid for group in nodes[0].all_processes.values() for each in group}
        lost = [pid for pid in before if _parent(pid) in of_the_node]
        cluster.remove_node(nodes[0], allow_graceful=False)
        for pid in lost:  # a worker outlives its node for a while, and could finish its shard
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        seen["at the kill"] = [file.read_bytes().count(b"\n") for file in files]
        while True:  # until the lost shard has another writer
            try:
                after = [int(lock.read_text() or 0) for lock in locks]
            except FileNotFoundError:
                return
            pairs = zip(before, after, strict=True)
            if changed := [now for was, now in pairs if was in lost and now not in (0, was, os.getpid())]:
                seen["resumed by"] = changed
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        executor.build_round(exp, ["facts"], 0)
        while (alive := sum(node["Alive"] for node in ray.nodes())) > 2:  # a cluster is slow to miss a node
            time.sleep(0.1)
    finally:
        ray.shutdown()
        cluster.shutdown()
    killer.join(timeout=10)
    print(json.dumps({"dialogues": len(lines(exp)), "nodes left": alive, **seen}))
    assert alive == 2 and 200 < sum(seen["at the kill"]) < 3_000 and len(seen["resumed by"]) == 1
    assert lines(exp) == lines(alone)
    assert len({dialogue.id for dialogue in read(exp.run / "dialogues" / "facts.jsonl", Dialogue)}) == 3_000


def test_a_config_that_cannot_be_built_is_an_error_in_the_words_of_one_machine(tmp_path: Path) -> None:
    from pipeline.building import cluster as executor

    exp = experiment(tmp_path, executor="ray")
    broken = exp.model_copy(update={"tasks": exp.tasks.model_copy(update={"train": {"full": 0}})})
    with pytest.raises(ConfigError, match=r"tasks\.train: the source 'embedded' gave no task"):
        executor.build_round(broken, ["facts"], 0)
