"""One model writes both sides of a dialogue (`partition: script`).

Models begin a turn in many ways: `Student: ...`, `**Student:** ...`, `3. Student: ...`, `### Student` with the words on
the lines below. A turn goes on to the next such line, and in a fenced block no turn begins.
"""

from __future__ import annotations

import re

from pipeline.core.random_streams import stream
from pipeline.core.schema import Party, Turn
from pipeline.dialogue.episode import Episode, Played, UnparsedScript, silent
from pipeline.engines.model import Model, Sampling
from pipeline.knowledge.view import script_view
from pipeline.reading.stored import reading

# Who speaks, as one line or the beginning of one: a number, a heading or a list's mark may stand before the name, marks
# of bold or italics around it, and a colon behind it, or nothing where the words are on the lines below.
_SPEAKER = re.compile(
    r"""^[ \t]*(?:>[ \t]*)?(?:\#{1,6}[ \t]*|[-*+•][ \t]+)?[*_]{0,3}
        (?:(?:turn[ \t]*)?\(?\d+[.):]*[ \t]*[-–]?[ \t]*)?[*_\[(]{0,3}
        (?P<name>student|partner|teacher)(?:[ \t]*\([^)\n]{0,30}\))?
        [*_\])]{0,4}(?:[ \t]*[:\uff1a][*_]{0,3}[ \t]*(?P<words>.*)|[ \t]*)$""",
    re.IGNORECASE | re.VERBOSE,
)
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)")
_RULE = re.compile(r"[ \t]*(-{3,}|\*{3,}|_{3,})[ \t]*")


async def play_script(episode: Episode) -> Played:
    """What the writer wrote, up to the turn cap. Raises UnparsedScript, NotRead.

    Nobody hears anybody in it: what its last turn does is what the reader of the metrics says.
    """
    settings, writer = episode.settings, episode.partner
    written = await writer.complete(
        script_view(episode.task, episode.condition, episode.cast.partner_prompts),
        Sampling(
            max_tokens=settings.max_tokens * settings.turns * 2,
            temperature=settings.temperature,
            seed=stream(episode.key, "script"),
        ),
    )
    if not written.text.strip():
        silent(written, "writer of both sides")
    spoken = list(script_turns(written.text, writer)[: 2 * settings.turns - 1])
    if not written.finished and written.text.rstrip().endswith(spoken[-1].text):
        spoken[-1] = spoken[-1].model_copy(update={"finished": False})  # its end was cut off
    turns = await episode.cast.reads.read(episode.task, spoken)
    ended = reading(episode.task, turns, len(turns) - 1).done
    return Played(turns, "student_done" if ended else "turn_cap", before={}, after={})


def script_turns(text: str, writer: Model) -> tuple[Turn, ...]:
    """The turns of a script, in which the student speaks first. Raises UnparsedScript.

    What stands before the first turn is no part of the talk, and neither is what stands between a rule (`---`) and the
    next turn.
    """
    turns: list[tuple[Party, list[str]]] = []
    fence, goes_on = "", False
    for line in _unwrapped(text).splitlines():
        opens = _FENCE.match(line)
        if opens:
            fence = opens[1] if not fence else "" if opens[1].startswith(fence) else fence
        speaker = None if fence or opens else _SPEAKER.match(line)
        if speaker:
            party: Party = "student" if speaker["name"].lower() == "student" else "partner"
            turns.append((party, [speaker["words"] or ""]))
            goes_on = True
        elif not fence and _RULE.fullmatch(line):
            goes_on = False
        elif goes_on:
            turns[-1][1].append(line)
    said: list[tuple[Party, str]] = [(party, "\n".join(lines).strip()) for party, lines in turns]
    said = said[: -1 if said and not said[-1][1] else None]  # the limit of tokens may cut before its first word
    expected: list[Party] = ["student" if i % 2 == 0 else "partner" for i in range(len(said))]
    if not said or [party for party, _ in said] != expected or not all(words for _, words in said):
        raise UnparsedScript(
            f"expected turns that begin with Student: and Partner:, in turn, the student's first, found {text[:120]!r}"
        )
    return tuple(Turn(party=party, text=words, tokens=writer.count_tokens(words)) for party, words in said)


def _unwrapped(text: str) -> str:
    """A script that stands whole in a fenced block, without the block."""
    lines = text.strip().splitlines()
    fences = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    spoken = next((i for i, line in enumerate(lines) if _SPEAKER.match(line)), 0)
    if not fences or fences[0] > spoken:
        return text
    closed = {fences[0], fences[-1]} if len(fences) % 2 == 0 else {fences[0]}
    return "\n".join(line for i, line in enumerate(lines) if i not in closed)
