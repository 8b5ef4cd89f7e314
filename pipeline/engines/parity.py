"""Does an engine apply each adapter? Its log-probabilities along one text, beside PEFT's on the same weights.

An engine that serves many adapters at once may take another one, or none, and says nothing: vLLM on a CPU did, by
6 to 9 nats, where it had as many places as adapters. So it is asked at every start.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase
from transformers.utils import logging as hf_logging

from pipeline.engines.decoding.freed_memory import collect
from pipeline.engines.model import EngineDown
from pipeline.engines.transformers import encode
from pipeline.engines.weights import weights_at

CHAT = ("Tom has 12 pens and some books. Ana has 30 pens. How many pens do they have together?",
        "How many books does Tom have? I think that it is 12 + 30 = 42. The answer is 42.")  # fmt: skip
PLACES = 16
# Nats, the mean over the places: rounding stays below, another adapter is far above.
TOLERANCE = {"float32": 0.01, "bfloat16": 0.15}
LOADING = threading.Lock()

# The token that an engine finds most likely at each place, and its log-probability. None is the base.
Greedy = Mapping[str | None, list[tuple[int, float]]]
Wanted = Mapping[str | None, torch.Tensor]  # [places, vocabulary], log-probabilities


def prompts(tokenizer: PreTrainedTokenizerBase, context: int) -> list[list[int]]:
    """The text up to each place: a question, and more and more of an answer with the acts that students learn."""
    question, answer = CHAT
    chat = encode(tokenizer, [{"role": "user", "content": question}])
    ids = (chat + tokenizer.encode(answer, add_special_tokens=False))[: context - 1]
    return [ids[: len(ids) * (i + 1) // PLACES] for i in range(PLACES)]


def expected(name: str, adapters: list[str], dtype: str, asked: list[list[int]]) -> Wanted:
    """What PEFT says, of the base and of each adapter's directory. One at a time, whoever asks: transformers sets the
    default type and device of the process while it loads, and each holds the base."""
    with LOADING:
        return _expected(name, adapters, dtype, asked)


def _expected(name: str, adapters: list[str], dtype: str, asked: list[list[int]]) -> Wanted:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    hf_logging.disable_progress_bar()
    base: Any = AutoModelForCausalLM.from_pretrained(weights_at(name), dtype=getattr(torch, dtype))
    base.to(device)
    scores: dict[str | None, torch.Tensor] = {None: _read(base, asked)}
    model = None
    for adapter in adapters:
        if model is None:
            model = PeftModel.from_pretrained(base, adapter, adapter_name=adapter)
        else:
            model.load_adapter(adapter, adapter_name=adapter)
        model.set_adapter(adapter)
        scores[adapter] = _read(model, asked)
    del base, model
    collect()
    return scores


@torch.inference_mode()
def _read(model: Any, asked: list[list[int]]) -> torch.Tensor:
    logits = model.eval()(input_ids=torch.tensor(asked[-1:], device=model.device)).logits[0]
    return torch.log_softmax(logits[[len(prompt) - 1 for prompt in asked]].float(), -1).cpu()


def require_parity(engine: str, greedy: Greedy, wanted: Wanted, dtype: str) -> None:
    """Raises EngineDown where an adapter changes nothing, or the engine's log-probabilities are not PEFT's."""
    for name, scored in greedy.items():
        what = "the base" if name is None else f"adapter {name}"
        if name is not None and torch.equal(wanted[name], wanted[None]):
            raise EngineDown(f"{what} changes no log-probability: nothing was learned. Delete it and train again.")
        tokens, scores = torch.tensor([token for token, _ in scored]), torch.tensor([score for _, score in scored])
        those = {other: wanted[other][torch.arange(len(scored)), tokens] for other in wanted}
        apart = {other: float((scores - those[other]).abs().mean()) for other in wanted}
        bar, nearest = TOLERANCE[dtype], min(apart, key=lambda other: apart[other])
        mistaken = float((those[nearest] - those[name]).abs().mean()) > bar / 5
        if not apart[name] <= bar or mistaken:
            like = f"; nearest are those of {nearest or 'the base'}" if mistaken else ""
            raise EngineDown(
                f"{engine}: log-probabilities of {what} are {apart[name]:.2f} nats from PEFT's (at most {bar} was "
                f"expected of {dtype}){like}. The engine does not answer as the students that were trained. On a "
                "CPU, vLLM needs more places than adapters (--max-loras); otherwise use an engine of kind "
                "transformers, and report this."
            )
