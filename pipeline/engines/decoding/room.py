"""Keys and values of a batch, with room from the beginning for all tokens that it will come to.

A cache that grows is copied with each token: for the embedded base at 64 rows that took longer than all else.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer


class Room(DynamicLayer):
    """A layer's. What is read next are the rows `rows`, of which the first `known` columns are there."""

    def __init__(self, size: int, columns: int):
        super().__init__()
        self.size, self.columns = size, columns
        self.rows, self.known = slice(0, size), 0
        self.both: tuple[torch.Tensor, torch.Tensor] | None = None  # [rows, heads, columns, width]

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        keys, values = (
            # Zeros: what padding holds is multiplied by a weight of 0, and must be a number.
            each.new_zeros((self.size, each.shape[1], self.columns, each.shape[3]))
            for each in (key_states, value_states)
        )
        self.both, self.dtype, self.device = (keys, values), keys.dtype, keys.device
        self.is_initialized = True
        self.at(self.rows, self.known)

    def at(self, rows: slice, known: int) -> None:
        self.rows, self.known = rows, known
        if self.both is not None:
            self.keys, self.values = self.read()

    def read(self) -> tuple[torch.Tensor, torch.Tensor]:
        assert self.both is not None
        return self.both[0][self.rows, :, : self.known], self.both[1][self.rows, :, : self.known]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.both is None:
            self.lazy_initialization(key_states, value_states)
        assert self.both is not None
        known = self.known + key_states.shape[2]
        for room, states in zip(self.both, (key_states, value_states), strict=True):
            room[self.rows, :, self.known : known] = states
        self.at(self.rows, known)
        return self.read()

    def get_seq_length(self) -> int:
        return self.known

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        if self.both is None:
            return
        self.size = len(indices)
        chosen = []
        for old in self.both:
            new = old.new_zeros((self.size, *old.shape[1:]))
            torch.index_select(old[:, :, : self.known], 0, indices, out=new[:, :, : self.known])
            chosen.append(new)
        self.both = chosen[0], chosen[1]
        self.at(slice(0, self.size), self.known)


def roomy(model: PreTrainedModel, rows: int, columns: int) -> DynamicCache:
    """An empty cache. Layers that keep less than all tokens stay as the library has them."""
    cache = DynamicCache(config=model.config)
    cache.layers = [Room(rows, columns) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache
