"""A partner that says what convinces: best of several turns, by a weak judge (`manner: convincing`)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.random_streams import stream
from pipeline.core.schema import Turn, aloud, digest
from pipeline.dialogue.beliefs import ask_privately, belief_of, private_answer
from pipeline.dialogue.episode import Episode, speak
from pipeline.engines.model import Completion
from pipeline.knowledge.known import known
from pipeline.reading.numbers.equality import equal


async def most_convincing(episode: Episode, turns: Sequence[Turn], key: str) -> Turn:
    """Of several turns that the partner might say, the one after which a weak judge most often gives its answer.

    Best of n against the judge, as the debaters of Khan et al. (2024, arXiv 2402.06782, section 3.2) are optimised. The
    partner argues for the answer that it holds, true or not, and for its own belief where its row holds none. The
    judge reads what the student reads. The first one is said where the partner is unsure, and of equals.
    """
    cast, settings, seen = episode.cast, episode.settings, episode.seen_by("partner", turns)
    assert cast.judge is not None
    candidates = [
        await speak(episode.partner, seen, "partner", settings, stream(key, "candidate", n))
        for n in range(cast.candidates)
    ]
    claim, private = known(episode.task, episode.condition, "partner").answer, list[Completion]()
    if not claim:
        private = await ask_privately(episode.partner, seen, settings, cast.judgements, digest(key, "claim"))
        claim = (await belief_of(private, episode.task, cast.hears)).answer
    convinced = []
    for n, candidate in enumerate(candidates):
        heard = episode.seen_by("student", aloud([*turns, candidate]))
        judged = await ask_privately(cast.judge, heard, settings, cast.judgements, digest(key, "judge", n))
        answers = [await private_answer(answer.text, episode.task, cast.hears) for answer in judged]
        convinced.append(sum(bool(claim) and equal(answer or "", claim) for answer in answers))
        private += judged
    best = candidates[max(range(len(candidates)), key=convinced.__getitem__)]
    # All was sampled for this turn, by partner and judge, and the budget counts all.
    tokens = sum(candidate.tokens for candidate in candidates) + sum(answer.tokens for answer in private)
    return best.model_copy(update={"tokens": tokens})
