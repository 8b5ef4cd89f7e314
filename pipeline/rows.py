"""What one dialogue, one branch of the ledger, or one task gives a student to learn from, in TRL's dataset formats.

A row's messages are the student's view and nothing else, so no private fact reaches a dataset but through the
text of a turn. `learn` marks the messages that carry loss; they are all the student's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from datasets import Features, List, Value

from pipeline.acts import attempts
from pipeline.build import dialogue_id
from pipeline.config import Experiment
from pipeline.ledger import answer_worth, worth
from pipeline.partition import WRONG_KEY, Condition
from pipeline.pool import Pool, ledger_path
from pipeline.schema import Branch, Dialogue, Task
from pipeline.select import kept, within
from pipeline.store import read
from pipeline.tasks import stream_tasks
from pipeline.verify import equal
from pipeline.view import view

Row = dict[str, Any]
_MESSAGES = List({"role": Value("string"), "content": Value("string")})
_WHENCE = {
    "id": Value("string"),
    "task_id": Value("string"),
    "seed": Value("int64"),
    "round": Value("int64"),
    "specification": Value("string"),
}
# TRL's dataset formats, each a folder of datasets/<condition>/.
FORMATS = {
    "sft": Features({**_WHENCE, "messages": _MESSAGES, "learn": List(Value("bool"))}),
    "preference": Features(
        {**_WHENCE, "prompt": _MESSAGES, "chosen": _MESSAGES, "rejected": _MESSAGES, "margin": Value("float64")}
    ),
    "unpaired_preference": Features(
        {
            **_WHENCE,
            "prompt": _MESSAGES,
            "completion": _MESSAGES,
            "label": Value("bool"),
            "learn": List(Value("bool")),
        }
    ),
    "prompt_only": Features({**_WHENCE, "prompt": _MESSAGES}),
}
FORMAT_OF = {
    "sft": "sft",
    "monologue": "sft",
    "q_priming": "sft",
    "dpo": "preference",
    "dpo_answer": "preference",
    "kto": "unpaired_preference",
    "grpo": "prompt_only",
    "grpo_turn": "prompt_only",
    "grpo_next": "prompt_only",
}


def rows(experiment: Experiment, condition: str, pool: Pool) -> tuple[int, Iterator[list[Row]]]:
    """How many records a condition's method takes, and the rows of each; none where it teaches nothing.

    `pool` has the dialogues that the method learns from: the selected ones, or all.
    """
    axes, learnable = experiment.conditions[condition], within(experiment, condition)

    def some(row: Row | None) -> list[Row]:
        return [] if row is None else [row]

    match axes.method:
        case "sft" | "monologue" | "q_priming":
            one = monologue if axes.method == "monologue" else to_row
            return len(pool), (some(one(experiment, dialogue)) for dialogue in pool)
        case "kto":
            found = (labelled(experiment, d, kept(d, axes)) if learnable(d) else None for d in pool)
            return len(pool), map(some, found)
        case "dpo" | "dpo_answer":
            path, by_answer = ledger_path(experiment.run, axes.learns_from or condition), axes.method == "dpo_answer"
            paired = (pairs(experiment, b, by_answer) if learnable(b) else [] for b in read(path, Branch))
            return sum(1 for _ in read(path, Branch)), paired
        case "grpo" | "grpo_turn" | "grpo_next":
            count = len(experiment.seeds) * sum(1 for _ in _playable(experiment, axes))
            return count, (
                [opening(experiment, condition, task, seed)]
                for seed in experiment.seeds
                for task in _playable(experiment, axes)
            )


def learned(dialogue: Dialogue, which: str) -> list[bool]:
    """Whether each turn carries loss. `which` is `training.learn` of the config.

    all: every student turn. after_last_error: the student's turns after its last wrong attempt (all, if it
    made none). final: only the student's last attempt, if that is right.
    """
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    said = {i: answer for i, answer in enumerate(attempts(dialogue)) if i in own}
    right = {i: equal(answer, dialogue.task.answer) for i, answer in said.items() if answer is not None}
    if which == "final":
        last = max(right, default=None)
        chosen = {last} if last is not None and right[last] else set()
    elif which == "after_last_error":
        last_error = max((i for i, is_right in right.items() if not is_right), default=-1)
        chosen = {i for i in own if i > last_error}
    else:
        chosen = set(own)
    # A turn that was cut has no end; to train on it would teach to stop there.
    return [i in chosen and turn.finished for i, turn in enumerate(dialogue.turns)]


def to_row(experiment: Experiment, dialogue: Dialogue) -> Row | None:
    """The training row of one dialogue, up to the student's last turn; None where nothing would be learned."""
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    learn = learned(dialogue, experiment.training.learn)
    if not any(learn):
        return None
    axes = Condition.model_validate(dialogue.axes)
    messages = view(dialogue.task, axes, dialogue.turns[: own[-1] + 1], "student", experiment.student.system)
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    carries = {message for turn, message in zip(own, replies, strict=True) if learn[turn]}
    return {**_whence(dialogue), "messages": messages, "learn": [i in carries for i in range(len(messages))]}


def monologue(experiment: Experiment, dialogue: Dialogue) -> Row | None:
    """The same dialogue flattened into one exchange: all that was said to the student comes before all that it said.

    The student's tokens are those of `to_row`; that it said them in turns, and to whom, is gone. None where a turn
    of the student was cut, since it would have no end.
    """
    if not all(turn.finished for turn in dialogue.turns if turn.party == "student"):
        return None
    axes = Condition.model_validate(dialogue.axes)
    messages = view(dialogue.task, axes, dialogue.turns, "student", experiment.student.system)
    said = {role: " ".join(m["content"] for m in messages if m["role"] == role) for role in ("user", "assistant")}
    flat = [m for m in messages if m["role"] == "system"]
    flat += [{"role": "user", "content": said["user"]}, {"role": "assistant", "content": said["assistant"]}]
    return {**_whence(dialogue), "messages": flat, "learn": [m["role"] == "assistant" for m in flat]}


def labelled(experiment: Experiment, dialogue: Dialogue, resolved: bool) -> Row | None:
    """A whole dialogue and whether it was resolved; None where no turn of the student carries loss."""
    row = to_row(experiment, dialogue)
    if row is None:
        return None
    messages, learn = row.pop("messages"), row.pop("learn")
    first = next(i for i, message in enumerate(messages) if message["role"] == "assistant")
    return {
        **row,
        "prompt": messages[:first],
        "completion": messages[first:],
        "learn": learn[first:],
        "label": resolved,
    }


def pairs(experiment: Experiment, branch: Branch, by_answer: bool) -> list[Row]:
    """All pairs of a branch's siblings, from the same prompt, that are at least `training.gap` apart in worth.

    Worth is what came of a turn (its rollouts). `by_answer` is the control after Coral: the turn's own answer
    decides, so that a question is worth as little as a wrong answer. Equal texts make no pair.
    """
    values = {
        i: answer_worth(branch, i) if by_answer else worth(branch, i, experiment.ledger).value
        for i, sibling in enumerate(branch.siblings)
        if sibling.turn.finished
    }
    axes = Condition.model_validate(branch.axes)
    prompt = view(branch.task, axes, branch.prefix, "student", experiment.student.system)
    found: dict[tuple[str, str], Row] = {}
    for better, worse in itertools.permutations(values, 2):
        margin = values[better] - values[worse]
        texts = branch.siblings[better].turn.text, branch.siblings[worse].turn.text
        if margin >= experiment.training.gap and texts[0] != texts[1]:
            chosen, rejected = ([{"role": "assistant", "content": text}] for text in texts)
            row = {**_whence(branch), "id": f"{branch.id}-{better}-{worse}", "prompt": prompt}
            found.setdefault(texts, {**row, "chosen": chosen, "rejected": rejected, "margin": margin})
    return list(found.values())


def opening(experiment: Experiment, condition: str, task: Task, seed: int) -> Row:
    """Where a student that learns by playing begins with a task: what it reads before its first turn."""
    axes = experiment.conditions[condition]
    return {
        "id": dialogue_id(experiment, task.id, condition, seed, 0, 0),
        "task_id": task.id,
        "seed": seed,
        "round": 0,
        "specification": task.specification,
        "prompt": view(task, axes, (), "student", experiment.student.system),
    }


def _playable(experiment: Experiment, axes: Condition) -> Iterator[Task]:
    """The tasks of a condition that can be played: a partner that believes a wrong answer needs one."""
    for task in stream_tasks(experiment.tasks, "train")[0]:
        wanted = axes.specifications is None or task.specification in axes.specifications
        if wanted and (task.wrong_answer or WRONG_KEY not in (axes.row.partner or ())):
            yield task


def _whence(record: Dialogue | Branch) -> Row:
    return {
        "id": record.id,
        "task_id": record.task.id,
        "seed": record.seed,
        "round": record.round,
        "specification": record.task.specification,
    }
