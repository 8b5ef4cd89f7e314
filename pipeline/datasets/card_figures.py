"""The tables of a dataset's card: counts, rates of right answers and leaks, and the audit of the partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from pipeline.core.id_set import IdSet
from pipeline.datasets.card_words import VIOLATION
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.rejection_sampling import is_sound
from pipeline.datasets.survey import Surveyed
from pipeline.judging.stated_leak import privileged
from pipeline.judging.violations import audited
from pipeline.judging.wilson import wilson_interval
from pipeline.knowledge.condition import Condition


def counts(condition: Condition, learned: Collection[Surveyed], rows: int) -> list[tuple[str, object]]:
    """Of the dialogues that the method learns from, and the rows that they gave."""
    rule = LEARNING_RULES[condition.method]
    if rule.format == "prompt_only":
        what = "task, seed and step of its expert" if condition.method == "grpo_step" else "task and seed"
        return [(f"rows (one for each {what})", rows)]
    if condition.method == "expert":
        return [("rows (one for each task and seed)", rows)]
    turns, tokens = 0, Counter[str]()
    specifications, rounds, stops = Counter[str](), Counter[str](), Counter[str]()
    for record in learned:  # once, as they are read from disk
        turns += record.turns
        tokens.update(student=record.student_tokens, partner=record.partner_tokens)
        specifications[record.specification] += 1
        rounds[f"seed {record.seed} round {record.round}"] += 1
        stops[record.stop] += 1
    of = "dialogues that it learns from" if condition.method == "post_completion" else "dialogues in the pool"
    left = "the others would teach nothing" + ("" if rule.selects else ", or are left out by the config")
    return [
        ("selected dialogues" if rule.selects else of, len(learned)),
        ("rows" if rule.format == "preference" else f"rows ({left})", rows),
        ("distinct tasks", len(IdSet(record.task_id for record in learned))),
        ("by specification", _listed(specifications)),
        ("by seed and round", _listed(rounds)),
        ("how they ended", _listed(stops)),
        ("turns", turns),
        *((f"{who} tokens", tokens[who] or "none sampled") for who in ("student", "partner")),
    ]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in sorted(counts.items())) or "none"


def rates(condition: Condition, learned: Collection[Surveyed]) -> list[tuple[str, str]]:
    """Shares with their denominators; an empty denominator is not a number."""
    right = lucky = leaks = 0
    for record in learned:
        right += record.is_correct
        lucky += record.is_correct and not record.is_grounded
        leaks += record.leaks
    leak = "not applicable, the partner holds nothing private"
    if privileged(condition):
        leak = _share(leaks, len(learned))
    return [
        ("right: the final answer is the gold answer", _share(right, len(learned))),
        ("lucky: right, though a needed fact was never given", _share(lucky, right)),
        ("leak_stated: the partner states the gold answer before the student has it", leak),
    ]


def audit(condition: Condition, pool: Iterable[Surveyed], learned: Collection[Surveyed]) -> list[tuple[str, str, str]]:
    """Shares of the dialogues in which a partner spoke that it violated its knowledge constraint in: of all, and of
    those learned from."""
    kinds = audited(condition)
    if not kinds:
        return []
    columns = []
    for dialogues in (pool, (record for record in learned if is_sound(record, condition))):
        n, violating, by_kind = 0, 0, Counter[str]()
        for record in dialogues:
            n += record.partner_spoke
            violating += bool(record.violations)
            by_kind.update(record.violations)
        columns.append([_wilson(violating, n), *(_wilson(by_kind[kind], n) for kind in kinds)])
    names = ["any of these", *(f"`{kind}`: {VIOLATION[kind]}" for kind in kinds)]
    return list(zip(names, *columns, strict=True))


def _share(hits: int, n: int) -> str:
    return f"{hits / n:.3f} ({hits} of {n})" if n else "NaN (0 of 0)"


def _wilson(hits: int, n: int) -> str:
    """With Wilson's 95% interval, dialogues taken as independent."""
    if not n:
        return _share(hits, n)
    low, high = wilson_interval(hits, n)
    return f"{hits / n:.3f} [{low:.3f}, {high:.3f}] ({hits} of {n})"
