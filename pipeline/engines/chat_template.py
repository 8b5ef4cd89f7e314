"""A chat as the text that a model reads, by its own chat template: the same for sampling and for training.

Where a template has no system role (Gemma's raises), the system message opens the first user message, as Gemma 3's
own template has it. Where one says today's date (Llama 3.2, Mistral Small), it is the same on every day.

    python -m pytest tests/training/test_chat_templates.py
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from jinja2.exceptions import TemplateError
from transformers import PreTrainedTokenizerBase

from pipeline.core.schema import Message

# What Llama's template says where it knows no date: the same tasks give the same prompts tomorrow.
TODAY = date(2024, 7, 26)
PROBE = "\ue000system\ue000"


def render(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], thinking: bool = False, prompt: bool = True
) -> str:
    """The chat as text, by default up to and including the generation prompt.

    Templates that know `enable_thinking` are told whether to. Raises whatever the template raises.
    """
    if messages[0]["role"] == "system" and not takes_system(tokenizer):
        messages = folded(messages)
    return _applied(tokenizer, messages, thinking, prompt)


def takes_system(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the chat template says a system message; some raise, and some leave it out."""
    probe = [{"role": "system", "content": PROBE}, {"role": "user", "content": "?"}]
    try:
        return PROBE in _applied(tokenizer, probe, thinking=False, prompt=True)
    except TemplateError:
        return False


def folded(messages: Sequence[Message]) -> list[Message]:
    """The same chat, whose first user message opens with the system message, or is it where there is none."""
    system, *rest = messages
    if rest and rest[0]["role"] == "user":
        return [{"role": "user", "content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]
    return [{"role": "user", "content": system["content"]}, *rest]


def _applied(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], thinking: bool, prompt: bool) -> str:
    return str(
        tokenizer.apply_chat_template(
            list(messages),
            tokenize=False,
            add_generation_prompt=prompt,
            enable_thinking=thinking,
            strftime_now=TODAY.strftime,
        )
    )
