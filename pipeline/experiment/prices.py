"""What tokens cost: the section `prices` of a config, by a model's name or by an engine's in `engines`.

    prices: {large: {input: 2.5, output: 10, cached: 0.25}, local: {input: 0.05, output: 0.05}}

A model's own price goes before its engine's. What has no price has no cost in money, which is not a cost of 0.
"""

from __future__ import annotations

from pydantic import Field

from pipeline.core.config_reading import Section


class TokenPrice(Section):
    """For a million tokens, in the one currency that all prices of a config are in."""

    input: float = Field(ge=0)  # of prompts
    output: float = Field(ge=0)  # generated, reasoning included
    cached: float | None = Field(default=None, ge=0)  # of prompts, that the engine had read before; None: as input

    def money(self, prompt_tokens: int, cached_tokens: int | None, generated_tokens: int) -> float:
        """(prompt - cached) x input + cached x cached + generated x output, over a million; where the engine does not
        say what it had read before, all of the prompt is paid for as input."""
        read_before = cached_tokens or 0
        of_cached = self.input if self.cached is None else self.cached
        return (
            (prompt_tokens - read_before) * self.input + read_before * of_cached + generated_tokens * self.output
        ) / 1e6
