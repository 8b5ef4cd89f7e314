"""From turns to what a student learns and says, through the published chat templates of real models."""

from __future__ import annotations

import asyncio

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from pipeline.core.schema import Turn
from pipeline.engines.chat_template import folded, render
from pipeline.engines.decoding.decode import Answer
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.reasoning import read_ids
from pipeline.engines.transformers import TransformersModel, end_tokens, load_tokenizer
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.tasks.word_problems import make_task
from tests.chat_templates import PUBLISHED, tokenizer_of
from training.embedded.base import make_model
from training.inputs.masks import IGNORE, Encoded, TemplateError, encode, require_end
from training.online.session import Session

THOUGHTS = ("One number is missing, so I ask.", "12 minus 5.")
WORDS = ("How many hats does Tom give to Ana?", "I get 12 - 5 = 7. The answer is 7.")
HINT = "I know this: Tom gives 5 hats to Ana."
TASK, CONDITION = make_task(3, "underspecified"), Condition(partition="facts", voice="rule")
NAMES = sorted(PUBLISHED)


def turns(keeps: bool) -> list[Turn]:
    """A dialogue whose student reasoned before each of its turns."""
    asks, answers = (
        Turn(party="student", text=text, reasoning=thought, keeps_reasoning=keeps)
        for text, thought in zip(WORDS, THOUGHTS, strict=True)
    )
    return [asks, Turn(party="partner", text=HINT), answers]


def row(keeps: bool) -> tuple[list[dict[str, str]], list[bool]]:
    """The student's view of it, and which messages it learns."""
    messages = view(TASK, CONDITION, turns(keeps), "student", Prompts("chat"))
    return messages, [message["role"] == "assistant" for message in messages]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, PreTrainedTokenizerFast]:
    lines = [message["content"] for message in row(keeps=True)[0]]
    return {name: tokenizer_of(name, lines) for name in NAMES}


def learned(tokenizer: PreTrainedTokenizerFast, sequence: Encoded) -> str:
    return tokenizer.decode([label for label in sequence["labels"] if label != IGNORE])


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_thought_is_learned_with_its_turn_and_nothing_else(tokenizers, name):
    tokenizer, own = tokenizers[name], PUBLISHED[name]
    sequences = encode(tokenizer, *row(keeps=True), 1024, thinking=True)
    said = "".join(learned(tokenizer, sequence) for sequence in sequences)
    assert said == "".join(
        f"{own.opening}<think>\n{thought}\n</think>\n\n{text}{own.end}"
        for thought, text in zip(THOUGHTS, WORDS, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_thought_is_neither_learned_nor_read(tokenizers, name):
    tokenizer, own = tokenizers[name], PUBLISHED[name]
    sequences = encode(tokenizer, *row(keeps=False), 1024)
    assert "".join(learned(tokenizer, sequence) for sequence in sequences) == "".join(
        own.opening + text + own.end for text in WORDS
    )
    everything = "".join(tokenizer.decode(sequence["input_ids"]) for sequence in sequences)
    assert not any(thought in everything for thought in THOUGHTS)


@pytest.mark.parametrize("name", NAMES)
def test_only_qwen3_cuts_the_thought_of_an_earlier_turn(tokenizers, name):
    tokenizer = tokenizers[name]
    last = tokenizer.decode(encode(tokenizer, *row(keeps=True), 1024, thinking=True)[-1]["input_ids"])
    assert WORDS[0] in last
    assert (THOUGHTS[0] in last) is (name != "qwen3")


def test_a_view_with_thoughts_is_append_only_and_the_partner_sees_none():
    for keeps in (True, False):
        whole = view(TASK, CONDITION, turns(keeps), "student", Prompts("chat"))
        for i in range(3):
            shown = view(TASK, CONDITION, turns(keeps)[:i], "student", Prompts("chat"))
            assert whole[: len(shown)] == shown
        assert not any(
            thought in str(view(TASK, CONDITION, turns(keeps), "partner", Prompts("chat"))) for thought in THOUGHTS
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_system_message_is_said_once_before_every_turn(tokenizers, name):
    messages, learn = row(keeps=False)
    system, asked, *_ = (message["content"] for message in messages)
    for i in (i for i, mine in enumerate(learn) if mine):
        text = render(tokenizers[name], messages[:i])
        assert text.count(system) == 1
        behind = {"own": None, "folded": asked, "last": messages[i - 1]["content"]}[PUBLISHED[name].system]
        followed = [said for said in (asked, HINT) if f"{system}\n\n{said}" in text]
        assert followed == ([behind] if behind else [])


def test_a_system_message_folds_as_gemma_3_folds_it_itself(tokenizers):
    messages, _ = row(keeps=False)
    assert render(tokenizers["gemma"], messages) == render(tokenizers["gemma3"], messages)


def test_a_system_message_that_a_template_leaves_out_is_folded_too(tokenizers):
    tokenizer = tokenizer_of("smollm2", list(WORDS))
    tokenizer.chat_template = "{% for m in messages if m.role != 'system' %}{{ m.content }}|{% endfor %}"
    messages, _ = row(keeps=False)
    assert render(tokenizer, messages) == "|".join(message["content"] for message in folded(messages)) + "|"


def test_a_template_that_says_the_date_says_the_same_one_every_day(tokenizers):
    assert "Today Date: 26 Jul 2024\n" in render(tokenizers["llama3_2"], row(keeps=False)[0])


class Writes:
    """An engine that samples these texts, each with the end of a turn."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, *texts: str):
        self.tokenizer, self.texts = tokenizer, iter(texts)

    async def complete_ids(self, prompt: list[int], sampling: Sampling) -> Answer:
        ids = self.tokenizer.encode(next(self.texts), add_special_tokens=False)
        said, reasoning_tokens = read_ids(self.tokenizer, prompt, ids[:-1])
        return Answer(
            ids, Completion(said.answer, tokens=len(ids), prompt_tokens=len(prompt), reasoning_tokens=reasoning_tokens)
        )


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_who_learns_online_learns_the_same_tokens_as_from_a_row(tokenizers, name, keeps):
    tokenizer, own = tokenizers[name], PUBLISHED[name]
    messages, learn = row(keeps)
    answers = [i for i, mine in enumerate(learn) if mine]
    session = Session(Writes(tokenizer, *(own.opening + messages[i]["content"] + own.end for i in answers)), keeps)
    for i in answers:
        asyncio.run(session.complete(messages[:i], Sampling(99, thinking=keeps)))
    sequences = encode(tokenizer, messages, learn, 1024, thinking=keeps)
    assert tokenizer.decode([token for token, mine in zip(session.ids, session.own, strict=True) if mine]) == "".join(
        learned(tokenizer, sequence) for sequence in sequences
    )
    if len(sequences) == 1:  # the template leaves history as it was said
        assert [*session.prompt, *session.ids] == sequences[0]["input_ids"]
    else:  # a student that learns online reads on from its own ids all the same
        whole = tokenizer.decode([*session.prompt, *session.ids])
        assert whole.count(messages[0]["content"]) == (2 if own.system == "last" else 1)
        assert all(thought in whole for thought in THOUGHTS) is keeps


@pytest.mark.parametrize(("name", "keeps"), [*((name, True) for name in NAMES), ("qwen3", False)])
def test_a_checkpoint_that_learned_a_dialogue_says_it_again_and_stops(tokenizers, name, keeps, tmp_path):
    """All the way: a tiny Llama with the template, taught what `encode` marks, and asked as an engine asks."""
    tokenizers[name].save_pretrained(tmp_path)
    tokenizer, (messages, learn) = load_tokenizer(str(tmp_path)), row(keeps)
    torch.manual_seed(0)
    model = make_model(len(tokenizer), 64, 2)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(PUBLISHED[name].end)
    require_end(tokenizer, end_tokens(model, tokenizer))
    sequences = encode(tokenizer, messages, learn, 1024, thinking=keeps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(80):
        losses = [model(**{key: torch.tensor([ids]) for key, ids in sequence.items()}).loss for sequence in sequences]
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
    engine = TransformersModel(model, tokenizer, 8)  # it remembers what it read
    for i, text, thought in zip((i for i, mine in enumerate(learn) if mine), WORDS, THOUGHTS, strict=True):
        said = asyncio.run(engine.complete(messages[:i], Sampling(99, temperature=0, thinking=keeps)))
        assert (said.text, said.reasoning, said.finished) == (text, thought if keeps else "", True)


def test_a_model_whose_engines_would_not_stop_where_its_template_does_is_not_trained(tokenizers):
    """Gemma's tokenizer ends with <eos>, its template with <end_of_turn>: the generation config has to say so."""
    tokenizer = tokenizers["gemma"]
    with pytest.raises(TemplateError, match=r"ends a turn with '<end_of_turn>', and engines stop at \['<eos>'\]"):
        require_end(tokenizer, {tokenizer.eos_token_id})
