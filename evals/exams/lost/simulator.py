"""A partner that is a model, for the exam `lost`: it chooses which shard it tells next, and in which words.

After the user simulator of Lost in Conversation (Laban et al., arXiv 2505.06120). The untrained base reads what the
student said last and the shards that are left, and words one of them, at the sampling temperature. Its first sentence
is the partner's turn, since small models go on and make things up. The metrics' reader says what that tells. It stands
where it is one fact, and one that is left, and nothing is told wrongly, judged or answered beside it. Any other is
taken back, and a rule tells the first shard that is left. So every talk has the same content in as many turns, whoever
words it, and stays comparable with the problem told at once.

Not as in the paper: its simulator reads the whole talk and the question, and may tell nothing in a turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from evals.sitting.sitting import Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Fact, Task, Turn
from pipeline.engines.model import Sampling
from pipeline.reading.protocol import measured
from pipeline.reading.sentences import sentences

# With the question above it, and longer words, SmolLM2 took up the question and told nothing.
ASK = "{said}\n\n{facts}\n\nSay one of these facts, the one that fits best, in other words."


async def worded(
    sitting: Sitting, task: Task, left: Sequence[Fact], turns: Sequence[Turn], key: str
) -> tuple[Turn, Fact] | None:
    """The model's next turn, and the one of the facts `left` that it tells; None where it does not tell just one.

    Raises NotRead where the reader cannot say what it tells.
    """
    facts = "\n".join(f"- {fact.text}" for fact in left)
    asked = ASK.format(facts=facts, said=turns[-1].text)
    settings = sitting.settings
    sampling = Sampling(max_tokens=settings.max_tokens, temperature=settings.temperature, seed=stream(key))
    answer = await sitting.peer.complete([{"role": "user", "content": asked}], sampling)
    spoken = sentences(answer.text)
    if not spoken or (len(spoken) == 1 and not answer.finished):
        return None
    turn = Turn(party="partner", text=spoken[0])
    says = await sitting.reads.partner(measured(task, [*turns, turn], len(turns)))
    told = next((fact for fact in left if {fact.id} == says.tells), None)
    if told is None or says.tells_wrong or says.feedback != "none":
        return None
    # A shard may be the answer itself, as in look-ups: then to tell it is not to answer beside it.
    plain = Turn(party="partner", text=told.text)
    bare = await sitting.reads.partner(measured(task, [*turns, plain], len(turns)))
    answers = says.reveals == "stated" != bare.reveals or (says.attempt is not None and bare.attempt is None)
    return None if answers else (turn, told)
