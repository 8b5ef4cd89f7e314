"""What an experiment may ask for at all: names, seeds, the weights that speak, the contrasts.

Raises ValueError, which a config's reader tells with the file and the key. Checks of one subject stand beside this:
role_checks, task_checks, method_checks, training_checks, code_checks.
"""

from __future__ import annotations

from pipeline.experiment.fields import BEFORE_WARMUP, Fields
from pipeline.experiment.settings import Contrast
from pipeline.knowledge.condition import OF_PARTNER

LONGEST = 80  # letters of a condition's name, which stands in names of files


def check_whole(experiment: Fields) -> None:
    """Raises ValueError for what does not go whatever the conditions are."""
    for name in ("base", BEFORE_WARMUP):
        if name in experiment.conditions:
            raise ValueError(f"conditions.{name}: {name!r} names the untrained student, choose another name")
    if not experiment.conditions:
        raise ValueError("conditions: at least one is needed")
    if len(set(experiment.seeds)) != len(experiment.seeds) or not experiment.seeds:
        raise ValueError(f"seeds: {list(experiment.seeds)} must be distinct and at least one")
    values, turns = experiment.turn_values, experiment.dialogue.turns
    if values.siblings and max(values.at) >= turns:
        raise ValueError(
            f"turn_values.at: {max(values.at)}: with dialogue.turns: {turns} the student's last turn is {turns - 1}, "
            "counted from 0. Name earlier ones, or raise dialogue.turns"
        )
    partner, metrics = experiment.readers
    if partner == metrics != "closed":
        raise ValueError(
            f"reading: partner and metrics are both {metrics!r}: an instrument that measures its own understanding "
            "finds no error in it. Name two"
        )


def check_condition(experiment: Fields, condition_name: str) -> None:
    """Raises ValueError for a name that is no folder's, and for weights that are not there when it is built."""
    if not condition_name.replace("_", "").replace("-", "").isalnum():
        raise ValueError(f"conditions.{condition_name}: letters, digits, - and _ only, it becomes a folder")
    if len(condition_name) > LONGEST:
        raise ValueError(f"conditions.{condition_name}: {len(condition_name)} letters, expected {LONGEST} at most")
    condition = experiment.conditions[condition_name]
    weights, others = condition.weights, experiment.conditions.keys() - {condition_name}
    if weights not in ("base", "current", *experiment.conditions):
        raise ValueError(f"conditions.{condition_name}.weights: {weights!r} is not base, current or a condition")
    if condition.speaker and condition.speaker not in others:
        raise ValueError(
            f"conditions.{condition_name}.speaker: {condition.speaker!r} must name another condition. Known: "
            f"{', '.join(sorted(others)) or 'none'}"
        )
    for key, speaker in (("weights", weights), ("speaker", condition.speaker), ("begins", condition.begins)):
        if key != "weights" and speaker in others and experiment.conditions[speaker].method in OF_PARTNER:
            raise ValueError(
                f"conditions.{condition_name}.{key}: {speaker!r} trains a partner, which would sit in the student's "
                "seat. Name a condition that trains a student, or name it as weights"
            )
        for regime in ("matched", "shuffled"):
            if experiment.with_regime(regime) and speaker in others:
                raise ValueError(
                    f"conditions.{condition_name}.{key}: {speaker!r} must be trained before {condition_name!r} is "
                    f"built, but regime: {regime!r} needs all datasets before any training"
                )
    if condition.base and (kind := experiment.engine_of("student").kind) not in ("transformers", "scripted"):
        raise ValueError(
            f"conditions.{condition_name}.base: {condition.base!r} beside {experiment.student.model!r}: the student's "
            f"engine of kind {kind!r} serves one base. Use an engine of kind transformers"
        )


def check_contrasts(experiment: Fields) -> None:
    """Raises ValueError for a contrast that is not between two conditions, or is named twice."""
    known = {"base", *experiment.conditions}
    where_first: dict[Contrast, str] = {}
    for where, contrast in experiment.compare.named.items() if experiment.compare else ():
        for name in contrast.names:
            if name not in known:
                raise ValueError(
                    f"{where}: {name!r} is not a condition. Known: {', '.join(sorted(known))}. Name one of these, "
                    "or have no contrast with compare=null"
                )
        if contrast.a == contrast.b:
            raise ValueError(f"{where}: {contrast.a!r} is compared with itself, name two conditions")
        if len({*contrast.names}) < len(contrast.names) or (contrast.less and where == "compare.primary"):
            raise ValueError(
                f"{where}.less: {list(contrast.less or ())} is taken off {contrast.a} - {contrast.b}: four different "
                "conditions are expected, in a family or among the exploratory contrasts"
            )
        if (first := where_first.setdefault(contrast, where)) != where:
            raise ValueError(
                f"{where}: {contrast.a} - {contrast.b} on {contrast.metric} is {first} already. Name each contrast once"
            )
