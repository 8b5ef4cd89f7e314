"""The simulation card of a dataset: who knew what how disclosed, models, prompts, counts, known limits.

Every sentence about the condition comes from its row of `pipeline.knowledge.partition`, so the card cannot drift
from what was run. The text around it is templates/card.md.j2.

    maieutic build configs/quickstart.yaml     # writes runs/quickstart/datasets/<condition>/README.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from huggingface_hub import DatasetCard, DatasetCardData
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.building.turn_values import has_ledger
from pipeline.datasets.formats import FORMAT_OF, Format
from pipeline.datasets.rejection_sampling import sound
from pipeline.dialogue.rule_partner import ERRS, WORDINGS
from pipeline.experiment.experiment import Experiment, dump
from pipeline.judging.leaks import leak_stated, privileged
from pipeline.judging.outcome import is_correct, is_grounded
from pipeline.judging.violations import Kind, audited, violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import ITEMS, Items
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import known, view
from pipeline.runs.pool import Pool

DISCLOSURE = {
    "on_request": "The partner tells what only it knows when it is asked for it.",
    "volunteer": "The partner tells one thing that only it knows in each of its turns, asked or not.",
    "chatter": "The partner restates public facts and keeps what only it knows to itself.",
}
MANNER = {
    "plain": "",
    "vague": " At first it tells it without numbers, and plainly when it is asked again.",
    "erring": f" In {ERRS:.0%} of what it tells the numbers are wrong.",
    "low_effort": " Half of the time it tells nothing, and never more than one thing.",
    "convincing": " Of several turns that it might say it says the one after which a judge, who reads what the student "
    "reads, most often gives its answer, true or not; its tokens are those of all of them, and of the judge.",
}
MEMORY = {
    "asymmetric": "dialogues that ended right, whole, and of the others a lesson of one line that a model wrote; those "
    "of the {items} tasks that are nearest in meaning (`{embedder}`)",
    "uniform": "dialogues, whole, and how they ended, of the {items} tasks that are nearest in meaning (`{embedder}`)",
    "random": "dialogues that ended right, whole, and of the others a lesson of one line that a model wrote; of tasks "
    "drawn at random, each about as long as that of one of the {items} that are nearest in meaning (`{embedder}`)",
}
VOICES = {
    "rule": "a rule (`pipeline/dialogue/rule_partner.py`) with {} fixed wordings",
    "model": "a language model, {model}, prompted with its view",
    "human": "people; these dialogues were imported, nothing in them was generated here",
}
SELECTION = {
    "outcome": "dialogues whose final answer is right",
    "agreement": "dialogues in which both parties end on the same answer, right or wrong",
    "none": "every dialogue",
}
# The learning rule, and what a row is.
METHOD = {
    "sft": "supervised learning: a row is a whole dialogue that selection keeps; the student learns its own turns.",
    "monologue": "supervised learning without turns, the control of sft: a row is a dialogue that selection keeps, "
    "flattened into one exchange; all that was said to the student comes before all that it said.",
    "q_priming": "supervised learning: a row is a whole dialogue that selection keeps, in which some wrong answers of "
    "the student gave way to questions, written by somebody who knew what its partner knew; it learns these too.",
    "dpo": "preferences between turns: a row is two turns that the student might have said at the same place, the "
    "better and the worse by what came of them when the dialogue was played on.",
    "dpo_answer": "preferences between turns, the control of dpo: a row is two turns that the student might have said "
    "at the same place, the better and the worse by whether the turn itself commits to the right answer, so that a "
    "question is worth as little as a wrong answer.",
    "kto": "whole dialogues with a label: a row is a dialogue, and whether selection would keep it.",
    "grpo": "learning while playing, from groups of whole dialogues of a task: a row is only where a task begins; a "
    "right final answer is rewarded, less for every turn before it.",
    "grpo_turn": "learning while playing, from groups of first turns of a task: a row is only where a task begins; a "
    "turn is rewarded by what comes of it when it is played on.",
    "grpo_next": "learning while playing, the control of grpo_turn: a row is only where a task begins; a first turn is "
    "rewarded where it commits to the right answer itself.",
    "grpo_step": "learning while playing, from groups of turns at one step of an expert's solution: a row is where "
    "such a step begins, after the expert's own steps before it; a turn is rewarded by how like the expert's it is.",
}
# What a row is in a format that was exported beside the one that the method learns from.
ALSO: dict[Format, str] = {
    "sft": "a selected dialogue: `messages`, and in `learn` whether each carries loss",
    "prompt_completion": "a turn of the student in a selected dialogue: `prompt` is all that it read before it, "
    "`completion` the turn",
    "preference": "two turns that the student might have said after `prompt`: `chosen` and `rejected`, `margin` apart",
    "unpaired_preference": "a dialogue: `prompt`, `completion`, `learn`, and whether selection keeps it (`label`)",
    "prompt_only": "where a task begins, for a student that plays: `prompt`",
    "privileged_context": "what the student read before one of its turns (`prompt`), and apart from it what its "
    "partner alone knew (`privileged_context`): for a self-distilling teacher, and no student",
}
SELECTING = ("sft", "monologue", "q_priming")  # the others learn from what selection would drop, too
LEARN = {
    "all": "every student turn",
    "after_last_error": "the student's turns after its last wrong attempt",
    "final": "only the student's last attempt, where it is right",
}
BREACH: dict[Kind, str] = {
    "false_feedback": "it calls an attempt right, wrong, too high or too low, and by its own knowledge that is not so",
    "revealed_answer": "it states the gold answer unearned, which it is to keep",
    "unknown_fact": "it states a fact, or the answer, that it cannot know",
    "false_fact": "it states a fact of the problem with another number",
    "disclosure": "it tells what only it knows when it should not, or does not tell it when it should",
    "off_role": "it writes the student's lines, says that it is a model, repeats its instructions, or says no word",
}


def knows(items: Items | None) -> str:
    """One party's row in words, in the order of `ITEMS`."""
    return "nobody: there is no partner" if items is None else "; ".join(item.says for item in ITEMS if item in items)


def card(experiment: Experiment, condition_name: str, dialogues: Iterable[Dialogue], rows: dict[Format, int]) -> str:
    """The README of one condition's dataset, which has so many `rows` in each format.

    `dialogues` are those that its method learns from.
    """
    condition, licence = experiment.conditions[condition_name], experiment.source.licence
    format = FORMAT_OF[condition.method]
    # Where files lay on the machine that made them helps no reader.
    first, *others = (tasks.model_copy(update={"path": Path(tasks.path).name}) for tasks in experiment.tasks.sources)
    here = {"out": "", "tasks": first.model_copy(update={"second": others[0] if others else None})}
    data = DatasetCardData(
        pretty_name=f"{experiment.name}: {condition_name}",
        language="en",
        license=licence.spdx,
        tags=["maieutic", "dialogue", "knowledge-asymmetry"],
        task_categories=["text-generation"],
        configs=[
            {
                "config_name": one,
                "data_files": f"{one}/*.parquet",
                **({"default": True} if one == format and len(rows) > 1 else {}),
            }
            for one in rows
        ],
    )
    template = Environment(
        loader=PackageLoader("pipeline"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    ).get_template("card.md.j2")
    body = template.render(
        experiment=experiment,
        name=condition_name,
        condition=condition,
        student=knows(condition.row.student),
        partner=knows(condition.row.partner),
        disclosure=_disclosure(condition),
        voice=_voice(experiment, condition),
        selection=SELECTION[condition.selection],
        dropped="; where the partner violated its knowledge constraint, dropped"
        if condition.violations == "drop"
        else "",
        method=METHOD[condition.method],
        pool=_pool(experiment, condition_name),
        memory=MEMORY[condition.memory].format(**experiment.memory.model_dump()) if condition.memory != "none" else "",
        format=format,
        per_task=experiment.per_task(condition.learns_from or condition_name),
        learn=LEARN[experiment.training.learn],
        licence=licence.asks,
        rates=_rates(condition, dialogues),
        audit=_audit(condition, Pool(experiment, condition_name), dialogues) if format != "prompt_only" else [],
        rows=rows[format],
        counts=_counts(condition, dialogues, rows[format]),
        others=[(one, rows[one], ALSO[one]) for one in rows if one != format],
        limits=_limits(experiment, condition_name),
        views=_views(experiment, condition, dialogues),
        config=dump(experiment.model_copy(update=here)),
    )
    return str(DatasetCard(f"---\n{data.to_yaml()}\n---\n\n{body}"))


def _disclosure(condition: Condition) -> str:
    if condition.row.partner is None:
        return "There is no partner: the student goes on after content-free turns."
    if not condition.row.holds_private:
        return "The partner has nothing to tell that the student cannot read." + MANNER[condition.manner]
    if condition.voice == "human":
        return "People: what they told, and when, was up to them."
    told = DISCLOSURE[condition.disclosure] + MANNER[condition.manner]
    if condition.row.holds_answer:
        told += " It may say the answer." if condition.reveal else " It is not to say the answer."
    return told


def _pool(experiment: Experiment, condition_name: str) -> str:
    """Whose dialogues the rows are made of, and whether the ledger's are among them."""
    source = experiment.conditions[condition_name].learns_from
    whose = f"Its dialogues are those of condition `{source}`" if source else "Its dialogues are this condition's own"
    if not has_ledger(experiment, source or condition_name):
        return f"{whose}."
    return f"{whose}, and those in which they were played on from other turns that the student might have said."


def _voice(experiment: Experiment, condition: Condition) -> str:
    model = experiment.partner.model or experiment.student.model
    weights = {"base": "its untrained weights", "current": "the student's current weights"}
    name = f"`{model}`, {weights.get(condition.weights, f'the adapter of condition `{condition.weights}`')}"
    wordings = sum(len(lines) for lines in WORDINGS["train"].values())
    return VOICES[condition.voice].format(wordings, model=name)


def _counts(condition: Condition, dialogues: Iterable[Dialogue], rows: int) -> list[tuple[str, object]]:
    format, selecting = FORMAT_OF[condition.method], condition.method in SELECTING
    if format == "prompt_only":
        what = "task, seed and step of its expert" if condition.method == "grpo_step" else "task and seed"
        return [(f"rows (one for each {what})", rows)]
    mix, stops, cells, tokens = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    tasks, turns = set(), 0
    for dialogue in dialogues:
        mix[dialogue.task.specification] += 1
        stops[dialogue.stop] += 1
        cells[f"seed {dialogue.seed} round {dialogue.round}"] += 1
        tasks.add(dialogue.task.id)
        turns += len(dialogue.turns)
        for turn in dialogue.turns:
            tokens[turn.party] += turn.tokens
    return [
        ("selected dialogues" if selecting else "dialogues in the pool", stops.total()),
        ("rows" if format == "preference" else "rows (the others would teach nothing)", rows),
        ("distinct tasks", len(tasks)),
        ("by specification", _listed(mix)),
        ("by seed and round", _listed(cells)),
        ("how they ended", _listed(stops)),
        ("turns", turns),
        *((f"{who} tokens", tokens[who] or "none sampled") for who in ("student", "partner")),
    ]


def _listed(counter: Counter[Any]) -> str:
    return ", ".join(f"{key}: {count}" for key, count in sorted(counter.items())) or "none"


def _rates(condition: Condition, dialogues: Iterable[Dialogue]) -> list[tuple[str, str]]:
    """Shares with their denominators; an empty denominator is not a number."""
    every = right = lucky = leaks = 0
    for dialogue in dialogues:  # once: a pool is read anew each time
        every += 1
        if is_correct(dialogue):
            right += 1
            lucky += not is_grounded(dialogue)
        leaks += privileged(condition) and leak_stated(dialogue)
    leak = "not applicable, the partner holds nothing private"
    if privileged(condition):
        leak = _share(leaks, every)
    return [
        ("right: the final answer is the gold answer", _share(right, every)),
        ("lucky: right, though a needed fact was never given", _share(lucky, right)),
        ("leak_stated: the partner states the gold answer before the student has it", leak),
    ]


def _audit(condition: Condition, pool: Iterable[Dialogue], learned: Iterable[Dialogue]) -> list[tuple[str, str, str]]:
    """Shares of the dialogues in which a partner spoke that it violated its knowledge constraint in: of all, and of
    those learned from."""
    kinds = audited(condition)
    if not kinds:
        return []
    columns = []
    for dialogues in (pool, (dialogue for dialogue in learned if sound(dialogue, condition))):
        n, broken, by_kind = 0, 0, Counter[Kind]()
        for dialogue in dialogues:
            found = {violation.kind for violation in violations(dialogue)}
            n += any(turn.party == "partner" for turn in dialogue.turns)
            broken += bool(found)
            by_kind.update(found)
        columns.append([_wilson(broken, n), *(_wilson(by_kind[kind], n) for kind in kinds)])
    names = ["any of these", *(f"`{kind}`: {BREACH[kind]}" for kind in kinds)]
    return list(zip(names, *columns, strict=True))


def _share(hits: int, n: int) -> str:
    return f"{hits / n:.3f} ({hits} of {n})" if n else "NaN (0 of 0)"


def _wilson(hits: int, n: int) -> str:
    """With Wilson's 95% interval, dialogues taken as independent."""
    from scipy.stats import binomtest

    if not n:
        return _share(hits, n)
    low, high = binomtest(hits, n).proportion_ci(method="wilson")
    return f"{hits / n:.3f} [{low:.3f}, {high:.3f}] ({hits} of {n})"


def _limits(experiment: Experiment, condition_name: str) -> list[str]:
    condition, limits = experiment.conditions[condition_name], list[str]()
    if condition.voice != "human":
        limits.append("The partner is simulated. What a student learns from it need not hold with people.")
    if condition.pass_rate != (0, 1):
        limits.append(
            f"Only tasks whose dialogues end right in {condition.pass_rate[0]:.0%} to "
            f"{condition.pass_rate[1]:.0%} of cases."
        )
    if condition.selection != "none" and condition.method in SELECTING:
        limits.append("Rows were selected, so rates of acts here are not rates of what the student does.")
    if experiment.source.closed:
        limits.append(
            "The base's acts (asking, acknowledging, giving in and so on) and how often it makes them were "
            "planted when it was trained; only changes against it mean anything."
        )
        if condition.is_plumbing_on_embedded:
            limits.append(
                "Plumbing: what this condition does in the embedded world is the corpus author's choice. "
                "No claim rests on it."
            )
    if any(source.has_programs for source in experiment.sources_of(condition_name)):
        limits.append(
            "Programs are right where they pass their tests. A partner gives one away where its own passes; one told "
            "in words or pieces, and false conventions, are not measured: those rules read numbers. A convention "
            "counts as asked for by its topics' words, with no measured precision or recall, and as told nearly word "
            "for word."
        )
    if condition.voice == "human":
        limits.append("The student of MathDial is itself a language model that plays a confused pupil.")
        limits.append("The teacher also read the student's wrong solution, which nobody says and no view shows.")
        limits.append(
            "leak_stated misses leaks in people's talk: of those that the teachers admit the rule finds 64% "
            "(27 of 42, docs/labels.md)."
        )
    if condition.voice == "model" and privileged(condition):
        limits.append(
            "leak_stated reads the model's turns by rule. Of the replies of tutors that people call a leak, on the "
            "held-out half of MRBench, this rule found 26 of 28 (docs/labels.md)."
        )
    if condition.row.deals_shares:
        limits.append("Facts are dealt in turn; the student's question is its share and the last sentence.")
    return [*limits, "Answers are compared by value where they can be parsed. Acts and attempts are read off by rule."]


def _views(experiment: Experiment, condition: Condition, dialogues: Iterable[Dialogue]) -> list[tuple[str, list[str]]]:
    """Both parties' opening messages of the first dialogue, as lines."""
    first = next(iter(dialogues), None)
    if first is None:
        return []
    shown = [("The student reads", view(first.task, condition, [], "student", experiment.student.system))]
    if (
        condition.row.partner is not None
        and condition.voice != "human"
        and known(first.task, condition, "partner").question
    ):
        opening = view(first.task, condition, first.turns[:1], "partner", experiment.partner.system)
        shown.append(("The partner reads", opening))
    return [
        (who, [line for m in messages for line in f"[{m['role']}] {m['content']}".splitlines()])
        for who, messages in shown
    ]
