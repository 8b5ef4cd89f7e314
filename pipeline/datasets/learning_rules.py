"""The learning rules: what a row of each one's dataset is."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pipeline.knowledge.condition import Method

Format = Literal["sft", "prompt_completion", "preference", "unpaired_preference", "prompt_only", "privileged_context"]
# What a row is, where the format was exported beside the one that the method learns from.
A_ROW: dict[Format, str] = {
    "sft": "a selected dialogue: `messages`, and in `learn` whether each carries loss",
    "prompt_completion": "a turn of the student in a selected dialogue: `prompt` is all that it read before it, "
    "`completion` the turn",
    "preference": "two turns that the student might have said after `prompt`: `chosen` and `rejected`, `margin` apart",
    "unpaired_preference": "a dialogue: `prompt`, `completion`, `learn`, and whether rejection sampling keeps it "
    "(`label`)",
    "prompt_only": "where a task begins, for a student that plays: `prompt`",
    "privileged_context": "what the student read before one of its turns (`prompt`), and apart from it what its "
    "partner alone knew (`privileged_context`): for a self-distilling teacher, and no student",
}
SELECTED: tuple[Format, ...] = ("sft", "prompt_completion")  # the others have what selection would drop, too


class LearningRule(NamedTuple):
    """`selects`: it learns from what rejection sampling keeps; the others learn from what that would drop, too."""

    format: Format
    selects: bool
    says: str  # in the card: what is learned, and what a row is


LEARNING_RULES: dict[Method, LearningRule] = {
    "sft": LearningRule(
        "sft",
        selects=True,
        says="supervised learning: a row is a whole dialogue that rejection sampling keeps; the student learns its own "
        "turns.",
    ),
    "monologue": LearningRule(
        "sft",
        selects=True,
        says="supervised learning without turns, the control of sft: a row is a dialogue that rejection sampling "
        "keeps, rewritten as one exchange. What the partner told stands in the problem; the student's own words are "
        "one solution, without turns that only ask or only end, and without what it said after its final answer.",
    ),
    "q_priming": LearningRule(
        "sft",
        selects=True,
        says="supervised learning: a row is a whole dialogue that rejection sampling keeps, in which some wrong "
        "answers of the student gave way to questions, written by somebody who knew what its partner knew; it learns "
        "these too.",
    ),
    "post_completion": LearningRule(
        "unpaired_preference",
        selects=False,
        says="supervised learning with a check behind the answer: a row is a dialogue, and whether its final answer is "
        "right. Of a right one the student learns its turns and the check, of a wrong one the check alone. It stands "
        "behind the end of its last turn and is never said. There are at most as many wrong ones as right ones.",
    ),
    "expert": LearningRule(
        "sft",
        selects=False,
        says="supervised learning of an expert: a row is its dialogue on a task, and no dialogue was sampled. With a "
        "partner that holds a worked solution it says that, a step a turn, as grpo_step begins from it; with one that "
        "tells facts on request it asks for what is missing first, and for nothing else.",
    ),
    "dpo": LearningRule(
        "preference",
        selects=False,
        says="preferences between turns: a row is two turns that the student might have said at the same place, the "
        "better and the worse by their values, the returns of playing the dialogue on from them.",
    ),
    "dpo_answer": LearningRule(
        "preference",
        selects=False,
        says="preferences between turns, the control of dpo: a row is two turns that the student might have said "
        "at the same place, the better and the worse by whether the turn itself commits to the right answer, so that a "
        "question has as little value as a wrong answer.",
    ),
    "dpo_judge": LearningRule(
        "preference",
        selects=False,
        says="preferences between turns of the partner's: a row is two turns that the partner might have said at the "
        "same place, the one after which a judge most often gave the partner's answer, true or not, and the one "
        "after which it did so least. Who learns them is no student: its weights are for a partner's seat.",
    ),
    "kto": LearningRule(
        "unpaired_preference",
        selects=False,
        says="whole dialogues with a label: a row is a dialogue, and whether rejection sampling would keep it.",
    ),
    "grpo": LearningRule(
        "prompt_only",
        selects=False,
        says="learning while playing, from groups of whole dialogues of a task: a row is only where a task begins; a "
        "right final answer is rewarded, less for every turn before it was first given and kept.",
    ),
    "grpo_turn": LearningRule(
        "prompt_only",
        selects=False,
        says="learning while playing, from groups of first turns of a task: a row is only where a task begins; a "
        "turn is rewarded by its value, by playing on from it.",
    ),
    "grpo_next": LearningRule(
        "prompt_only",
        selects=False,
        says="learning while playing, the control of grpo_turn: a row is only where a task begins; a first turn is "
        "rewarded where it commits to the right answer itself.",
    ),
    "grpo_step": LearningRule(
        "prompt_only",
        selects=False,
        says="learning while playing, from groups of turns at one step of an expert's solution: a row is where "
        "such a step begins, after the expert's own steps before it; a turn is rewarded by how like the expert's it "
        "is.",
    ),
}
