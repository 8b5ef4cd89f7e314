"""The optimizer of embedded bases."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from training.embedded.muon import Muon, orthogonal


def trained(kind: Any, shape: tuple[int, int], steps: int = 5) -> tuple[torch.Tensor, Any]:
    """A matrix after some steps towards another, and the optimizer's state."""
    torch.manual_seed(0)
    weights, goal = torch.nn.Parameter(torch.randn(shape)), torch.randn(shape)
    optimizer = kind([weights], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        ((weights - goal) ** 2).sum().backward()
        optimizer.step()
    return weights.detach(), optimizer.state_dict()


@pytest.mark.parametrize("shape", [(8, 8), (24, 8), (8, 24)])
def test_it_does_as_pytorchs_does_but_for_rounding(shape: tuple[int, int]) -> None:
    plain = partial(torch.optim.Muon, weight_decay=0.0)
    (ours, state), (theirs, known) = trained(Muon, shape), trained(plain, shape)
    begun = trained(Muon, shape, steps=0)[0]
    assert (ours - theirs).norm() < 0.02 * (theirs - begun).norm()
    assert state["state"].keys() == known["state"].keys() and state["state"][0].keys() == known["state"][0].keys()


@pytest.mark.parametrize("shape", [(6, 6), (12, 6), (6, 12)])
def test_all_singular_values_come_near_one(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape), (3.4445, -4.775, 2.0315), 5))
    assert (values > 0.5).all() and (values < 1.5).all()
