"""Dialogues as samples of inspect_ai: what the student saw, what only its partner knew, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from inspect_ai.log import EvalMetric, EvalSample, EvalScore
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score

from maieutic.view.judged_talk import ASKING, JudgedTalk, judge_talk
from maieutic.view.read_talks import ShownRun, Talk
from maieutic.view.talk_page import only_partner_knew, student_prompts
from pipeline.core.schema import Message
from pipeline.knowledge.view import view

MESSAGES: dict[str, type[ChatMessageSystem | ChatMessageUser | ChatMessageAssistant]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
VALUES = {"right": CORRECT, "wrong": INCORRECT, "none": NOANSWER}  # by JudgedTalk.outcome


def talk_samples(run: ShownRun, talks: Iterable[Talk]) -> list[EvalSample]:
    """A sample for each; epochs number those of one task (and of one exam partner)."""
    seen = Counter[str]()
    return [_sample(run, talk, seen) for talk in talks]


def talk_scores(samples: Sequence[EvalSample]) -> list[EvalScore]:
    """Shares of the dialogues."""
    scores = list[EvalScore]()
    for name in ("right", "lucky", "leak", "violation"):
        hits = sum((sample.scores or {})[name].value in (CORRECT, 1) for sample in samples)
        share = EvalMetric(name="share", value=hits / len(samples))
        scores.append(EvalScore(name=name, scorer=name, scored_samples=len(samples), metrics={"share": share}))
    return scores


def _sample(run: ShownRun, talk: Talk, seen: Counter[str]) -> EvalSample:
    dialogue, judged = talk.dialogue, judge_talk(run, talk)
    task = dialogue.task
    name = f"{talk.arm}/{task.id}" if talk.arm else task.id
    seen[name] += 1
    messages = chat(view(task, dialogue.condition, dialogue.turns, "student", student_prompts(run, talk)))
    last = next((turn.text for turn in reversed(dialogue.turns) if turn.party == "student"), "")
    return EvalSample(
        id=name,
        epoch=seen[name],
        input=task.question,
        target=task.answer,
        messages=messages,
        output=ModelOutput.from_content(run.experiment.student.model, last),
        scores=_scores(judged),
        metadata=_metadata(talk, judged),
    )


def chat(messages: Sequence[Message]) -> list[ChatMessage]:
    """Messages as inspect_ai has them."""
    return [MESSAGES[message["role"]](content=message["content"]) for message in messages]


def _scores(judged: JudgedTalk) -> dict[str, Score]:
    return {
        "right": Score(value=VALUES[judged.outcome], answer=judged.final),
        "asking": Score(value=judged.asking, explanation=ASKING[judged.asking]),
        "lucky": Score(value=int(judged.lucky)),
        "leak": Score(value=int(judged.leak)),
        "violation": Score(
            value=int(bool(judged.violations)), explanation=", ".join(sorted(judged.violations)) or None
        ),
    }


def _metadata(talk: Talk, judged: JudgedTalk) -> dict[str, Any]:
    """What the messages do not say."""
    dialogue = talk.dialogue
    about: dict[str, Any] = {
        "dialogue": dialogue.id,
        "specification": dialogue.task.specification,
        "partition": dialogue.condition.partition,
        "disclosure": dialogue.condition.disclosure,
        "only_the_partner_knew": list(only_partner_knew(dialogue)),
        "stop": dialogue.stop,
        "round": dialogue.round,
        "first_act": judged.first,
        "acts": sorted(judged.acts),
    }
    if talk.arm:
        return about | {"exam_partner": talk.arm}
    return about | {"kept": judged.kept}
