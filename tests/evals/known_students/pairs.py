"""Every talk of two known students on a problem that both read whole, as what either says and privately believes.

Numbers are named: `right`, and each party's own `wrong` and `another`. Who asks needlessly is not for pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.evals.known_students.acts import Act, Scene, Student


class Party(NamedTuple):
    student: Student
    solves: bool
    salt: str  # whose wrong answers it has
    belief: str
    standing: str = ""

    def of(self, value: str) -> str:
        return value if value == "right" else f"{value} {self.salt}"


class Turn(NamedTuple):
    """What one party said, the number in it, and what both believe after it (the student's, the partner's)."""

    act: Act
    number: str
    beliefs: tuple[str, str]


class Pair(NamedTuple):
    chance: float
    first: tuple[str, str]  # beliefs before any turn
    turns: list[Turn]
    capped: bool


def pairs(mine: Student, theirs: Student, turns: int, selves: bool) -> Iterator[Pair]:
    """`selves`: both are one student, who can solve what it can, in either seat."""
    for solves, chance in ((True, mine.right), (False, 1 - mine.right)):
        for peers, other in ((True, theirs.right), (False, 1 - theirs.right)):
            if selves:
                other = float(peers == solves)
            if chance * other <= 0:
                continue
            ours = Party(mine, solves, "a", "right" if solves else "wrong a")
            salt = "a" if selves else "b"
            yours = Party(theirs, peers, salt, "right" if peers else f"wrong {salt}")
            yield from _from((ours, yours), "", chance * other, (ours.belief, yours.belief), [], 2 * turns - 1)


def _from(
    parties: tuple[Party, Party], heard: str, chance: float, first: tuple[str, str], said: list[Turn], left: int
) -> Iterator[Pair]:
    if left == 0:
        yield Pair(chance, first, said, True)
        return
    seat = len(said) % 2
    party = parties[seat]
    for act, share in _chances(party, heard).items():
        for after, number, odds in _effects(party, act, heard):
            if share * odds <= 0:
                continue
            now = (after, parties[1]) if seat == 0 else (parties[0], after)
            spoken = [*said, Turn(act, number, (now[0].belief, now[1].belief))]
            if act.kind == "done":
                yield Pair(chance * share * odds, first, spoken, False)
            else:
                yield from _from(now, number, chance * share * odds, first, spoken, left - 1)


def _chances(party: Party, heard: str) -> dict[Act, float]:
    if heard and heard != party.belief:
        return party.student.reply(party.belief == "right", heard == "right")
    if heard and not party.standing:
        return {Act("accept", "claimed"): 1.0}
    return party.student.turn(Scene(missing=0, standing=party.standing.split(" ")[0], solves=party.solves))


def _effects(party: Party, act: Act, heard: str) -> list[tuple[Party, str, float]]:
    """The party after its act, the number in it, and the odds of that."""
    if act.kind == "accept":
        share = party.student.converted(party.belief == "right") if heard != party.belief else 1.0
        return [
            (party._replace(standing=heard, belief=heard), heard, share),
            (party._replace(standing=heard), heard, 1 - share),
        ]
    if act.kind in ("object", "done"):
        return [(party, "", 1.0)]
    number = {"own": party.belief, "again": party.standing}.get(act.value if act.kind == "hold" else act.kind, "")
    number = number or party.of(act.value)
    believes = party.belief if act.kind in ("hold", "again") else number
    return [(party._replace(standing=number, belief=believes), number, 1.0)]
