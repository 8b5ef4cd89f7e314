"""Small real parts that the training tests share."""

from __future__ import annotations

import pytest
import torch
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

from training.base import make_tokenizer

torch.set_num_threads(1)
logging.disable_progress_bar()


@pytest.fixture(scope="session")
def base_tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()
