"""The exam beside people: what the student reads, what is compared, and figures small enough to check by eye."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, PackageLoader, StrictUndefined

from evals.examining.exam_checks import measured
from evals.examining.examine import examine
from evals.examining.students import examine_all
from evals.exams.human.beside_people import AGAIN, THEMSELVES, beside_people, people_tables
from evals.exams.human.human import UNSEEN, asked_for, reads
from evals.exams.human.kappa import compare, gaps, kappas, shuffled
from evals.exams.human.people import HumanTurn, People, labelled, places
from evals.sitting.examined_run import Run
from evals.sitting.sitting import needs_real_model
from evals.stats.intervals import Rate
from evals.stats.number_format import clean, interval, number
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.engines.model import Completion
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.runs.store import StoreError
from pipeline.tasks.split import split_of
from tests.builders import small_experiment

ROOT = Path(__file__).parents[3]
ASK, TELL, THANKS = "How many pens does Tom have?", "Work it out.", "Okay, I see."


def source(folder: Path, rows: list[dict], **keys: str) -> str:
    """A corpus of rows {question, answer, messages: [[role, text], ...]} and its description."""
    folder.mkdir(exist_ok=True)
    lines = [
        json.dumps(row | {"messages": [{"role": role, "content": text} for role, text in row["messages"]]})
        for row in rows
    ]
    (folder / "talks.jsonl").write_text("\n".join(lines))
    named = {"files": {"all": str(folder / "talks.jsonl")}, "question": "{question}", "answer": "{answer}"} | keys
    (folder / "talks.yaml").write_text(json.dumps(named))  # JSON is YAML
    return str(folder / "talks.yaml")


def row(*texts: str, question: str = "Tom has some pens.", answer: str = "5", **more: object) -> dict:
    """The teacher and the student in turn, the teacher first."""
    messages = [["teacher" if i % 2 == 0 else "student", text] for i, text in enumerate(texts)]
    return {"question": question, "answer": answer, "messages": messages} | more


def experiment(tmp_path: Path, corpus: str, engine: str = "scripted", **human: object) -> Experiment:
    return small_experiment(
        exams={"samples": 2, "include": ["human"], "human": {"source": corpus, **human}},
        out=str(tmp_path / "run"),
        seeds=[1, 2],
        engine={"kind": engine},
        student={"model": str(ROOT / "data/base")},
        tasks={"exam": {"full": 1}},
    )


def human_turn(i: int, acts: tuple[str, ...], position: str = "1", conversation: str = "") -> HumanTurn:
    return HumanTurn(
        id=f"turn-{i}", conversation=conversation or f"talk-{i}", position=position, text="Well.", acts=acts
    )


def test_kappa_and_gap_are_those_counted_by_hand():
    """n 10; the person 4, the student 5, both 3: agreed in 7 of 10, by chance in .4 x .5 + .6 x .5 = .5."""
    assert kappas(np.array([10.0, 4, 5, 3])) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert gaps(np.array([10.0, 4, 5, 3])) == pytest.approx(1 - 5 / 4)
    assert gaps(np.array([200.0, 80, 18, 0])) == pytest.approx(0.775)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (10, 0, 5, 0), (10, 5, 0, 0), (10, 10, 10, 10)])
def test_kappa_is_not_a_number_where_a_side_has_no_case_or_both_nothing_else(counts):
    assert np.isnan(kappas(np.array(counts, dtype=float)))
    assert np.isnan(gaps(np.array(counts, dtype=float))) == (counts[1] == 0)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
@settings(deadline=None)
def test_kappa_is_agreement_beyond_chance_over_what_chance_leaves(pairs):
    n, h, m, b = len(pairs), sum(x for x, _ in pairs), sum(y for _, y in pairs), sum(x and y for x, y in pairs)
    agreed = sum(x == y for x, y in pairs) / n
    chance = h / n * m / n + (n - h) / n * (n - m) / n
    found = float(kappas(np.array([n, h, m, b], dtype=float)))
    assert (
        np.isnan(found) if not h or not m or chance == 1 else found == pytest.approx((agreed - chance) / (1 - chance))
    )


def test_figures_by_position_count_every_draw_and_each_person_once():
    """Ten talks. First turns: all ask, the student in one draw of two. Second turns: nobody, the student always."""
    turns = {}
    for i in range(10):
        turns[f"turn-{i}"] = human_turn(i, ("question",))
        turns[f"turn-{100 + i}"] = human_turn(100 + i, (), "2", f"talk-{i}")
    truth = {key: turn.acts for key, turn in turns.items()}
    draws = {key: [("question",), ()] if turn.position == "1" else [("question",)] * 2 for key, turn in turns.items()}
    found = compare(turns, truth, [draws])["question"]
    first, second, both = found["1"], found["2"], found["all"]
    assert (first["n"], first["people"]["n"], first["people"]["value"], first["student"]["value"]) == (20, 10, 1.0, 0.5)
    assert first["difference"]["value"] == -0.5 and first["gap"]["value"] == 0.5 and first["kappa"]["value"] == 0.0
    assert np.isnan(second["kappa"]["value"]) and np.isnan(second["gap"]["value"])
    assert second["difference"]["value"] == 1.0
    # Together h 20, m 30, b 10 of n 40: agreed in 10 + 0 of 40, by chance in 1/2.
    assert (both["n"], both["people"]["n"], both["kappa"]["value"], both["gap"]["value"]) == (40, 20, -0.5, -0.5)
    assert found["3"]["n"] == 0 and np.isnan(found["3"]["people"]["value"])


def test_the_difference_beside_people_is_of_all_seeds():
    """People ask in every other talk; of three students one never asks, and two always do."""
    turns = {f"turn-{i}": human_turn(i, ("question",) if i % 2 else ()) for i in range(40)}
    truth = {key: turn.acts for key, turn in turns.items()}
    seeds = [{key: [acts] for key in turns} for acts in ((), ("question",), ("question",))]
    found = compare(turns, truth, seeds)["question"]["all"]
    assert (found["n"], found["people"]["n"], found["people"]["value"]) == (120, 40, 0.5)
    assert found["student"]["value"] == pytest.approx(2 / 3) and found["difference"]["value"] == pytest.approx(1 / 6)
    assert found["difference"]["value"] == pytest.approx(-found["gap"]["value"] * 0.5)
    assert compare({"turn-0": turns["turn-0"]}, truth, [{}])["question"]["all"]["n"] == 0


def test_what_people_do_in_few_conversations_has_a_rate_and_no_kappa():
    turns = {f"turn-{i}": human_turn(i, ("repair",) if i < 9 else ()) for i in range(30)}
    truth = {key: turn.acts for key, turn in turns.items()}
    found = compare(turns, truth, [{key: [acts] for key, acts in truth.items()}])["repair"]["all"]
    assert found["people"]["value"] == 0.3 and np.isnan(found["kappa"]["value"]) and np.isnan(found["gap"]["value"])


def test_of_one_conversation_and_one_seed_no_kappa_has_an_interval():
    turns = {"turn-0": human_turn(0, ("repair",))}
    found = compare(turns, {"turn-0": ("repair",)}, [{"turn-0": [("repair",)]}])["repair"]["all"]
    assert found["people"]["value"] == 1 and np.isnan(found["kappa"]["low"]) and np.isnan(found["gap"]["low"])


def made_turns(count: int, rate: float) -> dict[str, HumanTurn]:
    rng = np.random.default_rng(1)
    acts = [("question", "grounding") if yes else () for yes in rng.random(count) < rate]
    return {f"turn-{i}": human_turn(i, seen, "123"[i % 3], f"talk-{i // 3}") for i, seen in enumerate(acts)}


@given(st.integers(60, 90), st.floats(0.4, 0.6))
@settings(deadline=None, max_examples=5)
def test_people_beside_themselves_agree_wholly_and_have_no_gap(count, rate):
    turns = made_turns(count, rate)
    truth = {key: turn.acts for key, turn in turns.items()}
    found = compare(turns, truth, [{key: [acts] for key, acts in truth.items()}])["question"]["all"]
    for key, value in (("kappa", 1), ("gap", 0)):
        assert [found[key][part] for part in ("value", "low", "high")] == pytest.approx([value] * 3)
    assert found["difference"]["value"] == 0


def test_other_peoples_turns_have_the_same_rates_and_agree_by_chance():
    turns = made_turns(900, 0.5)
    truth = {key: turn.acts for key, turn in turns.items()}
    found = compare(turns, truth, [shuffled(turns)])["question"]
    for position in ("1", "2", "3"):
        cell = found[position]
        assert cell["people"]["value"] == pytest.approx(cell["student"]["value"])
        assert abs(cell["kappa"]["value"]) < 0.05 and cell["kappa"]["low"] < 0.02


def test_a_student_reads_the_question_and_what_was_said_before_and_nothing_else(tmp_path):
    ours = row(TELL, ASK, "Five.", THANKS, "Good.")
    other = row(TELL, ASK, "Five.", THANKS, "Nothing like it.", answer="77") | {"solution": "7 times 11."}
    told = [
        places(People(source=source(tmp_path / name, [talk], solution="{solution}")))[0]
        for name, talk in (("a", ours | {"solution": "2 plus 3."}), ("b", other))
    ]
    assert list(map(reads, told[0])) == list(map(reads, told[1]))
    assert reads(told[0][1], "Say one turn.") == [
        {"role": "system", "content": "Say one turn."},
        {"role": "user", "content": f"Tom has some pens.\n\n{TELL}"},
        {"role": "assistant", "content": ASK},
        {"role": "user", "content": "Five."},
    ]


def test_the_partys_own_turns_are_the_assistants_and_the_user_begins(tmp_path):
    corpus = source(tmp_path / "a", [row(TELL, ASK, "Five.", question="")])
    found, _ = places(People(source=corpus, party="partner"))
    assert [m["content"] for m in reads(found[1])] == [UNSEEN, TELL, ASK]
    assert [m["role"] for m in reads(found[1])] == ["user", "assistant", "user"]
    assert asked_for(found, 9) == found[1:]  # nothing precedes the first


def test_a_restatement_repeats_what_the_other_party_said_and_a_follow_up_asks_again(tmp_path):
    question, fact = "Tom has 30 pens. How many pens are left?", "Tom has 30 pens."
    said = [TELL, fact, "Go on.", f"So {fact}", fact, f"So {fact}", "Yes.", "How many pens has Tom?", "As I say.", ASK]
    found, _ = places(People(source=source(tmp_path / "a", [row(*said, question=question)])))
    acts = [{*turn.acts} for turn in asyncio.run(labelled(found))]
    assert ["restate" in seen for seen in acts] == [False, False, True, False, False]
    assert ["follow_up" in seen for seen in acts] == [False, False, False, False, True]
    assert ["clarify" in seen for seen in acts] == ["grounding" in seen for seen in acts] == [False] * 3 + [True] * 2


def test_a_turn_that_stands_in_several_rows_is_one_and_keeps_its_labels(tmp_path):
    rows = [row(TELL, ASK, "Five.", THANKS, acts=[False, True]), row(TELL, ASK, acts=["True", "False"])]
    human = People(source=source(tmp_path / "a", rows, meta=["acts"]), labels={"acts": ("question", "attempt")})
    found, bad = places(human)
    assert ([place.text for place in found], bad) == ([ASK, THANKS], [])
    assert [place.people for place in found] == [("question", "grounding"), ("attempt",)]
    assert len({place.conversation for place in found}) == 1
    assert [place.position for place in found] == ["1", "2"]


def test_only_whole_conversations_are_asked_for_as_many_as_fit(tmp_path):
    talks = [row(TELL, ASK, f"They are {i}.", THANKS, question=f"Tom has {i} pens.") for i in range(8)]
    corpus = source(tmp_path / "a", talks)
    found, _ = places(People(source=corpus))
    for most, count in ((1, 2), (2, 2), (5, 4), (16, 16), (99, 16)):
        asked = asked_for(found, most)
        assert len(asked) == count and len({place.conversation for place in asked}) == count // 2


def test_no_student_of_real_problems_is_asked_on_one_of_the_train_split(tmp_path):
    talks = [row(TELL, ASK, question=f"Tom has {i} pens.") for i in range(30)]
    found, _ = places(People(source=source(tmp_path / "a", talks)))
    asked = asked_for(found, 99, held_out=True)
    assert {place.question for place in asked} == {q for talk in talks if split_of(q := talk["question"]) == "exam"}
    assert 0 < len(asked) < len(asked_for(found, 99)) == 30


class Echo(ScriptedModel):
    """Asks where it was told to work it out, else thanks; at temperature 0 it always asks."""

    async def complete(self, messages, sampling):
        asks = TELL in messages[-1]["content"] or sampling.temperature == 0
        return Completion(ASK if asks else THANKS, tokens=4, prompt_tokens=9)


class Silent(ScriptedModel):
    async def complete(self, messages, sampling):
        raise AssertionError("this student must not be asked")


def talks_of_ten() -> list[dict]:
    """First turns: all ask. Second turns: half thank, half ask."""
    return [
        row(TELL, ASK, f"They are {i}.", THANKS if i % 2 else ASK, question=f"Tom had {i} pens, and lost some.")
        for i in range(10)
    ]


def sit(exp: Experiment, student) -> list[dict]:
    path = asyncio.run(examine(Cell(exp, "base", 1), None, student, student, [], []))
    return [json.loads(line) for line in path.read_text().splitlines()]


def rendered(block: dict | None) -> str:
    env = Environment(loader=PackageLoader("evals"), undefined=StrictUndefined, autoescape=True)
    env.filters.update(number=number, interval=interval)
    return env.get_template("human.html.j2").render(people=[clean(block)])


def test_a_scripted_student_has_the_figures_counted_by_hand(tmp_path):
    """It asks in all first turns, as people do, and thanks in all second ones, of which people thank in half."""
    exp = experiment(tmp_path, source(tmp_path / "a", talks_of_ten()))
    examine_all(exp.model_copy(update={"conditions": {}}))  # writes what people did
    cases = sit(exp, Echo())
    assert {case["metric"] for case in cases} - measured(exp) == set()
    sampled = [case for case in cases if case["metric"] == "question@people" and not case["greedy"]]
    assert (sum(case["hits"] for case in sampled), sum(case["n"] for case in sampled)) == (20, 40)
    (exp.run / "results/base/seed-2.people.jsonl").unlink()  # of the canned model, not of this student
    block = beside_people(Run(exp, {"base": "the base"}))
    assert block is not None and (block["turns"], block["conversations"]) == (20, 10)
    mine = block["students"]["the base"]
    assert (mine["asked"], mine["seeds"], mine["needs_real_model"]) == (20, 1, False)
    questions = mine["acts"]["question"]
    assert [questions[p]["people"]["value"] for p in ("1", "2", "all")] == [1.0, 0.5, 0.75]
    assert [questions[p]["student"]["value"] for p in ("1", "2", "all")] == [1.0, 0.0, 0.5]
    # Of 40 pairs h 30, m 20, b 20: agreed in 30, by chance in .75 x .5 + .25 x .5 = .5.
    assert questions["all"]["kappa"]["value"] == pytest.approx(0.5)
    assert questions["all"]["gap"]["value"] == pytest.approx(1 / 3)
    assert mine["greedy"]["question"]["all"]["student"]["value"] == 1.0
    assert block["references"][THEMSELVES]["question"]["all"]["kappa"]["value"] == 1.0
    assert THEMSELVES in rendered(block) and "needs a real model" not in rendered(block)
    assert [table.row_count > 1 for table in people_tables(block)] == [True, True]


class Listener(Echo):
    """Keeps what it was asked with."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = list[list[Message]]()

    async def complete(self, messages, sampling):
        self.heard.append(messages)
        return await super().complete(messages, sampling)


def test_a_role_is_said_before_the_prompt_that_all_students_have(tmp_path):
    heard = {}
    for role in ("You are a learner.", ""):
        exp = experiment(tmp_path / (role or "none"), source(tmp_path / "a", talks_of_ten()), role=role)
        exp = exp.model_copy(update={"student": exp.student.model_copy(update={"prompts": "brief"})})
        examine_all(exp.model_copy(update={"conditions": {}}))
        listener = Listener()
        sit(exp, listener)
        heard[role] = {m["content"] for messages in listener.heard for m in messages if m["role"] == "system"}
    (plain,) = heard[""]
    assert heard["You are a learner."] == {f"You are a learner. {plain}"}


def test_the_embedded_base_is_not_asked_and_says_that_it_needs_a_real_model(tmp_path):
    exp = experiment(tmp_path, source(tmp_path / "a", talks_of_ten()), engine="transformers")
    assert needs_real_model(exp)
    assert sit(exp, Silent()) == []
    examine_all(exp)
    block = beside_people(Run(exp, {"base": "base", "facts": "facts"}))
    assert block is not None and block["students"].keys() == {"base"}
    assert block["students"]["base"]["needs_real_model"] and block["students"]["base"]["acts"] == {}
    assert "needs a real model" in rendered(block)


def test_weights_that_are_no_embedded_base_are_asked_through_their_engine(tmp_path):
    """The embedded base without its recipe stands for a real model."""
    shutil.copytree(ROOT / "data/base", tmp_path / "model", ignore=shutil.ignore_patterns("recipe.json"))
    exp = experiment(tmp_path, source(tmp_path / "a", talks_of_ten()), engine="transformers", most=4)
    exp = exp.model_copy(update={"student": exp.student.model_copy(update={"model": str(tmp_path / "model")})})
    examine_all(exp)
    block = beside_people(Run(exp, {"base": "base"}))
    assert block is not None
    mine = block["students"]["base"]
    assert (mine["asked"], mine["seeds"], mine["acts"]["question"]["all"]["n"]) == (4, 2, 16)


def test_answers_to_turns_that_the_corpus_no_longer_has_are_an_error(tmp_path):
    exp = experiment(tmp_path, source(tmp_path / "a", talks_of_ten()))
    examine_all(exp)
    (exp.run / "results/people.jsonl").write_text(human_turn(1, ()).model_dump_json() + "\n")
    with pytest.raises(StoreError, match=r"seed-1.people.jsonl: 20 answers are to turns that .* does not have"):
        beside_people(Run(exp, {"base": "base"}))


def test_a_run_without_the_exam_has_no_block(tmp_path):
    exp = experiment(tmp_path, source(tmp_path / "a", talks_of_ten()))
    assert beside_people(Run(exp, {"base": "base"})) is None


def test_a_corpus_or_section_that_cannot_be_used_says_so(tmp_path):
    corpus = source(tmp_path / "a", [row(TELL, "Hello.") | {"messages": [["teacher", "Hello."]]}])
    with pytest.raises(ConfigError, match=r"has no turn of the student in 1 dialogues \(0 rows"):
        places(People(source=corpus))
    with pytest.raises(ConfigError, match=r"exams.human.labels.acts: 'asks' is not an act. Known: clarify"):
        places(People(source=corpus, labels={"acts": ("asks",)}))


def test_of_several_people_the_first_is_the_person_and_others_stand_beside(tmp_path):
    rows = [
        row(TELL, f"Are they {i}?", question=f"Tom had {i} pens.", more=[ASK if i < 10 else THANKS, ASK, " ", THANKS])
        for i in range(20)
    ]
    rows.append(row(TELL, ASK, question="Nobody answers.", more=[]))
    corpus = source(tmp_path / "a", rows, meta=["more"])
    exp = experiment(tmp_path, corpus, party="partner", several="more")
    examine_all(exp)
    block = beside_people(Run(exp, {}))
    assert block is not None and block["turns"] == 20
    found = block["references"][AGAIN]["question"]["2"]
    # Two others at each of twenty places: the person asks at ten, and of the others one in two does, everywhere.
    assert (found["n"], found["people"]["value"], found["student"]["value"]) == (40, 0.5, 0.5)
    assert (found["kappa"]["value"], found["gap"]["value"]) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "human", "turns"),
    [
        ("cima", {"turns": "last"}, 1135),
        ("cima", {"party": "partner", "several": "tutorResponses"}, 1135),
        ("bridge", {"turns": "last", "party": "partner"}, 490),
        ("mathdial", {"party": "partner"}, 1752),
    ],
)
def test_people_of_the_published_sets_are_their_own_reference(name, human, turns):
    if not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: people's own rates are not checked")
    found, bad = places(People(source=str(ROOT / f"configs/audit_{name}.yaml"), **human))
    assert (len(found), bad) == (turns, [])
    said = {turn.id: turn for turn in asyncio.run(labelled(found))}
    truth = {key: turn.acts for key, turn in said.items()}
    themselves = compare(said, truth, [{key: [acts] for key, acts in truth.items()}])["question"]["all"]
    others = compare(said, truth, [shuffled(said)])["question"]["all"]
    assert Rate(**themselves["kappa"])[:3] == (1, 1, 1) and abs(others["kappa"]["value"]) < 0.06
    assert others["gap"]["value"] == pytest.approx(0, abs=0.01)
