"""Chat messages to token ids, with loss on the student's own tokens only.

Every turn is trained on the ids that a sampler reads and writes: the prompt is the chat template's
generation prompt over the messages before the turn, encoded as it is when sampling; labels are the
turn's content and its end-of-turn token, and -100 everywhere else. A template that keeps history as
it was said gives one sequence per dialogue. One that rewrites earlier messages gives a sequence per stretch
that it leaves alone: Qwen3 drops the reasoning, and the empty <think> block, of every turn but the last;
Mistral moves the system message into the last user message.

Reasoning that a turn keeps stands in its content between <think> tags, and is learned with it. Where a turn
has none and the template writes or opens a thought, the thought is empty, in the prompt and unlearned.

    python -m pytest tests/training/test_masks.py
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TypedDict

from transformers import PreTrainedTokenizerBase

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Message
from pipeline.engines.chat_template import render
from pipeline.engines.reasoning import ANSWER, CLOSE, OPEN, closed, is_opened

IGNORE = -100
# Stands for what is asked in a rendered chat, as ANSWER does for an answer.
ASKED = "\ue000asked\ue000"


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
    after: str = "",
) -> list[Encoded]:
    """Sequences that together carry loss once on every message marked in `learn`.

    `learn` has one value per message and is true on `assistant` messages only; `row` names the dialogue in
    errors; `thinking` is what the template is told: true where the student's reasoning is kept. A sequence without
    loss is left out, so there may be none. `after` is text behind the end of the last message, which is the
    student's; it carries loss, and no engine samples it, since it stops at that end.
    Raises RowTooLong for a sequence above `max_length` tokens, and TemplateError where a turn cannot be
    told apart in the template's text, has no end-of-turn token, or contains one.
    """
    if len(learn) != len(messages):
        raise ValueError(f"{row}: learn has {len(learn)} values for {len(messages)} messages; one each is expected")
    if not tokenizer.chat_template:
        raise TemplateError(f"{tokenizer.name_or_path}: no chat template. Use a chat model, or add chat_template.jinja")
    control = _control(tokenizer)
    sequences: list[Encoded] = [{"input_ids": [], "labels": []}]
    for i, (message, learned) in enumerate(zip(messages, learn, strict=True)):
        for token in control.values():
            if token in message["content"]:
                raise TemplateError(f"{row}: message {i} contains the control token {token!r}; drop the row")
        if message["role"] != "assistant":
            if learned:
                raise ValueError(f"{row}: learn marks message {i} of role {message['role']!r}; only assistant may be")
            continue
        prompt, answer = _turn(tokenizer, messages, i, control.keys(), row, thinking)
        last = sequences[-1]
        known = len(last["input_ids"])
        if prompt[:known] != last["input_ids"]:
            sequences.append({"input_ids": [], "labels": []})
            last, known = sequences[-1], 0
        last["input_ids"] += prompt[known:] + answer
        last["labels"] += [IGNORE] * (len(prompt) - known) + (answer if learned else [IGNORE] * len(answer))
    if after:
        if messages[-1]["role"] != "assistant":
            raise ValueError(f"{row}: text after the student's last turn, and the last message is not the student's")
        behind = _ids(tokenizer, after)
        sequences[-1]["input_ids"] += behind
        sequences[-1]["labels"] += behind
    sequences = [_without_tail(sequence) for sequence in sequences if any(x != IGNORE for x in sequence["labels"])]
    for sequence in sequences:
        if len(sequence["input_ids"]) > max_length:
            raise RowTooLong(
                f"{row}: {len(sequence['input_ids'])} tokens, at most {max_length} fit. Within the model's context "
                "raise training.max_length (--set training.max_length=N goes on with the same run); beyond it start "
                "another run with a shorter dialogue.turns or dialogue.max_tokens"
            )
    return sequences


def require_end(tokenizer: PreTrainedTokenizerBase, ends: set[int]) -> None:
    """Raises TemplateError where engines go on after the token with which the template ends a turn.

    `ends` are the ids at which they stop. A student would learn to end its turns, and never be seen to.
    """
    chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    end = _turn(tokenizer, chat, 1, _control(tokenizer).keys(), "a chat of two", thinking=False)[1][-1]
    if end not in ends:
        written, stops = (tokenizer.convert_ids_to_tokens(ids) for ids in (end, sorted(ends)))
        raise TemplateError(
            f"{tokenizer.name_or_path}: the chat template ends a turn with {written!r}, and engines stop at {stops}. "
            f"Add its id, {end}, to eos_token_id of generation_config.json"
        )


def _control(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    """What no turn may say; tags of a thought are words."""
    special = {i: token.content for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    return {i: token for i, token in special.items() if token not in (OPEN, CLOSE)}


def _turn(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], i: int, control: Set[int], row: str, thinking: bool
) -> tuple[list[int], list[int]]:
    """Ids of the prompt that message `i` answers, and of what a sampler writes: its content and the end of the turn."""
    content = messages[i]["content"]
    prompt = _render(tokenizer, messages[:i], row, thinking, prompt=True)
    opening, closing = _around_answer(tokenizer, messages[:i], prompt, row, thinking)
    if CLOSE in content and prompt.rstrip().endswith(CLOSE):
        raise TemplateError(
            f"{row}: message {i} holds reasoning, and the prompt that it answers says that there is none. "
            "Set student.thinking: keep, or drop the row"
        )
    if is_opened(prompt):
        if CLOSE in content:
            content = content.removeprefix(OPEN + prompt[len(prompt.rstrip()) :])
        else:
            prompt = closed(prompt)
    elif CLOSE not in opening:
        content = opening + content
    elif CLOSE not in content:  # an empty thought, which the student did not write
        prompt += opening
    read, whole = _ids(tokenizer, prompt), _ids(tokenizer, prompt + content + closing)
    # Where a token would straddle the seam, the sampler read the prompt alone and then wrote the rest.
    answer = whole[len(read) :] if whole[: len(read)] == read else _ids(tokenizer, content + closing)
    end = next((k for k, token in enumerate(answer) if token in control), None)
    if end is None:
        raise TemplateError(
            f"{row}: the chat template of {tokenizer.name_or_path or 'the tokenizer'} closes message {i} without a "
            f"special token (it ends {closing[-20:]!r}), so a student could never learn to stop"
        )
    return read, answer[: end + 1]


def _around_answer(
    tokenizer: PreTrainedTokenizerBase, before: Sequence[Message], prompt: str, row: str, thinking: bool
) -> tuple[str, str]:
    """What the template writes between its generation prompt and an answer, and after the answer.

    The answer is a stand-in: templates trim a real one, and cut or reword its reasoning.
    """
    answer = {"role": "assistant", "content": ANSWER}
    head, found, closing = _render(tokenizer, [*before, answer], row, thinking, prompt=False).rpartition(ANSWER)
    if found and head.startswith(prompt):
        return head[len(prompt) :], closing
    if found and is_opened(prompt):
        return "", closing
    # Some templates say the system message in the last message alone, if that is the user's (Mistral): with a stand-in
    # for what is asked, only what follows it is compared.
    asked = [*before[:-1], {**before[-1], "content": ASKED}]
    prompted = _render(tokenizer, asked, row, thinking, prompt=True).rpartition(ASKED)[2]
    answered = _render(tokenizer, [*asked, answer], row, thinking, prompt=False).rpartition(ASKED)[2]
    if found and answered.startswith(prompted):
        return answered[len(prompted) :].partition(ANSWER)[0], closing
    at = next((k for k, (a, b) in enumerate(zip(prompt, head, strict=False)) if a != b), len(head))
    raise TemplateError(
        f"{row}: the chat template of {tokenizer.name_or_path or 'the tokenizer'} rewrites the prompt of message "
        f"{len(before)} once it is answered (prompt ...{prompt[max(0, at - 20) : at + 20]!r}, then "
        f"...{head[max(0, at - 20) : at + 20]!r}). Use a template that keeps its generation prompt"
    )


def _render(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], row: str, thinking: bool, prompt: bool
) -> str:
    try:
        return render(tokenizer, messages, thinking, prompt)
    except Exception as error:  # a template raises whatever its author chose
        raise TemplateError(f"{row}: the chat template refuses the first {len(messages)} messages: {error}") from error


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _without_tail(sequence: Encoded) -> Encoded:
    """Cut what follows the last learned token: nothing depends on it."""
    end = max(k for k, label in enumerate(sequence["labels"]) if label != IGNORE) + 1
    return {"input_ids": sequence["input_ids"][:end], "labels": sequence["labels"][:end]}
