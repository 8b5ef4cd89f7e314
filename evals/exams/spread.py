"""Creative spread: how far apart are a student's ideas when it is asked to combine, to explore, or to break a rule?

The three ways are Boden's (The Creative Mind, 1990; 2nd edition 2004): combinational (familiar things put together),
exploratory (far into a space, by its rules) and transformational (a rule of the space is dropped). `plain` asks for an
idea and no more. Eight themes of our own (data/spread.json) are asked about in each way, `exams.samples` times, each
answer alone: the student does not see its other answers.

- `spread@WAY`: sum of the cosine distances between the embeddings of all pairs of the answers to one prompt / pairs.
  0: all say the same; unrelated sentences come to about 1, and it cannot be above 2. Two answers are needed; one
  without a word is about nothing, and has no distance.
- `ideas@WAY`: clusters of the answers to one prompt / answers. Clusters are of average linkage (scikit-learn), and
  apart where their mean cosine distance is above 0.5, which was fixed before any figure was seen. 1: no two answers are
  alike. It falls as more are drawn from the same ideas, so it compares students at one `exams.samples` only.

- `about_thing@WAY`: answers with a content word of what they are to be an idea for / answers. `about_thing_by_chance`:
  those with one of another theme's / answers. **Competence** is `about_thing_net`, their difference: ideas that are not
  about the thing are far apart, and are no ideas for it.

Distances are of one embedding model (`memory.embedder`), and mean nothing beside those of another. They are of what is
said about, not of whether it is any good: nonsense spreads widely, and nothing here says that an idea is new to anyone.
The prompts differ in words, so ways are compared within a student with that in mind, and students within a way.

The embedded base knows no such words and is not asked. References are texts on disk: four phrasings of one idea against
four ideas (ours, data/spread.json), and facts of one problem of the experiment against facts of as many problems.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike, difference
from evals.metrics.reader import Reader
from evals.sitting.about import about, beside
from evals.sitting.exam import Bar, Exam, Reference
from evals.sitting.reference_rates import references
from evals.sitting.sitting import Sitting
from pipeline.core.resources import shipped
from pipeline.core.schema import Task
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.reading.embedder import unit_vectors

SHIPPED = shipped("data", "spread.json")
APART = 0.5  # mean cosine distance between clusters, at least
WAYS = {
    "plain": "Give one idea for {thing}. Answer in one sentence.",
    "combinational": "Give one idea that combines {thing} with {other}. Answer in one sentence.",
    "exploratory": "Give one idea for {thing} that is as unusual as its rule allows: {rule}. Answer in one sentence.",
    "transformational": "Give one idea for {thing} that drops its rule: {rule}. Answer in one sentence.",
}
MOST = 30  # problems of the experiment in the reference
DISTANCES = Reader(unmeasured="distances of embeddings: not measured against people's judgement")
METRICS = (
    Metric(
        "spread",
        "cosine distances between the embedded answers to one prompt (0 to 2; @WAY of asking) / pairs",
        unit="cosine distance",
        reader=DISTANCES,
    ),
    Metric("ideas", "clusters of the answers to one prompt, more than 0.5 apart / answers", reader=DISTANCES),
)
WORDS = Reader(unmeasured="content words that an answer shares with its theme: not measured against people's judgement")
ABOUT = alike(
    {
        "about_thing": "has a content word of what it is to be an idea for (@WAY of asking) / answers",
        "about_thing_by_chance": "has a content word of another theme's / answers",
    },
    reader=WORDS,
)
COMPETENCE = (difference("about_thing_net", "about_thing", "about_thing_by_chance", reader=WORDS), *ABOUT)


def _shipped() -> dict[str, list[Any]]:
    prompts: dict[str, list[Any]] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return prompts


async def spread(sitting: Sitting) -> list[Case]:
    answers = await sitting.all([_asked(sitting, way, theme) for way in WAYS for theme in _shipped()["themes"]])
    return measure(sitting.experiment, answers) + tally("spread", on_topic(answers))


def on_topic(answers: Sequence[tuple[str, str, list[str]]]) -> Hits:
    """Of (thing, way, answers): whether each is about the thing, and about another by chance."""
    things = [theme["thing"] for theme in _shipped()["themes"]]
    hits: Hits = []
    for thing, way, texts in answers:
        if not (other := beside(things, things.index(thing))):
            continue
        hits += [(thing, f"about_thing@{way}", float(about(text, thing))) for text in texts]
        hits += [(thing, f"about_thing_by_chance@{way}", float(about(text, other))) for text in texts]
    return hits


async def _asked(sitting: Sitting, way: str, theme: dict[str, str]) -> tuple[str, str, list[str]]:
    messages = sitting.said_to(WAYS[way].format(**theme))
    drawn = await sitting.sample(messages, sitting.experiment.exams.samples, theme["thing"], way)
    return theme["thing"], way, [draw.text for draw in drawn]


def measure(experiment: Experiment, groups: Sequence[tuple[str, str, list[str]]]) -> list[Case]:
    """The cases of (name, scope, texts), blank ones aside; a group of one text has none. Raises ConfigError without an
    embedder."""
    spoken = [(name, scope, [text for text in texts if text.strip()]) for name, scope, texts in groups]
    groups = [group for group in spoken if len(group[2]) > 1]
    texts = [text for _, _, answers in groups for text in answers]
    if not texts:
        return []
    ends = itertools.accumulate(len(answers) for _, _, answers in groups)
    vectors = np.split(unit_vectors(texts, experiment.memory.embedder, "memory.embedder"), list(ends)[:-1])
    cases: list[Case] = []
    for (name, scope, answers), part in zip(groups, vectors, strict=True):
        apart = distances(part)
        sums = {"spread": (float(apart.sum()), len(apart)), "ideas": (ideas(part), len(answers))}
        for metric, (hits, n) in sums.items():
            cases.append(Case(exam="spread", task=name, metric=f"{metric}@{scope}", hits=hits, n=n))
    return cases


def distances(vectors: np.ndarray) -> np.ndarray:
    """The cosine distance of each pair of unit vectors, shape (pairs,)."""
    rows, columns = np.triu_indices(len(vectors), k=1)
    return np.clip(1 - (vectors[rows] * vectors[columns]).sum(axis=1), 0, 2)


def ideas(vectors: np.ndarray) -> int:
    """Clusters of two or more unit vectors, of average linkage, that are more than `APART` from each other."""
    from sklearn.cluster import AgglomerativeClustering  # seconds of import that few experiments need

    settings = {"metric": "cosine", "linkage": "average", "distance_threshold": APART}
    return int(AgglomerativeClustering(n_clusters=None, **settings).fit(vectors).n_clusters_)


async def reference(experiment: Experiment) -> list[Reference]:
    """Texts whose spread is known to be small or large."""
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    groups = [
        (f"{kind}-{i}", kind, texts) for kind in ("paraphrases", "topics") for i, texts in enumerate(shipped[kind])
    ]
    rows = references(measure(experiment, groups), "phrasings of one idea, and different ideas", METRICS)
    tasks, _ = exam_tasks(experiment)
    return rows + references(measure(experiment, facts(tasks)), "facts of the problems", METRICS)


def facts(tasks: Iterable[Task]) -> list[tuple[str, str, list[str]]]:
    """Groups of facts of one problem, and of as many, one of each."""
    problems = list({task.full_question: task for task in tasks if len(task.facts) > 2}.values())[:MOST]
    groups = []
    for i, task in enumerate(problems):
        own = [fact.text for fact in task.facts]
        others = [problems[(i + j) % len(problems)].facts[j % 3].text for j in range(len(own))]
        groups += [(task.id, "one_problem", own), (task.id, "many_problems", others)]
    return groups if len(problems) > max((len(texts) for _, _, texts in groups), default=0) else []


EXAM = Exam(
    name="spread",
    metrics=(*METRICS, *COMPETENCE),
    sit=spread,
    answers=lambda experiment, tasks: len(WAYS) * len(_shipped()["themes"]) * experiment.exams.samples,
    ratios=lambda experiment, understands: {f"{metric.name}@{way}" for metric in (*METRICS, *ABOUT) for way in WAYS},
    real=True,
    reference=reference,
    competence=tuple(Bar(f"about_thing_net@{way}", 0.5, (f"@{way}",)) for way in WAYS),
)
