"""Counts of one condition, derived from its files: dialogues, failures, dataset, adapters.

tasks x per_task x seeds x rounds = dialogues + failures, and rows <= selected <= dialogues: a selected
dialogue in which nothing would be learned gives no row. What does not add up comes back in words.
Malformed source rows (`bad_task`) are counted apart: they are of no task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from evals.metrics.metric import Metric
from evals.metrics.reader import Reader
from evals.report.budgets.budget_points import offered, tokens_of
from evals.report.counting.counted_files import DatasetRows, Files, Pooled, Seen
from evals.report.counting.reconciling import reconcile, unlike
from evals.stats.cell_sums import pooled_cases
from evals.stats.wording_shortcut import Wordings, wording
from pipeline.core.id_set import IdSet
from pipeline.core.schema import Json, question_hash
from pipeline.core.spool import Spool
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.rejection_sampling import selected as selected_of
from pipeline.datasets.survey import Surveyed, survey_of
from pipeline.experiment.experiment import Experiment
from pipeline.judging.moves import move
from pipeline.judging.stated_leak import privileged
from pipeline.judging.violations import Kind, audited, violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Failure, Memory
from pipeline.reading.stored import student_reading
from pipeline.runs.dialogue_pool import Pool, branches_path, memories_path
from pipeline.runs.store import read, read_ids
from pipeline.runs.student_files import trainings

# What is said of a condition's dialogues, beside the metrics of its exams.
OF_DIALOGUES = (
    Metric(
        "lucky",
        "right, though a needed fact was missing and never given / dialogues on underspecified tasks",
        reader=Reader(("attempt", "tells")),
    ),
    # The classes: first by the rule where a rule speaks, then by that for others.
    Metric(
        "leak_stated",
        "the partner stated the answer that it was not to say / dialogues with a partner that held it",
        reader=Reader(("reveals_stated",), ("leak", "leak_people")),
    ),
    Metric(
        "violated",
        "the partner violated its knowledge constraint / dialogues in which a partner spoke whose violations are seen",
        reader=Reader(unmeasured="not measured: no corpus has a label for it, see docs/partner_audit.md"),
    ),
)


class Counted(NamedTuple):
    """A condition's part of the summary, the tasks that it met, and what does not reconcile, in words."""

    entry: Json
    tasks: Wordings
    problems: list[str]


def count_all(experiment: Experiment, pool_of: Callable[[str], Pooled] | None = None) -> Iterator[tuple[str, Counted]]:
    """`count` of each condition. Those that learn from one pool come together, and it is read once; `pool_of` gives
    that of a condition which somebody has read."""
    learners: dict[str, list[str]] = {}
    for name, condition in experiment.conditions.items():
        learners.setdefault(condition.learns_from or name, []).append(name)
    for names in learners.values():
        pool = pool_of(names[0]) if pool_of else pooled(experiment, names[0])
        yield from ((name, _count(experiment, name, pool)) for name in names)


def count(experiment: Experiment, condition_name: str) -> Counted:
    """Counts, budgets, leak and luck rates and the predicted ask rate of one condition."""
    return _count(experiment, condition_name, pooled(experiment, condition_name))


def _count(experiment: Experiment, condition_name: str, pool: Pooled) -> Counted:
    condition = experiment.conditions[condition_name]
    files = _files(experiment, condition_name, pool)
    dialogues = Spool(d._replace(kept=d.record.id in files.kept) for d in pool.dialogues)
    failed = [failure.task_id for failure in files.failures if failure.kind != "bad_task"]
    counts = {
        "tasks": len(IdSet(chain((d.record.task_id for d in dialogues), failed))),
        "dialogues": sum(d.own and condition.affords(d.record.task_id) for d in dialogues),
        "failures": sum(map(condition.affords, failed)),
        "bad_rows": len(files.failures) - len(failed),
        "selected": len(files.selected),
        "rows": len(files.rows),
        "student_tokens": pool.tokens["student"],
        "partner_tokens": pool.tokens["partner"],
    }
    hears = bool(audited(condition))  # a partner whose violations can be seen
    selects = LEARNING_RULES[condition.method].selects
    # Of rows that are dealt by lot it learns others' than its own.
    own_rows = [] if experiment.regime_of(condition_name) == "shuffled" else dialogues
    entry: Json = {
        "counts": counts,
        "failure_kinds": dict(Counter(f.kind for f in files.failures)),
        "predicted": predict(_by_the_learner(experiment, condition, own_rows), condition.first_acts),
        "budgets": _budgets(experiment, condition_name, files, pool, dialogues),
        "leak_stated": _share(dialogues if privileged(condition) else [], lambda d: d.record.leaks),
        "lucky": _share((d for d in dialogues if d.missing), lambda d: d.lucky),
        # Other rules learn from more than what selection keeps.
        "lucky_selected": _share((d for d in own_rows if selects and d.missing and d.kept), lambda d: d.lucky),
        "violated": _share(_heard(dialogues, hears), lambda d: bool(d.record.violations)),
        "violations": {kind: _share(_heard(dialogues, hears), _commits(kind)) for kind in audited(condition)},
        "plumbing": experiment.has_planted_acts and condition.is_plumbing_on_embedded,
        "condition": condition.model_dump(mode="json"),
    }
    problems = [] if condition.learns_from else reconcile(experiment, condition_name, counts, dialogues, files.failures)
    return Counted(entry, pool.tasks, problems + unlike(experiment, condition_name, files, pool, dialogues))


def _by_the_learner(experiment: Experiment, condition: Condition, dialogues: Collection[Seen]) -> Collection[Seen]:
    """Those within its budget, where who asked so often before is the one who learns: not where another spoke, the
    student is of another base, or questions were put into its mouth."""
    source = experiment.conditions.get(condition.learns_from, condition)
    if condition.speaker or condition.base or source.method == "q_priming":
        return []
    return Spool(d for d in dialogues if condition.affords(d.record.task_id))


def _heard(dialogues: Iterable[Seen], hears: bool) -> Iterator[Seen]:
    return (d for d in dialogues if hears and d.record.partner_spoke)


def _files(experiment: Experiment, condition_name: str, pool: Pooled) -> Files:
    run = experiment.run
    condition, folder = experiment.conditions[condition_name], dataset_path(experiment, condition_name)
    rows = DatasetRows(folder)
    selected = (
        IdSet(record.id for record in selected_of((d.record for d in pool.dialogues), condition))
        if folder.is_dir()
        else IdSet()
    )
    whose = condition.learns_from or condition_name
    branches = branches_path(run, whose)
    lost = read(run / "branches" / "failures.jsonl", Failure)
    return Files(
        format=folder.name,
        failures=[f for f in read(run / "failures.jsonl", Failure) if f.condition_name == whose],
        rows=rows,
        selected=selected,
        # Methods other than rejection sampling learn from more than what selection keeps.
        kept=IdSet(row.id for row in rows if row.learned) if folder.name == "sft" else selected,
        branches=IdSet(read_ids(branches, Branch)),
        branch_tokens=sum(tokens_of(branch) for branch in read(branches, Branch)),
        lost_branches=sum(f.condition_name == condition_name for f in lost),
        trained=trainings(run, condition_name),
    )


def pooled(experiment: Experiment, condition_name: str) -> Pooled:
    """What is counted over the pool that a condition learns from."""
    tasks = Wordings()
    turns, tokens, wanted = Counter[str](), Counter[str](), 0

    def seen() -> Iterator[Seen]:
        nonlocal wanted
        for place, dialogue in Pool(experiment, condition_name).placed():
            own = place.sibling < 0
            tasks.add(dialogue.task.id, wording(dialogue.task))
            wanted += own * sum(at < (len(dialogue.turns) + 1) // 2 for at in experiment.turn_values.at)
            for turn in dialogue.turns if own else ():
                turns[turn.party] += 1
                tokens[turn.party] += turn.tokens
            yield see(dialogue, survey_of(dialogue, violations(dialogue), place))

    dialogues = Spool(seen())
    return Pooled(dialogues=dialogues, tasks=tasks, turns=turns, tokens=tokens, branches_wanted=wanted)


def _budgets(
    experiment: Experiment, condition_name: str, files: Files, pool: Pooled, dialogues: Iterable[Seen]
) -> Json:
    # What was trained on; of students that play while they learn, what they play.
    condition = experiment.conditions[condition_name]
    kept = LEARNING_RULES[condition.method].selects or not len(files.rows)
    met = Spool(d.record for d in dialogues if d.kept) if kept else files.rows
    return {
        "turns": pool.turns.total(),
        "student_turns": pool.turns["student"],
        "distinct_tasks": len(IdSet(each.task_id for each in met)),
        "task_mix": dict(sorted(Counter(each.specification for each in met).items())),
        "students": len({t["seed"] for t in files.trained}),
        "trained_rows": sum(t.get("dialogues", t["rows"]) for t in files.trained),  # of who plays, its own dialogues
        "optimizer_steps": sum(t["optimizer_steps"] for t in files.trained),
        "trained_tokens": sum(t["trained_tokens"] for t in files.trained),
        "sampled_tokens": _sampled(experiment, condition_name, files, pool)
        + sum(t.get("sampled_tokens", 0) for t in files.trained),  # of students that play while they learn
    }


def _sampled(experiment: Experiment, condition_name: str, files: Files, pool: Pooled) -> int:
    """By models, for what the condition may learn from."""
    condition = experiment.conditions[condition_name]
    if condition.budget < 1:  # else all that was counted already
        return offered(experiment, condition_name).tokens.total()
    lessons = read(memories_path(experiment.run, condition.remembers), Memory)
    return (
        (pool.tokens["student"] if condition.voice != "human" else 0)
        + (pool.tokens["partner"] if condition.voice == "model" else 0)
        + files.branch_tokens
        + sum(memory.tokens for memory in lessons)
    )


def see(dialogue: Dialogue, record: Surveyed) -> Seen:
    """Reduce a dialogue, whose record is known, to what is counted of it."""
    missing = bool(dialogue.task.missing)
    return Seen(record, question_hash(dialogue.task.full_question), missing, missing and _asks(dialogue))


def _commits(kind: Kind) -> Callable[[Seen], bool]:
    return lambda dialogue: kind in dialogue.record.violations


def _share(dialogues: Iterable[Seen], test: Callable[[Seen], bool]) -> Json:
    """Value, interval over tasks and seeds, and n."""
    return pooled_cases((d.record.seed, d.record.task_id, test(d)) for d in dialogues)._asdict()


def predict(dialogues: Collection[Seen], first_acts: str = "as_kept") -> Json:
    """The ask rate that selection alone predicts, on underspecified tasks: p k_ask / (p k_ask + (1 - p) k_no), with
    its interval over the `kept` dialogues, and what it is made of, over all `n`. Where first acts count `as_played`,
    selection moves nothing: it is p, where anything is kept.

    p: share of dialogues whose first turn asks for a missing needed fact, or naming none, and commits to nothing;
    k_ask, k_no: the share of each kind that was trained on. Of several rounds the last counts, since the student had
    moved before it.
    """
    last = max((d.record.round for d in dialogues), default=0)
    pool = Spool(d for d in dialogues if d.record.round == last and d.missing)
    # What the formula comes to: the share of asking dialogues among those kept.
    kept, prior = (_share((d for d in pool if d.kept), lambda d: d.asks), _share(pool, lambda d: d.asks))
    predicted = prior if first_acts == "as_played" and kept["n"] else kept
    return {
        "ask_rate": predicted["value"],
        "low": predicted["low"],
        "high": predicted["high"],
        "kept": kept["n"],
        "prior": prior["value"],
        "keep_ask": _share((d for d in pool if d.asks), lambda d: d.kept)["value"],
        "keep_no": _share((d for d in pool if not d.asks), lambda d: d.kept)["value"],
        "n": len(pool),
    }


def _asks(dialogue: Dialogue) -> bool:
    first = next(i for i, turn in enumerate(dialogue.turns) if turn.party == "student")
    return move(dialogue.task, student_reading(dialogue.task, dialogue.turns, first)) in ("ask", "ask_generic")
