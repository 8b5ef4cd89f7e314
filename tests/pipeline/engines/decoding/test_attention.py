from __future__ import annotations

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from pipeline.engines.decoding.attention import one_token


class Shares(torch.nn.Module):
    """Three heads to each of keys."""

    num_key_value_groups = 3


def test_one_new_token_sees_what_the_librarys_attention_sees() -> None:
    """With rows of unlike length, in float32, where both round alike."""
    torch.manual_seed(0)
    query, key, value = torch.randn(4, 9, 1, 16), torch.randn(4, 3, 11, 16), torch.randn(4, 3, 11, 16)
    seen = (torch.arange(11) >= torch.tensor([0, 3, 7, 10])[:, None])[:, None, None]
    for mask in (seen, None):
        found, _ = one_token(Shares(), query, key, value, mask, scaling=0.25)
        expected, _ = sdpa_attention_forward(Shares(), query, key, value, mask, scaling=0.25)
        assert found.shape == (4, 1, 9, 16)
        torch.testing.assert_close(found, expected)


def test_a_prompt_is_read_by_the_librarys_attention() -> None:
    query, key = torch.randn(2, 9, 5, 16), torch.randn(2, 3, 5, 16)
    seen = torch.ones(5, 5, dtype=torch.bool).tril()[None, None]
    found, expected = (each(Shares(), query, key, key, seen)[0] for each in (one_token, sdpa_attention_forward))
    assert torch.equal(found, expected)
