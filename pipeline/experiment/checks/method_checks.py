"""Which ways of learning go with what else a condition and its experiment say."""

from __future__ import annotations

from pipeline.experiment.fields import Fields
from pipeline.experiment.roles import RoleSampling
from pipeline.knowledge.condition import FROM_TASKS, OF_PARTNER, ONLINE, STEPWISE


def check_method(experiment: Fields, condition_name: str) -> None:
    """Raises ValueError where a condition cannot learn as it is to; the message says why and what to do."""
    condition = experiment.conditions[condition_name]
    _check_source(experiment, condition_name)
    _check_what_is_learned(experiment, condition_name)
    _check_pool(experiment, condition_name)
    if condition.memory != "none":
        _check_memory(experiment, condition_name)
    if condition.begins:
        _check_beginning(experiment, condition_name)
    if condition.method in FROM_TASKS:
        _check_from_tasks(experiment, condition_name)
    if condition.method in ONLINE:
        _check_online(experiment, condition_name)
    _check_siblings(experiment, condition_name)
    _check_counts(experiment, condition_name)


def _check_source(experiment: Fields, condition_name: str) -> None:
    """Whose dialogues it learns from."""
    condition = experiment.conditions[condition_name]
    sources = [n for n, c in experiment.conditions.items() if c.has_dialogues]
    source = experiment.conditions.get(condition.learns_from or condition_name)
    if source is None or (condition.learns_from and condition.learns_from not in sources):
        raise ValueError(
            f"conditions.{condition_name}.learns_from: {condition.learns_from!r} must name a condition that has "
            f"dialogues of its own. Known: {', '.join(sources)}"
        )
    if differing := condition.differs(source):
        raise ValueError(
            f"conditions.{condition_name}.learns_from: {condition.learns_from!r} differs in {', '.join(differing)}, so "
            "its dialogues are not this condition's. Give both the same values, or leave out learns_from"
        )
    if condition.method == "q_priming" and (condition.learns_from or condition.row.one_writer):
        raise ValueError(
            f"conditions.{condition_name}.method: 'q_priming' changes what is said, turn by turn: leave out "
            "learns_from, and use another partition than script"
        )
    if condition.learns_from and experiment.rounds > 1:
        raise ValueError(
            f"conditions.{condition_name}.learns_from: with rounds: {experiment.rounds} the dialogues of "
            f"{condition.learns_from!r} are another student's from the second round on. Leave out learns_from, or set "
            "rounds: 1"
        )


def _check_what_is_learned(experiment: Fields, condition_name: str) -> None:
    """Which turns, of which dialogues."""
    condition = experiment.conditions[condition_name]
    if condition.method == "post_completion" and experiment.training.learn != "all":
        raise ValueError(
            f"conditions.{condition_name}.method: 'post_completion' learns all turns of right dialogues and none of "
            f"wrong ones, whatever training.learn: {experiment.training.learn!r} says. Use learn: all"
        )
    if condition.method == "monologue" and experiment.training.learn != "all":
        raise ValueError(
            f"conditions.{condition_name}.method: 'monologue' learns one whole solution, whatever training.learn: "
            f"{experiment.training.learn!r} says of turns. Use learn: all"
        )
    if condition.method == "kto" and experiment.training.learn != "all":
        raise ValueError(
            f"conditions.{condition_name}.method: 'kto' learns wrong dialogues beside right ones, and with "
            f"training.learn: {experiment.training.learn!r} wrong ones have no turn to learn. Use learn: all"
        )
    if condition.method in (*FROM_TASKS, "dpo", "dpo_answer", *OF_PARTNER) and condition.keep != "all":
        raise ValueError(
            f"conditions.{condition_name}.keep: {condition.keep!r} chooses between whole dialogues, and method: "
            f"{condition.method!r} does not learn from such. Leave it out"
        )
    if condition.method in FROM_TASKS and condition.pass_rate != (0, 1):
        raise ValueError(
            f"conditions.{condition_name}.pass_rate: {list(condition.pass_rate)} rests on stored dialogues, and "
            f"method: {condition.method!r} learns from tasks without them. Leave it out"
        )
    if condition.method == "monologue" and condition.row.deals_shares:
        raise ValueError(
            f"conditions.{condition_name}.method: 'monologue' rewrites a dialogue as a problem that says what was "
            f"told; in partition {condition.partition!r} the student's problem is its share. Use another partition"
        )


def _check_pool(experiment: Fields, condition_name: str) -> None:
    """How many dialogues there are to choose from."""
    condition = experiment.conditions[condition_name]
    of_pool = experiment.per_task(condition.learns_from or condition_name)
    if condition.pass_rate != (0, 1) and of_pool == 1 and not experiment.turn_values.siblings:
        raise ValueError(
            f"conditions.{condition_name}.pass_rate: of one dialogue a task the rate is 0 or 1. Set dialogue.per_task "
            "or turn_values.siblings, for example to 4"
        )
    if condition.per_task and not (condition.has_dialogues and condition.voice != "human"):
        raise ValueError(
            f"conditions.{condition_name}.per_task: {condition.per_task}: it builds no dialogues of its own. Leave it "
            "out"
        )
    if condition.budget < 1 and condition.has_dialogues:
        raise ValueError(
            f"conditions.{condition_name}.budget: {condition.budget}: it builds all of its dialogues, whatever it "
            "learns from. Give it the dialogues of another condition by learns_from, or lower tasks.train"
        )
    if condition.selection == "yoked" and condition.method == "sft" and of_pool == 1:
        raise ValueError(
            f"conditions.{condition_name}.selection: 'yoked' takes the next dialogue of a task, and there is one of "
            "each. Set dialogue.per_task, for example to 4"
        )


def _check_siblings(experiment: Fields, condition_name: str) -> None:
    """Other samples of a turn or a task."""
    condition = experiment.conditions[condition_name]
    source = experiment.conditions[condition.learns_from or condition_name]
    if condition.method in ("dpo", "dpo_answer") and not experiment.turn_values.siblings:
        raise ValueError(
            f"conditions.{condition_name}.method: {condition.method!r} learns from siblings of a turn. "
            "Set turn_values.siblings, for example to 4"
        )
    unbranched = source.voice == "human" or source.row.one_writer or source.method == "q_priming"
    if condition.method in ("dpo", "dpo_answer") and unbranched:
        raise ValueError(
            f"conditions.{condition_name}.method: {condition.method!r} learns from siblings of a turn, and those of "
            f"{condition.learns_from or condition_name!r} have none: people, one writer or Q-priming spoke. "
            "Learn from other dialogues, or use sft"
        )
    branched = experiment.turn_values.siblings and not unbranched
    if condition.selection == "yoked" and condition.method == "sft" and branched:
        raise ValueError(
            f"conditions.{condition_name}.selection: 'yoked' takes the next dialogue of a task, which with "
            f"turn_values.siblings: {experiment.turn_values.siblings} often begins with the same turn, so that what is "
            "said there would still decide. Give it a config without siblings"
        )
    if condition.method in ("dpo", "dpo_answer") or condition.selection == "yoked":
        _require_draws(experiment, f"conditions.{condition_name}")


def _check_counts(experiment: Fields, condition_name: str) -> None:
    """How often rows count, and in which seat."""
    condition = experiment.conditions[condition_name]
    if condition.method in OF_PARTNER and experiment.rounds > 1:
        raise ValueError(
            f"conditions.{condition_name}.method: {condition.method!r} trains a partner, and with rounds: "
            f"{experiment.rounds} it would sit in the student's seat from the second round on. Set rounds: 1"
        )
    if condition.method != "sft" and (regime := experiment.regime_of(condition_name)) != "natural":
        raise ValueError(
            f"conditions.{condition_name}.method: regime {regime!r} is for sft, not for {condition.method!r}. "
            "Use regime: natural"
        )
    if condition.first_acts == "as_played" and (regime := experiment.regime_of(condition_name)) != "natural":
        raise ValueError(
            f"conditions.{condition_name}.first_acts: 'as_played' and regime {regime!r} both say how often a row "
            "counts. Give them to two conditions"
        )
    some_tasks = condition.budget < 1 or condition.pass_rate != (0, 1)
    if condition.first_acts == "as_played" and some_tasks:
        raise ValueError(
            f"conditions.{condition_name}.first_acts: 'as_played' has the mix of all tasks, and budget: "
            f"{condition.budget} with pass_rate: {list(condition.pass_rate)} learns from some. Leave these out"
        )


def _check_memory(experiment: Fields, condition_name: str) -> None:
    condition, names = experiment.conditions[condition_name], list(experiment.conditions)
    before = [n for n in names[: names.index(condition_name)] if experiment.conditions[n].has_dialogues]
    itself = condition.remembers == condition_name
    if itself and experiment.rounds == 1:
        raise ValueError(
            f"conditions.{condition_name}.remembers: {condition.remembers!r} is itself, and with rounds: 1 there is no "
            "earlier round to remember. Set rounds: 2 or more, or name a condition above it"
        )
    if not itself and condition.remembers not in before:
        raise ValueError(
            f"conditions.{condition_name}.remembers: {condition.remembers!r} must name itself, or a condition above it "
            f"that has dialogues of its own. Known: {', '.join(before) or 'none'}"
        )
    if condition.method in FROM_TASKS or condition.voice == "human" or experiment.executor == "ray":
        raise ValueError(
            f"conditions.{condition_name}.memory: {condition.memory!r} is for dialogues that one machine builds before "
            "they are learned from. Use a method that learns from dialogues, another voice than human, "
            "executor: local"
        )
    if condition.row.one_writer:
        raise ValueError(
            f"conditions.{condition_name}.memory: {condition.memory!r}: who writes a script reads no memory. "
            "Leave it out, or use another partition than script"
        )
    for part in experiment.tasks.parts:
        asked = {name for name, count in part.train.items() if count}
        if len(asked) == 1 or not (others := {"overspecified", "false_premise"} & asked):
            continue
        raise ValueError(
            f"conditions.{condition_name}.memory: {condition.memory!r} with tasks.train.{min(others)}: a problem's "
            f"{min(others)} twin has other words, and might be remembered with its answer. Leave either out"
        )


def _check_beginning(experiment: Fields, condition_name: str) -> None:
    condition, names = experiment.conditions[condition_name], list(experiment.conditions)
    where = f"conditions.{condition_name}.begins: {condition.begins!r}"
    on = {name: experiment.on_base_of(name).base for name in names[: names.index(condition_name)]}
    if condition.begins not in on:
        raise ValueError(
            f"{where} must name a condition above it, whose student is trained first. Known: {', '.join(on) or 'none'}"
        )
    if condition.method not in ONLINE:
        raise ValueError(
            f"{where} is whose student goes on learning by playing, and method: {condition.method!r} learns from what "
            f"another one said. Use {', '.join(ONLINE)}, or leave begins out"
        )
    if on[condition.begins] != experiment.base:
        raise ValueError(
            f"{where} is trained on {on[condition.begins]!r}, and its adapter fits no other base than that. Name a "
            f"condition whose student is of {experiment.base!r}"
        )


def _check_from_tasks(experiment: Fields, condition_name: str) -> None:
    condition = experiment.conditions[condition_name]
    where = f"conditions.{condition_name}.method: {condition.method!r}"
    if condition.learns_from:
        raise ValueError(
            f"{where} learns from tasks, by playing them or from an expert, so that it cannot learn from the dialogues "
            f"of {condition.learns_from!r}. Leave out learns_from"
        )
    if experiment.rounds > 1:
        raise ValueError(f"{where} learns from its tasks in one round. Set rounds: 1, not {experiment.rounds}")
    if condition.voice == "human" or condition.row.one_writer:
        raise ValueError(
            f"{where} needs a partner that answers the student: voice {condition.voice!r} in partition "
            f"{condition.partition!r} has none. Use voice: rule or model, and another partition than script"
        )
    if condition.method in STEPWISE:
        _check_stepwise(experiment, condition_name, where)


def _check_stepwise(experiment: Fields, condition_name: str, where: str) -> None:
    condition = experiment.conditions[condition_name]
    told = (condition.disclosure, condition.voice, condition.manner)
    asks = condition.method == "expert" and condition.row.holds_only_facts and told == ("on_request", "rule", "plain")
    if not condition.row.holds_solution and not asks:
        instead = ", or facts with a rule that tells them plainly on request" if condition.method == "expert" else ""
        raise ValueError(
            f"{where} learns from the steps of a worked solution: use a partition whose partner holds one (key, "
            f"mindreader){instead}, not {condition.partition!r} ({', '.join(told)})"
        )
    if not experiment.source.has_steps:
        raise ValueError(
            f"{where} needs an expert's steps, and source {experiment.tasks.source!r} has none. Use lookup, "
            "hidden_item, gsm8k, embedded, or posed with records that have steps"
        )
    if condition.method == "expert" and condition.selection != "outcome":
        raise ValueError(
            f"{where} learns an expert's dialogue on every task, so that selection: {condition.selection!r} has "
            "nothing to choose from. Leave it out"
        )


def _check_online(experiment: Fields, condition_name: str) -> None:
    condition = experiment.conditions[condition_name]
    where = f"conditions.{condition_name}.method: {condition.method!r}"
    _require_draws(experiment, where)
    sampling, whole = experiment.student.sampling, RoleSampling()
    for key in ("top_p", "top_k", "min_p"):
        if (cut := getattr(sampling, key)) != (none := getattr(whole, key)):
            raise ValueError(
                f"{where} scores what was sampled by the whole distribution, and student.sampling.{key}: {cut} cuts "
                f"it. Leave it out, or set it to {none}"
            )
    if (own := experiment.training.methods.get(condition.method)) and own.epochs is not None:
        raise ValueError(
            f"training.methods.{condition.method}.epochs: {own.epochs}: its steps are as many as play the "
            "dialogues that the other methods learn from. Leave it out"
        )


def _require_draws(experiment: Fields, where: str) -> None:
    if not experiment.temperature_of("student"):
        key = "dialogue.temperature" if not experiment.dialogue.temperature else "student.sampling.temperature"
        raise ValueError(
            f"{where} compares samples of one task, and with {key}: 0 they are all the same. Set it above 0"
        )
