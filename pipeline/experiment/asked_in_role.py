"""A model asked in a role: every request has the role's own way of sampling and thinking."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.roles import Role, RoleName


@dataclass(frozen=True)
class InRole:
    """`model` as `role` says that `name` is sampled."""

    model: Model
    name: RoleName
    role: Role

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        answer = await self.model.complete(messages, in_role(self.name, self.role, sampling))
        return answer._replace(keeps_reasoning=True) if self.role.thinking == "keep" else answer

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


def in_role(name: RoleName, role: Role, sampling: Sampling) -> Sampling:
    """A request as the role makes it."""
    own, thinks = role.sampling, role.thinking != "off"
    # Exams ask the student greedily on purpose; a judge is asked so only where its role says nothing else.
    own_temperature = own.temperature is not None and (sampling.temperature > 0 or name == "judge")
    return sampling._replace(
        temperature=own.temperature if own.temperature is not None and own_temperature else sampling.temperature,
        temperature_is_set=own.temperature is not None,
        top_p=own.top_p,
        top_k=own.top_k,
        min_p=own.min_p,
        thinking=thinks,
        max_tokens=sampling.max_tokens + role.thinking_tokens * thinks,
    )
