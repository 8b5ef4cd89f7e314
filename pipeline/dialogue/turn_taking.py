"""One dialogue: the student speaks first, each party from its own view, until a stop that the student can see.

There is no oracle in the loop (`q_priming` apart, which is one: pipeline/dialogue/q_priming.py). An episode stops when
the student says that it is done, when its partner (within its row) does, or at the turn cap.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pipeline.core.random_streams import stream
from pipeline.core.schema import Belief, Party, Turn, aloud, digest
from pipeline.dialogue.beliefs import believe
from pipeline.dialogue.convincing import most_convincing
from pipeline.dialogue.episode import Episode, Played, speak
from pipeline.dialogue.q_priming import asks_nothing, is_primed, question_instead
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.dialogue.said_by_rule import said
from pipeline.dialogue.script import play_script
from pipeline.engines.model import Model
from pipeline.knowledge.known import compared, hearing, printed
from pipeline.knowledge.records import Stop
from pipeline.reading.embedded_world.closed import partner_turn
from pipeline.reading.instrument import CLOSED
from pipeline.reading.protocol import measured
from pipeline.reading.stored import heard_leaving, heard_right
from pipeline.sandbox.checks import checked


async def play(episode: Episode, begun: Sequence[Turn] = ()) -> Played:
    """Play one episode, or play on from the turns that it has `begun` with.

    Raises EmptyTurn, UnparsedScript, and what the engine raises, for this episode alone.
    """
    task, condition, settings, key = episode.task, episode.condition, episode.settings, episode.key
    if condition.row.one_writer:
        return await play_script(episode)
    turns, primed = await _heard_before(episode, begun), list[int]()
    before = await _beliefs(episode, turns)
    stop: Stop | None = None
    for i in range(len(turns) // 2, settings.turns):
        if len(turns) == 2 * i:
            seen = episode.seen_by("student", turns)
            turn = await speak(episode.cast.student, seen, "student", settings, stream(key, "student", i))
            turns.append(await checked(task, turn))
            turns[-1] = await heard(episode, turns)
            if is_primed(task, condition, turns[-1], i, key):
                turns[-1:] = aloud(turns[-1:])  # what it reasoned led to another turn
                turns[-1] = await question_instead(episode, turns, stream(key, "question", i))
                turns[-1] = await heard(episode, turns)
                if condition.voice == "model" and await _gives_away(episode, turns):
                    turns[-1] = asks_nothing(turns[-1])
                    turns[-1] = await heard(episode, turns)
                primed.append(i)
        reply, stop = await respond(episode, turns)
        if reply is not None:
            turns.append(reply)
        if stop is not None:
            break
    after = await _beliefs(episode, turns)
    return Played(
        turns=await episode.cast.reads.read(task, turns),
        stop=stop or "turn_cap",
        before=before,
        after=after,
        primed=tuple(primed),
    )


async def respond(episode: Episode, turns: Sequence[Turn]) -> tuple[Turn | None, Stop | None]:
    """What follows a student's turn, the last of `turns`: the partner's, where it has one, and the stop, where it ends.

    Of the student's model only `count_tokens` is used: whoever else asks the student plays the same dialogue.
    """
    i = len(turns) // 2
    if turns[-1].heard is None:
        turns = [*turns[:-1], await heard(episode, turns)]
    leaves = heard_leaving(turns[-1])
    if leaves and not gets_verdict(episode, turns):
        return None, "student_done"
    if i + 1 >= episode.settings.turns:
        return None, "student_done" if leaves else "turn_cap"
    if episode.condition.voice == "model":
        turn = await _spoken(episode, turns, i)
        finished = await _ends(episode, [*turns, turn])
    else:
        turn, finished = _ruled(episode, turns, i)
    stop: Stop | None = "partner_done" if finished else "student_done" if leaves else None
    return await checked(episode.task, turn), stop


async def heard(episode: Episode, turns: Sequence[Turn]) -> Turn:
    """The last of the turns, the student's, with what its partner understands. Raises NotRead."""
    if episode.cast.hears is CLOSED:
        return turns[-1]
    heard = await episode.cast.hears.student(hearing(episode.task, episode.condition, turns, len(turns) - 1))
    return turns[-1].model_copy(update={"heard": heard})


async def _gives_away(episode: Episode, turns: Sequence[Turn]) -> bool:
    """Whether the last of the turns, a question that the partner wrote in the student's place, says an answer, or a
    fact that the student was not told. Raises NotRead."""
    task = episode.task
    if heard_right(task, turns[-1]) is not None:
        return True
    told = [turn.text for turn in turns if turn.party == "partner"]
    lacked = [fact for fact in task.missing if not any(fact.text in text for text in told)]
    if any(fact.text.rstrip(".!?").casefold() in turns[-1].text.casefold() for fact in lacked):
        return True
    turn = replace(measured(task, turns, len(turns) - 1), party="partner")  # whose readings say what is told
    read = partner_turn(turn) if episode.cast.reads is CLOSED else await episode.cast.reads.partner(turn)
    return any(fact.id in read.tells for fact in lacked) or read.attempt is not None or read.reveals == "stated"


async def _heard_before(episode: Episode, begun: Sequence[Turn]) -> list[Turn]:
    """The turns that an episode begins with; an expert's steps (grpo_step) nobody has heard yet."""
    return [
        await heard(episode, begun[: i + 1]) if turn.party == "student" and turn.heard is None else turn
        for i, turn in enumerate(begun)
    ]


async def _ends(episode: Episode, turns: Sequence[Turn]) -> bool:
    """Whether the last of the turns, a model partner's, says that the talk is over. Raises NotRead.

    The reader knows what the student knows: it can see the stop.
    """
    turn = hearing(episode.task, episode.condition, turns, len(turns) - 1)
    if episode.cast.hears is CLOSED:
        return partner_turn(turn).done
    return (await episode.cast.hears.partner(turn)).done


def gets_verdict(episode: Episode, turns: Sequence[Turn]) -> bool:
    """Whether a partner that judges answers has one before it in the last turn: it says what it has to say of it."""
    row = episode.condition.row
    judges = row.tells_verdicts or row.holds_answer or row.believes_key
    return judges and heard_right(episode.task, turns[-1]) is not None


async def _spoken(episode: Episode, turns: Sequence[Turn], i: int) -> Turn:
    """The turn of a model partner."""
    if episode.condition.manner == "convincing":
        return await most_convincing(episode, turns, digest(episode.key, "partner", i))
    seen = episode.seen_by("partner", turns)
    return await speak(episode.partner, seen, "partner", episode.settings, stream(episode.key, "partner", i))


def _ruled(episode: Episode, turns: Sequence[Turn], i: int) -> tuple[Turn, bool]:
    """The turn of a rule partner, and whether it ends the dialogue."""
    task, condition = episode.task, episode.condition
    reply = rule_reply(
        episode.partner_knows,
        condition,
        turns,
        compared(task, condition, turns),
        random.Random(stream(episode.key, "partner", i)),
        episode.wording,
        printed(task, condition, turns),
        episode.cast.generic_requests,
    )
    tokens = episode.cast.student.count_tokens(reply.text)
    reading = None if episode.cast.reads is CLOSED else said(task, episode.partner_knows, turns, reply)
    return Turn(party="partner", text=reply.text, tokens=tokens, reading=reading), reply.done


async def _beliefs(episode: Episode, turns: Sequence[Turn]) -> dict[Party, Belief]:
    """What each model privately believes after these turns; empty where the config elicits nothing."""
    settings, cast = episode.settings, episode.cast
    if not settings.beliefs:
        return {}
    asked: dict[Party, Model] = {"student": cast.student}
    if cast.partner is not None and episode.condition.voice == "model":
        asked["partner"] = cast.partner
    return {
        party: await believe(
            model,
            episode.seen_by(party, turns),
            settings,
            settings.beliefs,
            f"{episode.key}-{party}-{len(turns)}",
            episode.task,
            cast.reads,
        )
        for party, model in asked.items()
    }
