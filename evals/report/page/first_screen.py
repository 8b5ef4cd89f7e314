"""What a reader with two minutes has to see: what was found, with how much, of whom, and what speaks against it.

Nothing is measured here. Each line is read off the summary, and is there only where it concerns the primary contrast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evals.exams.asking import ASK_NEEDED, ASK_SKILL
from evals.metrics.catalog import Catalog
from evals.metrics.metric import metric_name
from evals.report.page.label_marks import Mark
from evals.sitting.competence import mark_of
from evals.stats.number_format import number
from pipeline.core.schema import Json
from pipeline.datasets.card_words import DISCLOSURE
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE, Condition, Regime
from pipeline.runs.directory import changed_path

# Notes of the summary, by how they begin: those that weigh most, and the one that a line with figures stands for.
SERIOUS, NATURAL = ("One seed only", "The wording alone"), "Regime natural"
# From where a share is worth a line.
AMOUNT, VIOLATED, LUCKY, FAILED = 1.1, 0.05, 0.10, 0.02
UNSAID = {
    "unanswered": "scenarios were not answered", "silent": "answers had no word", "cut": "answers were cut off",
    "unread": "scenarios had a turn that could not be read", "unlabelled": "turns were given no label",
}  # fmt: skip
# Axes of a condition that are said of who is compared, where they are not as they are by default.
APART = (
    "begins", "base", "learns_from", "speaker", "weights", "selection", "keep", "first_acts", "regime", "budget",
    "discount", "token_price", "question_price", "memory",
)  # fmt: skip
DEFAULTS = Condition.model_fields
SAME = 0.05  # a prediction that differs by less says nothing of what was found


class Finding(NamedTuple):
    """`means`: the metric and what it is the sum of, as (name, definition). `figures`: the metric under both conditions
    and the base, as (name, rate). `against` begins with what weighs most, and has all notes of the summary."""

    contrast: Json | None
    means: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, Json], ...]
    of_whom: tuple[str, ...]
    against: tuple[str, ...]


def finding(page: Json, runs: Sequence[Experiment], marks: Mapping[str, Mark], metrics: Catalog) -> Finding:
    """Of the first primary contrast; without one, of whom, and the notes."""
    row = next((row for row in page["comparisons"] if row["primary"]), None)
    said = tuple(page["notes"])
    if row is None:
        return Finding(None, (), (), _of_whom(page, runs, []), said)
    names, conditions = (row["a"], row["b"]), page["conditions"]
    headings = [heading["names"] for heading in page["runs"]]
    i = next(i for i, shown in enumerate(headings) if {*names} <= {*shown.values()})
    base = headings[i].get("base", "base")
    rates = [(name, conditions.get(name, {"metrics": {}})["metrics"].get(row["metric"])) for name in (*names, base)]
    shown = dict((name, rate) for name, rate in rates if rate and rate["value"] is not None)
    sides = [shown[name] for name in names if name in shown]
    against = (*_of_floor(sides), *_of_base(row, shown, base), *_against(row, conditions, runs[i], marks, base))
    if any("trained on" in line for line in against):
        said = tuple(note for note in said if not note.startswith(NATURAL))
    serious = [note for note in said if note.startswith(SERIOUS)]
    against = (*_of_competence(row, page, metrics), *serious, *against, *(note for note in said if note not in serious))
    return Finding(row, _means(row["metric"], metrics), tuple(shown.items()), _of_whom(page, runs, names), against)


def _means(name: str, metrics: Catalog) -> tuple[tuple[str, str], ...]:
    metric = metrics.metric(name)
    parts = [metrics.metric(part) for part in metric.parts] if metric is not None else []
    return tuple((each.name, each.definition) for each in (metric, *parts) if each is not None)


def _of_whom(page: Json, runs: Sequence[Experiment], names: Sequence[str]) -> tuple[str, ...]:
    """Who was trained on what, a line for each run and each of the two conditions."""
    lines = []
    for heading, run in zip(page["runs"], runs, strict=True):
        count = len(heading["seeds"])
        seeds = f"{count} student{'s' if count > 1 else ''} of each condition, one per seed"
        trained = [
            name for name in names if name in heading["names"].values() and page["conditions"][name].get("condition")
        ]
        sat = {name: len(page["conditions"][name]["seeds"]) for name in trained}
        if fewer := [f"{sat[name]} of {name}" for name in sat if sat[name] < count]:
            seeds += f", of which {' and '.join(fewer)} sat exams"
        exams = f"{heading['source']} tasks, exams at temperature {heading['temperature']:g}"
        lines.append(f"base {run.student.model}: {seeds}; {exams}")
    for name in names:
        if (condition := page["conditions"].get(name, {}).get("condition")) is not None:
            axes = [f"{axis} {condition[axis]}" for axis in ("partition", "disclosure", "voice", "method")]
            axes += [f"{axis} {condition[axis]}" for axis in APART if condition[axis] != DEFAULTS[axis].default]
            lines.append(f"{name}: {', '.join(axes)}; {_disclosed(condition)}{_kept(page, name)}")
    return tuple(lines)


def _disclosed(condition: Json) -> str:
    """In a sentence, where the partner has facts of its own to tell."""
    of = Condition.model_validate(condition)
    told = DISCLOSURE[of.disclosure].rstrip(".").replace("The", "the", 1)
    return f"{told}; " if of.row.holds_withheld and not of.row.holds_answer else ""


def _kept(page: Json, name: str) -> str:
    """Of how many dialogues it learns, the branches of its pool among them; its rows where no selection chose them."""
    entry = page["conditions"][name]
    counts, learned = entry["counts"], LEARNING_RULES[entry["condition"]["method"]]
    if entry["condition"]["method"] in ONLINE:
        return "it plays while it learns"
    if not learned.selects:
        return f"{counts['rows']:,} rows"
    names = next(heading["names"] for heading in page["runs"] if name in heading["names"].values())
    pool = page["conditions"].get(names.get(entry["condition"]["learns_from"], ""), entry)
    branches = f" and {pool['turn_values']['rollouts']:,} branches" if pool.get("turn_values") else ""
    return f"{counts['selected']:,} of {counts['dialogues']:,} dialogues{branches} kept"


def _of_floor(sides: Sequence[Json]) -> Iterator[str]:
    """Where neither side does it at all, or both always do; a difference of two shares is 0 elsewhere too."""
    for bound in (0, 1):
        if len(sides) == 2 and all(rate["value"] == bound and rate["low"] >= 0 for rate in sides):
            yield f"Both sides are at {bound} in every case, where no difference can be seen."


def _of_base(row: Json, shown: Mapping[str, Json], base: str) -> Iterator[str]:
    """Where a difference between accuracies is how far one side fell below the base: a student that broke down makes
    one too. Of other metrics less may be better."""
    decided = row["low"] is not None and not row["low"] <= 0 <= row["high"]
    if not decided or "accuracy" not in row["metric"] or len(shown) < 3:
        return
    before = shown[base]
    for name, other in ((row["a"], row["b"]), (row["b"], row["a"])):
        rate, beside = shown[name], shown[other]
        if rate["apart"] and rate["value"] < before["value"] and not beside["apart"]:
            yield (
                f"The difference is how far {name} fell below the base ({number(rate['value'])} against "
                f"{number(before['value'])}); {other} ({number(beside['value'])}) is not told apart from the base."
            )


def _against(row: Json, conditions: Json, run: Experiment, marks: Mapping[str, Mark], base: str) -> Iterator[str]:
    built = {name: entry for name in (row["a"], row["b"]) if "counts" in (entry := conditions.get(name, {}))}
    if run.has_planted_acts:
        yield (
            f"The base ({run.student.model}) is a small one of a planted world: its corpus decided how often it asks. "
            "Nothing here is shown of a pretrained model."
        )
    yield from _of_changes(run)
    yield from _of_labels(row, marks)
    yield from _of_amounts(built, run.training.regime)
    yield from _of_selection(row, conditions, built, base)
    yield from _of_greedy(row, conditions)
    yield from _of_answers(row, conditions)
    yield from _of_dialogues(built)


def _of_competence(row: Json, page: Json, metrics: Catalog) -> Iterator[str]:
    """Which side cannot do what the exam of the contrast asks, or is not known to."""
    exam = metrics.family(row["metric"])
    for name in (row["a"], row["b"]):
        if mark := mark_of(page["competence"], exam, row["metric"], name):
            how = "cannot do" if mark == "✕" else "is not known to be able to do"
            yield f"{name} {how} what exam {exam} asks, so {row['metric']} says nothing of a disposition."


def _of_changes(run: Experiment) -> Iterator[str]:
    path = changed_path(run.run)
    if path.is_file() and "  compare" in path.read_text(encoding="utf-8"):
        yield (
            f"What is compared was changed after its dialogues were made ({path.name}): who had seen a report of these "
            "students by then named it after the fact, and it decides nothing."
        )


def _of_labels(row: Json, marks: Mapping[str, Mark]) -> Iterator[str]:
    mark = marks.get(metric_name(row["metric"]))
    if mark is not None and mark.standing == "rough":
        yield f"What {row['metric']} counts is read roughly: the lowest F1 of its labels is {number(mark.lowest)}."
    if mark is not None and mark.standing == "unmeasured":
        yield f"How well the labels of {row['metric']} are read, nobody has measured."


def _of_amounts(built: Mapping[str, Json], regime: Regime) -> Iterator[str]:
    """Of one student, since not all may have been trained; nothing where nobody noted how much."""
    # Who plays learns from what differs in reward, which is no budget of its condition.
    offline = {name: entry for name, entry in built.items() if entry["condition"]["method"] not in ONLINE}
    students = {name: entry["budgets"] for name, entry in offline.items() if entry["budgets"]["students"]}
    tokens = [used["trained_tokens"] / used["students"] for used in students.values()]
    if len(tokens) < 2 or (min(tokens) and max(tokens) <= AMOUNT * min(tokens)):
        return
    amounts = ", ".join(
        f"{name} on {used['trained_rows'] / used['students']:,.0f} rows ({each:,.0f} tokens over all passes)"
        for (name, used), each in zip(students.items(), tokens, strict=True)
    )
    rules = [entry["condition"] for entry in built.values()]
    can = all(rule["method"] == "sft" and (rule["regime"] or regime) == "natural" for rule in rules)
    yield f"A student was trained on unlike amounts: {amounts}.{' training.regime: matched takes that away.' * can}"


def _of_selection(row: Json, conditions: Json, built: Mapping[str, Json], base: str) -> Iterator[str]:
    """Where copying what was kept would give a difference of the same sign; the base copies nothing."""
    if row["metric"] not in (ASK_SKILL.name, ASK_NEEDED.name) or not row["difference"]:
        return
    predicted = {name: entry["predicted"] for name, entry in built.items() if entry["condition"]["method"] == "sft"}
    would = {name: each["ask_rate"] for name, each in predicted.items()}
    if base in (row["a"], row["b"]):
        would[base] = (conditions.get(base, {"metrics": {}})["metrics"].get(ASK_NEEDED.name) or {}).get("value")
    observed = [each["observed"] for each in predicted.values()]
    if len(would) < 2 or None in would.values() or None in observed:
        return
    ahead = would[row["a"]] - would[row["b"]]
    if ahead * row["difference"] <= 0 or abs(ahead) < SAME:
        return
    rates = [f"{number(rate)} {'before' if name == base else f'after {name}'}" for name, rate in would.items()]
    yield (
        f"Selection alone goes this way: who copied the dialogues that were kept would ask ({ASK_NEEDED.name}) at "
        f"{' and '.join(rates)}; trained students do at {' and '.join(number(each['value']) for each in observed)}."
    )


def _of_greedy(row: Json, conditions: Json) -> Iterator[str]:
    """Where the difference vanishes, or turns, in greedy decoding."""
    greedy = [
        conditions.get(name, {}).get("metrics", {}).get(row["metric"], {}).get("greedy")
        for name in (row["a"], row["b"])
    ]
    if None in greedy or row["low"] is None or row["low"] <= 0 <= row["high"]:
        return
    change = greedy[0] - greedy[1]
    if change * row["difference"] <= 0:
        yield f"Decoded greedily the difference is {number(change, 3, True)}."


def _of_answers(row: Json, conditions: Json) -> Iterator[str]:
    """What of the exams is not there, or was not said whole: it counts as not asking, or not at all."""
    for name in (row["a"], row["b"]):
        metrics = conditions.get(name, {}).get("metrics", {})
        for metric, what in UNSAID.items():
            share = (metrics.get(metric) or {}).get("value") or 0.0
            if share > FAILED:
                yield f"Of {name}, {share:.0%} of the exams' {what}."


def _of_dialogues(built: Mapping[str, Json]) -> Iterator[str]:
    """What is wrong with what they learned from."""
    for name, entry in built.items():
        share = {key: (entry[key] or {}).get("value") or 0.0 for key in ("violated", "lucky_selected")}
        if share["violated"] > VIOLATED:
            at_least = f"at least {share['violated']:.0%} of dialogues"
            yield f"The partner of {name} broke its knowledge constraint in {at_least}."
        if share["lucky_selected"] > LUCKY:
            lucky = f"{share['lucky_selected']:.0%} of the {entry['lucky_selected']['n']:,} underspecified dialogues"
            yield f"{lucky} that {name} learned from are right by luck."
        failed, made = entry["counts"]["failures"], entry["counts"]["dialogues"]
        if failed > FAILED * (failed + made):
            yield f"{failed:,} of {failed + made:,} dialogues of {name} failed, perhaps not at random."
