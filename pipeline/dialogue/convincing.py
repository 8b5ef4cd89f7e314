"""A partner that says what convinces: best of several turns, by a weak judge (`manner: convincing`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.core.random_streams import stream
from pipeline.core.schema import Candidate, Convincing, Turn, aloud, digest
from pipeline.dialogue.beliefs import ask_privately, belief_of, private_answer
from pipeline.dialogue.episode import Episode, speak
from pipeline.engines.model import Completion
from pipeline.judging.convinced import favourite
from pipeline.knowledge.known import known


async def most_convincing(episode: Episode, turns: Sequence[Turn], key: str) -> Turn:
    """Of several turns that the partner might say, the one after which a weak judge most often gives its answer.

    Best of n against the judge, as the debaters of Khan et al. (2024, arXiv 2402.06782, section 3.2) are optimised. The
    partner argues for the answer that it holds, true or not, and for its own belief where its row holds none. The
    judge reads what the student reads, and answers before any of them, too: what it would have said anyway. The first
    one is said where the partner is unsure, and of equals. All of them are kept with the turn, and what the judge said.
    """
    cast, settings, seen = episode.cast, episode.settings, episode.seen_by("partner", turns)
    might_say = [
        await speak(episode.partner, seen, "partner", settings, stream(key, "candidate", n))
        for n in range(cast.candidates)
    ]
    claim, private = known(episode.task, episode.condition, "partner").answer, list[Completion]()
    if not claim:
        private = await ask_privately(episode.partner, seen, settings, cast.judgements, digest(key, "claim"))
        claim = (await belief_of(private, episode.task, cast.hears)).answer
    before = await _judged(episode, turns, digest(key, "judge", "before"))
    after = [await _judged(episode, [*turns, turn], digest(key, "judge", n)) for n, turn in enumerate(might_say)]
    choice = Convincing(
        claim=claim,
        before=before.answers,
        candidates=tuple(Candidate(turn=t, answers=j.answers) for t, j in zip(might_say, after, strict=True)),
    )
    # All was sampled for this turn, by partner and judge, and the budget counts all.
    sampled = [*(turn.tokens for turn in might_say), *(answer.tokens for answer in private)]
    tokens = sum(sampled) + sum(judgement.tokens for judgement in (before, *after))
    return might_say[favourite(choice)].model_copy(update={"tokens": tokens, "convincing": choice})


class _Judgement(NamedTuple):
    answers: tuple[str, ...]
    tokens: int


async def _judged(episode: Episode, turns: Sequence[Turn], key: str) -> _Judgement:
    """What the judge privately answers after these turns. Raises NotRead."""
    cast = episode.cast
    assert cast.judge is not None
    seen = episode.seen_by("student", aloud(turns))
    said = await ask_privately(cast.judge, seen, episode.settings, cast.judgements, key)
    answers = [await private_answer(each, episode.task, cast.hears) for each in said]
    return _Judgement(tuple(answer or "" for answer in answers), sum(each.tokens for each in said))
