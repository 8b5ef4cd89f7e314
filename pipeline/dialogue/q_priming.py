"""Q-priming: while dialogues are made, a student's wrong answer gives way to a question that it might have asked.

With probability 0.75^t at its turn t (from 1) an incorrect attempt is replaced by a question, whose writer sees the
attempt and may see what the partner knows; the transcript that a student learns from stays public (Social
Meta-Learning, arXiv 2602.16488). It is a way of making training data: exams and other methods never meet it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from pipeline.core.random_streams import stream
from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.episode import Episode
from pipeline.engines.model import Sampling
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.view import question_view
from pipeline.reading.choices.read_choice import NEXT_STEP
from pipeline.reading.sentences import sentences
from pipeline.reading.stored import heard_right

DECAY = 0.75
NOTHING_TO_ASK = "Can you check that?"


def is_primed(task: Task, condition: Condition, turn: Turn, number: int, key: str) -> bool:
    """Whether the student's turn `number` (from 0) is to be replaced, in the dialogue of the `key`."""
    if condition.method != "q_priming":
        return False
    wrong = heard_right(task, turn) is False
    return wrong and random.Random(stream(key, "prime", number)).random() < DECAY ** (number + 1)


async def question_instead(episode: Episode, turns: Sequence[Turn], seed: int) -> Turn:
    """The last of the turns with a question in place of its text."""
    before, replaced = turns[:-1], turns[-1]
    if episode.condition.voice == "rule":
        question = rule_question(episode.task, episode.condition, before)
        return _asks(replaced, question, replaced.tokens)
    sampling = Sampling(max_tokens=episode.settings.max_tokens, temperature=episode.settings.temperature, seed=seed)
    seen = question_view(episode.task, episode.condition, turns, episode.cast.partner_prompts)
    written = await episode.partner.complete(seen, sampling)
    # Both were sampled, and the budget counts both.
    return _asks(replaced, model_question(written.text), replaced.tokens + written.tokens)


def asks_nothing(turn: Turn) -> Turn:
    """The turn with a question that gives nothing away in its place."""
    return _asks(turn, NOTHING_TO_ASK, turn.tokens)


def _asks(replaced: Turn, question: str, tokens: int) -> Turn:
    """The turn with a question in its place; of what it was, nothing stays."""
    gone = {"heard": None, "check": None, "reasoning": "", "keeps_reasoning": False}
    return replaced.model_copy(update={"text": question, "tokens": tokens, "finished": True, **gone})


def rule_question(task: Task, condition: Condition, turns: Sequence[Turn]) -> str:
    """A question for the first needed fact that only the partner knows and has not told; where none is left, for the
    next step of a solution that the partner can hint at, as it can on options."""
    knows = known(task, condition, "partner")
    told = [turn.text for turn in turns if turn.party == "partner"]
    wanted = [fact for fact in knows.own if fact.needed and not any(fact.text in text for text in told)]
    if wanted:
        return question_for(by_id(wanted)[0])
    return NEXT_STEP if task.choice and condition.row.holds_solution else NOTHING_TO_ASK


def by_id(facts: Iterable[Fact]) -> list[Fact]:
    """In the order of their ids, f0 first: a question about a second hop would name what the first one comes to."""
    return sorted(facts, key=lambda fact: (len(fact.id), fact.id))


def question_for(fact: Fact) -> str:
    """The fact's own question; where the source has none, the fact with its numbers, or its second half, left out."""
    if fact.ask:
        return fact.ask
    text = fact.text.rstrip(".!?")
    gaps = re.sub(r"[$£€]?\d[\d.,/]*%?", "...", text)
    if gaps != text:
        return f'What is the number that belongs here: "{gaps}"?'
    words = text.split()
    return f'How does this go on: "{" ".join(words[: (len(words) + 1) // 2])} ..."?'


def model_question(text: str) -> str:
    """The first question that a model wrote."""
    first, mark, _ = text.partition("?")
    return sentences(first)[-1] + mark if mark and first.strip() else NOTHING_TO_ASK
