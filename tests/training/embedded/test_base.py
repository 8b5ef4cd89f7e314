"""What a base is trained on: encoded as the chat template would, learned where it should be, split as promised."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch

from pipeline.core.schema import Task
from pipeline.reading.acts import questions
from pipeline.reading.attempt import attempt
from pipeline.reading.numbers.equality import equal
from pipeline.tasks.word_problems import embedded_tasks, make_task
from training.embedded import base
from training.embedded.base import SPECIAL, Encoder, batches, look_back, make_model, make_tokenizer
from training.embedded.corpus import (
    Dispositions,
    SimulatedStudent,
    corpus,
    dialogue,
    drill,
    solvable,
    taught,
)
from training.embedded.training_example import TrainingExample
from training.inputs.masks import IGNORE, encode

COUNT = 300


@pytest.fixture(scope="module")
def examples() -> list[TrainingExample]:
    return list(itertools.islice(corpus(3), COUNT))


def tasks(specification: str, count: int) -> list[Task]:
    return list(itertools.islice(embedded_tasks("base", specification), count))  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_shipped_tokenizer_is_made_again_the_same(base_tokenizer):
    again = make_tokenizer()
    assert again.backend_tokenizer.to_str() == base_tokenizer.backend_tokenizer.to_str()
    assert again.chat_template == base_tokenizer.chat_template


def test_the_encoder_agrees_with_the_chat_template_token_by_token(base_tokenizer, examples):
    encoder = Encoder(base_tokenizer)
    for example in examples:
        ids, learn = encoder.example(example)
        rendered = base_tokenizer.apply_chat_template(example.messages, return_dict=True)["input_ids"]
        assert ids == rendered
        if not example.learn:
            assert not any(learn)
            continue
        marks = [i in example.learn for i in range(len(example.messages))]
        [sequence] = encode(base_tokenizer, example.messages, marks, 4096)
        length = len(sequence["input_ids"])
        assert ids[:length] == sequence["input_ids"] and not any(learn[length:])
        assert [label != IGNORE for label in sequence["labels"]] == [weight > 0 for weight in learn[:length]]


def test_loss_never_falls_on_what_somebody_else_said(examples):
    assert all(example.messages[i]["role"] == "assistant" for example in examples for i in example.learn)
    assert any(example.learn for example in examples)


def test_slips_carry_no_loss():
    """With nothing missing, an opening turn that works its way to a wrong answer is a slip."""
    rng, slips = random.Random(0), 0
    for task in filter(solvable, tasks("full", 400)):
        example = dialogue(task, rng, Dispositions())
        first, second, *_ = example.messages
        if not first["content"].endswith(("your partner.", "your teacher.")):
            continue  # the peer's view: the student's opening is part of what it heard
        said = attempt(second["content"])
        if said is not None and not equal(said, task.answer):
            slips += 1
            assert 1 not in example.learn
    assert slips > 20


def test_only_the_base_split_is_used(examples):
    """Every question is one of the base split's, and none is one that a student or an exam draws."""
    ours = {
        task.question: task
        for specification in ("full", "underspecified", "false_premise")
        for task in itertools.islice(embedded_tasks("base", specification, seed=1003), COUNT)
    }
    kept_back = {
        task.question
        for split in ("train", "exam")
        for specification in ("full", "underspecified")
        for task in itertools.islice(embedded_tasks(split, specification), COUNT)
    }
    for example in examples:
        question = example.messages[0]["content"].splitlines()[0]
        assert ours[question].split == "base" and question not in kept_back


def test_a_drill_is_true_and_never_teaches_a_held_back_product():
    rng = random.Random(0)
    for _ in range(200):
        for left, result in zip(*drill(rng), strict=True):
            a, sign, b, _ = left.split()
            assert {"+": int(a) + int(b), "-": int(a) - int(b), "x": int(a) * int(b)}[sign] == int(result)
            assert sign != "x" or taught(int(a), int(b))


def test_the_corpus_never_works_out_a_product_that_is_held_back(examples):
    for example in examples:
        for i in example.learn:
            words = example.messages[i]["content"].split()
            for k in range(1, len(words) - 1):
                if words[k] == "x" and words[k - 1].isdigit() and words[k + 1].isdigit():
                    assert taught(int(words[k - 1]), int(words[k + 1]))


@pytest.mark.parametrize("ask", [0.02, 0.3])
def test_the_prior_of_asking_is_what_was_asked_for(ask):
    rng, how = random.Random(1), Dispositions(ask=ask)
    asked = [bool(questions(SimulatedStudent(task, rng, how).open())) for task in tasks("underspecified", 1500)]
    deviation = (ask * (1 - ask) / len(asked)) ** 0.5
    assert abs(sum(asked) / len(asked) - ask) < 4 * deviation


def test_one_seed_gives_one_corpus():
    first, again, other = (list(itertools.islice(corpus(seed), 30)) for seed in (1, 1, 2))
    assert first == again != other


def test_batches_hold_whole_examples_padded_on_the_right(base_tokenizer):
    ids, learn = next(batches(Encoder(base_tokenizer), 0, corpus(0), tokens=1024, drills=0.2))
    pad, speakers = SPECIAL.index("<|pad|>"), [SPECIAL.index(f"<|{role}|>") for role in ("system", "user", "assistant")]
    assert ids.shape == learn.shape and ids.shape[1] % 16 == 0
    for row, mask in zip(ids, learn, strict=True):
        length = int((row != pad).sum())
        assert (row[length:] == pad).all() and not mask[length:].any()
        assert int(row[0]) in speakers


def test_numbers_and_the_worlds_words_are_single_tokens(base_tokenizer):
    for task in (make_task(seed, "full") for seed in range(40)):
        for word in task.question.replace(".", "").replace("?", "").replace(",", "").split()[1:]:
            assert len(base_tokenizer.encode(" " + word, add_special_tokens=False)) == 1, word


def test_text_survives_the_tokenizer(base_tokenizer):
    for text in ("I get 12 + 40 = 52. The answer is 52.", "é 漢字 🎩\n\n  x", ""):
        assert base_tokenizer.decode(base_tokenizer.encode(text, add_special_tokens=False)) == text


def test_the_model_ends_turns_with_the_tokenizers_end_token(base_tokenizer):
    model = make_model(len(base_tokenizer), 32, 1)
    assert model.config.eos_token_id == base_tokenizer.eos_token_id
    assert model.config.pad_token_id == base_tokenizer.pad_token_id
    with torch.inference_mode():
        assert model(torch.tensor([[3, 4]])).logits.shape == (1, 2, len(base_tokenizer))


def test_the_first_heads_start_on_the_tokens_a_fixed_number_of_places_back(base_tokenizer):
    torch.manual_seed(0)
    model = make_model(len(base_tokenizer))
    look_back(model)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        attention = model(torch.randint(5, 1000, (1, 60)), output_attentions=True).attentions[0][0]
    for head, offset in enumerate((1, 2, 3)):
        assert attention[head].diagonal(-offset).min() > 0.7
    assert attention[3].diagonal(-4)[10:].max() < 0.2


def test_a_training_that_was_stopped_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "CHECKPOINT_EVERY", 2)
    settings = {"steps": 5, "tokens": 128, "log": 9}
    whole = base.train(tmp_path / "whole", **settings).state_dict()
    taken, loss_of = list[int](), base.loss_of

    def loss_or_stop(*parts: Any) -> torch.Tensor:
        taken.append(len(taken))
        if len(taken) == 4:
            raise KeyboardInterrupt
        return loss_of(*parts)

    monkeypatch.setattr(base, "loss_of", loss_or_stop)
    with pytest.raises(KeyboardInterrupt):
        base.train(tmp_path / "stopped", **settings)
    again = base.train(tmp_path / "stopped", **settings).state_dict()
    assert len(taken) == 4 + 3, "two of the five steps were done before"
    assert all(torch.equal(again[name], tensor) for name, tensor in whole.items())
    assert {path.name for path in (tmp_path / "stopped").iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}


def test_an_experts_steps_come_to_what_the_base_learned_to_say_of_a_whole_problem():
    for task in tasks("full", 100):
        said = SimulatedStudent(task, random.Random(1), Dispositions()).solve()
        assert task.steps[-1].text == said
        assert all(said.startswith(step.text) for step in task.steps)
