"""Known students sit exams over loopback, and their estimates are put beside the truth."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from aiohttp import web
from aiohttp.test_utils import TestServer

from evals.exams.common_ground.grounds import expected, grounds, wordings
from evals.exams.registry import catalog, find_exam
from evals.exams.verdict_use.verdict_use import asked_of
from evals.metrics.case import Case
from evals.metrics.metric import SignedSum
from evals.sitting.sitting import Sitting
from evals.stats.intervals import Tables, estimate, tabulate
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
from pipeline.reading.instrument import Instrument
from tests.evals.known_students.acts import Student
from tests.evals.known_students.knowing_reader import KnowingReader
from tests.evals.known_students.problems import Problem, embedded, false_premises, natural
from tests.evals.known_students.server import Server
from tests.evals.known_students.solutions import with_drafts
from tests.evals.known_students.truth import TRUTHS

TURNS = 4
Sit = Callable[[Sitting], Awaitable[list[Case]]]
# Of an exam that would read its own tasks from a file.
SITS: dict[str, Sit] = {"verdict_use": lambda sitting: asked_of(sitting, sitting.tasks)}


class Found(NamedTuple):
    """A metric's true value, and its estimate with the 95% interval."""

    metric: str
    truth: float
    value: float
    low: float
    high: float
    n: int

    @property
    def covered(self) -> bool:
        return self.low - 1e-9 <= self.truth <= self.high + 1e-9

    @property
    def near(self) -> bool:
        """Within 3 standard errors and .03. Half an interval is at least 1.96 of them."""
        reach = max(self.high - self.value, self.value - self.low) / 1.96
        return abs(self.value - self.truth) <= 3 * reach + 0.03


def experiment(voice: str, exams: Sequence[str], **exam: object) -> Experiment:
    """The config that they sit under. No weights are opened: the server is the model."""
    made_here = voice == "closed" or "common_ground" in exams
    source = {"source": "embedded"} if made_here else {"source": "posed", "path": "problems.jsonl"}
    return Experiment.model_validate(
        {
            "name": "known",
            "engine": {"kind": "openai", "url": "http://127.0.0.1:1/v1"},
            # A student in natural words reads its problem in plain ones: the prompt that holds nothing but the problem.
            "student": {"model": "known", "prompts": "closed"},
            "partner": {"prompts": "closed"},
            # Four draws of each at once: more connections than a listener queues, 128, would be dropped and tried anew.
            "dialogue": {"turns": TURNS, "concurrency": 24, "max_tokens": 300},
            "tasks": {**source, "train": {"full": 1}, "exam": {"full": 1}},
            "reading": {"partner": "closed", "metrics": "closed"}
            if voice == "closed"
            else {"partner": "cross_encoder", "metrics": "semantic"},
            "conditions": {"facts": {"partition": "facts"}},
            "exams": {
                "include": list(exams),
                "greedy": False,
                **{"samples": 4, "episodes": 1, "beliefs": 2, **exam},
                **({"lost": {"samples": 2}} if "lost" in exams else {}),
            },
        }
    )


def problems_of(voice: str, rng: random.Random, folder: Path, count: int, exams: Sequence[str]) -> list[Problem]:
    """`count` problems twice, short and whole; impossible ones, or wrong solutions, where an exam is on them."""
    if "verdict_use" in exams:
        return with_drafts(natural(rng, folder, count), rng)
    impossible = "presupposition" in exams
    if voice == "closed" or "common_ground" in exams:  # which has problems of the embedded world alone
        return embedded(rng, ("underspecified", "full", *(("false_premise",) if impossible else ())), count)
    return natural(rng, folder, count) + (false_premises(rng) if impossible else [])


def sat(
    config: Experiment,
    students: Mapping[str, Student],
    voice: str,
    problems: Sequence[Problem],
    sits: Sequence[Sit] = (),
    examined: Sequence[str] = (),
    knowing: bool = False,
) -> dict[str, Tables]:
    """The cases of the students that are `examined` (all where none is named), in the exams of the config or in the
    parts of exams that are given. The last student is the peer of all. `knowing`: read by who errs in nothing.
    """
    parts = sits or [SITS.get(exam) or find_exam(exam).sit for exam in config.exams.include or ()]
    news = _news(config, problems) if "common_ground" in (config.exams.include or ()) else {}
    server, app = Server(problems, students, voice, config.dialogue.probe, news), web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)

    async def all_sit() -> dict[str, Tables]:
        async with TestServer(app) as http:
            engine = Engine(kind="openai", url=str(http.make_url("/v1")), retries=0)
            models = {name: OpenAIModel(engine, name) for name in students}
            peer = models[list(students)[-1]]
            read_by = _instruments(config, server if knowing else None)
            named = examined or students
            tables = {name: await _cases(config, models[name], peer, problems, parts, read_by) for name in named}
            for model in models.values():
                if model.loop is not None:
                    await model.session.close()
            return tables

    return asyncio.run(all_sit())


def _news(config: Experiment, problems: Sequence[Problem]) -> dict[str, str]:
    """What the exam of common ground says, and the answer that follows from it."""
    said: dict[str, str] = {}
    for ground in grounds(config, [problem.task for problem in problems]):
        words = wordings(ground, random.Random(0))
        said |= {words[arm]: expected(ground, arm) for arm in ("pivot", "topic")}
        said[ground.revised.text] = expected(ground, "corrected")
    return said


def _instruments(config: Experiment, server: Server | None) -> tuple[Instrument, Instrument]:
    if server is None:
        return open_instruments(config)
    return Instrument("knowing", KnowingReader(server.ledger)), Instrument("knowing", KnowingReader(server.ledger))


async def _cases(
    config: Experiment,
    student: OpenAIModel,
    peer: OpenAIModel,
    problems: Sequence[Problem],
    parts: Sequence[Sit],
    read_by: tuple[Instrument, Instrument],
) -> Tables:
    hears, reads = read_by
    sitting = Sitting(
        experiment=config,
        student=student,
        peer=peer,
        seed=1,
        tasks=tuple(problem.task for problem in problems),
        hears=hears,
        reads=reads,
    )
    cases = [case for sit in parts for case in await sit(sitting)]
    assert not sitting.errors, sitting.errors[:3]
    return tabulate({1: cases})


def truths(experiment: Experiment, student: Student, peer: Student, problems: Sequence[Problem]) -> dict[str, float]:
    """Of every metric of the config's exams that the rates fix, composites too."""
    ratios: dict[str, float] = {}
    for exam in experiment.exams.include or ():
        ratios |= TRUTHS[exam](student, peer, problems, TURNS)
    known = catalog([find_exam(exam) for exam in experiment.exams.include or ()])
    return {name: _value(known.signed_sum(name), ratios) for name in known.offered(ratios)}


def _value(total: SignedSum, ratios: Mapping[str, float]) -> float:
    if total.of_mix:
        return ratios[total.name]
    return sum(weight * ratios[part] for part, weight in total.weights.items())


def found(experiment: Experiment, tables: Tables, truth: Mapping[str, float]) -> list[Found]:
    """Each metric of which there is a truth and a case."""
    known = catalog([find_exam(exam) for exam in experiment.exams.include or ()])
    rows = []
    for metric, value in truth.items():
        total = known.signed_sum(metric)
        if math.isnan(value) or not all((part, False) in tables for part in total.weights):
            continue
        rate = estimate(tables, total)
        rows.append(Found(metric=metric, truth=value, **rate._asdict()))
    return rows
