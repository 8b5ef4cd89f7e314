"""What one dialogue, one branch, or one task gives a student to learn from: the rows of datasets.

A row's messages are the student's view and nothing else, so no private fact reaches a dataset but through the
text of a turn; what the partner knows stands in `privileged_context` alone. `learn` marks the messages that carry
loss; they are all the student's own. The rows of a partner that is trained (`judged_pairs`) are the exception: they
are the partner's view, and no student learns them.
"""

from __future__ import annotations

import itertools
from statistics import fmean
from typing import Any

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.building.turn_values import answer_value, turn_value
from pipeline.core.schema import Task
from pipeline.datasets.single_turn import monologue_messages
from pipeline.dialogue.expert import expert_talk, expert_turns
from pipeline.experiment.experiment import Experiment
from pipeline.judging.convinced import scores
from pipeline.judging.outcome import rights
from pipeline.knowledge.briefing import privileged
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.knowledge.view import view

Row = dict[str, Any]
ROUNDING = 1e-9  # .6 - .4 is as far apart as .8 - .6


def learned(dialogue: Dialogue, which: str) -> list[bool]:
    """Whether each turn carries loss. `which` is `training.learn` of the config.

    all: every student turn. after_last_error: the student's turns after its last wrong attempt (all, if it
    made none). final: only the student's last attempt, if that is right.
    """
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    # To read the turns takes longer than all else that a row needs.
    judged = enumerate(rights(dialogue)) if which != "all" else ()
    right = {i: is_right for i, is_right in judged if i in own and is_right is not None}
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
    condition = dialogue.condition
    messages = view(dialogue.task, condition, dialogue.turns[: own[-1] + 1], "student", experiment.prompts("student"))
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    carries = {message for turn, message in zip(own, replies, strict=True) if learn[turn]}
    return {**_whence(dialogue), "messages": messages, "learn": [i in carries for i in range(len(messages))]}


def monologue(experiment: Experiment, dialogue: Dialogue) -> Row | None:
    """The same dialogue as one exchange: a problem that says what was told, and one solution
    (pipeline/datasets/single_turn.py). None where it gives none."""
    messages = monologue_messages(experiment, dialogue)
    if messages is None:
        return None
    return {**_whence(dialogue), "messages": messages, "learn": [m["role"] == "assistant" for m in messages]}


def replies(row: Row) -> list[Row]:
    """A row of `to_row` or `monologue` as one for each message that carries loss: what came before it, and itself."""
    messages, learn = row.pop("messages"), row.pop("learn")
    return [
        {**row, "id": f"{row['id']}-{i}", "prompt": messages[:i], "completion": [messages[i]]}
        for i, carries in enumerate(learn)
        if carries
    ]


def informed(experiment: Experiment, dialogue: Dialogue) -> list[Row]:
    """What the student read before each of its turns, and apart from it what its partner knew.

    For self-distillation, whose teacher is the same model with `privileged_context` in its prompt. Turns before
    which the partner knew nothing more (it had no attempt to check) are left out.
    """
    condition, rows = dialogue.condition, []
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]  # people's teachers may begin
    for i in own:
        if context := privileged(dialogue.task, condition, dialogue.turns[:i]):
            prompt = view(dialogue.task, condition, dialogue.turns[:i], "student", experiment.prompts("student"))
            row = {**_whence(dialogue), "id": f"{dialogue.id}-{i}", "prompt": prompt}
            rows.append({**row, "privileged_context": context})
    return rows


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


def pairs(experiment: Experiment, branch: Branch, learner: Condition) -> list[Row]:
    """All pairs of a branch's siblings, from the same prompt, whose values are at least `training.gap` apart.

    `learner` is the condition that learns, which may be another than the branch's: its selection and prices say what a
    turn is worth; one that was said twice is worth the mean. `dpo_answer` has Coral's credit: the turn's own answer
    decides its value, so that a question has as little as a wrong answer; Coral's released code takes one pair a turn,
    and none of first turns.
    """
    by_answer = learner.method == "dpo_answer"
    prices = experiment.turn_values_of(learner)
    values, first = dict[str, list[float]](), dict[str, int]()  # by text: what was said twice is one turn
    for i, sibling in enumerate(branch.siblings):
        if sibling.turn.finished:
            worth = answer_value(branch, i) if by_answer else turn_value(branch, i, prices, learner.selection).value
            values.setdefault(sibling.turn.own_text, []).append(worth)
            first.setdefault(sibling.turn.own_text, i)
    condition = branch.condition
    prompt = view(branch.task, condition, branch.prefix, "student", experiment.prompts("student"))
    rows = list[Row]()
    for better, worse in itertools.permutations(values, 2):
        margin = fmean(values[better]) - fmean(values[worse])
        if margin >= experiment.training.gap - ROUNDING:
            chosen, rejected = ([{"role": "assistant", "content": text}] for text in (better, worse))
            row = {**_whence(branch), "id": f"{branch.id}-{first[better]}-{first[worse]}", "prompt": prompt}
            rows.append({**row, "chosen": chosen, "rejected": rejected, "margin": margin})
    return rows


def judged_pairs(experiment: Experiment, dialogue: Dialogue) -> list[Row]:
    """Of each turn of a convincing partner: the candidate that convinced its judge most against the one that did least,
    after what the partner read before them.

    They are at least `training.gap` apart in the share of the judge's answers that are the partner's claim, whether or
    not that is right. A candidate that was cut has no end to learn; equal texts make no pair.
    """
    rows = list[Row]()
    for at, turn in enumerate(dialogue.turns):
        if turn.convincing is None:
            continue
        candidates, of_each = turn.convincing.candidates, scores(turn.convincing)
        whole = [i for i, candidate in enumerate(candidates) if candidate.turn.finished]
        if not whole:
            continue
        best, worst = max(whole, key=of_each.__getitem__), min(whole, key=of_each.__getitem__)
        margin, texts = of_each[best] - of_each[worst], [candidates[i].turn.own_text for i in (best, worst)]
        if margin >= experiment.training.gap - ROUNDING and texts[0] != texts[1]:
            prompts = experiment.prompts("partner")
            prompt = view(dialogue.task, dialogue.condition, dialogue.turns[:at], "partner", prompts)
            chosen, rejected = ([{"role": "assistant", "content": text}] for text in texts)
            row = {**_whence(dialogue), "id": f"{dialogue.id}-{at}-{best}-{worst}", "prompt": prompt}
            rows.append({**row, "chosen": chosen, "rejected": rejected, "margin": margin})
    return rows


def opening(keys: DialogueKeys, task: Task, steps: int = 0) -> list[Row]:
    """Where a student that learns by playing begins with a task: what it reads before its first turn, or after so
    many of an expert's steps."""
    cell, id, prompts = keys.cell, keys.id(task.id, sample=0), keys.cell.experiment.prompts("student")
    return [
        {
            "id": f"{id}-{steps}" if steps else id,
            "task_id": task.id,
            "seed": cell.seed,
            "round": cell.round,
            "specification": task.specification,
            "prompt": view(task, cell.condition, expert_turns(task, steps), "student", prompts),
        }
    ]


def before_steps(keys: DialogueKeys, task: Task) -> list[Row]:
    """`opening` before each step of the expert's solution."""
    return [row for done in range(len(task.steps)) for row in opening(keys, task, done)]


def expert(keys: DialogueKeys, task: Task) -> list[Row]:
    """An expert's whole dialogue, each of its turns with loss. With a worked solution it is what `grpo_step` is
    compared with (the supervised baseline of Deng et al., arXiv 2510.25992)."""
    turns = expert_talk(task, keys.cell.condition)
    (row,), prompts = opening(keys, task), keys.cell.experiment.prompts("student")
    del row["prompt"]
    messages = view(task, keys.cell.condition, turns, "student", prompts)
    return [{**row, "messages": messages, "learn": [message["role"] == "assistant" for message in messages]}]


def _whence(record: Dialogue | Branch) -> Row:
    return {
        "id": record.id,
        "task_id": record.task.id,
        "seed": record.seed,
        "round": record.round,
        "specification": record.task.specification,
    }
