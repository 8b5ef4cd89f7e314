"""Families of embedded code tasks about numbers and dictionaries."""

from __future__ import annotations

from random import Random
from typing import Any

from pipeline.tasks.code.family import CLASH, PEOPLE, WORDS, Convention, Family, Value, empty, some


def _numbers(rng: Random, k: int) -> tuple[Any, ...]:
    return ([rng.randint(-9, k + 9) for _ in range(some(rng, 5))],)


def _total(rng: Random, k: int) -> tuple[Any, ...]:
    return (rng.randint(0, 9) * k + rng.randint(0, k - 1), rng.choice([0, 1, 2, 3, 4, 5]))


def _teams(rng: Random, k: int) -> tuple[Any, ...]:
    groups = ["red", "blue", "green", "white", None] if rng.random() < 0.4 else ["red", "blue", "green", "white"]
    return ({name: rng.choice(groups) for name in rng.sample(PEOPLE, rng.randint(1, 6))},)


def _stocks(rng: Random, k: int) -> tuple[Any, ...]:
    def stock() -> dict[str, int]:
        return {name: rng.choice([0, 1, 2, 3, k, k + 2]) for name in rng.sample(WORDS[:5], rng.randint(0, 3))}

    return stock(), stock()


NUMBERS_AND_DICTIONARIES = (
    Family(
        kind="number_mean",
        wants=(
            "`F(numbers)` gives the mean of those numbers of a list that are at most K, rounded to a whole number.",
            "`F(numbers)` leaves the numbers above K out of a list, and gives the mean of the others as the "
            "nearest whole number.",
        ),
        program="""
import math


def F(numbers):
    numbers = [number for number in numbers if number <= K]
    if not numbers:
        return {empty}
    mean = sum(numbers) / len(numbers)
    return {halves}
""",
        numbers=(10, 12, 15, 20, 25, 30),
        conventions=(
            Convention(
                "halves",
                ("half", "halves", "round", ".5", "middle", "midway"),
                "Where does `F` round a mean that is midway between two whole numbers?",
                (
                    Value("`F` rounds a mean that is midway up to the greater one.", "math.floor(mean + 0.5)"),
                    Value("`F` rounds a mean that is midway down to the smaller one.", "math.ceil(mean - 0.5)"),
                    Value("`F` rounds a mean that is midway to the even one.", "round(mean)"),
                    Value(
                        "`F` rounds a mean that is midway to the odd one.",
                        "math.floor(mean) | 1 if mean % 1 == 0.5 else round(mean)",
                    ),
                ),
            ),
            empty("no number is left", ("zero", "0"), ("None", "None"), ("K itself", "K")),
        ),
        draw=_numbers,
    ),
    Family(
        kind="number_shares",
        wants=(
            "`F(total, people)` shares a total out in packs of K, as many to each person as all can get alike, and "
            "gives the list of how many packs each person gets. What fills no pack is left over.",
            "`F(total, people)` makes as many packs of K as a total gives, deals each person as many as all can get "
            "alike, and gives the number of packs of each person as a list.",
        ),
        program="""
def F(total, people):
    if people == 0:
        return {empty}
    each, more = divmod(total // K, people)
    return {rest}
""",
        numbers=(2, 3, 4, 5, 6),
        conventions=(
            Convention(
                "rest",
                ("rest", "remain", "left over", "leftover", "extra", "spare", "even"),
                "Who gets the packs that remain in `F`?",
                (
                    Value(
                        "`F` hands packs that remain to those who stand first, one to each.",
                        "[each + (i < more) for i in range(people)]",
                    ),
                    Value(
                        "`F` hands packs that remain to those who stand last, one to each.",
                        "[each + (i >= people - more) for i in range(people)]",
                    ),
                    Value("`F` hands packs that remain to nobody.", "[each] * people"),
                    Value(
                        "`F` hands packs that remain to the first one alone.",
                        "[each + more] + [each] * (people - 1)",
                    ),
                ),
            ),
            empty(
                "there are no people",
                ("an empty list", "[]"),
                ("None", "None"),
                ("a list with the number of all packs", "[total // K]"),
            ),
        ),
        draw=_total,
    ),
    Family(
        kind="dict_invert",
        wants=(
            "`F(teams)` gets a dictionary from names to teams, and gives one from teams to a name of theirs. Teams of "
            "more than K names are left out.",
            "From a dictionary of names and their teams, `F(teams)` makes one that has a name for each team. A team "
            "with more than K names does not come into it.",
        ),
        program="""
def F(teams):
    found = {{}}
    for name, team in teams.items():
        {nobody}
        found.setdefault(team, []).append(name)
    return {{team: {clash} for team, names in found.items() if len(names) <= K}}
""",
        numbers=(2, 3, 4),
        conventions=(
            Convention(
                "clash",
                CLASH,
                "Which name does `F` take where several have the same team?",
                (
                    Value("`F` takes, of several names, the first in the alphabet.", "min(names)"),
                    Value("`F` takes, of several names, the last in the alphabet.", "max(names)"),
                    Value("`F` takes, of several names, the one that stands first in the dictionary.", "names[0]"),
                    Value("`F` takes, of several names, the one that stands last in the dictionary.", "names[-1]"),
                ),
            ),
            Convention(
                "nobody",
                ("none", "no team", "without", "missing"),
                "What does `F` do with a team that is None?",
                (
                    Value("`F` counts a team that is None like any other.", "team = team"),
                    Value("`F` skips a team that is None.", "if team is None:\n            continue"),
                    Value("`F` calls a team that is None by an empty text.", 'team = "" if team is None else team'),
                ),
            ),
        ),
        draw=_teams,
    ),
    Family(
        kind="dict_merge",
        wants=(
            "`F(ours, theirs)` merges two dictionaries of counts into a sorted list of pairs of key and count. Counts "
            "above K become K.",
            "`F(ours, theirs)` makes one list of pairs, a key and its count, out of two dictionaries. It is sorted by "
            "key, and no count in it is above K.",
        ),
        program="""
def F(ours, theirs):
    merged = {{**ours, **theirs}}
    for key in ours.keys() & theirs.keys():
        merged[key] = {clash}
    pairs = [(key, min(count, K)) for key, count in sorted(merged.items())]
    {zeros}
""",
        numbers=(6, 7, 8, 9, 10),
        conventions=(
            Convention(
                "clash",
                CLASH,
                "Which count does `F` give where both dictionaries have the same key?",
                (
                    Value("`F` adds the two counts of a key that both have.", "ours[key] + theirs[key]"),
                    Value("`F` takes the greater count of a key that both have.", "max(ours[key], theirs[key])"),
                    Value("`F` takes the smaller count of a key that both have.", "min(ours[key], theirs[key])"),
                    Value("`F` takes the count in ours of a key that both have.", "ours[key]"),
                ),
            ),
            Convention(
                "zeros",
                ("zero", "count of 0", "count is 0", "0 count"),
                "What does `F` do with a key whose count is zero?",
                (
                    Value("`F` lists a key whose count is zero like any other.", "return pairs"),
                    Value("`F` leaves out a key whose count is zero.", "return [pair for pair in pairs if pair[1]]"),
                    Value(
                        "`F` lists a key whose count is zero after all the others.",
                        "return sorted(pairs, key=lambda pair: pair[1] == 0)",
                    ),
                ),
            ),
        ),
        draw=_stocks,
    ),
)
