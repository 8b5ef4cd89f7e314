"""How long does `maieutic view` take on a run of 100,000 dialogues: to its first page, to a filtered one, to a search?

The dialogues are of the scripted model, under two conditions, on tasks that come again under other names; their turns
are stored with what was read of them, as those of real models are. The first page is there as soon as the server is.
What the index needs until all is in it is measured apart, and each page is asked for by itself, over HTTP, when it is.

    python -m benchmarks.view     # writes benchmarks/results.json
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.results import record
from pipeline.experiment.experiment import Experiment, dump
from pipeline.judging.outcome import readings
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import read

SIZE, BUILT, TIMES = 100_000, 2_000, 5
PAGES = {
    "first page": "/dialogue",
    "filtered": "/dialogue?condition=facts&asking=missed&outcome=wrong",
    "filtered by an act": "/dialogue?act=student_ask_other&condition=facts",
    "searched": "/dialogue?q=boxes+plums",
    "last page": f"/dialogue?page={SIZE // 50}",
    "two conditions": "/pairs?by=first",
}


def build(folder: Path, size: int) -> Path:
    """A run of `size` dialogues: `BUILT` are built, and stored again and again, each time of other tasks."""
    experiment = Experiment.model_validate({
        "name": "view", "out": f"{folder}/run", "seeds": [1], "engine": {"kind": "scripted"},
        "tasks": {"train": {"full": BUILT // 4, "underspecified": BUILT // 4}, "exam": {}},
        "conditions": {"blind": {"partition": "symmetric"}, "facts": {"partition": "facts"}},
    })  # fmt: skip
    config = folder / "view.yaml"
    config.write_text(dump(experiment), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "maieutic", "build", str(config)], stdout=subprocess.DEVNULL, check=True)
    for file in (experiment.run / "dialogues").glob("*.jsonl"):
        made = [_with_readings(one) for one in read(file, Dialogue)]
        with file.open("w", encoding="utf-8") as lines:
            for copy in range(size // BUILT):
                for one in made:
                    task = one["task"] | {"id": f"{one['task']['id']}-{copy}"}
                    lines.write(json.dumps(one | {"id": f"{one['id']}{copy:04x}", "task": task}) + "\n")
    return experiment.run


def _with_readings(dialogue: Dialogue) -> dict[str, Any]:
    """As those of real models are stored."""
    turns = zip(dialogue.turns, readings(dialogue), strict=True)
    told = tuple(turn.model_copy(update={"reading": reading}) for turn, reading in turns)
    return dialogue.model_copy(update={"turns": told}).model_dump(mode="json")


@contextmanager
def viewing(run: Path, cache: Path) -> Iterator[str]:
    """The address of the pages, as soon as the command prints it."""
    command = [sys.executable, "-m", "maieutic", "view", str(run), "--port", "0"]
    surroundings = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings)
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\d.:]+", process.stdout.readline())
        assert found, "the command printed no address"
        yield found[0]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def seconds(address: str) -> float:
    began = time.perf_counter()
    with urlopen(address) as answer:
        answer.read()
    return time.perf_counter() - began


def growing(address: str) -> bool:
    with urlopen(f"{address}/dialogue") as answer:
        return 'class="state"' in answer.read().decode()


def main(size: int = SIZE) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = build(folder, size)
        began = time.perf_counter()
        with viewing(run, folder) as address:
            seconds(f"{address}/dialogue")
            cold = time.perf_counter() - began
            while growing(address):
                time.sleep(10)  # a page that counts everything anew takes time from the index
            indexed = time.perf_counter() - began
        began = time.perf_counter()
        with viewing(run, folder) as address:
            seconds(f"{address}/dialogue")
            warm = time.perf_counter() - began
            while growing(address):
                time.sleep(0.2)
            pages = dict[str, dict[str, float]]()
            for words, page in PAGES.items():
                first, *again = (seconds(address + page) for _ in range(TIMES))
                pages[words] = {"first_ms": round(1000 * first), "median_ms": round(1000 * statistics.median(again))}
        [index] = (folder / "maieutic" / "view").glob("*.sqlite")
        command: dict[str, float] = {
            "first_page_without_index_s": round(cold, 1), "indexed_s": round(indexed, 1),
            "first_page_with_index_s": round(warm, 1), "index_mb": round(index.stat().st_size / 1e6),
        }  # fmt: skip
    found = {"command": command, **pages}
    for words, figures in found.items():
        print(words, figures)
    if size == SIZE:
        record("view", found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
