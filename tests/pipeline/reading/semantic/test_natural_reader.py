"""The readers of natural language that ship."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evals.readers.turns.score_readings import score_readings
from evals.readers.turns.turns_file import LabelledRow, read_turns
from pipeline.core.errors import ConfigError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.resources import shipped
from pipeline.core.schema import Fact, Turn
from pipeline.reading.numbers.equality import equal
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.semantic.natural_reader import (
    NaturalReader,
    in_the_form,
    partner_reading,
    shipped_reader,
    student_of,
    student_reading,
)
from pipeline.reading.semantic.network import PARTNER_HEADS, STUDENT_HEADS
from pipeline.reading.semantic.preparing import MOST_OF_A_PIECE, pieces

NAMES = ("semantic", "cross_encoder")
ROWS = read_turns(Path(__file__).parents[4] / "data" / "reading" / "test.jsonl")
FACTS = (
    Fact(id="crates", text="There are 5 crates in the cellar.", public=False),
    Fact(id="price", text="A pen costs 2 dollars.", public=False),
    Fact(id="pens", text="Each crate holds 7 pens."),
)
TOLERANCE = 0.05  # of a share: sums in half precision depend on what a batch is padded to


def turn(text: str, party: str = "student", *before: str) -> TurnToRead:
    said = tuple(Turn(party="student" if i % 2 == 0 else "partner", text=each) for i, each in enumerate(before))
    return TurnToRead(
        party=party,  # type: ignore[arg-type]
        text=text,
        question="Each crate holds 7 pens. How many pens are in the cellar?",
        facts=FACTS,
        before=said,
        answer="35",
    )


def student(name: str, read: TurnToRead) -> StudentReading:
    [reading] = asyncio.run(open_reader(name).student([read]))
    assert isinstance(reading, StudentReading)
    return reading


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["How many crates are in the cellar?", "I need to know the number of crates."])
def test_a_plain_question_for_a_fact_asks_for_it_and_not_for_another_matter(name: str, text: str):
    asks = student(name, turn(text)).asks
    assert "crates" in asks and "price" not in asks


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["The answer is 35.", "5 * 7 = 35, so there are **35** pens."])
def test_a_plain_answer_is_read_with_its_value(name: str, text: str):
    assert student(name, turn(text)).attempt == "35"


@pytest.mark.parametrize("name", NAMES)
def test_a_fact_that_a_partner_says_word_for_word_is_told(name: str):
    text = "I know this: There are 5 crates in the cellar."
    [reading] = asyncio.run(open_reader(name).partner([turn(text, "partner", "How many crates?")]))
    assert isinstance(reading, PartnerReading) and "crates" in reading.tells and "price" not in reading.tells


@pytest.mark.parametrize("name", NAMES)
def test_a_turn_is_read_the_same_whatever_is_read_beside_it(name: str):
    reader = shipped_reader(name)
    some = [row.turn for row in ROWS if row.kind == "student"][:40]
    alone = [reader.scores([each])[0] for each in some[:5]]
    for [one], [among] in zip(alone, reader.scores(some), strict=False):
        assert one["done"] == pytest.approx(among["done"], abs=TOLERANCE)
        assert one["asks"] == pytest.approx(among["asks"], abs=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_a_students_turn_is_read_blind_to_the_gold_answer(name: str):
    some = [row.turn for row in ROWS if row.kind == "student" and row.turn.numeric][:20]
    others = [replace(each, answer="98765") for each in some]
    assert asyncio.run(open_reader(name).student(some)) == asyncio.run(open_reader(name).student(others))


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_goes_on_while_turns_are_read(name: str):
    some = [row.turn for row in ROWS if row.kind == "student"][:30]

    async def read() -> int:
        reading, passed = asyncio.create_task(open_reader(name).student(some)), 0
        while not reading.done():
            await asyncio.sleep(0)
            passed += 1
        return passed

    assert asyncio.run(read()) > 10


@pytest.mark.parametrize("name", NAMES)
def test_turns_of_both_parties_are_read_at_once(name: str):
    students = [row.turn for row in ROWS if row.kind == "student"][:24]
    partners = [row.turn for row in ROWS if row.kind == "partner"][:24]

    async def read() -> list:
        reader = open_reader(name)
        halves = [(students[i : i + 6], partners[i : i + 6]) for i in range(0, 24, 6)]
        return await asyncio.gather(*(work for s, p in halves for work in (reader.student(s), reader.partner(p))))

    assert sum(map(len, asyncio.run(read()))) == 48


def test_a_reader_of_another_version_is_refused(tmp_path: Path):
    folder = Path(__file__).parents[4] / "data" / "readers" / "semantic"
    (tmp_path / "reader.json").write_text((folder / "reader.json").read_text())
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "weights.safetensors")
    save_file({name: weights[name] for name in list(weights)[1:]}, tmp_path / "weights.safetensors")
    with pytest.raises(ConfigError, match="another version"):
        NaturalReader(tmp_path)


@pytest.mark.parametrize(
    ("text", "share", "reveals"),
    [
        ("So in all that makes 5 x 7 = 35 pens.", 0.1, "stated"),
        ("It's thirty-five, yes.", 0.9, "stated"),
        ("Yes, that's it exactly.", 0.9, "no"),
        ("So in all that makes 5 x 8 = 40 pens.", 0.9, "no"),
    ],
)
def test_a_number_that_a_partner_states_stands_there(text: str, share: float, reveals: str):
    scores = dict.fromkeys(PARTNER_HEADS, 0.1) | {"stated": share, "tells": {}, "tells_wrong": {}}
    least = dict.fromkeys([*PARTNER_HEADS, "tells", "tells_wrong"], 0.5)
    assert partner_reading(turn(text, "partner"), scores, least).reveals == reveals


@pytest.mark.parametrize(("imported", "off"), [(False, True), (True, False)])
def test_of_people_who_is_off_its_role_is_said_by_rule(imported: bool, off: bool):
    scores = dict.fromkeys(PARTNER_HEADS, 0.1) | {"off_role": 0.9, "tells": {}, "tells_wrong": {}}
    least = dict.fromkeys([*PARTNER_HEADS, "tells", "tells_wrong"], 0.5)
    opening = replace(turn("Hi, please talk me through your solution.", "partner"), imported=imported)
    assert partner_reading(opening, scores, least).off_role is off
    other = replace(turn("Student: I get 12.", "partner"), imported=imported)
    assert partner_reading(other, scores, least).off_role


@pytest.mark.parametrize(
    ("text", "told", "wrong"),
    [
        ("There are five crates down there.", True, False),
        ("There are 9 crates in the cellar.", False, True),
        ("Yes, that's right.", True, False),  # the student had named the number
        ("There are quite a few crates.", True, False),  # no number speaks against it
    ],
)
def test_a_fact_with_another_number_is_told_wrongly(text: str, told: bool, wrong: bool):
    scores = dict.fromkeys(PARTNER_HEADS, 0.1) | {"tells": {"crates": 0.9}, "tells_wrong": {}}
    least = dict.fromkeys([*PARTNER_HEADS, "tells", "tells_wrong"], 0.5)
    reading = partner_reading(turn(text, "partner", "Are there 5 crates?"), scores, least)
    assert (reading.tells, reading.tells_wrong) == (
        frozenset({"crates"} if told else ()),
        frozenset({"crates"} if wrong else ()),
    )


def test_numbers_of_facts_that_are_told_too_are_no_other_number():
    shelves = Fact(id="shelves", text="Each of the 4 shelves holds 12 books.", public=False)
    videos = Fact(id="videos", text="There are 30 DVDs.", public=False)
    least = dict.fromkeys([*PARTNER_HEADS, "tells", "tells_wrong"], 0.5)

    def told(text: str, of_videos: float) -> tuple[set[str], set[str]]:
        scores = dict.fromkeys(PARTNER_HEADS, 0.1) | {"tells": {"shelves": 0.9, "videos": of_videos}, "tells_wrong": {}}
        reading = partner_reading(replace(turn(text, "partner"), facts=(shelves, videos)), scores, least)
        return {*reading.tells}, {*reading.tells_wrong}

    assert told("Each shelf holds 12 books, and there are 30 DVDs.", 0.9) == ({"shelves", "videos"}, set())
    assert told("Each shelf holds 30 books.", 0.1) == (set(), {"shelves"})
    assert told("Each shelf holds 30 books, and there are 30 DVDs.", 0.9) == ({"videos"}, {"shelves"})


@pytest.mark.parametrize(
    ("text", "numeric", "answer"),
    [
        ("Omar has it. The answer is New York.", False, "new york"),
        ("So the answer is: Łódź", False, "łódź"),
        ("The answer is 11, not 14.", True, "11"),
        ("The answer is 12. No, wait. The answer is 3½.", True, "3½"),
        ("The answer is 12. No wait, I forgot three. It is 15.", True, None),  # the network reads it
        ("The answer is St. Louis.", False, "st. louis"),
        ("The answer is Kaja? No, the answer is Omar.", False, "omar"),
        ("I do not think the answer is 12.", True, None),
        ("The answer is not 12.", True, None),
        ("You said: is the answer 12?", True, None),
        ("The answer is plain.", True, None),
        ("The answer is The answer is The answer is", False, None),
        ("My own answer. The answer is ...", False, None),
        ("The answer is Kaja. No, the answer is Lars.", False, "lars"),
        ("The answer is Kaja, I think.", False, "kaja"),
        ("The answer is Kaja, because she baked.", False, "kaja"),
        ("The answer is Kaja, I'm sure.", False, "kaja"),
        ("The answer is Kaja but I am not sure.", False, "kaja"),
        (r"The answer is \boxed{\text{Kaja}}.", False, "kaja"),
        (r"The answer is $\boxed{Kaja}$.", False, "kaja"),
        ("The answer is in the kitchen, not in the attic.", False, "the kitchen"),
        ("The answer is Paris, France.", False, "paris, france"),
        ("The answer is **June 25**.", False, "june 25"),
        ('The answer is "Paris".', False, "paris"),
        (r"The answer is \boxed{Paris}.", False, "paris"),
        ("The answer is (B).", False, "b"),
        ("The answer is B) the dog.", False, "b"),
        ("The answer is 2 + 3 = 5.", True, "5"),
        ("The answer is **12**.", True, "12"),
        ("The answer is 12 because 3 and 9 are.", True, "12"),
        ("The answer is $4.50 or $5.50.", True, None),
        ("The answer is more than $4.50.", True, None),
        ("The answer is unknown. Who has the drill?", False, None),
        ("The answer is I don't know.", False, None),
        ("The answer is not known.", False, None),
        ("I agree. The answer is correct.", False, None),
        ("The answer is Kaja or Lars.", False, None),
        ("The answer is the right wing.", False, "right wing"),
        ("The answer is none.", False, "none"),
        ("The answer is Unknown Pleasures.", False, "unknown pleasures"),
        ("You said: The answer is 12. But that cannot be.", True, None),
        ("Your turn said:\nThe answer is 12.\nI do not believe it.", True, None),
        ("You said: The answer is 12. The answer is 9.", True, "9"),
        ("The answer is 12? No, that is wrong.", True, None),
        ("The answer is 12?", True, "12"),
        ("The answer is 12? No doubt about it.", True, "12"),
    ],
)
def test_an_answer_in_the_form_that_prompts_ask_for_is_read_by_rule(text: str, numeric: bool, answer: str | None):
    assert in_the_form(replace(turn(text), numeric=numeric)) == answer


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["The answer is " + "9" * 5000 + ".", "a" * 200_000, "How many, " * 20_000])
def test_what_a_model_in_a_loop_writes_is_read_like_any_turn(name: str, text: str):
    reader = open_reader(name)
    read = [turn(text), turn("The answer is 35.")]
    assert [each.attempt for each in asyncio.run(reader.student(read))] == [None, "35"]  # type: ignore[union-attr]
    assert len(asyncio.run(reader.partner([turn(text, "partner")]))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_of_a_long_turn_the_end_is_read(name: str):
    lines = [f"Step {i}: ${i} \\times 3 + 7 = {3 * i + 7}$ and so on.\n" for i in range(40)]
    reader, before = open_reader(name), "".join(lines)
    ends = ["So there are 4242 crates in all.", "How many crates are in the cellar?"]
    shares, asking = asyncio.run(reader.student([turn(before + end) for end in ends]))
    assert isinstance(shares, StudentReading) and isinstance(asking, StudentReading)
    assert shares.attempt == "4242" and asking.asks == {"crates"}


def test_who_asks_for_equal_content_is_read_in_float32_on_every_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pipeline.reading.semantic.network.bfloat16_gain", lambda: 9.0)
    folder = shipped("data", "readers", "semantic")
    assert NaturalReader(folder, exact=False).network.read_in == torch.bfloat16
    assert NaturalReader(folder).network.read_in == torch.float32


SENTENCE = "The crates that stand in the cellar are counted by Omar, "


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("How many crates are in the cellar?", False),
        ("One of them is 12.5 kg.\nAnother is not. " * 20, True),
        (SENTENCE * 20, True),  # one sentence
        ("地下室有多少箱？" * 40, True),
        ("word " * 110, False),
    ],
)
def test_the_pieces_of_a_turn_are_its_text_each_no_longer_than_what_was_learned_from(text: str, several: bool):
    tokenizer = shipped_reader("semantic").network.tokenizer
    made = [piece.text for piece in pieces(turn(text), tokenizer)]
    assert (len(made) > 1) == several
    assert "".join(made).split() == text.split() or "".join("".join(made).split()) == "".join(text.split())
    assert all(len(tokenizer(piece, add_special_tokens=False)["input_ids"]) <= MOST_OF_A_PIECE for piece in made)


def test_of_several_pieces_all_requests_count_and_the_last_answer_stance_and_end():
    heads, least = dict.fromkeys(STUDENT_HEADS, 0.0), dict.fromkeys([*STUDENT_HEADS, "asks", "attempt", "request"], 0.5)
    first = heads | {"asks": {"crates": 0.7, "price": 0.0}, "agrees": 0.9, "done": 0.9, "spans": [("9", 0.9)]}
    second = heads | {"asks": {"crates": 0.0, "price": 0.99}, "tentative": 0.8, "spans": [("12", 0.6)]}
    third = heads | {"asks": {"crates": 0.0, "price": 0.0}, "disagrees": 0.7, "spans": [("4", 0.2)]}
    reading = student_of(turn("Hm.", "student", "Is it 9?", "Yes."), [first, second, third], least)
    assert reading.asks == {"crates", "price"} and not reading.done
    assert (reading.attempt, reading.tentative, reading.stance) == ("12", True, "disagrees")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", "\n", "\u200b", "\ufeff"])
def test_a_turn_without_a_word_does_nothing(name: str, text: str):
    reader = open_reader(name)
    assert asyncio.run(reader.student([turn(text), turn("Hm.")]))[0] == StudentReading()
    assert asyncio.run(reader.partner([turn(text, "partner")])) == [PartnerReading()]


# Below what was reached when the weights were made (docs/reading.md), by about an interval: what breaks shows here.
LEAST = {"asks_withheld": 0.45, "asks_any_withheld": 0.55, "attempt": 0.75, "stance": 0.5, "done": 0.6, "tells": 0.45,
         "feedback": 0.7, "says_missing": 0.55, "generic_request": 0.5}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_labelled_turns_are_read_about_as_well_as_the_page_says(name: str):
    reader = open_reader(name)

    async def read(rows: list[LabelledRow]) -> list:
        students = iter(await reader.student([row.turn for row in rows if row.kind == "student"]))
        partners = iter(await reader.partner([row.turn for row in rows if row.kind == "partner"]))
        return [next(students if row.kind == "student" else partners) for row in rows]

    scores = score_readings(ROWS, asyncio.run(read(ROWS)))
    assert not {name: scores[name].f1 for name, least in LEAST.items() if not scores[name].f1 >= least}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif("MAIEUTIC_DATA" not in os.environ, reason="MAIEUTIC_DATA names no folder of corpora")
@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_long_solutions_is_read_and_no_question_is_found_in_them(name: str):
    lines = (Path(os.environ["MAIEUTIC_DATA"]) / "gsm8k/train.jsonl").read_text(encoding="utf-8").splitlines()
    split = [(row["question"], *row["answer"].split("####")) for row in map(json.loads, lines)]
    solved = [(question, re.sub(r"<<.*?>>", "", said).strip(), answer.strip()) for question, said, answer in split]
    long = [
        *[one for one in solved if 500 <= len(one[1]) < 700][:40],
        *[one for one in solved if len(one[1]) >= 700][:40],
    ]
    turns = [
        TurnToRead(party="student", text=said, question=question, facts=(), before=(), answer=answer)
        for question, said, answer in long
    ]
    read = asyncio.run(open_reader(name).student(turns))
    right = sum(each.attempt is not None and equal(each.attempt, one[2]) for each, one in zip(read, long, strict=True))  # type: ignore[union-attr]
    asking = sum(each.asks_anything for each in read)  # type: ignore[union-attr]
    print(json.dumps({"reader": name, "solutions": len(long), "right end": right, "asks": asking}))
    assert right > 0.8 * len(long) and asking < 0.1 * len(long)


@pytest.mark.parametrize(
    ("asks", "repeats", "reading"),
    [
        ((0.7, 0.1), 0.1, ({"f1"}, False)),
        ((0.4, 0.1), 0.5, ({"f1"}, False)),  # a request, and nearest to one for the first fact
        ((0.3, 0.1), 0.7, (set(), True)),
        ((0.3, 0.1), 0.2, (set(), False)),  # no request at all
    ],
)
def test_a_request_that_is_none_for_certain_is_the_one_that_comes_nearest(asks, repeats, reading):
    heads = dict.fromkeys(STUDENT_HEADS, 0.0)
    least = {**dict.fromkeys(heads, 0.5), "asks": 0.5, "attempt": 0.5, "repeats_question": 0.75, "request": 0.8}
    scores = heads | {"asks": dict(zip(("f1", "f2"), asks, strict=True)), "repeats_question": repeats, "spans": []}
    found = student_reading(turn("And the crates, how many?", "student"), scores, least)
    assert (set(found.asks), found.repeats_question) == reading
