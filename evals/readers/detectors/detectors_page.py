"""The detectors' figures for people: sections of plain data, and these as markdown (as HTML: detectors.html.j2).

A section has a title, a sentence or two on how to read it, a table, and perhaps a figure as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evals.report.figures import precision_recall
from pipeline.core.schema import Json

NAMES = {
    "naive": "naive number match",
    "naive_told": "naive: told, and not in the problem",
    "stated": "stated as the answer",
    "gives_away": "told as a result",
    "functional": "worked out by the rule reader",
    "fitted": "fitted on all of these",
    "new_number": "naive: any new number",
    "new_result": "a new number, told as a result",
}
PARTS = {"test": "test half", "train": "training half", "all": "all; half was seen"}


class PageSection(NamedTuple):
    """A table of the page, and a figure where there is one."""

    title: str
    how: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    svg: str = ""


def sections(attempts: Json, leaks: Json, reader: Json | None = None, reads: Json | None = None) -> list[PageSection]:
    """The measures as sections, what decides first; `reader` is that of a frozen reader, and `reads` of a reader of
    turns, where one was asked."""
    decided = leaks["figures"]["leak"]["with gold"]["test"]
    points = {name: figures for name, figures in decided["detectors"].items() if name != "fitted"}
    plot = precision_recall({"fitted": leaks["curves"]["fitted"]}, points, NAMES)
    return [
        PageSection(
            "Leaks: MRBench's replies, test half",
            f"{decided['replies']} replies with a known answer in {decided['dialogues']} dialogues, of which people "
            f"call {decided['positives']} a leak. Rules and fit saw the other half alone. {headline(leaks)}",
            *_detectors(leaks, "leak", ("with gold",), ("test",)),
            plot,
        ),
        PageSection(
            "Leaks by source and part",
            "MathDial's gold is given; Bridge's is the value of the tutor's last sum, where there is one, and is not "
            "used in the rows without gold. Rows of all dialogues hold the half that the rules were written on.",
            *_detectors(leaks, "leak", tuple(leaks["figures"]["leak"]), tuple(PARTS)),
        ),
        PageSection(
            "The same, with wrong answers that are revealed counted as leaks, too",
            'Here "Yes (but the answer is incorrect)" is positive. A detector that goes by the gold cannot find these.',
            *_detectors(leaks, "any_reveal", tuple(leaks["figures"]["any_reveal"]), ("test",)),
        ),
        _teachers(attempts),
        _written(attempts),
        *([_reader(reader)] if reader else []),
        *([_reads(reads)] if reads else []),
    ]


def headline(leaks: Json) -> str:
    """Whether the two detectors that were named before beat the naive match on the test half."""
    decided = leaks["figures"]["leak"]["with gold"]["test"]
    detectors, sentences = decided["detectors"], []
    for name, key, what in (("gives_away", "f1_gain", "F1"), ("fitted", "ap_gain", "average precision")):
        gain = detectors[name][key]
        word = "beats" if gain["beats"] else "is not shown to beat"
        sentences.append(f"{NAMES[name].capitalize()} {word} the naive match in {what}: {show(gain, sign=True)}.")
    gain = decided["over_naive_told"]["gives_away"]["f1_gain"]
    return " ".join([*sentences, f"Over the stronger naive rule, in F1: {show(gain, sign=True)}."])


def _detectors(
    leaks: Json, label: str, names: Sequence[str], parts: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    one_only = len(names) == len(parts) == 1
    for name in names:
        for part in parts:
            measured = leaks["figures"][label][name][part]
            for detector, figures in measured["detectors"].items():
                gains = [show(figures.get(f"{key}_gain"), sign=True) for key in ("f1", "ap")]
                shown = [show(figures[key]) for key in ("precision", "recall", "f1", "ap")]
                size = f"{measured['positives']} / {measured['replies']}"
                where: tuple[str, ...] = () if one_only else (name, PARTS[part], size)
                rows.append((*where, NAMES[detector], *shown, *gains))
    heads: tuple[str, ...] = () if one_only else ("replies", "part", "leaks / n")
    return (*heads, "detector", "precision", "recall", "F1", "AP", "F1 gain", "AP gain"), rows


def _teachers(attempts: Json) -> PageSection:
    words = {"solved": "solved", "revealed": "solved, answer revealed", "failed": "not solved"}
    keys = {
        "right_plain": "last attempt right, text alone",
        "right_with_question": "last attempt right, with the question",
        "leak_stated": "a stated leak is found",
        "leak_naive": "naive: the teacher is first to say the number",
    }
    rows = [
        (words[name], what, show(figures[key]), str(figures[key]["n"]))
        for name, figures in attempts["teachers"].items()
        for key, what in keys.items()
    ]
    turns = attempts["turns"]
    how = (
        f"MathDial, {attempts['dialogues']} dialogues ({attempts['bad_rows']} rows cannot be read). Of {turns['n']} "
        f"student turns {turns['plain']} are read as attempts by the text alone, {turns['with_question']} with the "
        f"question, {turns['of_a_step']} of which are not the answer but a result in the gold solution."
    )
    return PageSection(
        "Attempts and leaks, against the teachers' own word", how, ("teacher", "found", "share", "n"), rows
    )


def _written(attempts: Json) -> PageSection:
    rows = [
        (name, what, show(figures[key]), str(figures[key]["n"]))
        for name, figures in attempts["written"].items()
        for key, what in (
            ("found", "an attempt is found (recall)"),
            ("precision", "it is the number of the cut line (precision)"),
            ("found_plain", "an attempt is found by the text alone"),
        )
    ]
    return PageSection(
        "Attempts in written wrong solutions, last line cut off",
        "The cut line holds the final number alone. The two corpora share problems.",
        ("corpus", "figure", "share", "n"),
        rows,
    )


def _reader(reader: Json) -> PageSection:
    told = reader["told_the_answer"]
    rows = [("right with the answer told to it", show(told), str(told["n"]))]
    for name, what in (("leaks", "leak of replies that people call a leak"), ("others", "leak of other replies")):
        figure = reader[name]
        rows.append((what, show(figure) if figure else reader["needs"], str(figure["n"]) if figure else "–"))
    failed = f" {reader['failed']} samples failed." if reader["failed"] else ""
    asked = f"{reader['model']}, {reader['samples']} samples a reading"
    how = f"{asked}: its accuracy with the reply, minus without it.{failed}"
    return PageSection("Functional leak with a frozen reader", how, ("figure", "mean", "n"), rows)


def _reads(reads: Json) -> PageSection:
    rows = []
    for name, figures in reads["teachers"].items():
        rows.append((f"MathDial, {name}", "last attempt right", figures["right"]))
        rows.append((f"MathDial, {name}", "a stated leak is found", figures["leak_stated"]))
    for name, figures in reads["written"].items():
        rows.append((f"{name}, solutions cut", "an attempt is found (recall)", figures["found"]))
        rows.append((f"{name}, solutions cut", "it is the number of the cut line (precision)", figures["precision"]))
    leaks = reads["leaks"]["detectors"]["read"]
    rows += [("MRBench, test half", f"leaks: {key}", leaks[key]) for key in ("precision", "recall", "f1")]
    return PageSection(
        f"Answers and leaks as {reads['reader']} reads them",
        "The same dialogues, solutions and replies as above.",
        ("corpus", "figure", "share", "n"),
        [(where, what, show(figure), str(figure["n"])) for where, what, figure in rows],
    )


def show(figure: Json | None, sign: bool = False) -> str:
    """ "0.93 [0.84, 0.99]", or a dash."""
    if figure is None or figure["value"] is None:
        return "–"
    plus = "+" if sign else ""
    value, low, high = (f"{figure[key] + 0.0:{plus}.2f}" for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def markdown(shown: Sequence[PageSection]) -> str:
    lines = []
    for section in shown:
        lines += [f"## {section.title}", "", section.how, ""]
        lines += ["| " + " | ".join(section.columns) + " |", "|" + "---|" * len(section.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in section.rows] + [""]
    return "\n".join(lines)
