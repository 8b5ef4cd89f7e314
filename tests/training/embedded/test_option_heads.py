"""Before it has learned anything, the base of hidden items looks where its placed heads are to look."""

import random

import pytest
import torch

from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from training.embedded.hidden_item_base import untrained
from training.embedded.hidden_item_corpus import Dispositions, drill

DRILLS = 20


@pytest.fixture(scope="module")
def looked() -> list[tuple[list[str], list[torch.Tensor]]]:
    """Of drills their tokens, and by layer how much each head of each token looks at each [heads, tokens, tokens]."""
    torch.manual_seed(0)
    tokenizer, model = untrained()
    model.set_attn_implementation("eager")
    rng, seen = random.Random(0), []
    for task, _ in zip(hidden_item_tasks("base", "full"), range(DRILLS), strict=False):
        ids = tokenizer.apply_chat_template(drill(task, rng, Dispositions()).messages, return_dict=False)
        with torch.inference_mode():
            layers = model(torch.tensor([ids]), output_attentions=True).attentions
        seen.append((tokenizer.convert_ids_to_tokens(ids), [layer[0] for layer in layers]))
    return seen


def test_a_head_finds_what_follows_an_equal_word(looked):
    """After the answer's first word it looks there most ten times as often as by chance; one or two of 50 are right."""
    right = list[bool]()
    for tokens, layers in looked:
        start = len(tokens) - 1 - tokens[::-1].index("Ġanswer") + 3
        listed = [i for i in range(start) if tokens[i] == tokens[start]]
        most = int(layers[1][0, start].argmax())
        right.append(most - 1 in listed)
    assert sum(right) / len(right) > 0.3, right


def test_a_head_finds_what_is_known(looked):
    for tokens, layers in looked:
        known = [i for i in range(1, len(tokens)) if tokens[i - 1] == "Ġis"]
        last = len(tokens) - 1
        assert layers[1][1, last, known].sum() > 0.9
