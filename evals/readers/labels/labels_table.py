"""Every figure of every labeller on every corpus, as plain rows, and as text.

maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.label_classes import CLASSES, cases, covers, readings
from evals.readers.labels.learn_labels import Labels, bare
from evals.stats.classification import FEWEST, Score, score
from evals.stats.intervals import Rate
from pipeline.core.schema import Json, digest

FORMS: dict[str, Callable[[LabelledTurn], LabelledTurn]] = {"as written": lambda turn: turn, "bare": bare}
TARGETS = {"question": 0.90, "request": 0.80, "acknowledge": 0.85}  # F1 on unseen conversations
# How far people agreed among themselves, where a figure could be checked. All are of whole sets of tags, in kappa: none
# is the F1 of one class, so that no target is called met because of them.
PEOPLE = {
    "swda": "kappa .80 to .84 over all of some 40 tags (Jurafsky et al. 1997; Stolcke et al. 2000 give .80)",
    "mrda": "kappa over maps of tags to a few classes (Shriberg et al. 2004), none for one class",
}


class LabellerScores(NamedTuple):
    """As people's labels decide, and with silent ones as no; how many were silent, and how many got no label here."""

    decided: Score
    silent_as_no: Score
    silent: int
    unlabelled: int


def measure(labels: Labels, lines: Sequence[LabelledTurn], name: str, part: str, form: str) -> LabellerScores:
    """One class, on one part of one corpus, the text as written or bare."""
    known = [(turn, yes) for turn, yes in readings(lines, name) if turn.part == part]
    labelled = labels([FORMS[form](turn) for turn, _ in known], name)
    both = [
        (yes, label, turn.conversation) for (turn, yes), label in zip(known, labelled, strict=True) if label is not None
    ]
    decided = [(yes, label, conversation) for yes, label, conversation in both if yes is not None]
    return LabellerScores(
        decided=_score(decided),
        silent_as_no=_score([(bool(yes), label, conversation) for yes, label, conversation in both]),
        silent=sum(yes is None for _, yes in known),
        unlabelled=sum(yes is not None for _, yes in known) - len(decided),
    )


def _score(cases: Sequence[tuple[bool, bool, str]]) -> Score:
    truth, labelled, conversations = zip(*cases, strict=True) if cases else ((), (), ())
    return score(truth, labelled, conversations)


def of_labeller(
    labels: Labels,
    title: str,
    learned_on: str,
    corpora: Mapping[str, Sequence[LabelledTurn]],
    parts: Iterable[Literal["train", "test"]] = ("test",),
    classes: Iterable[str] = tuple(CLASSES),
    forms: Iterable[str] = tuple(FORMS),
) -> list[Json]:
    """Every class that a corpus has a label for."""
    return [
        _row(title, learned_on, corpus, name, part, form, measure(labels, lines, name, part, form))
        for name in classes
        for corpus, lines in corpora.items()
        if covers(corpus, name)
        for part in parts
        for form in forms
    ]


def _row(title: str, learned_on: str, corpus: str, name: str, part: str, form: str, measured: LabellerScores) -> Json:
    figures = measured.decided
    rates = {key: _plain(rate) for key, rate in figures._asdict().items() if isinstance(rate, Rate)}
    # Where no label says that a turn is not of the class, silent ones may be anything.
    worst = measured.silent_as_no if figures.others else None
    return {
        "labeller": title,
        "learned_on": learned_on,
        "corpus": corpus,
        "class": name,
        "part": part,
        "form": form,
        "n": figures.n,
        "others": figures.others,
        "silent": measured.silent,
        "unlabelled": measured.unlabelled,
        "measured": figures.measured,
        "confusion": dict(zip(("tp", "fp", "fn", "tn"), figures.confusion, strict=True)),
        **rates,
        "precision_silent_no": _plain(worst.precision) if worst else None,
        "f1_silent_no": _plain(worst.f1) if worst else None,
    }


def _plain(rate: Rate) -> list[float] | None:
    return None if math.isnan(rate.value) else [round(number, 4) for number in (rate.value, rate.low, rate.high)]


def classes_by_label(lines: Iterable[LabelledTurn], labels: Labels, classes: Sequence[str]) -> Json:
    """Confusion in full: for each label that people gave, in how many turns each class was labelled."""
    lines = list(lines)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in lines:
        table[" + ".join(turn.labels)]["turns"] += 1
    for name in classes:
        for turn, yes in zip(lines, labels(lines, name), strict=True):
            table[" + ".join(turn.labels)][name] += bool(yes)
    return {label: dict(counts) for label, counts in sorted(table.items(), key=lambda item: -item[1]["turns"])}


def errors(
    lines: Iterable[LabelledTurn], name: str, part: str, most: int, labels: Labels
) -> list[tuple[str, LabelledTurn]]:
    """The first errors in an order that has nothing to do with the text, missed and false ones in equal shares."""
    known = [(turn, yes) for turn, yes in cases(lines, name) if turn.part == part]
    known.sort(key=lambda case: digest(case[0].text, case[0].conversation))
    labelled = labels([turn for turn, _ in known], name)
    wrong = [
        ("missed" if yes else "false", turn)
        for (turn, yes), label in zip(known, labelled, strict=True)
        if label is not None and yes != label
    ]
    kinds = [[case for case in wrong if case[0] == kind] for kind in ("missed", "false")]
    fair = max(most - len(kinds[1]), most - most // 2), max(most - len(kinds[0]), most // 2)
    return [case for kind, share in zip(kinds, fair, strict=True) for case in kind[:share]]


def markdown(rows: Iterable[Json]) -> str:
    """One line per figure; classes with too few cases say so."""
    lines = [
        "| labeller | learned on | tested on | class | part | text | n | others | silent | precision | recall | F1 "
        "| kappa | silent as no: precision | F1 | |",
        "|---|---|---|---|---|---|--:|--:|--:|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shown = ("precision", "recall", "f1", "kappa", "precision_silent_no", "f1_silent_no")
        rates = [show(row[key]) for key in shown] if row["measured"] else ["not measured", *[""] * 5]
        cells = [row["labeller"], row["learned_on"], row["corpus"], row["class"], row["part"], row["form"]]
        sizes = [str(row[key]) for key in ("n", "others", "silent")]
        lines.append(f"| {' | '.join([*cells, *sizes, *rates, verdict(row)])} |")
    people = [f"- {corpus}: {agreement}" for corpus, agreement in PEOPLE.items()]
    end = f"Not measured: fewer than {FEWEST} cases. Brackets: 95% intervals. How far people agree among themselves:"
    return "\n".join([*lines, "", end, "", *people, ""])


def verdict(row: Json) -> str:
    """Against the target of the class, which is for text as written, in unseen conversations."""
    target = TARGETS.get(row["class"])
    if target is None or row["f1"] is None or row["part"] != "test" or row["form"] != "as written":
        return ""
    if row["f1"][0] < target:
        return f"below {target:.2f}"
    as_no, mapped = row["f1_silent_no"][0], ""
    if as_no < target:
        mapped = f" as mapped; {as_no:.3f} with silent labels as no"
    return f"meets {target:.2f}{mapped}{'; its interval reaches below' * (row['f1'][1] < target)}"


def show(figure: Sequence[float] | None) -> str:
    return "–" if figure is None else f"{figure[0]:.2f} [{figure[1]:.2f}, {figure[2]:.2f}]"
