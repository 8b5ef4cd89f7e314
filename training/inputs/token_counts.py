"""How many tokens a student that plays while it learns has trained on and sampled, with its partners and judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from accelerate import Accelerator


@dataclass
class TokenCounts:
    """Of one process; `others` says what its partners and judges sampled so far."""

    others: Callable[[], int]
    trained: int = 0
    sampled: int = 0

    def totals(self, accelerator: Accelerator) -> dict[str, int]:
        """Of all processes, each of which has to call it."""
        mine = torch.tensor((self.trained, self.sampled + self.others()), device=accelerator.device)
        trained, sampled = accelerator.reduce(mine).tolist()
        return {"trained": trained, "sampled": sampled}

    def add(self, totals: dict[str, int]) -> None:
        """What was counted before this process began."""
        self.trained, self.sampled = self.trained + totals["trained"], self.sampled + totals["sampled"]
