"""Every check is broken on purpose: what is planted must turn its row red, and no other row may be red before."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from evals.audit.alike_questions import alike, read_question
from evals.audit.audit import examine
from evals.audit.audited_talks import holds, open_material, rights
from evals.audit.checks import functional_leak_share
from evals.audit.checks.stated_leak_by_turn import leaks_at
from evals.audit.finding import Check, Tried, share
from maieutic.cli import app
from pipeline.core.schema import Turn
from pipeline.judging.functional_leak import RuleReader
from pipeline.tasks.talks import Talk, TalkSource
from tests.evals.small_embedder import small_embedder
from tests.fakes import Broken

Row = dict[str, Any]
NAMES = "Ann Bea Cem Dan Eva Fay Gus Hal Ida Jon Kim Lea Max Nia Ola Pia Quin Rex Sue Tom".split()
THINGS = "pens cups hats kites maps nuts pots rings seeds toys".split()
DESCRIPTION = {
    "question": "{question}", "answer": "{answer}", "earlier": "{earlier}", "split": "{split}",
    "partition": "{partition}", "learn": "train",
}  # fmt: skip


def row(i: int) -> Row:
    """A talk in which the student asks, is told one number, and works the answer out; every third one ends wrong."""
    rng = random.Random(i)
    name, thing = NAMES[i % 20], THINGS[i // 2 % 10]
    a, b = 20 + i, 110 + 3 * i
    said = [
        ("user", f"Let us look at it. Where does {name} get {thing}?", False),
        ("assistant", f"{name} buys some. How many {thing} does {name} buy?", True),
        ("user", f"{name} buys {b} {thing}.", False),
        ("assistant", f"So I add them up. The answer is {a + b if i % 3 else a + b + 1 + rng.randrange(9)}.", True),
    ]
    return {
        "question": f"{name} has {a} {thing} at home and buys some more. How many {thing} has {name} now?",
        "answer": str(a + b),
        "earlier": f"I think that it is {a}.",
        "split": "train" if i % 4 else "test",
        "partition": "facts",
        "messages": [{"role": role, "content": text, "train": learn} for role, text, learn in said],
    }


def say(row: Row, turn: int, text: str) -> None:
    row["messages"][turn]["content"] = text


def leak(rows: list[Row]) -> None:
    for one in rows[:6]:
        say(one, 2, f"The answer is {one['answer']}.")


def reveals(rows: list[Row]) -> None:
    """The same of a partner that is said to hold the answer, and so is to keep it."""
    leak(rows)
    for one in rows:
        one["partition"] = "key"


def knows(rows: list[Row]) -> None:
    """A peer that is said to know nothing more says what nobody had said."""
    for one in rows:
        one["partition"] = "symmetric"
    for one in rows[:6]:
        say(one, 2, f"I see {one['answer']} of them.")


def lucky(rows: list[Row]) -> None:
    for one in rows[:6]:
        say(one, 1, f"How should I know? I guess the answer is {one['answer']}.")


def public(rows: list[Row]) -> None:
    for one in rows[:12]:
        one["earlier"] = f"I think that it is {one['answer']}."


def wording(rows: list[Row]) -> None:
    for i, one in enumerate(rows):
        if i % 3 == 0:
            one["question"] = one["question"].replace("at home", "somewhere")


def contaminated(rows: list[Row]) -> None:
    rows[1]["question"] = rows[0]["question"].upper().replace(".", " !")


def nearly_contaminated(rows: list[Row]) -> None:
    rows[1]["question"] = rows[0]["question"].replace("at home", "home")


def twice(rows: list[Row]) -> None:
    rows[5] = json.loads(json.dumps(rows[3])) | {"split": rows[3]["split"]}


def begins(rows: list[Row]) -> None:
    rows.append(rows[3] | {"messages": rows[3]["messages"][:2]})


def masked(rows: list[Row]) -> None:
    rows[3]["messages"][2]["train"] = True


def unlearned(rows: list[Row]) -> None:
    """A row that nothing is learned from."""
    for message in rows[3]["messages"]:
        message["train"] = False


def empty(rows: list[Row]) -> None:
    say(rows[3], 0, "  ")


def in_a_row(rows: list[Row]) -> None:
    rows[3]["messages"].insert(1, {"role": "user", "content": "Take your time.", "train": False})


def unread(rows: list[Row]) -> None:
    rows.append({"question": "What is left?"})


PLANTED: list[tuple[Callable[[list[Row]], None], set[str]]] = [
    (leak, {"leak"}),
    (reveals, {"knowledge", "leak", "partner"}),
    (knows, {"knowledge"}),
    (lucky, {"luck"}),
    (public, {"public answer"}),
    (wording, {"wording"}),
    (contaminated, {"contamination"}),
    (nearly_contaminated, {"contamination"}),
    (twice, {"duplicates"}),
    (begins, {"duplicates"}),
    (masked, {"masks"}),
    (unlearned, {"masks"}),
    (empty, {"schema"}),
    (in_a_row, {"schema"}),
    (unread, {"schema"}),
]


def audited(tmp_path: Path, rows: list[Row], embeds: bool = False, **audit: Any) -> dict[str, Check]:
    """The checks by name. Embedding takes seconds: without `embeds` by a model that finds no near-duplicate."""
    audit |= {"reads": "closed"} | ({} if embeds else {"embedder": small_embedder(), "near": 1})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    source = tmp_path / "audit_made.yaml"
    source.write_text(json.dumps({"files": {"all": str(tmp_path / "rows.jsonl")}, **DESCRIPTION, "audit": audit}))
    return {check.name: check for check in examine(open_material(str(source)))}


def red(checks: dict[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if check.verdict == "fail"}


def test_a_clean_dataset_has_no_red_row_and_most_are_green(tmp_path: Path) -> None:
    checks = audited(tmp_path, [row(i) for i in range(160)])
    assert red(checks) == set()
    assert {name for name, check in checks.items() if check.verdict == "not testable"} == {"knowledge", "balance"}


@pytest.mark.parametrize(("plant", "expected"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_what_is_planted_turns_its_own_row_red(
    tmp_path: Path, plant: Callable[[list[Row]], None], expected: set[str]
) -> None:
    rows = [row(i) for i in range(160 if plant is wording else 60)]
    plant(rows)
    checks = audited(tmp_path, rows)
    assert red(checks) == expected
    failed = [one for name in expected for one in checks[name].findings if one.verdict == "fail"]
    assert all(one.rate is None or one.rate.n for one in failed)


@pytest.mark.parametrize("partition", ["key", "answer"])
def test_a_partner_that_holds_the_answer_and_does_not_say_it_is_not_found(tmp_path: Path, partition: str) -> None:
    rows = [row(i) | {"partition": partition} for i in range(60)]
    assert audited(tmp_path, rows)["knowledge"].verdict == "pass"


GIVEN_AWAY = [
    "You should end up with {}.",
    "It comes to {} in the end.",
    "That adds up to {} altogether.",
    "Ok I will just tell you, {} it is.",
]


@pytest.mark.parametrize("partition", ["key", "answer"])
@pytest.mark.parametrize("wording", GIVEN_AWAY)
def test_a_partner_that_holds_the_answer_and_says_it_first_in_any_wording_is_found(
    tmp_path: Path, wording: str, partition: str
) -> None:
    rows = [row(i) | {"partition": partition} for i in range(60)]
    for one in rows:
        say(one, 2, wording.format(one["answer"]))
    assert "knowledge" in red(audited(tmp_path, rows))


def test_a_few_talks_are_held_against_chance_and_not_the_end_of_its_interval(
    tmp_path: Path,
) -> None:
    rows = [row(i) | {"partition": "symmetric"} for i in range(12)]
    for one in rows[:3]:
        say(one, 2, f"I see {one['answer']} of them.")
    (found,) = [one for one in audited(tmp_path, rows)["knowledge"].findings if "first to say" in one.what]
    assert found.verdict == "fail" and found.rate is not None and found.rate.n == 12 and found.bar == 0.02


def test_each_talk_is_judged_by_what_its_own_partner_knew_whichever_comes_first(tmp_path: Path) -> None:
    rows = [row(i) | {"partition": "key" if i % 2 else "symmetric"} for i in range(60)]
    for one in rows[1::2]:
        say(one, 2, f"The answer is {one['answer']}.")
    for order in (rows, rows[::-1]):
        found = {one.what: one.verdict for one in audited(tmp_path, order)["leak"].findings}
        assert found == {
            "partition key: the answer is stated": "fail",
            "partition symmetric: the answer is stated": "not testable",
        }


def test_talks_leave_the_curve_of_leaks_once_their_student_is_right(tmp_path: Path) -> None:
    rows = [row(i) for i in range(60)]
    for one in rows[:6]:
        say(one, 2, f"The answer is {one['answer']}.")  # the second turn of its partner
    for one in rows[40:]:
        say(one, 1, f"The answer is {one['answer']}.")  # right after the first
    [found] = [one for one in audited(tmp_path, rows)["leak"].findings if one.curve]
    assert [(at, round(left, 3), n) for at, left, _, _, n in found.curve] == [(2, 0.85, 40)]


@pytest.mark.parametrize("name", ["full_question", "round", "seed", "stop"])
def test_a_field_that_says_something_of_a_run_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=f"'{name}' is what a run of ours says of its own talks"):
        TalkSource(meta=("mine", name))


@pytest.mark.parametrize(("one", "other", "kind"), [
    ("Ann has twenty-five pens.", "Ann has 25 pens!", "equal"),
    ("Ann has 2 dozen pens.", "Ann has 24 pens.", "equal"),
    ("How many pens has Ann?", "Ann has 5 pens and buys 6 more at the shop. How many pens has Ann?", None),
    ("Ann has 5 pens and buys 6. How many has she?", "Ben sold 5 cups and broke 6. What is left of them?", None),
])  # fmt: skip
def test_questions_are_compared_in_digits_and_short_ones_whole(one: str, other: str, kind: str | None) -> None:
    assert alike(read_question(one), read_question(other)) == kind


def test_nearly_the_same_words_are_a_near_duplicate_and_other_numbers_are_not(
    tmp_path: Path,
) -> None:
    rows = [row(i) for i in range(20)]
    for opening in ("Let us look at this.", "Now let us look at it.", "Let's look at it."):
        rows.append(row(1))
        say(rows[-1], 0, rows[-1]["messages"][0]["content"].replace("Let us look at it.", opening))
    checks = audited(tmp_path, rows, embeds=True)
    near, across = [one for one in checks["duplicates"].findings if "nearly" in one.what]
    assert near.verdict == "fail" and near.rate is not None
    assert near.rate.value * near.rate.n == pytest.approx(3)
    assert across.verdict == "pass"
    rows[-1] |= {"split": "test"}
    near, across = [one for one in audited(tmp_path, rows, embeds=True)["duplicates"].findings if "nearly" in one.what]
    assert across.verdict == "fail" and across.rate is not None
    assert across.rate.value * across.rate.n == pytest.approx(1)


def test_two_conditions_of_different_size_are_out_of_balance(tmp_path: Path) -> None:
    rows = [row(i) for i in range(60)]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(one | {"arm": "a" if i % 3 else "b"}) + "\n" for i, one in enumerate(rows))
    )
    checks = examine(open_material(str(tmp_path / "rows.jsonl"), ('condition_name="{arm}"', "audit.reads=closed")))
    (balance,) = [check for check in checks if check.name == "balance"]
    tokens = balance.findings[0]
    assert tokens.verdict == "fail" and tokens.rate is not None and tokens.rate.value == pytest.approx(1, abs=0.1)


def test_a_leak_is_the_first_partner_turn_that_says_the_answer_before_the_student() -> None:
    turns = (
        Turn(party="partner", text="What is il gatto?"),
        Turn(party="student", text="I do not know."),
        Turn(party="partner", text="It is the cat, so il gatto nero."),
        Turn(party="student", text="Il gatto nero!"),
    )
    talk = Talk(id="a", question="the black cat", answer="il gatto nero", turns=turns)
    assert leaks_at(talk) == 1
    assert leaks_at(talk.model_copy(update={"turns": turns[3:] + turns[:3]})) is None


def test_an_answer_in_words_that_its_question_has_is_judged_by_nobody(tmp_path: Path) -> None:
    for question, answer, verdict in (
        ("Capital of France: Paris or Rome?", "Paris", "not testable"), ("Is it so?", "Yes", "not testable"),
        ("Which letter comes first?", "A", "not testable"), ("Capital of France?", "Paris", "pass"),
    ):  # fmt: skip
        said = [("user", question), ("assistant", answer), ("user", "Good."), ("assistant", "Thanks.")]
        one = {
            "question": question, "answer": answer, "earlier": "", "split": "train", "partition": "facts",
            "messages": [{"role": role, "content": text, "train": role == "assistant"} for role, text in said],
        }  # fmt: skip
        [found] = audited(tmp_path, [one] * 3)["leak"].findings
        assert found.verdict == verdict


@pytest.mark.parametrize(("text", "gold", "expected"), [
    ("It is $1,200.", "1200", True),
    ("It is 12000.", "1200", False),
    ("16/4 of them", "4", True),
    ("16/16 of them", "1", False),
    ("le chat noir", "chat noir", True),
    ("le chat noircit", "chat noir", False),
    ("la cle est derriere", "clé est derrière", True),
])  # fmt: skip
def test_an_answer_is_found_whole_however_it_is_written(text: str, gold: str, expected: bool) -> None:
    assert holds(text, gold) is expected


@pytest.mark.slow
def test_what_is_spelled_out_is_read_by_rule_and_a_weak_reader_gives_no_figure(
    tmp_path: Path,
) -> None:
    rows = [row(i) for i in range(12)]
    for i, one in enumerate(rows[:3]):
        say(one, 2, f"Now add {20 + i} and {110 + 3 * i}.")
    found = audited(tmp_path, rows, reader="data/base")["knowledge"].findings
    by_rule, by_model = [one for one in found if "worked out" in one.what]
    assert by_rule.rate is not None and (by_rule.rate.value, by_rule.rate.n) == (0.25, 12)
    assert by_model.verdict == "not testable" and by_model.rate is None and "needs a real model" in by_model.note
    talks = open_material(str(tmp_path / "audit_made.yaml")).talks
    able = functional_leak_share.by_model("by a reader that can read", talks, RuleReader(), "a reader").rate
    assert able is not None and (able.value, able.n) == (0.25, 12)
    broken = functional_leak_share.by_model("by an engine that fails", talks, Broken(), "it")
    assert broken.rate is None and broken.note == "it answered nothing that could be read; 144 of 144 samples failed"


def test_an_empty_share_is_not_testable_and_never_0() -> None:
    found = share("nothing", [], 0.05, empty="no talks")
    assert (found.verdict, found.rate, found.note) == ("not testable", None, "no talks")
    assert share("one", [Tried("a", True), Tried("b", False)], 0.5).verdict == "pass"


def test_the_command_writes_one_page_twice_the_same_and_its_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [row(i) for i in range(60)]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    arguments = [
        "audit",
        "talks.jsonl",
        f"--set=audit.embedder={small_embedder()}",
        "--set=audit.reads=closed",
        *(f'--set={key}="{value}"' for key, value in DESCRIPTION.items()),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    page, data = (tmp_path / "runs/audit/talks" / name for name in ("audit.html", "audit.json"))
    first = page.read_bytes(), data.read_bytes()
    assert b"http" not in first[0].replace(b"http://www.w3.org", b"").replace(b"http://purl.org", b"")
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (page.read_bytes(), data.read_bytes()) == first
    leak(rows)
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert CliRunner().invoke(app, ["audit", "nowhere.jsonl"]).exit_code == 2


def test_the_turns_of_other_peoples_data_are_read_by_the_reader_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from pipeline.core.readings import PartnerReading, StudentReading\n"
        "from pipeline.reading.protocol import Unread\n"
        "class Reads:\n"
        "    async def student(self, turns): return [\n"
        "        Unread('no') if 'mumbles' in turn.text else StudentReading(attempt=turn.answer) for turn in turns]\n"
        "    async def partner(self, turns): return [PartnerReading() for turn in turns]\n"
        "READER = Reads()\n"
    )
    rows = [row(1), row(2), row(3)]
    say(rows[0], 1, "Fifty, I think.")
    say(rows[1], 1, "mumbles")
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    named = tuple(f'{key}="{value}"' for key, value in DESCRIPTION.items())
    material = open_material(str(path), (*named, f"audit.reads={tmp_path}/own.py:READER"))
    assert [len(material.talks), len(material.bad)] == [2, 1]
    assert rights(material.talks[0]) == [False, True, False, True]
    assert rights(open_material(str(path), (*named, "audit.reads=closed")).talks[0]) == [False, False, False, True]
