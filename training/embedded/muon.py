"""Muon for embedded bases, on processors of every kind."""

from __future__ import annotations

import math
from typing import Any

import torch


class Muon(torch.optim.Muon):
    """PyTorch's, with its iteration in the weights' own type.

    PyTorch iterates in bfloat16. A processor without instructions for that took twenty times as long over it, two
    thirds of a step of these models. Without weight decay, all else as by default; states are PyTorch's.
    """

    def __init__(self, matrices: list[torch.nn.Parameter], lr: float):
        super().__init__(matrices, lr=lr, weight_decay=0.0)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is None:
                    continue
                if "momentum_buffer" not in self.state[weights]:
                    self.state[weights]["momentum_buffer"] = torch.zeros_like(weights)
                held = self.state[weights]["momentum_buffer"]
                held.lerp_(weights.grad, 1 - group["momentum"])
                update = orthogonal(
                    weights.grad.lerp(held, group["momentum"]), group["ns_coefficients"], group["ns_steps"]
                )
                rows, columns = weights.shape
                weights.add_(update, alpha=-group["lr"] * math.sqrt(max(1, rows / columns)))


def orthogonal(matrix: torch.Tensor, coefficients: tuple[float, float, float], steps: int) -> torch.Tensor:
    """Nearly the matrix with all its singular values 1, by Newton and Schulz's iteration (Jordan et al., Muon)."""
    a, b, c = coefficients
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / wide.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T
