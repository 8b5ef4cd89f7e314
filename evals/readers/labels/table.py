"""Every figure of every labeller on every corpus, as plain rows, and as text.

maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evals.readers.labels.labelled_turns import Said
from evals.readers.labels.learn import Labels, bare
from evals.readers.labels.measure import CLASSES, cases, covers, readings
from evals.stats.classification import FEWEST, Score, score
from evals.stats.intervals import Rate
from pipeline.core.schema import Json, digest

FORMS: dict[str, Callable[[Said], Said]] = {"as written": lambda said: said, "bare": bare}
TARGETS = {"question": 0.90, "request": 0.80, "acknowledge": 0.85}  # F1 on unseen conversations
# How far people agreed among themselves, where a figure could be checked. All are of whole sets of tags, in kappa: none
# is the F1 of one class, so that no target is called met because of them.
PEOPLE = {
    "swda": "kappa .80 to .84 over all of some 40 tags (Jurafsky et al. 1997; Stolcke et al. 2000 give .80)",
    "mrda": "kappa over maps of tags to a few classes (Shriberg et al. 2004), none for one class",
}


class Measured(NamedTuple):
    """As people's labels decide, and with silent ones as no; how many were silent, and how many got no label here."""

    decided: Score
    silent_as_no: Score
    silent: int
    unlabelled: int


def measure(labels: Labels, lines: Sequence[Said], name: str, part: str, form: str) -> Measured:
    """One class, on one part of one corpus, the text as written or bare."""
    known = [(said, yes) for said, yes in readings(lines, name) if said.part == part]
    found = labels([FORMS[form](one) for one, _ in known], name)
    kept = [(yes, said, one.conversation) for (one, yes), said in zip(known, found, strict=True) if said is not None]
    decided = [(yes, said, where) for yes, said, where in kept if yes is not None]
    unlabelled = sum(yes is not None for _, yes in known) - len(decided)
    all_read = [(bool(yes), said, where) for yes, said, where in kept]
    return Measured(_score(decided), _score(all_read), sum(yes is None for _, yes in known), unlabelled)


def _score(cases: Sequence[tuple[bool, bool, str]]) -> Score:
    return score([yes for yes, _, _ in cases], [said for _, said, _ in cases], [where for _, _, where in cases])


def of_labeller(
    labels: Labels,
    title: str,
    learned_on: str,
    corpora: Mapping[str, Sequence[Said]],
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


def _row(title: str, learned_on: str, corpus: str, name: str, part: str, form: str, measured: Measured) -> Json:
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


def found_by_label(lines: Iterable[Said], labels: Labels, classes: Sequence[str]) -> Json:
    """Confusion in full: for each label that people gave, in how many turns each class was found."""
    lines = list(lines)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for said in lines:
        table[" + ".join(said.labels)]["turns"] += 1
    for name in classes:
        for said, yes in zip(lines, labels(lines, name), strict=True):
            table[" + ".join(said.labels)][name] += bool(yes)
    return {label: dict(counts) for label, counts in sorted(table.items(), key=lambda item: -item[1]["turns"])}


def errors(lines: Iterable[Said], name: str, part: str, most: int, labels: Labels) -> list[tuple[str, Said]]:
    """The first errors in an order that has nothing to do with the text, missed and false ones in equal shares."""
    known = [(said, yes) for said, yes in cases(lines, name) if said.part == part]
    known.sort(key=lambda case: digest(case[0].text, case[0].conversation))
    said = labels([one for one, _ in known], name)
    wrong = [
        ("missed" if yes else "false", one)
        for (one, yes), found in zip(known, said, strict=True)
        if found is not None and yes != found
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
    for one in rows:
        rates = [
            show(one[key]) for key in ("precision", "recall", "f1", "kappa", "precision_silent_no", "f1_silent_no")
        ]
        if not one["measured"]:
            rates = ["not measured", "", "", "", "", ""]
        cells = [one["labeller"], one["learned_on"], one["corpus"], one["class"], one["part"], one["form"]]
        lines.append(
            "| "
            + " | ".join([*cells, str(one["n"]), str(one["others"]), str(one["silent"]), *rates, verdict(one)])
            + " |"
        )
    people = [f"- {corpus}: {said}" for corpus, said in PEOPLE.items()]
    end = f"Not measured: fewer than {FEWEST} cases. Brackets: 95% intervals. How far people agree among themselves:"
    return "\n".join([*lines, "", end, "", *people, ""])


def verdict(one: Json) -> str:
    """Against the target of the class, which is for text as written, in unseen conversations."""
    target = TARGETS.get(one["class"])
    if target is None or one["f1"] is None or one["part"] != "test" or one["form"] != "as written":
        return ""
    if one["f1"][0] < target:
        return f"below {target:.2f}"
    as_no = one["f1_silent_no"][0]
    return f"meets {target:.2f}" + (f" as mapped; {as_no:.3f} with silent labels as no" if as_no < target else "")


def show(figure: Sequence[float] | None) -> str:
    return "–" if figure is None else f"{figure[0]:.2f} [{figure[1]:.2f}, {figure[2]:.2f}]"
