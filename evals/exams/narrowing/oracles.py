"""What scripts reach with every partner: the ceiling of each kind of help, the guesser's floor, and who gains by what.

python -m evals.exams.narrowing.oracles     # the tables of docs/hidden_item.md
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Mapping, Sequence
from statistics import mean

from evals.exams.narrowing.exchanges import Exchange, Left, exchanges, is_found, options_left
from evals.exams.narrowing.policies import BEST, POLICIES, Scripts
from pipeline.core.schema import Task
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks

TASKS, TURNS = 300, 4
Table = Mapping[str, Mapping[str, float]]  # by script, by partition: the share of items found


def oracle_table(tasks: Sequence[Task], turns: int = TURNS) -> Table:
    """Every script with every partner, a dialogue a task."""
    return {policy: {name: _found(tasks, talks(policy, name, tasks, turns)) for name in BEST} for policy in POLICIES}


def talks(policy: str, partition: str, tasks: Sequence[Task], turns: int) -> list[list[Exchange]]:
    """A script's dialogue with the partner of a partition, on each of the tasks."""
    condition = Condition(partition=partition)
    cast, settings = Cast(Scripts(policy, tasks, turns, condition)), DialogueSettings(turns=turns)

    async def of(task: Task) -> list[Exchange]:
        episode = Episode(task=task, condition=condition, cast=cast, settings=settings, key=f"oracle-{task.id}")
        played = await play(episode)
        return exchanges(task, known(task, condition, "student").facts, played.turns)

    async def of_all() -> list[list[Exchange]]:
        return [await of(task) for task in tasks]

    return asyncio.run(of_all())


def _found(tasks: Sequence[Task], said: Sequence[list[Exchange]]) -> float:
    return mean(is_found(task, each) for task, each in zip(tasks, said, strict=True))


def ceiling(task: Task, partition: str, turns: int) -> float:
    """The most that any student can expect that knows what its row knows and concludes all that follows.

    With k options left: 1 / k where the partner tells nothing more; of each option that a verdict leaves time to try,
    1 / k; 2^(turns - 1) answers of yes or no tell so many options apart; facts are told one a turn. What a misled
    partner holds to is one option less, where it is among them.
    """
    facts = known(task, Condition(partition=partition), "student").facts
    k = len(options_left(task, facts))
    lacks = sum(fact.needed and fact not in facts for fact in task.facts)
    match partition:
        case "verifier":
            return min(turns, k) / k
        case "answer":
            return min(2 ** (turns - 1), k) / k
        case "facts" | "key" | "jigsaw" if lacks < turns:
            return 1.0
        case "misled" if turns > 1 and task.choice is not None:
            return 1 / max(1, k - (task.wrong_answer in map(task.choice.name, options_left(task, facts))))
    return 1 / k


def elsewhere(task: Task) -> Left:
    """The options that are left to who also knows a habit of this source: the other thing, which an underspecified text
    tells in full, lies in another option than what is looked for. No row knows that, and no rule says it."""
    assert task.choice is not None
    told = " ".join(fact.text for fact in task.facts if fact.public and not fact.value)
    values = {value for option in task.choice.options for value in option if re.search(rf"\b{value}\b", told)}
    left = options_left(task, [fact for fact in task.facts if fact.public])
    return frozenset(option for option in left if not task.choice.fits(option, values))


def printed(table: Table, tasks: Sequence[Task], turns: int = TURNS) -> str:
    """As Markdown: a row for each script, behind it the ceiling; bold where it is the best one for the partner."""
    lines = [f"| script | {' | '.join(f'`{name}`' for name in BEST)} |", "|---" * (len(BEST) + 1) + "|"]
    for policy, row in table.items():
        cells = (f"**{_two(v)}**" if BEST[name] == policy else _two(v) for name, v in row.items())
        lines.append(f"| {policy} | {' | '.join(cells)} |")
    highest = (_two(mean(ceiling(task, name, turns) for task in tasks)) for name in BEST)
    return "\n".join([*lines, f"| ceiling | {' | '.join(highest)} |"])


def _two(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1.00"


def main() -> None:
    made = list(itertools.islice(hidden_item_tasks("exam", "underspecified"), TASKS))
    for stratum in ("easy", "hard"):
        tasks = [task for task in made if task.stratum == stratum]
        print(f"{len(tasks)} {stratum} underspecified tasks:\n")
        print(printed(oracle_table(tasks), tasks), end="\n\n")
        fewer = [len(elsewhere(task)) for task in tasks]
        guess, tries = mean(1 / k for k in fewer), mean(min(TURNS, k) / k for k in fewer)
        print(f"Who knows that the other thing lies elsewhere: guesses {_two(guess)}, tries {_two(tries)}\n")


if __name__ == "__main__":
    main()
