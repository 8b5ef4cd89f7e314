"""Games with two slot machines: what they pay, who picks in a round, and how a student is told.

A game is fixed before anybody plays it: names, chances, what each machine would pay in each round, and the rounds in
which the partner picks. So every student meets the same luck, and the same game in every frame:

    free      the student picks in every round, and is told what its machine paid
    agency    in half of the rounds, drawn by lot, the partner picks, either machine alike; the student only watches
    full      as in free, and the student is told what the other machine would have paid, too (full feedback)

Of four games two have machines that differ (.75 and .25, either one first), one has two good and one has two poor.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from pydantic import Field

from pipeline.core.config_reading import Section
from pipeline.core.random_streams import stream

FRAMES = ("free", "agency", "full")
GOOD, POOR = 0.75, 0.25
CHANCES = ((GOOD, POOR), (POOR, GOOD), (GOOD, GOOD), (POOR, POOR))
# No A or I, which are words.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
RULES = (
    "Here are two slot machines, {0} and {1}. Each pays 1 dollar or nothing, by chance, and one may pay more often "
    "than the other. There are {2} rounds. Get as many dollars as you can."
)
MORE_RULES = {
    "free": "",
    "agency": " In some rounds your partner picks the machine, and you only watch.",
    "full": " After each round you are told what the other machine would have paid, too.",
}
CHOSE, PICKED = "Round {}: you chose machine {}. It paid {}.", "Round {}: your partner picked machine {}. It paid {}."
LEFT = " Machine {} would have paid {}."
UNREAD = "Round {}: no machine was chosen."
ASK = "Round {}: which machine do you choose, {} or {}? Say only its letter."


class BanditSettings(Section):
    """How much is played."""

    games: int = Field(default=24, ge=4, multiple_of=4)  # in each frame
    rounds: int = Field(default=24, ge=2, multiple_of=2)  # of a game


class Game(NamedTuple):
    """`picks`: by round, the machine that the partner picks, or None where the student does. Machines are 0 and 1."""

    id: str
    frame: str
    names: tuple[str, str]
    chances: tuple[float, float]
    picks: tuple[int | None, ...]
    pays: tuple[tuple[bool, bool], ...]  # by round: what each machine would pay

    @property
    def better(self) -> int | None:
        """The machine that pays more often; None where both pay alike."""
        return None if self.chances[0] == self.chances[1] else int(self.chances[1] > self.chances[0])


class Round(NamedTuple):
    """One round as it was played; `machine` is None where the student's answer named none, and then nothing is paid."""

    imposed: bool
    machine: int | None
    paid: bool


def left_paid(game: Game, i: int, one: Round) -> bool | None:
    """What the machine that was left would have paid in round i, from 0; None where the student is not told."""
    return game.pays[i][1 - one.machine] if game.frame == "full" and one.machine is not None else None


def games(settings: BanditSettings) -> list[Game]:
    """Every game in every frame, in the same order whoever plays."""
    return [_game(i, frame, settings.rounds) for frame in FRAMES for i in range(settings.games)]


def _game(i: int, frame: str, rounds: int) -> Game:
    rng = random.Random(stream(f"bandits-{i}"))  # not of the frame: the luck is the same in all
    first, second = rng.sample(LETTERS, 2)
    chances = CHANCES[i % len(CHANCES)]
    pays = tuple((rng.random() < chances[0], rng.random() < chances[1]) for _ in range(rounds))
    watched = set(rng.sample(range(rounds), rounds // 2)) if frame == "agency" else set()
    picks = tuple(rng.randrange(2) if at in watched else None for at in range(rounds))
    return Game(id=f"bandit-{i}", frame=frame, names=(first, second), chances=chances, picks=picks, pays=pays)


def asked(game: Game, played: list[Round]) -> str:
    """All that the student reads when it is to choose: the rules, every round so far, and the question."""
    rules = RULES.format(*game.names, len(game.pays)) + MORE_RULES[game.frame]
    told = [_told(game, i, one) for i, one in enumerate(played)]
    return "\n".join([rules, *told, ASK.format(len(played) + 1, *game.names)])


def _told(game: Game, i: int, one: Round) -> str:
    if one.machine is None:
        return UNREAD.format(i + 1)
    words = PICKED if one.imposed else CHOSE
    told = words.format(i + 1, game.names[one.machine], _dollars(one.paid))
    left = left_paid(game, i, one)
    return told if left is None else told + LEFT.format(game.names[1 - one.machine], _dollars(left))


def _dollars(paid: bool) -> str:
    return "1 dollar" if paid else "nothing"


def chosen(game: Game, reply: str) -> int | None:
    """The machine whose letter, as a word of its own, comes first in a reply; None for neither, and for a reply that
    goes on with the game's own text, in which machines are named and none is chosen."""
    if reply.lstrip().startswith("Round "):
        return None
    named = re.search(rf"\b(?:{'|'.join(game.names)})\b", reply)
    return game.names.index(named[0]) if named else None
