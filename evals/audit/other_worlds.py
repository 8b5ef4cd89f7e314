"""Other worlds: a task with all changed that one party cannot know, so that its view must stay the same bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from evals.audit.finding import Tried
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Message, Party, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.partition import PUBLIC, Items, in_order
from pipeline.knowledge.records import Dialogue
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import heard_turn

View = Callable[[Task, Condition, Sequence[Turn], Party], list[Message]]
_SHIFTED = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "bcdefghijklmnopqrstuvwxyzaBCDEFGHIJKLMNOPQRSTUVWXYZA"
)
_ADDED = Fact(id="outside", text="Nobody said that 41 are left.", public=False, ask="How many did nobody say?")


def view_changed(shows: View, condition: Condition, dialogue: Dialogue, party: Party) -> Tried:
    """Hit where the view after the last turn (they are append-only) is not the same in every other world, of which
    there is always one."""
    seen = shows(dialogue.task, condition, dialogue.turns, party)
    for task in other_worlds(dialogue.task, condition, party, dialogue.turns):
        other = shows(task, condition, dialogue.turns, party)
        if seen != other:
            a, b = next((a, b) for a, b in zip(seen, other, strict=True) if a != b)
            text = f"{a['content']}\n-- became --\n{b['content']}"
            return Tried(dialogue.task.id, True, dialogue.id, text, dialogue.seed)
    return Tried(dialogue.task.id, False, dialogue.id, "", dialogue.seed)


def other_worlds(task: Task, condition: Condition, party: Party, turns: Sequence[Turn] = ()) -> list[Task]:
    """The task in other worlds, which this party cannot tell apart after these turns.

    Every word and number of what it does not know is another one. Facts that it does not hold are more in the one
    world and none in the other, so that neither how many there are nor whether there are any can be seen. A gold
    answer whose verdicts it is told is another one that gives every attempt of the turns the verdict that it had.
    """
    partition, shares = condition.row, known(task, condition, party).share
    row = partition.items(party) or frozenset({PUBLIC})
    reads_partner = party == "partner" or partition.student_reads_partner
    if reads_partner:
        row = row | partition.items("partner")
    held = {field for item in row for field in item.fields}
    update: dict[str, object] = {
        "id": _strange(task.id),
        "kind": _strange(task.kind),
        "stratum": _strange(task.stratum),
        "full_question": _question(task.full_question, shares),
    }
    if party == "partner":
        update["memories"] = (*map(_strange, task.memories), "The student remembers this.")
    if "answer" not in held:
        told = reads_partner and partition.tells_verdicts
        update["answer"] = _under_verdicts(task, turns) if told else _other(task.answer)
    if "wrong_answer" not in held:
        update["wrong_answer"] = _other(task.wrong_answer)
    if "solution" not in held:
        update["solution"] = _strange(task.solution)
    if "steps" not in held:
        update["steps"] = ()
    if task.draft is not None:  # its steps are public
        where = task.draft.where if "draft.where" in held else task.draft.where % len(task.draft.steps) + 1
        what = task.draft.what if "draft.what" in held else _strange(task.draft.what)
        update["draft"] = task.draft.model_copy(update={"where": where, "what": what})
    if task.tests is not None:  # what decides is no party's to know
        hidden = tuple(check.model_copy(update={"expected": "987"}) for check in task.tests.hidden)
        update["tests"] = task.tests.model_copy(update={"hidden": hidden, "script": _strange(task.tests.script)})
    if not any(item.all_facts for item in row):
        update["specification"] = "full" if task.missing else "underspecified"
    # What it holds may hang on how many facts are missing, or on all of them: then these are changed less.
    seen = {fact.id for fact in known(task, condition, party).facts}
    reworded = tuple(fact if fact.id in seen else _other_fact(fact) for fact in task.facts)
    for changed in (_facts(task, condition, party, row), [reworded], [task.facts]):
        worlds = [task.model_copy(update=update | {"facts": facts}) for facts in changed]
        if alike := [world for world in worlds if _held(world, row) == _held(task, row)]:
            return alike
    raise ConfigError(
        f"partition {condition.partition!r}: what the {party} holds changes with something of a task that no item's "
        "`fields` name. Name it there, so that it is known what its holder may see"
    )


def _held(task: Task, row: Items) -> list[tuple[Fact, ...]]:
    """The facts that a row holds besides the public ones. Where it holds one of those that are missing, one more that
    is missing may be the one that it holds."""
    return [item.facts(task) for item in in_order(row) if item.facts]


def _facts(task: Task, condition: Condition, party: Party, row: Items) -> list[tuple[Fact, ...]]:
    """What the party knows of the facts stays, in its order."""
    knows = known(task, condition, party)
    seen = {fact.id for fact in knows.facts}
    changed = tuple(fact if fact.id in seen else _other_fact(fact) for fact in task.facts)
    if knows.share:  # every second one is its own (pipeline.knowledge.known)
        own = len(changed) % 2 == (0 if party == "student" else 1)
        return [changed[:-1] if own else (*changed, _ADDED)]
    if any(item.all_facts for item in row):
        return [task.facts]
    return [(*changed, _ADDED), tuple(fact for fact in task.facts if fact.id in seen)]


def _question(whole: str, shares: bool) -> str:
    """How the problem ends is what both shares end with (pipeline.knowledge.known)."""
    *before, last = re.split(r"(?<=[.!?])\s+", whole.strip())
    return f"{_strange(' '.join(before))} {last}" if shares else _strange(whole)


def _other(text: str) -> str:
    """Every letter the next one, every number another one."""
    return re.sub(r"\d+", lambda match: str(int(match[0]) + 7), text.translate(_SHIFTED))


def _strange(text: str) -> str:
    """Longer, too."""
    return f"{_other(text)} There is more."


def _other_fact(fact: Fact) -> Fact:
    return fact.model_copy(update={"text": _strange(fact.text), "ask": _strange(fact.ask) if fact.ask else ""})


def _under_verdicts(task: Task, turns: Sequence[Turn]) -> str:
    """Another answer; only written otherwise where an attempt was right, since then the turns have said it."""
    answer, heard = task.answer, [heard_turn(task, turn).attempt for turn in turns if turn.party == "student"]
    tried = [attempted for attempted in heard if attempted is not None]
    if not any(equal(attempted, answer) for attempted in tried):
        other = _other(answer)
        while any(equal(attempted, other) for attempted in tried):
            other = _other(other)
        return other
    for other in (f"{answer}.0", f"{answer}0", answer.upper(), answer.capitalize()):
        if other != answer and all(equal(attempted, other) == equal(attempted, answer) for attempted in tried):
            return other
    return answer
