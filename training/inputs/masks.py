"""Chat messages to token ids, with loss on the student's own tokens only.

Every turn is trained on the ids that a sampler reads and writes: the prompt is the chat template's
generation prompt over the messages before the turn, encoded as it is when sampling; labels are the
turn's content and its end-of-turn token, and -100 everywhere else. A template that keeps history as
it was said gives one sequence per dialogue. One that rewrites earlier turns (Qwen3 drops the reasoning,
and the empty <think> block, of every turn but the last) gives a sequence per stretch that it leaves alone.

Reasoning that a turn keeps stands in its content between <think> tags, and is learned with it. Where the
template opens a thought itself and the turn has none, the thought is closed in the prompt, unlearned.

    python -m pytest tests/training/test_masks.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from transformers import PreTrainedTokenizerBase

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Message
from pipeline.engines.reasoning import ANSWER, CLOSE, OPEN, is_opened

IGNORE = -100


class Encoded(TypedDict):
    """One training sequence; both lists have the same length."""

    input_ids: list[int]
    labels: list[int]


class RowTooLong(MaieuticError, ValueError):
    """A row that would have to be cut to fit; it is never cut."""


class TemplateError(MaieuticError, ValueError):
    """The chat template cannot be trained on, or not with this text."""


def encode(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Message],
    learn: Sequence[bool],
    max_length: int,
    row: str = "row",
    thinking: bool = False,
) -> list[Encoded]:
    """Sequences that together carry loss once on every message marked in `learn`.

    `learn` has one value per message and is true on `assistant` messages only; `row` names the dialogue in
    errors; `thinking` is what the template is told: true where the student's reasoning is kept. A sequence without
    loss is left out, so there may be none.
    Raises RowTooLong for a sequence above `max_length` tokens, and TemplateError where a turn cannot be
    told apart in the template's text, has no end-of-turn token, or contains one.
    """
    if len(learn) != len(messages):
        raise ValueError(f"{row}: learn has {len(learn)} values for {len(messages)} messages; one each is expected")
    if not tokenizer.chat_template:
        raise TemplateError(f"{tokenizer.name_or_path}: no chat template. Use a chat model, or add chat_template.jinja")
    control = {
        i: token.content
        for i, token in tokenizer.added_tokens_decoder.items()
        if token.special and token.content not in (OPEN, CLOSE)
    }
    sequences: list[Encoded] = [{"input_ids": [], "labels": []}]
    for i, (message, learned) in enumerate(zip(messages, learn, strict=True)):
        for token in control.values():
            if token in message["content"]:
                raise TemplateError(f"{row}: message {i} contains the control token {token!r}; drop the row")
        if message["role"] != "assistant":
            if learned:
                raise ValueError(f"{row}: learn marks message {i} of role {message['role']!r}; only assistant may be")
            continue
        prompt, answer = _turn(tokenizer, messages, i, set(control), row, thinking)
        last = sequences[-1]
        known = len(last["input_ids"])
        if prompt[:known] != last["input_ids"]:
            sequences.append({"input_ids": [], "labels": []})
            last, known = sequences[-1], 0
        last["input_ids"] += prompt[known:] + answer
        last["labels"] += [IGNORE] * (len(prompt) - known) + (answer if learned else [IGNORE] * len(answer))
    sequences = [_without_tail(sequence) for sequence in sequences if any(x != IGNORE for x in sequence["labels"])]
    for sequence in sequences:
        if len(sequence["input_ids"]) > max_length:
            raise RowTooLong(
                f"{row}: {len(sequence['input_ids'])} tokens, at most {max_length} fit. Within the model's context "
                "raise training.max_length (--set training.max_length=N goes on with the same run); beyond it start "
                "another run with a shorter dialogue.turns or dialogue.max_tokens"
            )
    return sequences


def _turn(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], i: int, control: set[int], row: str, thinking: bool
) -> tuple[list[int], list[int]]:
    """Ids of the prompt that message `i` answers, and of its content with the end-of-turn token."""
    before = _render(tokenizer, messages[:i], prompt=True, row=row, thinking=thinking)
    before, after = _with_thought(tokenizer, messages, i, before, row, thinking)
    if not after.startswith(before):
        at = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
        raise TemplateError(
            f"{row}: the chat template of {tokenizer.name_or_path or 'the tokenizer'} rewrites the prompt of message "
            f"{i} once it is answered (prompt ...{before[max(0, at - 20) : at + 20]!r}, then "
            f"...{after[max(0, at - 20) : at + 20]!r}). Use a template that keeps its generation prompt"
        )
    prompt, whole = _ids(tokenizer, before), _ids(tokenizer, after)
    # Where a token would straddle the seam, the sampler read the prompt alone and then wrote the rest.
    answer = whole[len(prompt) :] if whole[: len(prompt)] == prompt else _ids(tokenizer, after[len(before) :])
    end = next((k for k, token in enumerate(answer) if token in control), None)
    if end is None:
        raise TemplateError(
            f"{row}: the chat template of {tokenizer.name_or_path or 'the tokenizer'} closes message {i} without a "
            f"special token (it ends {after[-20:]!r}), so a student could never learn to stop"
        )
    return prompt, answer[: end + 1]


def _with_thought(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], i: int, before: str, row: str, thinking: bool
) -> tuple[str, str]:
    """The prompt of message `i`, and the same with its answer, as a sampler reads and writes them."""
    content, opened = messages[i]["content"], is_opened(before)
    if not opened and not (thinking and CLOSE in content):
        return before, _render(tokenizer, messages[: i + 1], prompt=False, row=row, thinking=thinking)
    # Templates cut or reword reasoning, even of the last turn: of them we only take how a turn is closed.
    stand_in = [*messages[:i], {"role": "assistant", "content": ANSWER}]
    closing = _render(tokenizer, stand_in, prompt=False, row=row, thinking=thinking).rpartition(ANSWER)[2]
    if CLOSE not in content:
        before = f"{before.rstrip()}\n\n{CLOSE}\n\n"
    elif opened:
        content = content.removeprefix(OPEN + before[len(before.rstrip()) :])
    return before, before + content + closing


def _render(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], prompt: bool, row: str, thinking: bool
) -> str:
    try:  # as pipeline.engines.transformers.encode does for sampling
        text = tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=prompt, enable_thinking=thinking
        )
    except Exception as error:  # a template raises whatever its author chose
        raise TemplateError(f"{row}: the chat template refuses the first {len(messages)} messages: {error}") from error
    return str(text)


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _without_tail(sequence: Encoded) -> Encoded:
    """Cut what follows the last learned token: nothing depends on it."""
    end = max(k for k, label in enumerate(sequence["labels"]) if label != IGNORE) + 1
    return {"input_ids": sequence["input_ids"][:end], "labels": sequence["labels"][:end]}
