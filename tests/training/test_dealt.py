"""The shuffled control: rows are dealt to conditions by lot, all of them, as many to each as it has."""

from pipeline.core.schema import Json
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import write_rows
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment
from training.inputs.dealt import dealt


def row(name: str, i: int, seed: int, round: int = 0) -> Json:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": name}]
    id = f"{name}-{seed}-{i:02}" + f"-round-{round}" * bool(round)
    whence = {"id": id, "task_id": "t", "seed": seed, "round": round, "specification": "full"}
    return {**whence, "messages": messages, "learn": [False, True]}


def built(tmp_path) -> Experiment:
    conditions = {name: {"partition": "facts"} for name in ("many", "few")} | {
        "apart": {"partition": "facts", "regime": "natural"}
    }
    made = small_experiment(tmp_path, conditions=conditions, training={"regime": "shuffled"})
    for name, count in (("many", 40), ("few", 10), ("apart", 10)):
        rows = [row(name, i, seed, round) for round in (0, 1) for seed in (1, 2) for i in range(count)]
        write_rows(dataset_path(made, name), rows)
    return made


def test_every_row_is_dealt_once_and_each_condition_gets_as_many_as_it_has(tmp_path):
    made = built(tmp_path)
    many, few = ([r["id"] for r in dealt(Cell(made, name, 1))] for name in ("many", "few"))
    assert (len(many), len(few)) == (40, 10)
    assert sorted(many + few) == sorted([f"many-1-{i:02}" for i in range(40)] + [f"few-1-{i:02}" for i in range(10)])


def test_rows_are_dealt_within_their_round(tmp_path):
    made = built(tmp_path)
    for round in (0, 1):
        assert {r["round"] for r in dealt(Cell(made, "few", 1, round))} == {round}


def test_a_name_says_nothing_of_the_rows_that_it_gets(tmp_path):
    made = built(tmp_path)
    from_many = [sum(r["id"].startswith("many") for r in dealt(Cell(made, "few", seed))) for seed in (1, 2)]
    assert all(4 < count < 10 for count in from_many)  # 8 are expected
    assert [r["id"] for r in dealt(Cell(made, "few", 1))] == [r["id"] for r in dealt(Cell(made, "few", 1))]
