"""The rows that a condition has in a format.

maieutic build configs/quickstart.yaml                              # what its method learns from
maieutic export configs/quickstart.yaml prompt_completion           # the same dialogues in another format
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.building.turn_values import has_turn_values
from pipeline.core.errors import ConfigError
from pipeline.core.id_set import IdSet
from pipeline.core.schema import Task
from pipeline.core.spool import Spool
from pipeline.datasets.learning_rules import LEARNING_RULES, SELECTED, Format
from pipeline.datasets.rejection_sampling import checked, keeps, learnable, selected
from pipeline.datasets.rows import (
    Row,
    before_steps,
    expert,
    informed,
    judged_pairs,
    labelled,
    monologue,
    opening,
    pairs,
    replies,
    to_row,
)
from pipeline.datasets.survey import Survey, Surveyed
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import FROM_TASKS, OF_PARTNER, STEPWISE
from pipeline.knowledge.records import Branch
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import placed
from pipeline.tasks.loading import stream_tasks


class NotExportable(ConfigError):
    """A condition has nothing in a format; the message says why."""


class ConditionRows(NamedTuple):
    """How many records a condition has for a format, and the rows of each; none where one teaches nothing."""

    records: int
    rows: Iterator[list[Row]]


def check_exportable(experiment: Experiment, condition_name: str, format: Format) -> None:
    """Raises NotExportable where a condition can have no row in a format."""
    condition = experiment.conditions[condition_name]
    weighed = condition.first_acts == "as_played" or experiment.regime_of(condition_name) != "natural"
    own = LEARNING_RULES[condition.method].format
    if weighed and format not in (own, "prompt_only"):
        raise NotExportable(
            f"{condition_name}: which rows it learns, and how often, stands in a column of its `sft` rows (times, or "
            f"matched), or is dealt by lot between conditions. Rows of {format} would be those of a condition "
            "without it. Use its `sft` rows"
        )
    if format == "prompt_only":
        return
    if condition.method == "expert" and format == "sft":
        return
    if condition.method in FROM_TASKS:
        raise NotExportable(f"{condition_name}: method {condition.method!r} learns from tasks, and stores no dialogues")
    if condition.selection == "yoked" and format == "unpaired_preference" != own:
        raise NotExportable(
            f"{condition_name}: selection: yoked keeps the dialogue after each right one, and a label says of a "
            "dialogue whether it is itself kept. Use its `sft` rows"
        )
    if format == "preference" and condition.method in OF_PARTNER:
        return
    if format == "preference" and not has_turn_values(experiment, condition.learns_from or condition_name):
        raise NotExportable(
            f"{condition_name}: pairs are siblings of a turn, and it has none. Set turn_values.siblings, for example "
            "to 4; q_priming, partition script and imported dialogues have none"
        )
    if format == "privileged_context" and not condition.row.informs:
        raise NotExportable(
            f"{condition_name}: in partition {condition.partition!r} nobody knows more than the student"
        )


def condition_rows(survey: Survey, format: Format) -> ConditionRows:
    """The rows of the surveyed condition. Raises NotExportable."""
    check_exportable(survey.experiment, survey.condition_name, format)
    if format == "prompt_only" or survey.condition.method == "expert":
        return _of_tasks(survey, format)
    if format == "preference":
        return (_of_partner if survey.condition.method in OF_PARTNER else _pairs)(survey)
    records = records_of(survey, format)
    ids = IdSet(record.id for record in learnable(survey.dialogues, survey.condition))
    return ConditionRows(
        len(records), (_rows(survey, record, format) if record.id in ids else [] for record in records)
    )


def records_of(survey: Survey, format: Format) -> Spool[Surveyed]:
    """The dialogues that a condition's rows in a format are made of, in the order of its rows. A partner learns from
    those that were played whole alone."""
    of = "sft" if format in SELECTED else format  # the same dialogues
    if of not in survey.chosen:  # the rows and the card ask for them
        survey.chosen[of] = _chosen(survey, of)
    return survey.chosen[of]


def _chosen(survey: Survey, format: Format) -> Spool[Surveyed]:
    if format == "preference" and survey.condition.method in OF_PARTNER:
        return Spool(record for record in survey.dialogues if record.place.sibling < 0)
    if format == "unpaired_preference" and survey.condition.method == "post_completion":
        return checked(survey.dialogues, survey.condition)
    return selected(survey.dialogues, survey.condition) if format in SELECTED else survey.dialogues


def _rows(survey: Survey, record: Surveyed, format: Format) -> list[Row]:
    experiment, condition, dialogue = survey.experiment, survey.condition, survey.read(record.place)
    if format == "privileged_context":
        return informed(experiment, dialogue)
    if format == "unpaired_preference":
        row = labelled(experiment, dialogue, keeps(record, condition))
    else:
        row = (monologue if condition.method == "monologue" else to_row)(experiment, dialogue)
    if row is None:
        return []
    return replies(row) if format == "prompt_completion" else [row]


def _pairs(survey: Survey) -> ConditionRows:
    """Of each branch; it falls with any of its dialogues, since the values of its turns are means over all of them."""
    condition, dialogues = survey.condition, survey.dialogues
    whose = condition.learns_from or survey.condition_name
    path = branches_path(survey.experiment.run, whose)
    learned = IdSet(record.id for record in learnable(dialogues, condition))

    def stand() -> Iterator[bool]:
        """Of each branch, in the order of their file, whether all of its dialogues are learned from."""
        of_branches = (record for record in dialogues if record.place.sibling >= 0)
        for _, through in groupby(of_branches, lambda record: record.place.offset):
            yield all([record.id in learned for record in through])

    rows = (
        pairs(survey.experiment, branch, condition) if stands else []
        for (_, branch), stands in zip(placed(path, Branch), stand(), strict=True)
    )
    return ConditionRows(sum(1 for _ in stand()), rows)


def _of_partner(survey: Survey) -> ConditionRows:
    """The partner's pairs of each dialogue that was played whole and is learned from."""
    learned = Spool(learnable(records_of(survey, "preference"), survey.condition))
    rows = (judged_pairs(survey.experiment, survey.read(record.place)) for record in learned)
    return ConditionRows(len(learned), rows)


def _of_tasks(survey: Survey, format: Format) -> ConditionRows:
    """Where a student that learns by playing begins, or an expert's dialogues: of tasks, for each seed."""
    experiment, condition, name = survey.experiment, survey.condition, survey.condition_name
    if condition.memory != "none":  # its tasks come with memories, which the dialogues hold
        own = (record for record in survey.dialogues if record.place.sibling < 0)
        first = Spool(record for record in own if not record.sample and not record.round)
        dialogues = (survey.read(record.place) for record in first)
        keys_of = cache(lambda played, seed: DialogueKeys(Cell(experiment, played, seed)))
        return ConditionRows(len(first), (opening(keys_of(d.condition_name, d.seed), d.task) for d in dialogues))
    begin = before_steps if condition.method == "grpo_step" else expert if format == "sft" else opening
    of_seeds = map(DialogueKeys, cells(experiment, [name], 0))
    return ConditionRows(
        len(experiment.seeds) * sum(1 for _ in _playable(experiment, name)),
        (begin(keys, task) for keys in of_seeds for task in _playable(experiment, name)),
    )


def _playable(experiment: Experiment, condition_name: str) -> Iterator[Task]:
    """The tasks of a condition that can be played, or solved by an expert: a partner that believes a wrong answer needs
    one, steps need an expert who had no other facts than the student, and who asks first needs a turn for each fact."""
    condition = experiment.conditions[condition_name]
    asked = 0 if condition.row.holds_solution else experiment.dialogue.turns - 1
    for task in tasks_of(experiment, condition_name, stream_tasks(experiment.tasks, "train")[0]):
        solved = condition.method not in STEPWISE or (task.steps and len(task.missing) <= asked)
        if solved and condition.affords(task.id) and (task.wrong_answer or not condition.row.believes_key):
            yield task
