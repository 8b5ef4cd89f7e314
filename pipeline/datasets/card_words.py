"""What a card says of each value of a condition's axes."""

from __future__ import annotations

from pipeline.dialogue.rule_partner import ERRS
from pipeline.judging.violations import Kind

DISCLOSURE = {
    "on_request": "The partner tells what only it knows when it is asked for it.",
    "volunteer": "The partner tells one thing that only it knows in each of its turns, asked or not.",
    "chatter": "The partner restates public facts and keeps what only it knows to itself.",
}
MANNER = {
    "plain": "",
    "vague": " At first it tells it without numbers, and plainly when it is asked again.",
    "erring": f" In {ERRS:.0%} of what it tells the numbers are wrong.",
    "low_effort": " Half of the time it tells nothing, and never more than one thing.",
    "convincing": " Of several turns that it might say it says the one after which a judge, who reads what the student "
    "reads, most often gives its answer, true or not; its tokens are those of all of them, and of the judge.",
}
MEMORY = {
    "asymmetric": "dialogues that ended right, whole, and of the others a lesson of one line that a model wrote; those "
    "of the {items} tasks that are nearest in meaning (`{embedder}`)",
    "uniform": "dialogues, whole, and how they ended, of the {items} tasks that are nearest in meaning (`{embedder}`)",
    "random": "dialogues that ended right, whole, and of the others a lesson of one line that a model wrote; of tasks "
    "drawn at random, each about as long as that of one of the {items} that are nearest in meaning (`{embedder}`)",
}
VOICES = {
    "rule": "a rule (`pipeline/dialogue/rule_partner.py`) with {} fixed wordings",
    "model": "a language model, {model}, prompted with its view",
    "human": "people; these dialogues were imported, nothing in them was generated here",
}
SELECTION = {
    "outcome": "dialogues whose final answer is right",
    "agreement": "dialogues in which both parties end on the same answer, right or wrong",
    "none": "every dialogue",
    "yoked": "for each dialogue whose final answer is right the next one of its task, whatever was said in it",
}
KEEP = {
    "all": "",
    "grounded": ", and of those only where every needed fact was given before the final answer",
    "no_questions": ", and of those only where the student asks nothing: it asks in {fell} of the pool",
    "one_answer": ", and of those only where the student answers in its first turn and never again: it does otherwise "
    "in {fell} of the pool",
}
YOKED_REWARD = " Rewards of a group are dealt by lot among its dialogues: nothing that one says decides its own."
LEARN = {
    "all": "every student turn",
    "after_last_error": "the student's turns after its last wrong attempt",
    "final": "only the student's last attempt, where it is right",
}
VIOLATION: dict[Kind, str] = {
    "false_feedback": "it calls an attempt right, wrong, too high or too low, and by its own knowledge that is not so",
    "revealed_answer": "it states the gold answer unearned, which it is to keep",
    "unknown_fact": "it states a fact, or the answer, that it cannot know",
    "false_fact": "it states a fact of the problem with another number",
    "disclosure": "it tells what only it knows when it should not, or does not tell it when it should",
    "off_role": "it writes the student's lines, says that it is a model, repeats its instructions, or says no word",
}
