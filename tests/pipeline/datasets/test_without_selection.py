"""Selection taken out of what is learned: yoked dialogues, and first acts in the mix in which they were played."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maieutic.workflow import select as select_group
from pipeline.core.schema import Turn
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.first_acts import first_act, times
from pipeline.datasets.rejection_sampling import selected
from pipeline.datasets.survey import survey_of
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place, dialogues_path
from pipeline.tasks.hidden_item.hidden_item_tasks import make_task
from tests.builders import small_experiment

TASK = make_task(3, "underspecified")
RIGHT, WRONG = f"The answer is {TASK.answer}.", f"The answer is {TASK.wrong_answer}."
assert TASK.choice is not None
CLOSED = f"Is it {TASK.choice.options[0][0]}?"


def talk(sample: int, *lines: str, seed: int = 1) -> Dialogue:
    return Dialogue(
        id=f"{seed}-{sample}",
        task=TASK,
        condition_name="facts",
        condition=Condition(partition="facts"),
        seed=seed,
        sample=sample,
        turns=tuple(Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)),
        stop="turn_cap",
    )


def taken(dialogues: list[Dialogue], **condition: str) -> list[str]:
    records = [survey_of(dialogue, (), Place(i)) for i, dialogue in enumerate(dialogues)]
    return [record.id for record in selected(records, Condition(partition="facts", **condition))]  # type: ignore[arg-type]


def test_yoking_takes_the_next_dialogue_of_a_task_for_each_that_is_kept():
    talks = [talk(0, WRONG), talk(1, RIGHT), talk(2, CLOSED), talk(3, CLOSED, "Yes.", RIGHT)]
    assert taken(talks) == ["1-1", "1-3"]
    assert taken(talks, selection="yoked") == ["1-0", "1-2"]  # the first comes behind the last


def test_what_is_taken_does_not_hang_on_the_order_in_which_dialogues_ended():
    """Branches of one dialogue have its number, and stand in the file as they were done."""
    branches = [talk(0, line).model_copy(update={"id": f"1-0-{i}"}) for i, line in enumerate((RIGHT, WRONG, CLOSED))]
    orders = [taken(list(order), selection="yoked") for order in itertools.permutations(branches)]
    assert {tuple(order) for order in orders} == {("1-0-1",)}


def test_what_is_said_in_a_dialogue_decides_only_about_the_next():
    """The metamorphosis: make the second dialogue wrong, and the second itself is taken or left as before."""
    before = [talk(0, RIGHT), talk(1, f"{RIGHT} I am done."), talk(2, WRONG)]
    after = [talk(0, RIGHT), talk(1, WRONG), talk(2, WRONG)]
    assert ("1-1" in taken(before, selection="yoked")) == ("1-1" in taken(after, selection="yoked"))
    assert taken(before, selection="yoked") == ["1-1", "1-2"] and taken(after, selection="yoked") == ["1-1"]


@given(st.lists(st.sampled_from([RIGHT, f"{RIGHT} I am done.", WRONG, CLOSED]), min_size=2, max_size=6), st.data())
def test_whether_words_are_learned_hangs_on_no_word_of_theirs(lines, data):
    """Of one dialogue in other words, right or wrong: it is taken as before, or one with the same words is."""
    i = data.draw(st.integers(0, len(lines) - 1))
    for line in (RIGHT, f"{RIGHT} Surely.", WRONG, CLOSED):
        lines[i] = line
        talks = [talk(sample, each) for sample, each in enumerate(lines)]
        chosen = taken(talks, selection="yoked")
        if lines[i - 1].startswith(RIGHT):  # the dialogue before it is kept
            assert line in {each.turns[0].text for each in talks if each.id in chosen}


def test_a_seed_is_yoked_to_itself_and_a_lone_dialogue_to_none():
    assert taken([talk(0, RIGHT), talk(0, WRONG, seed=2)], selection="yoked") == []


def test_kept_rows_count_in_the_mix_that_was_played():
    kept = {f"a{i}": ("full", "attempt") for i in range(8)} | {f"o{i}": ("full", "ask") for i in range(12)}
    played = Counter({("full", "attempt"): 90, ("full", "ask"): 10, ("full", "closed"): 20})  # none closed is kept
    counted = times(kept, played)
    of_kind = Counter[str]()
    for id, n in counted.items():
        of_kind[kept[id][1]] += n
    assert counted.keys() == kept.keys() and of_kind == {"attempt": 18, "ask": 2}
    assert max(counted[f"a{i}"] for i in range(8)) - min(counted[f"a{i}"] for i in range(8)) <= 1


def test_kept_rows_are_marked_by_the_mix_of_their_own_seed(tmp_path):
    """Seed 1 asks in 2 of 8 dialogues, seed 2 in 6 of 8; of both 2 of either kind are kept."""
    made = small_experiment(
        tmp_path / "run", seeds=[1, 2], tasks={"source": "hidden_item"}, dialogue={"per_task": 8},
        conditions={"facts": {"partition": "facts", "first_acts": "as_played"}},
    )  # fmt: skip
    ask = TASK.missing[0].ask
    talks = []
    for seed, asks in ((1, 2), (2, 6)):
        for sample in range(8):
            opens = [ask, "Hm."] if sample < asks else []
            ends = RIGHT if sample in {0, 1, 6, 7} else WRONG
            talks.append(talk(sample, *opens, f"{ends} {'Yes. ' * (sample + 1)}", seed=seed))
    dialogues = dialogues_path(made.run, "facts")
    dialogues.parent.mkdir(parents=True)
    dialogues.write_text("".join(f"{one.model_dump_json()}\n" for one in talks))
    select_group(made, ["facts"])
    counted = Counter[tuple[int, str]]()
    for row in read_rows(made, "facts"):
        asks_first = any(message["content"] == ask for message in row["messages"])
        counted[row["seed"], "ask" if asks_first else "attempt"] += row["times"]
    assert counted == {(1, "ask"): 1, (1, "attempt"): 3, (2, "ask"): 3, (2, "attempt"): 1}


def test_closed_questions_are_a_first_act_of_their_own():
    assert [first_act(talk(0, line)) for line in (RIGHT, CLOSED)] == ["attempt", "closed"]
    missing = TASK.missing[0].ask
    assert first_act(talk(0, missing)) == "ask"


CONDITIONS = {"facts": {"partition": "facts"}, "other": {"partition": "facts", "learns_from": "facts"}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"selection": "yoked"}, "there is one of each"),
        ({"selection": "yoked", "method": "kto"}, "for method: sft and grpo, not for"),
        ({"first_acts": "as_played", "method": "kto"}, "for method: sft, not for"),
        ({"first_acts": "as_played", "regime": "matched"}, "Give them to two conditions"),
        ({"first_acts": "as_played", "budget": 0.5}, "has the mix of all tasks"),
        ({"first_acts": "as_played", "pass_rate": (0.2, 0.8)}, "has the mix of all tasks"),
    ],
)
def test_a_control_that_cannot_be_made_is_refused(more: dict[str, str], said: str):
    with pytest.raises(ValueError, match=said):
        conditions = CONDITIONS | {"other": CONDITIONS["other"] | more}
        small_experiment(conditions=conditions, dialogue={"per_task": 2 if "pass_rate" in more else 1})


def test_a_yoked_control_of_rollouts_which_begin_with_the_same_turn_is_refused():
    conditions = CONDITIONS | {"other": CONDITIONS["other"] | {"selection": "yoked"}}
    with pytest.raises(ValueError, match="often begins with the same turn"):
        small_experiment(conditions=conditions, turn_values={"siblings": 4, "rollouts": 2}, dialogue={"per_task": 2})


def test_the_regime_of_a_condition_comes_before_that_of_all():
    conditions = {"a": {"partition": "facts"}, "b": {"partition": "facts", "learns_from": "a", "regime": "matched"}}
    made: Experiment = small_experiment(conditions=conditions)
    assert made.with_regime("matched") == ["b"] and made.with_regime("natural") == ["a"]
