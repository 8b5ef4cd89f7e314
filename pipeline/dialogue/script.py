"""One model writes both sides of a dialogue (`partition: script`)."""

from __future__ import annotations

import re

from pipeline.core.random_streams import stream
from pipeline.core.schema import Party, Turn
from pipeline.dialogue.episode import Episode, Played, UnparsedScript, silent
from pipeline.engines.model import Model, Sampling
from pipeline.knowledge.view import script_view
from pipeline.reading.stored import reading


async def play_script(episode: Episode) -> Played:
    """What the writer wrote, up to the turn cap. Raises UnparsedScript, NotRead.

    Nobody hears anybody in it: what its last turn does is what the reader of the metrics says.
    """
    settings, writer = episode.settings, episode.partner
    written = await writer.complete(
        script_view(episode.task, episode.condition, episode.cast.partner_system),
        Sampling(settings.max_tokens * settings.turns * 2, settings.temperature, stream(episode.key, "script")),
    )
    if not written.text.strip():
        silent(written, "writer of both sides")
    turns = await episode.cast.reads.read(episode.task, script_turns(written.text, writer)[: 2 * settings.turns - 1])
    ended = reading(episode.task, turns, len(turns) - 1).done
    return Played(turns, "student_done" if ended else "turn_cap", before={}, after={})


def script_turns(text: str, writer: Model) -> tuple[Turn, ...]:
    """The turns of a script, in which the student speaks first. Raises UnparsedScript."""
    parts = re.findall(r"^(Student|Partner):[ \t]*(\S.*)$", text, re.MULTILINE)
    parties: list[Party] = ["student" if name == "Student" else "partner" for name, _ in parts]
    expected: list[Party] = ["student" if i % 2 == 0 else "partner" for i in range(len(parts))]
    if not parts or parties != expected:
        raise UnparsedScript(f"expected lines Student: and Partner: in turn, student first, found {text[:120]!r}")
    return tuple(
        Turn(party=party, text=line.strip(), tokens=writer.count_tokens(line))
        for party, (_, line) in zip(parties, parts, strict=True)
    )
