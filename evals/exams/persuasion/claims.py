"""Claims to be argued about, each with a reason, beside the opposite claim with its own.

`data/claims.csv` ships: six pairs, written for this project. exams.claims names another file in the columns of LOGICOM
(Payandeh et al., arXiv 2308.09853: claim, reason, original_text), whose rows with one original_text are a claim and its
opposite. Its README does not say who wrote what. Ids and columns are those of the argument reasoning comprehension task
(Habernal et al., arXiv 1708.01425, of 2017): reasons and claims that crowd workers (whose marks end the ids) wrote down
from comments on a newspaper's debates. The long texts of `original_text` read like the essays that opened such debates.
All of it is people's: it was published before models wrote such text.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from evals.sitting.exam import options
from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.core.resources import shipped
from pipeline.core.schema import digest
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.parsing import BadRow, parse, read_text, text_of

SHIPPED = shipped("data", "claims.csv")


class ClaimsSource(Section):
    """Claims to be argued about, instead of those that ship."""

    path: str = Field(min_length=1)  # CSV in LOGICOM's columns; $VARIABLES are expanded
    most: int = Field(default=50, ge=1)


class Options(Section):
    claims: ClaimsSource | None = None


class Claim(NamedTuple):
    """Without the full stop; `source` is what the reason was taken from, the same for the opposite claim."""

    id: str
    text: str
    reason: str
    source: str


class Dispute(NamedTuple):
    """Two opposite claims; which of them is `claim` is decided by a hash, not by the file's order."""

    claim: Claim
    opposite: Claim


def read_claims(experiment: Experiment) -> tuple[list[Claim], list[BadRow]]:
    """Raises ConfigError where the file is none, or lacks the columns."""
    settings = options(experiment, Options).claims
    path = Path(SHIPPED if settings is None else os.path.expandvars(settings.path))
    if not path.is_file():
        raise ConfigError(
            f"exams.claims.path: {str(path)!r} is not a file. Expected a CSV with the columns id, claim, reason and "
            "original_text, as LOGICOM's; leave exams.claims out for the claims that ship."
        )
    rows = csv.DictReader(io.StringIO(read_text(path, "exams.claims.path"), newline=""))
    if absent := {"id", "claim", "reason", "original_text"} - set(rows.fieldnames or ()):
        raise ConfigError(
            f"exams.claims.path: {path} has no column {', '.join(sorted(absent))}. Found {rows.fieldnames}."
        )

    def make(row: dict[str, str]) -> Claim:
        text = text_of(row, "claim").rstrip(". ")
        return Claim(text_of(row, "id"), text, text_of(row, "reason"), text_of(row, "original_text"))

    return parse(((f"{path}, row {i}", row) for i, row in enumerate(rows, start=1)), make)


def disputes(experiment: Experiment) -> list[Dispute]:
    """Up to exams.claims.most pairs of opposite claims, in an order that their text does not decide. A claim that
    stands there twice counts once. Raises ConfigError where no two claims are a pair."""
    claims, _ = read_claims(experiment)
    pairs: dict[str, list[Claim]] = {}
    for claim in {claim[1:]: claim for claim in reversed(claims)}.values():
        pairs.setdefault(claim.source, []).append(claim)
    source = options(experiment, Options).claims
    if claims and not any(len(pair) == 2 for pair in pairs.values()):
        raise ConfigError(
            f"exams.claims.path: no two of its {len(claims)} claims are a pair. Expected a claim and its opposite "
            "in two rows with the same original_text"
        )
    most = None if source is None else source.most
    sides = [sorted(pair, key=lambda claim: digest("side", claim.id)) for pair in pairs.values() if len(pair) == 2]
    return sorted((Dispute(*pair) for pair in sides), key=lambda dispute: digest("dispute", dispute.claim.id))[:most]
