"""How like people's are a student's turns: what the report and the terminal show of the exam beside people.

References are known before any model is asked: people beside themselves (kappa 1, gap 0), and beside other people's
turns at the same position (the same rates; the kappa that comes of knowing the position alone, about 0). Where several
people spoke at the same place, they are beside each other too: what people reach among themselves.

After Shaikh et al., Grounding Gaps (arXiv 2311.09144): theirs is 77.5% fewer grounding acts than experts, on other
corpora and by another labeller, so that figure is no target here.

    maieutic eval configs/human_qwen3_0.6b.yaml
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from rich.table import Table

from evals.exams.human.kappa import ALL, FEWEST, compare, shuffled
from evals.exams.human.people import (
    GROUNDING,
    LABELS,
    POSITIONS,
    Acts,
    HumanTurn,
    Options,
    People,
    StudentAnswers,
    people_path,
)
from evals.sitting.exam import options
from evals.sitting.examined_run import Run
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json
from pipeline.runs.store import StoreError, read
from pipeline.runs.student_files import said_files

THEMSELVES, OTHERS, AGAIN = "people themselves", "other people's turns", "other people at the same place"
LABELLED = "the labeller beside people's labels"
# What a terminal has room for; the report has all.
GIST = tuple(name for name in LABELS if name in {*GROUNDING, "question", "grounding"})


class PeopleCell(Part):
    """An act at a position: how often people and the student do it, and how well they agree."""

    n: int
    people: Figure
    student: Figure
    difference: Figure
    kappa: Figure
    gap: Figure


class PeopleStudent(Part):
    """A student beside people, by act and position; empty where it was not asked."""

    needs_real_model: bool
    asked: int
    seeds: int
    acts: dict[str, dict[str, PeopleCell]]
    greedy: dict[str, dict[str, PeopleCell]]


class BesidePeople(Part):
    """The exam in a report."""

    source: str
    party: str
    turns: int
    conversations: int
    positions: tuple[str, ...]
    fewest: int
    labeller: str
    references: dict[str, dict[str, dict[str, PeopleCell]]]
    students: dict[str, PeopleStudent]


def beside_people(run: Run) -> Json | None:
    """Of each name's students beside people, from the run's files; None where the run has no exam beside people.

    A student that was not asked, since its base is the
    embedded one, has no rows (`needs_real_model`). Raises StoreError for answers to turns that are not the corpus's.
    """
    if not people_path(run.path).is_file():
        return None
    settings = options(run.experiment, Options).human
    turns = {turn.id: turn for turn in read(people_path(run.path), HumanTurn)}
    students = _students(run, turns)
    return {
        "source": Path(settings.source).stem,
        "party": settings.party,
        "turns": len(turns),
        "conversations": len({turn.conversation for turn in turns.values()}),
        "positions": [*POSITIONS, ALL],
        "fewest": FEWEST,
        "labeller": run.experiment.acts.labeller,
        "references": _references(turns, settings),
        "students": students,
    }


def _students(run: Run, turns: Mapping[str, HumanTurn]) -> Json:
    truth, students = _acts(turns), {}
    for name, shown in run.names.items():
        files = said_files(run.path, name, "people")
        answered = [_answers(file, turns) for file in files]
        if files:
            draws = [{key: [a for a in answer.acts if a is not None] for key, answer in of.items()} for of in answered]
            greedy = [{key: [a.greedy] for key, a in of.items() if a.greedy is not None} for of in answered]
            students[shown] = {
                "needs_real_model": not any(answered),
                "asked": len(set().union(*answered)),
                "seeds": len(files),
                "acts": compare(turns, truth, draws) if any(answered) else {},
                "greedy": compare(turns, truth, greedy) if any(greedy) else {},
            }
    return students


def _references(turns: Mapping[str, HumanTurn], settings: People) -> Json:
    truth = _acts(turns)
    references = {
        THEMSELVES: compare(turns, truth, [{key: [acts] for key, acts in truth.items()}]),
        OTHERS: compare(turns, truth, [shuffled(turns)]),
    }
    if again := {key: turn.others for key, turn in turns.items() if turn.others}:
        references[AGAIN] = compare(turns, truth, [again])
    labelled = {key: turn.people for key, turn in turns.items() if turn.people is not None}
    if labelled:
        measured = {name for means in settings.labels.values() for name in means if name} | {"grounding"}
        by_rule = compare(turns, labelled, [{key: [truth[key]] for key in labelled}])
        references[LABELLED] = {name: row for name, row in by_rule.items() if name in measured}
    return references


def _acts(turns: Mapping[str, HumanTurn]) -> dict[str, Acts]:
    return {key: turn.acts for key, turn in turns.items()}


def _answers(file: Path, turns: Mapping[str, HumanTurn]) -> dict[str, StudentAnswers]:
    answered = {answer.id: answer for answer in read(file, StudentAnswers)}
    if strange := answered.keys() - turns.keys():
        raise StoreError(
            f"{file}: {len(strange)} answers are to turns that {people_path(file.parents[2])} does not have: the "
            "dialogues of people have changed since. Delete the results; `maieutic eval` makes them again."
        )
    return answered


def students_beside_people(run: Run) -> list[Table]:
    """What a terminal shows of a run."""
    block = beside_people(run)
    return people_tables(block) if block else []


def people_tables(block: Json) -> list[Table]:
    """People's rates by position, and who stands how far from them."""
    themselves = block["references"][THEMSELVES]
    rates = Table(
        title=f"People: {block['turns']} turns of the {block['party']} in {block['conversations']} conversations of "
        f"{block['source']}; acts by the labeller {block['labeller']}, in percent"
    )
    for heading in ("act", *(f"turn {position}" for position in block["positions"])):
        rates.add_column(heading)
    rates.add_row("n", *(str(themselves["question"][position]["n"]) for position in block["positions"]))
    for name, row in themselves.items():
        if row[ALL]["people"]["value"] > 0:
            rates.add_row(name, *(percent(row[position]["people"]) for position in block["positions"]))
    beside = Table(
        title="Beside people: all positions, 95% intervals",
        caption="n: pairs of a person's turn and one that stands in for it. Gap: by how much less often than people. "
        "Other people's turns are at the same position. Beside people's labels, people % is what those labels say.",
    )
    for heading in ("who", "act", "n", "people %", "they %", "difference", "gap %", "kappa"):
        beside.add_column(heading)
    for who, rows in block["references"].items():
        _rows(beside, who, rows)
    for who, student in block["students"].items():
        if student["needs_real_model"]:
            beside.add_row(who, "needs a real model", *["–"] * 6)
        _rows(beside, who, student["acts"])
    return [rates, beside]


def _rows(table: Table, who: str, rows: Json) -> None:
    for name, row in rows.items():
        cell = row[ALL]
        if name in (*GIST, "attempt") and cell["people"]["value"] + cell["student"]["value"] > 0:
            kappa = with_interval(cell["kappa"], 2)
            shares = [percent(cell[key]) for key in ("people", "student", "difference", "gap")]
            table.add_row(who, name, str(cell["n"]), *shares, kappa)


def percent(rate: Json) -> str:
    """In percent with its interval; a dash where there is none."""
    return with_interval({key: 100 * rate[key] for key in ("value", "low", "high")}, 0)


def with_interval(rate: Json, digits: int) -> str:
    if math.isnan(rate["value"]):
        return "–"
    value, low, high = (f"{round(rate[key], digits) + 0.0:.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
