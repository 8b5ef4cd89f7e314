"""A reader that errs in nothing: it asks the server what its students meant. What is off with it, an exam miscounts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.protocol import TurnToRead
from tests.evals.known_students.ledger import CLAIM, Ledger, Utterance

COMMITS = ("attempt", "tentative", "again", "revise", "accept", "hold", "follow", "private", "solution")


class KnowingReader:
    """Of the students of one server."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading]:
        return [self._student(turn) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading]:
        return [self._partner(turn) for turn in turns]

    def _said(self, turn: TurnToRead) -> Utterance | None:
        said = self.ledger.said
        own = [turn.text, *(each.text for each in turn.before if each.party == "student")]
        posed = [self.ledger.by_question[turn.question][0].name] if turn.question in self.ledger.by_question else []
        # Where an exam has changed the subject, the talk itself says which problem it began with.
        names = (*posed, *(name for name, text in said if text == turn.text))
        return next((said[name, turn.text] for name in names if all((name, each) in said for each in own)), None)

    def _student(self, turn: TurnToRead) -> StudentReading:
        said = self._said(turn)
        if said is None:  # a wrong solution that an exam has it say
            return StudentReading()
        kind = said.kind
        return StudentReading(
            asks=frozenset({said.fact} if kind == "ask" else ()),
            generic_request=kind == "generic",
            other_question=kind in ("other", "floor"),
            attempt=said.number if kind in COMMITS else None,
            tentative=kind == "tentative",
            done=kind == "done",
            stance="agrees" if kind == "accept" else "disagrees" if kind in ("hold", "object", "reject") else "none",
        )

    def _partner(self, turn: TurnToRead) -> PartnerReading:
        said, checked, claim = self._said(turn), re.search(r"check (passed|failed)", turn.text), CLAIM.search(turn.text)
        if said is not None:
            told = {said.fact} if said.kind == "tell" else set()
            own = said.number if said.kind in COMMITS else None
            return PartnerReading(attempt=own, tells=frozenset(told), done=said.kind == "done")
        return PartnerReading(
            tells=frozenset(fact.id for fact in turn.facts if fact.text in turn.text),
            attempt=claim[1] if claim else None,
            feedback={"passed": "right", "failed": "wrong"}[checked[1]] if checked else "none",  # type: ignore[arg-type]
        )
