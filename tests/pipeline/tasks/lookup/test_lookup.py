"""Look-ups: minimal pairs that no word tells apart, splits by combination, wordings and kinds that are held out."""

import itertools
import json
import random
import re
from collections import Counter

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from evals.stats.wording_shortcut import wording, youden_j
from maieutic.cli import app
from pipeline.core.errors import ConfigError
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.experiment.assignment import exam_tasks
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.reading.correctness import judged
from pipeline.reading.protocol import measured
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.lookup import KINDS
from pipeline.tasks.lookup.lookup_tasks import HAS, NONE, OPTIONS, lookup_tasks, make_task
from pipeline.tasks.lookup.words import words
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import HELD_OUT
from tests.builders import small_experiment

SEEDS = st.integers(0, 10**6)
COUNTS = {"full": 40, "underspecified": 40, "false_premise": 10}


def some(split, specification, count, **how):
    return list(itertools.islice(lookup_tasks(split, specification, **how), count))


def sentences_and_question(task):
    *told, _ = re.split(r"(?<=[.!?])\s+", task.question)
    return told, task.question.removeprefix(" ".join(told)).strip()


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, held_out=st.booleans())
def test_twins_differ_in_what_is_withheld_alone(seed, held_out):
    full, under = (make_task(seed, name, held_out) for name in ("full", "underspecified"))
    assert (full.full_question, full.answer, full.kind, full.split, full.wrong_answer) == (
        under.full_question, under.answer, under.kind, under.split, under.wrong_answer
    )  # fmt: skip
    assert [(f.id, f.text, f.needed, f.ask) for f in full.facts] == [
        (f.id, f.text, f.needed, f.ask) for f in under.facts
    ]
    # What the one lacks of what is asked about, the other lacks of the same about something else.
    mirrored = {fact.id.replace("f", "d") for fact in under.missing}
    assert mirrored == {fact.id for fact in full.facts if not fact.public} and not full.missing
    assert sentences_and_question(full)[1] == sentences_and_question(under)[1]
    assert len(sentences_and_question(full)[0]) == len(sentences_and_question(under)[0])


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, specification=st.sampled_from(HAS), held_out=st.booleans())
def test_withheld_sentences_and_values_stand_nowhere_else(seed, specification, held_out):
    task = make_task(seed, specification, held_out)
    told, question = sentences_and_question(task)
    public = [fact.text for fact in task.facts if fact.public]
    assert set(public) <= set(told)
    for fact in task.facts:
        assert fact.public or fact.text not in task.question
    if task.missing:
        whole = re.compile(rf"\b{re.escape(task.answer.lstrip('$'))}\b", re.I)
        last = task.missing[-1] if len(task.missing) == 1 else next(f for f in task.missing if whole.search(f.text))
        assert whole.search(last.text)
        assert not any(whole.search(sentence) for sentence in told)
        assert not any(whole.search(fact.text) for fact in task.facts if fact is not last)
        assert not whole.search(question) or question.count(",") >= OPTIONS - 2


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, specification=st.sampled_from(HAS), held_out=st.booleans())
def test_a_task_is_made_by_its_seed_and_solved_by_its_needed_facts(seed, specification, held_out):
    task = make_task(seed, specification, held_out)
    assert task == make_task(seed, specification, held_out)
    assert judged(task, Turn(party="student", text=""), task.answer)
    assert not judged(task, Turn(party="student", text=""), task.wrong_answer)
    assert [step.text.removesuffix(f" The answer is {task.answer}.") for step in task.steps] == [
        fact.text for fact in sorted(task.facts, key=lambda fact: fact.id) if fact.needed
    ]
    assert (task.answer == NONE) == (specification == "false_premise")
    assert (task.answer in task.solution) == (specification != "false_premise")


@pytest.mark.parametrize(("split", "held_out"), [("train", False), ("exam", False), ("exam", True)])
def test_a_bag_of_words_cannot_tell_underspecified_from_full(split, held_out):
    both = [some(split, name, 200, held_out=held_out) for name in ("full", "underspecified")]
    assert youden_j(wording(task) for tasks in both for task in tasks) < 0.2


def test_three_seeds_have_600_distinct_problems_each_of_every_kind():
    asked = [
        {(task.full_question, task.kind) for task in some("train", "underspecified", 600, seed=seed)}
        for seed in range(3)
    ]
    assert [len(problems) for problems in asked] == [600] * 3 and len(set().union(*asked)) == 1800
    for problems in asked:
        assert min(Counter(kind for _, kind in problems).values()) > 20 and {kind for _, kind in problems} == set(KINDS)


def combinations(tasks):
    """What is asked about, as far as its value and its sentences say it."""
    return {tuple(fact.text for fact in task.facts if fact.id.startswith("f")) for task in tasks}


def test_no_combination_stands_in_two_splits():
    base, train, exam = (combinations(some(split, "full", 150)) for split in ("base", "train", "exam"))
    assert not base & train and not base & exam and not train & exam


def sentence_patterns(held_out):
    """Of every sentence in the wordings that are held out, or in the others."""
    chosen = slice(-HELD_OUT, None) if held_out else slice(-HELD_OUT)
    fillers = {name: "|".join(map(re.escape, each)) for name, each in words().fillers.items()}
    patterns = list(words().openers[chosen])
    for relation in words().relations.values():
        named = {letter: f"(?:{fillers[name]})" for letter, name in (relation.subject | {"V": relation.V}).items()}
        for told in (relation.says, relation.denials, relation.traces):
            patterns += [each.replace(".", r"\.").format(**named) for each in told[chosen]]
    return [re.compile(each) for each in patterns]


def question_patterns(kind, held_out):
    chosen = slice(-HELD_OUT, None) if held_out else slice(-HELD_OUT)
    questions = [re.escape(each.rstrip("?")) for each in words().kinds[kind].questions[chosen]]
    return [re.compile(re.sub(r"\\\{\w\\\}", r"[\\w ]+", each)) for each in questions]


def test_held_out_wordings_are_in_no_task_but_the_stress_tasks():
    tasks = {"source": "lookup", "train": COUNTS, "exam": COUNTS}
    exp = small_experiment(tasks=tasks, exams={"stress": 30}, student={"model": "embedded"})
    own, stress = [*load_tasks(exp.tasks, "train")[0], *load_tasks(exp.tasks, "exam")[0]], exam_tasks(exp)[1]
    assert len(stress) == 90
    heard, unheard = (sentence_patterns(held_out) for held_out in (False, True))
    for made, theirs, others in ((own, heard, unheard), (stress, unheard, heard)):
        for task in made:
            told, question = sentences_and_question(task)
            for sentence in told:
                assert any(each.fullmatch(sentence) for each in theirs), sentence
                assert not any(each.fullmatch(sentence) for each in others), sentence
            assert any(each.match(question) for each in question_patterns(task.kind, made is stress)), question
            assert not any(each.match(question) for each in question_patterns(task.kind, made is own)), question


def test_held_out_kinds_are_only_among_the_tasks_of_which_first_turns_are_asked():
    exp = small_experiment(
        tasks={"source": "lookup", "train": COUNTS, "exam": COUNTS, "held_out": ["price", "price_ordered"]},
        exams={"stress": 4, "held_out": 5},
        student={"model": "embedded"},
    )
    train, (own, aside) = load_tasks(exp.tasks, "train")[0], exam_tasks(exp)
    assert not {task.kind for task in (*train, *own)} & {"price", "price_ordered"}
    assert [task.kind.startswith("price") for task in aside] == ([False] * 4 + [True] * 5) * 3
    with pytest.raises(ConfigError, match="kinds of look-ups"):
        load_tasks(Tasks(source="lookup", held_out=("boxes",)), "train")


def test_the_loader_gives_twins_and_other_problems_for_another_seed():
    tasks, bad = load_tasks(Tasks(source="lookup", train=COUNTS), "train")
    assert bad == [] and Counter(task.specification for task in tasks) == COUNTS
    assert [task.full_question for task in tasks[:40]] == [task.full_question for task in tasks[40:80]]
    other, _ = load_tasks(Tasks(source="lookup", train=COUNTS, seed=1), "train")
    assert not {task.full_question for task in tasks} & {task.full_question for task in other}


@pytest.mark.parametrize("partition", ["symmetric", "verifier", "answer", "key", "misled", "facts"])
def test_a_rule_partner_tells_what_it_is_asked_for_where_its_row_holds_it(partition):
    condition = Condition(partition=partition)
    for task in some("train", "underspecified", 20):
        knows, lacks = known(task, condition, "partner"), task.missing[-1]
        asks = Turn(party="student", text=lacks.ask, heard=StudentReading(asks=frozenset({lacks.id})))
        told = rule_reply(knows, condition, [asks], None, random.Random(0)).text
        assert (lacks.text in told) == (partition in ("facts", "key"))


def test_an_attempt_in_other_words_is_right_for_a_rule_partner_that_knows_the_answer():
    condition = Condition(partition="answer")
    for task in some("train", "full", 30):
        turns = {
            said: Turn(party="student", text=said, heard=StudentReading(attempt=said))
            for said in (task.answer.upper(), task.answer.removeprefix("in "), task.wrong_answer)
        }
        knows = known(task, condition, "partner")
        done = [rule_reply(knows, condition, [turn], None, random.Random(0)).done for turn in turns.values()]
        assert done[-1] is False and all(done[:-1])


def test_under_jigsaw_both_shares_make_the_whole_and_end_in_the_question():
    condition = Condition(partition="jigsaw")
    for task in some("train", "full", 30):
        shares = [known(task, condition, party) for party in ("student", "partner")]
        question = sentences_and_question(task)[1]
        assert all(share.question.endswith(question) for share in shares)
        assert {fact.id for share in shares for fact in share.facts} == {fact.id for fact in task.facts}


def test_a_false_premise_is_read_as_its_question_would_be_answered():
    """In words, or in numbers where it asks for a price: nothing shows that there is none."""
    for task in some("exam", "false_premise", 40):
        numeric = measured(task, [Turn(party="student", text="There is none.")], 0).numeric
        assert numeric == task.kind.startswith("price")


@pytest.mark.slow
def test_every_partition_plays_with_natural_readers(tmp_path):
    partitions = ["solo", "symmetric", "verifier", "answer", "key", "facts", "misled", "jigsaw"]
    config = {
        "name": "lookup",
        "out": str(tmp_path / "run"),
        "seeds": [1],
        "tasks": {"source": "lookup", "train": {"full": 1, "underspecified": 2, "false_premise": 1}, "exam": COUNTS},
        "engine": {"kind": "scripted"},
        "dialogue": {"turns": 2},
        "conditions": {
            "volunteer": {"partition": "facts", "disclosure": "volunteer"},
            **{name: {"partition": name} for name in partitions},
        },
    }
    path = tmp_path / "lookup.yaml"
    path.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(app, ["build", str(path)])
    assert result.exit_code == 0, result.output
    for name in config["conditions"]:
        dialogues = (tmp_path / "run" / "dialogues" / f"{name}.jsonl").read_text().splitlines()
        assert len(dialogues) == 4
        assert all("reading" in turn for line in dialogues for turn in json.loads(line)["turns"])
