"""Underspecified conversation with students that always or never hear what they are told."""

import asyncio
import math
import os
import re
from functools import partial

import pytest
from rich.console import Console

from evals.exams.lost.lost import EXAM, MODES, played, scored, sit
from evals.exams.lost.unreliability import lost_block, lost_tables, percentile, variance
from evals.metrics.case import Case
from evals.report.rendering import environment
from evals.sitting.sitting import Sitting
from evals.stats.intervals import tabulate
from evals.stats.number_format import clean
from pipeline.core.schema import Fact, Message, Task, Turn
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment
from tests.evals.small_exam import ratios, weights
from tests.fakes import FakeModel

TASK = Task(
    id="trio",
    source="embedded",
    specification="underspecified",
    question="Tom has some pens. Ana has 12 pens. Mia has some pens. How many pens do Tom, Ana and Mia have together?",
    full_question="Tom has 30 pens. Ana has 12 pens. Mia has 5 pens. How many pens do Tom, Ana and Mia have together?",
    answer="47",
    facts=(
        Fact(id="a", text="Tom has 30 pens.", public=False),
        Fact(id="b", text="Ana has 12 pens."),
        Fact(id="c", text="Mia has 5 pens.", public=False),
    ),
)
WHOLE = TASK.model_copy(update={"id": "whole", "specification": "full", "facts": (TASK.facts[1],)})


experiment = partial(small_experiment, exams={"include": ["lost"], "lost": {"samples": 4}})


class Adder(FakeModel):
    """Adds the numbers of the whole problem once it can read them, and else says `before`."""

    def __init__(self, reads, before="I guess the answer is 9."):
        self.reads, self.before, self.asked = reads, before, list[list[Message]]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.asked.append(messages)
        text = self.reads(messages)
        known = all(fact.text in text for fact in TASK.facts)
        return Completion("The answer is 47." if known else self.before, tokens=4, prompt_tokens=9)


def everything(messages: list[Message]) -> str:
    return " ".join(message["content"] for message in messages if message["role"] == "user")


def first_message(messages: list[Message]) -> str:
    return messages[0]["content"]


def last_message(messages: list[Message]) -> str:
    return f"{TASK.facts[1].text} {messages[-1]['content']}"


def sitting(student, problems=(TASK, WHOLE), seed=1, **changes) -> Sitting:
    return Sitting(experiment=experiment(**changes), student=student, peer=student, seed=seed, tasks=problems)


def figures(student, **changes) -> dict[str, tuple[float, int]]:
    return {case.metric: (case.hits, case.n) for case in asyncio.run(sit(sitting(student, **changes)))}


@pytest.mark.parametrize(
    ("reads", "right"),
    [
        (everything, {"full", "concat", "sharded", "recap", "snowball"}),
        (first_message, {"full", "concat"}),
        (last_message, {"full", "concat", "recap", "snowball"}),
    ],
)
def test_who_reads_what_is_right_in_the_modes_that_tell_it_there(reads, right):
    found = figures(Adder(reads))
    assert found == {
        f"{score}@{mode}": (4.0 * (mode in right), 4) for score in ("lost_final", "lost_any") for mode in MODES
    }


def test_only_tasks_that_lack_a_fact_are_told_in_shards():
    cases = asyncio.run(sit(sitting(Adder(everything))))
    assert {case.task for case in cases} == {"trio"}
    assert asyncio.run(sit(sitting(Adder(everything), problems=(WHOLE,)))) == []


def talks(student=None, sample=0) -> dict[str, list[Turn]]:
    return asyncio.run(played(sitting(student or ScriptedModel()), TASK, sample)).of_mode


def told(turns: list[Turn]) -> list[list[int]]:
    """The numbers that each of the partner's turns states."""
    return [[int(n) for n in re.findall(r"\d+", turn.text)] for turn in turns if turn.party == "partner"]


def test_the_partner_tells_a_shard_a_turn_and_repeats_where_the_mode_says_so():
    found = {mode: told(turns) for mode, turns in talks().items()}
    assert found == {
        "full": [],
        "concat": [[30], [5]],
        "sharded": [[30], [5]],
        "recap": [[30], [5], [30, 5]],
        "snowball": [[30], [30, 5]],
    }


def test_concat_pastes_the_partners_turns_of_the_same_sample():
    for sample in range(6):
        found = talks(sample=sample)
        said = {mode: [t.text for t in found[mode] if t.party == "partner"] for mode in ("concat", "sharded")}
        assert said["concat"] == said["sharded"]
    student = Adder(everything)
    last = talks(student)["concat"]
    [asked] = [messages for messages in student.asked if len(messages) == 1 and last[0].text in messages[0]["content"]]
    assert asked[0]["content"].startswith(TASK.question) and asked[0]["content"].endswith(last[1].text)


def test_no_mode_but_full_opens_with_a_fact_that_is_missing():
    student = Adder(everything)
    talks(student)
    first = [messages[0]["content"].split("\n")[0] for messages in student.asked]
    assert sorted(set(first)) == sorted([TASK.question, TASK.full_question])
    assert first.count(TASK.full_question) == 1


def test_a_talk_goes_on_after_done_and_after_a_right_answer():
    found = talks(ScriptedModel(("The answer is 47. I am done.",)))
    assert [sum(turn.party == "student" for turn in found[mode]) for mode in MODES] == [1, 1, 3, 4, 3]


def turns(*lines: str) -> list[Turn]:
    return [Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("lines", "final", "ever"),
    [
        (("The answer is 47.",), 1, 1),
        (("The answer is 47.", "So.", "The answer is 9."), 0, 1),
        (("The answer is 9.", "So.", "The answer is 47.", "So.", "I see."), 1, 1),
        (("The answer is 9.",), 0, 0),
        (("Hm.", "The answer is 47.", "Hm."), 0, 0),
    ],
)
def test_the_last_answer_counts_and_beside_it_whether_any_was_right(lines, final, ever):
    assert scored(TASK, turns(*lines)) == (final, ever)


def test_the_first_right_attempt_wins_for_who_guesses_and_the_last_answer_does_not():
    lines = [f"The answer is {n}." for n in (45, 46, 47, 48)]
    cases = asyncio.run(sit(sitting(ScriptedModel(tuple(lines)), exams={"include": ["lost"], "lost": {"samples": 40}})))
    share = {case.metric: case.hits / case.n for case in cases}
    assert share["lost_any@recap"] > share["lost_final@recap"] + 0.2
    assert share["lost_any@full"] == share["lost_final@full"]


def test_the_same_seed_gives_the_same_cases_and_another_seed_others():
    student = ScriptedModel(("The answer is 47.", "The answer is 9."))
    first, again, other = (asyncio.run(sit(sitting(student, seed=seed))) for seed in (1, 1, 2))
    assert first == again != other


def test_metrics_and_costs_are_those_that_the_exam_has():
    student = Adder(everything)
    found = figures(student)
    assert found.keys() == ratios(EXAM, experiment())
    assert weights(EXAM, "lost_loss") == {"lost_final@full": 1, "lost_final@sharded": -1}
    assert len(student.asked) == EXAM.answers(experiment(), [TASK, WHOLE])


@pytest.mark.parametrize(
    ("right", "a90", "u", "spread"),
    [(0, 0, 0, 0), (1, 0.1, 0.1, 0.1), (2, 1, 1, 16 / 90), (5, 1, 1, 25 / 90), (9, 1, 0.1, 0.1), (10, 1, 0, 0)],
)
def test_percentiles_and_variance_of_ten_talks(right, a90, u, spread):
    assert percentile(right, 10, 90) == pytest.approx(a90)
    assert percentile(right, 10, 90) - percentile(right, 10, 10) == pytest.approx(u)
    assert variance(right, 10) == pytest.approx(spread)


def tables(full: list[int], sharded: list[int]):
    """Right talks of 10, a task each; the other modes are as sharded."""
    return tabulate(
        {
            1: [
                Case(exam="lost", task=f"t{i}", metric=f"{score}@{mode}", hits=hits, n=10)
                for score in ("lost_final", "lost_any")
                for mode in MODES
                for i, hits in enumerate(full if mode == "full" else sharded)
            ]
        }
    )


def test_the_block_says_by_how_much_a_mode_falls_behind_the_whole_problem():
    found = lost_block({"base": tables([10, 10, 8, 8], [10, 6, 4, 1]), "untested": {}})["students"]
    assert found.keys() == {"base"}
    modes, differences = found["base"]["lost_final"]["modes"], found["base"]["lost_final"]["differences"]
    assert modes["full"]["P"]["value"] == pytest.approx(0.9) and modes["full"]["P"]["n"] == 40
    assert modes["sharded"]["P"]["value"] == pytest.approx(21 / 40)
    assert modes["sharded"]["P_of_full"]["value"] == pytest.approx(21 / 36) and modes["sharded"]["P_of_full"]["n"] == 4
    assert modes["sharded"]["A90"]["value"] == pytest.approx((1 + 1 + 1 + 0.1) / 4)
    assert modes["sharded"]["U"]["value"] == pytest.approx((0 + 1 + 1 + 0.1) / 4)
    loss = differences["full - sharded"]["P"]
    assert loss["value"] == pytest.approx(15 / 40) and loss["low"] < 15 / 40 < loss["high"] and loss["n"] == 4
    assert differences["recap - sharded"]["P"]["value"] == 0
    assert modes["full"]["P_of_full"]["value"] == 1 and math.isnan(modes["full"]["P_of_full"]["low"])


def test_a_share_of_nothing_is_no_number():
    found = lost_block({"base": tables([0, 0], [3, 0])})["students"]["base"]["lost_final"]["modes"]
    assert math.isnan(found["sharded"]["P_of_full"]["value"]) and found["sharded"]["P"]["value"] == pytest.approx(0.15)
    assert lost_block({"base": {}}) is None


def test_the_page_and_the_terminal_show_every_mode_and_a_dash_for_what_is_no_number():
    block = clean(lost_block({"base": tables([0, 0], [3, 0])}))
    html = environment().get_template("lost.html.j2").render(lost=block)
    assert all(f"<td>{mode}</td>" in html for mode in MODES) and "<td>–</td>" in html and "nan" not in html
    assert [table.row_count for table in lost_tables(block)] == [5, 4]
    assert environment().get_template("lost.html.j2").render(lost=None).strip() == ""


class Reader(FakeModel):
    """Knows the answer of one task, and says it once it has read the whole problem or every shard of it."""

    def __init__(self, task: Task):
        self.task = task

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        read = everything(messages)
        known = self.task.full_question in read or all(fact.text in read for fact in self.task.missing)
        return Completion(
            f"The answer is {self.task.answer}." if known else "I cannot tell.", tokens=4, prompt_tokens=9
        )


def test_every_real_sharded_problem_is_told_whole_in_every_mode():
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the published sharded problems are not told")
    exp = experiment(
        tasks={"source": "sharded", "path": f"{folder}/sharded_gsm8k/sharded_gsm8k.json", "exam": {"sharded": 10_000}}
    )
    problems, _ = load_tasks(exp.tasks, "exam")
    assert len(problems) > 50
    for task in problems:
        student = Reader(task)
        found = asyncio.run(
            played(Sitting(experiment=exp, student=student, peer=student, seed=1, tasks=(task,)), task, 0)
        ).of_mode
        assert [scored(task, found[mode]) for mode in MODES] == [(1.0, 1.0)] * 5
        assert [sum(t.party == "student" for t in found[mode]) for mode in ("sharded", "recap", "snowball")] == [
            len(task.missing) + 1,
            len(task.missing) + 2,
            len(task.missing) + 1,
        ]
        early = found["sharded"][: 2 * len(task.missing)]
        assert scored(task, early) == (0.0, 0.0)


class Noting(FakeModel):
    """Keeps what it reads, turn by turn."""

    def __init__(self):
        self.read: list[list[str]] = []

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.read.append([message["content"] for message in messages])
        return Completion("Hm.", tokens=1, prompt_tokens=1)


def test_before_a_shard_is_told_nobody_says_it_nor_the_answer():
    """The same talks in another world: the second shard and the answer are others."""
    other = TASK.facts[2].model_copy(update={"text": "Mia has 61 pens."})
    question = TASK.full_question.replace("Mia has 5", "Mia has 61")
    elsewhere = TASK.model_copy(
        update={"facts": (*TASK.facts[:2], other), "answer": "103", "full_question": question, "id": TASK.id}
    )
    first, second = Noting(), Noting()
    for task, student in ((TASK, first), (elsewhere, second)):
        asyncio.run(
            played(Sitting(experiment=experiment(), student=student, peer=student, seed=1, tasks=(task,)), task, 0)
        )
    early = [[read for read in student.read if "Mia has 5 " not in "".join(read)] for student in (first, second)]
    early[1] = [read for read in second.read if "Mia has 61 " not in "".join(read)]
    assert early[0] == early[1] and len(early[0]) == 2
    assert not any("47" in text for read in first.read for text in read)


def test_the_problem_told_at_once_has_nothing_private_left():
    whole = TASK.told_at_once()
    assert (whole.question, whole.specification, whole.missing) == (TASK.full_question, "full", ())
    assert known(whole, Condition(partition="facts"), "partner").private == ()
    assert known(whole, Condition(partition="facts"), "student").facts == whole.facts


def test_on_a_narrow_terminal_no_mode_is_cut_short():
    tasks = [TASK.model_copy(update={"id": f"t{i}"}) for i in range(3)]
    student = ScriptedModel(("The answer is 47.",))
    cases = asyncio.run(
        sit(Sitting(experiment=experiment(), student=student, peer=student, seed=1, tasks=tuple(tasks)))
    )
    console = Console(width=80, record=True)
    console.print(*lost_tables(clean(lost_block({"a_long_name_of_a_student": tabulate({1: cases})}))))
    assert "…" not in console.export_text()
