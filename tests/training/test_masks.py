"""Labels are the student's tokens and nothing else, token by token, whatever the chat template does."""

from __future__ import annotations

import copy

import pytest
from datasets import Dataset
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

from pipeline.engines import transformers as engine
from pipeline.engines.chat_template import render
from tests.chat_templates import PUBLISHED, tokenizer_of
from training.embedded.base import SPECIAL, make_model
from training.inputs.masks import IGNORE, Encoded, RowTooLong, TemplateError, encode

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}\n"
    "{% else %}{{ message.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ENDS = {"embedded": "<|end|>", "chatml": "<|im_end|>"} | {name: own.end for name, own in PUBLISHED.items()}
TEMPLATES = tuple(ENDS)


def opening(name: str) -> str:
    """What a model writes before its words."""
    return PUBLISHED[name].opening if name in PUBLISHED else ""


@pytest.fixture(scope="module")
def tokenizers(base_tokenizer: PreTrainedTokenizerFast) -> dict[str, PreTrainedTokenizerFast]:
    chatml = PreTrainedTokenizerFast(
        tokenizer_object=base_tokenizer._tokenizer,
        pad_token="<|pad|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHATML,
    )
    return {"embedded": base_tokenizer, "chatml": chatml} | {name: tokenizer_of(name, TALK) for name in PUBLISHED}


def talk(*texts: str, system: str = "") -> tuple[list[dict[str, str]], list[bool]]:
    """User and assistant in turn; every assistant message is learned."""
    roles = ["user", "assistant"]
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    messages = [{"role": "system", "content": system}, *messages] if system else messages
    return messages, [message["role"] == "assistant" for message in messages]


def learned_ids(sequences: list[Encoded]) -> list[list[int]]:
    """Each stretch of labels, in order."""
    stretches: list[list[int]] = []
    for sequence in sequences:
        before = IGNORE
        for label in sequence["labels"]:
            if label != IGNORE:
                stretches += [[]] if before == IGNORE else []
                stretches[-1].append(label)
            before = label
    return stretches


QUESTION = (
    "Tom has 12 hats. Tom gives some hats to Ana. How many hats does Tom have left?\nWork it out with your partner."
)
TALK = (
    QUESTION,
    "How many hats does Tom give to Ana?",
    "I know this: Tom gives 5 hats to Ana.",
    "I get 12 - 5 = 7. The answer is 7.",
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_labels_are_each_student_turn_and_its_end_token_token_by_token(tokenizers, name):
    tokenizer, (messages, learn) = tokenizers[name], talk(*TALK)
    sequences = encode(tokenizer, messages, learn, 1024)
    for text, ids in zip(TALK[1::2], learned_ids(sequences), strict=True):
        words = tokenizer.encode(opening(name) + text, add_special_tokens=False)
        assert ids == [*words, tokenizer.convert_tokens_to_ids(ENDS[name])]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_turn_is_trained_after_exactly_the_ids_that_the_engine_reads(tokenizers, name):
    tokenizer, (messages, learn) = tokenizers[name], talk(*TALK, system="Be brief.")
    prompts = [engine.encode(tokenizer, messages[:i]) for i, learned in enumerate(learn) if learned]
    assert before_labels(encode(tokenizer, messages, learn, 1024)) == prompts


@pytest.mark.parametrize("name", ["embedded", "chatml"])
def test_labels_equal_those_of_trl_with_generation_marks(tokenizers, name, tmp_path):
    tokenizer, (messages, learn) = tokenizers[name], talk(*TALK)
    [ours] = encode(tokenizer, messages, learn, 1024)
    arguments = SFTConfig(
        output_dir=str(tmp_path),
        assistant_only_loss=True,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        dataset_num_proc=None,
    )
    trainer = SFTTrainer(
        model=make_model(len(tokenizer), 32, 1),
        args=arguments,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list([{"messages": messages}]),
    )
    theirs = trainer.train_dataset[0]
    length = len(ours["input_ids"])
    assert theirs["input_ids"][:length] == ours["input_ids"]
    assert theirs["labels"][:length] == ours["labels"]
    assert set(theirs["labels"][length:]) <= {IGNORE}  # the line break that ChatML puts after a turn


@pytest.mark.parametrize("name", sorted({*TEMPLATES} - {"qwen3"}))
def test_templates_that_keep_history_give_one_sequence(tokenizers, name):
    assert len(encode(tokenizers[name], *talk(*TALK), 1024)) == 1


def test_qwen3_drops_earlier_think_blocks_so_each_turn_is_its_own_sequence(tokenizers):
    tokenizer = tokenizers["qwen3"]
    first, second = (tokenizer.decode(s["input_ids"]) for s in encode(tokenizer, *talk(*TALK), 1024))
    empty = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert first.endswith(f"{empty}{TALK[1]}<|im_end|>")
    assert f"<|im_start|>assistant\n{TALK[1]}<|im_end|>" in second
    assert second.endswith(f"{empty}{TALK[3]}<|im_end|>")


def test_only_marked_turns_carry_loss_and_nothing_is_kept_after_the_last(tokenizers):
    tokenizer, (messages, _) = tokenizers["chatml"], talk(*TALK)
    [sequence] = encode(tokenizer, messages, [False, True, False, False], 1024)
    assert [tokenizer.decode(ids) for ids in learned_ids([sequence])] == [f"{TALK[1]}<|im_end|>"]
    assert sequence["input_ids"][-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert encode(tokenizer, messages, [False] * 4, 1024) == []


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["", " ", "\n", "\n\nThe answer is 7.", "  7  ", "7\n\n\n", "é 漢字 🎩", "<think>", "assistant\n", "{{ x }}"]
)
CONTROL = {token for own in PUBLISHED.values() for token in own.control}
plain = texts.filter(lambda text: not any(token in text for token in [*SPECIAL, *CONTROL, "</think>"]))


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=30, deadline=None)
@example(turns=[("a", "b"), ("\n", "\n\nc")])
@given(turns=st.lists(st.tuples(plain, plain), min_size=1, max_size=4))
def test_any_dialogue_learns_its_assistant_texts_once_and_nothing_else(tokenizers, name, turns):
    tokenizer = tokenizers[name]
    messages, learn = talk(*(text for pair in turns for text in pair))
    sequences = encode(tokenizer, messages, learn, 4096)
    said = [tokenizer.decode(ids) for ids in learned_ids(sequences)]
    assert said == [opening(name) + text + ENDS[name] for _, text in turns]  # also where the template trims it
    for sequence in sequences:
        assert len(sequence["labels"]) == len(sequence["input_ids"])
        assert all(
            label in (IGNORE, token) for token, label in zip(sequence["input_ids"], sequence["labels"], strict=True)
        )


def test_a_row_that_is_too_long_is_an_error_with_its_id_and_is_never_cut(tokenizers):
    messages, learn = talk(*TALK)
    [sequence] = encode(tokenizers["embedded"], messages, learn, 1024)
    size = len(sequence["input_ids"])
    assert encode(tokenizers["embedded"], messages, learn, size) == [sequence]
    with pytest.raises(RowTooLong, match=rf"d42: {size} tokens, at most {size - 1}"):
        encode(tokenizers["embedded"], messages, learn, size - 1, "d42")


THOUGHT = "Some of 12 are gone."
THINKING = tuple(f"<think>\n{THOUGHT}\n</think>\n\n{text}" if i % 2 else text for i, text in enumerate(TALK))
# As that of models that always think (Qwen3-Thinking): the template opens the thought, and history has none.
OPENING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1].lstrip() }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_kept_thought_is_learned_with_its_turn_after_what_the_engine_reads(tokenizers, name):
    tokenizer, (messages, learn) = tokenizers[name], talk(*THINKING, system="Be brief.")
    sequences = encode(tokenizer, messages, learn, 1024, thinking=True)
    for text, ids in zip(THINKING[1::2], learned_ids(sequences), strict=True):
        words = tokenizer.encode(opening(name) + text, add_special_tokens=False)
        assert ids == [*words, tokenizer.convert_tokens_to_ids(ENDS[name])]
    read = [engine.encode(tokenizer, messages[:i], thinking=True) for i, learned in enumerate(learn) if learned]
    assert before_labels(sequences) == read


@pytest.mark.parametrize("kept", [True, False])
def test_of_a_thought_that_the_template_opens_only_what_was_sampled_is_learned(tokenizers, kept):
    tokenizer = copy.deepcopy(tokenizers["chatml"])
    tokenizer.chat_template = OPENING
    messages, learn = talk(*(THINKING if kept else TALK))
    sequences = encode(tokenizer, messages, learn, 1024, thinking=kept)
    said = [tokenizer.decode(ids) for ids in learned_ids(sequences)]
    texts = [text.removeprefix("<think>\n") for text in (THINKING if kept else TALK)[1::2]]
    assert said == [f"{text}<|im_end|>" for text in texts]
    read = [tokenizer.decode(ids) for ids in before_labels(sequences)]
    closed = "" if kept else "\n</think>\n\n"
    asked = [render(tokenizer, messages[:i], kept) + closed for i, learned in enumerate(learn) if learned]
    assert read == asked
    prompts = [engine.encode(tokenizer, messages[:i], thinking=kept) for i, learned in enumerate(learn) if learned]
    assert before_labels(sequences) == prompts  # what is examined is asked as it learned to answer


def before_labels(sequences: list[Encoded]) -> list[list[int]]:
    """What comes before each stretch of labels, in order."""
    found = []
    for sequence in sequences:
        labels = [IGNORE, *sequence["labels"]]
        starts = [k for k in range(len(labels) - 1) if labels[k] == IGNORE and labels[k + 1] != IGNORE]
        found += [sequence["input_ids"][:k] for k in starts]
    return found


def test_a_thought_after_a_prompt_that_says_there_is_none_is_refused(tokenizers):
    messages, learn = talk("Q", "<think>\nsome sum\n</think>\n\nThe answer is 7.")
    with pytest.raises(TemplateError, match="d1: message 1 holds reasoning, and the prompt that it answers says"):
        encode(tokenizers["qwen3"], messages, learn, 1024, "d1")


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_turn_without_a_thought_learns_no_empty_one_where_others_are_kept(tokenizers, name):
    tokenizer, (messages, learn) = tokenizers[name], talk(*TALK, system="Be brief.")
    said = [tokenizer.decode(ids) for ids in learned_ids(encode(tokenizer, messages, learn, 1024, thinking=True))]
    assert said == [opening(name) + text + ENDS[name] for text in TALK[1::2]]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "no chat template"),
        (
            "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}",
            "without a special token",
        ),
        ("{{ raise_exception('only one turn') }}", "refuses the first 1 messages: only one turn"),
    ],
)
def test_templates_that_cannot_be_trained_on_are_named(tokenizers, template, message):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizers["embedded"]._tokenizer, eos_token="<|end|>")
    tokenizer.chat_template = template
    with pytest.raises(TemplateError, match=message):
        encode(tokenizer, *talk(*TALK), 1024)


@pytest.mark.parametrize("token", SPECIAL[1:])
def test_text_that_contains_a_control_token_is_refused(tokenizers, token):
    with pytest.raises(TemplateError, match="d7: message 1 contains the control token"):
        encode(tokenizers["embedded"], *talk("Q", f"The answer is 7.{token}"), 1024, "d7")


def test_loss_on_a_user_message_is_refused(tokenizers):
    with pytest.raises(ValueError, match="role 'user'"):
        encode(tokenizers["embedded"], talk("Q", "A")[0], [True, True], 1024)
