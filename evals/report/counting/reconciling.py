"""What of a condition's files does not add up, in words.

tasks x per_task x seeds x rounds = dialogues + failures; rows are of what the condition learns from, and students were
trained on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import chain

from evals.report.counting.counted_files import Files, Pooled, Seen
from pipeline.building.turn_values import has_turn_values
from pipeline.core.id_set import IdSet, repeated
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import OF_PARTNER, Condition
from pipeline.knowledge.records import Failure


def reconcile(
    experiment: Experiment, condition_name: str, counts: Json, dialogues: Collection[Seen], failures: list[Failure]
) -> list[str]:
    """What does not add up, in words; nothing where a condition was never built."""
    condition, problems = experiment.conditions[condition_name], []
    if not len(dialogues) and not failures:
        return []
    own = sum(d.own for d in dialogues)
    if twice := repeated(chain((d.record.id for d in dialogues if d.own), (f.id for f in failures))):
        problems.append(f"{twice} ids are stored more than once among dialogues and failures")
    rounds = 1 + max(chain((d.record.round for d in dialogues), (f.round for f in failures)))
    bad = sum(f.kind == "bad_task" for f in failures)
    expected = counts["tasks"] * experiment.per_task(condition_name) * len(experiment.seeds) * rounds
    ended = own + len(failures) - bad
    # An imported dialogue exists once, and its source may hold several of one task.
    if condition.voice != "human" and ended != expected:
        problems.append(
            f"{counts['tasks']} tasks x {experiment.per_task(condition_name)} per task x {len(experiment.seeds)} seeds "
            f"x {rounds} rounds = {expected}, but {own} dialogues + {len(failures) - bad} failures = {ended}"
        )
    wanted = sum(map(len, experiment.stretches(condition_name).values()))
    made_here = all(source.made_here for source in experiment.sources)
    if made_here and counts["tasks"] != wanted:
        problems.append(f"the config asks for {wanted} tasks, the files hold {counts['tasks']}")
    return problems


def unlike(
    experiment: Experiment, condition_name: str, files: Files, pool: Pooled, dialogues: Iterable[Seen]
) -> list[str]:
    """What branches, dataset and training records do not have in common, in words."""
    condition, problems = experiment.conditions[condition_name], []
    there = len(files.branches) + files.lost_branches
    if has_turn_values(experiment, condition_name) and not condition.learns_from and there != pool.branches_wanted:
        problems.append(
            f"turn values should have {pool.branches_wanted} branches of the stored dialogues, but "
            f"{len(files.branches)} + {files.lost_branches} failures = {there}; `maieutic build` makes what is missing"
        )
    distinct, teaches = len(IdSet(row.id for row in files.rows)), _teaches(condition, files, dialogues)
    if strangers := len(IdSet(row.id for row in files.rows if not teaches(row.id))):
        problems.append(f"{strangers} dataset rows are nothing that this condition learns from")
    last = max((row.round for row in files.rows), default=0)
    for record in files.trained if last == 0 else []:
        held = sum(row.times for row in files.rows if row.seed == record["seed"] and row.matched)
        if held != record["rows"]:
            problems.append(f"seed {record['seed']} trained on {record['rows']} rows, the dataset holds {held} of them")
    if len(files.rows) != distinct:
        problems.append(f"{len(files.rows)} dataset rows for {distinct} dialogues, expected one each")
    return problems


def _teaches(condition: Condition, files: Files, dialogues: Iterable[Seen]) -> Callable[[str], bool]:
    """Whether the row of an id is of something that this condition learns from."""
    match files.format:
        case "sft" if condition.method != "expert":
            return files.selected.__contains__
        case "preference" if condition.method in OF_PARTNER:
            pool = IdSet(d.record.id for d in dialogues)
            return lambda id: id.rsplit("-", 3)[0] in pool
        case "preference":
            return lambda id: id.rsplit("-", 2)[0] in files.branches
        case "unpaired_preference":
            return IdSet(d.record.id for d in dialogues).__contains__
        case _:  # tasks, which are played in training, or an expert's
            return lambda id: True
