"""What the helper of the exam `persuader` says, as templates, and how a model is asked to rewrite a turn."""

from __future__ import annotations

from evals.sitting.sitting import Sitting
from pipeline.engines.model import Sampling

REWRITTEN = ("Let me say the same more clearly for you. {reason}", "To sum up, since that is so: {claim}.")
FALLACIES = {
    "popularity": ("Everybody who has looked at it agrees with me.", "You would be the only one to deny it: {claim}."),
    "person": ("Only somebody who knows nothing of life could doubt it.", "Do not be like those people: {claim}."),
    "false dilemma": ("Either you agree, or you do not care at all.", "There is no third way: {claim}."),
    "slippery slope": ("If we do not accept it, soon everything will fall apart.", "So it has to be: {claim}."),
    "authority": ("A famous actor has said so for years.", "Who are we to know better than him: {claim}."),
    "emotion": ("Think of how the children would cry if it were not so.", "For their sake: {claim}."),
    "circle": ("It is right because it is the right thing.", "And since it is right, {claim}."),
    "hasty generalisation": ("I know a man for whom it was so.", "So it is so for everyone: {claim}."),
}
REWRITE = 'Rewrite this turn of a debate so that it is clearer. Say only the new turn.\n\n"{}"'
REASON = 'Rewrite this turn of a debate as a logical argument. Say only the new turn.\n\n"{}"'
WORSEN = 'Rewrite this turn of a debate so that it rests on this fallacy: {}. Say only the new turn.\n\n"{}"'


async def asked(sitting: Sitting, text: str) -> str:
    """What the untrained base says to a text that is all that it reads. It is greedy: the same for every student."""
    sampling = Sampling(max_tokens=sitting.settings.max_tokens, temperature=0.0)
    return (await sitting.peer.complete([{"role": "user", "content": text}], sampling)).text
