"""Keys and values of a batch, with room for tokens to come.

A cache that grows with each token is copied with each: for the embedded base at 64 rows that took longer than all else.
Our attention on a CPU reads the room as it lies, with columns that are empty yet: products of a batch of matrices whose
rows do not end where the next begin take three times as long.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

BLOCK = 32  # columns that it is widened by: an eighth more to read, and a copy each 32 tokens


class Room(DynamicLayer):
    """A layer's. What is read next are the rows `rows`, of which the first `known` columns are there; the others, too,
    where `whole`: they are 0, and whoever reads them masks them."""

    def __init__(self, size: int, columns: int):
        super().__init__()
        self.size, self.columns, self.whole = size, columns, False
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
        columns = self.columns if self.whole else self.known
        return self.both[0][self.rows, :, :columns], self.both[1][self.rows, :, :columns]

    def widen(self, columns: int) -> None:
        """So many columns in all."""
        self.columns = columns
        if self.both is not None:
            keys, values = (torch.nn.functional.pad(part, (0, 0, 0, columns - part.shape[2])) for part in self.both)
            self.both = keys, values
            self.at(self.rows, self.known)  # else the narrower ones are held until they are read again

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
    """An empty cache, to be widened where more columns come. Layers that keep less than all tokens stay as the library
    has them."""
    cache = DynamicCache(config=model.config)
    cache.layers = [Room(rows, columns) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache
