"""How well labels read off text, attempts and leaks agree with people's, on every corpus that is there: tables, a page,
a classifier.

    maieutic eval labels configs/labels.yaml

Embeddings are kept in the output folder, under hashes. No turn of a corpus stands in any file but labels.html; the
classifier holds its commonest words and pairs of words.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape
from rich.table import Table

from evals.readers.detectors.detectors_page import markdown as sections_markdown
from evals.readers.detectors.measure_detectors import detect, show_detected
from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.corpora import READERS
from evals.readers.labels.label_classes import CLASSES, covers, left_out
from evals.readers.labels.label_meanings import MEANINGS
from evals.readers.labels.label_settings import LabelSettings
from evals.readers.labels.labels_page import page
from evals.readers.labels.labels_table import FORMS, classes_by_label, errors, markdown, of_labeller, show, verdict
from evals.readers.labels.learn_labels import Labels, baseline, judged, learn, of, rules
from evals.readers.labels.reader_labels import READ_CLASSES, read_labels
from evals.readers.labels.shipped_figures import figures, written
from pipeline.core.config_reading import read_as
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole
from pipeline.core.schema import Json
from pipeline.engines.open_model import open_model
from pipeline.reading.labelling.classifier import Classifier, Embedder
from pipeline.reading.labelling.judge import Judge, prompt_hash
from pipeline.reading.open_reader import open_reader
from pipeline.runs.progress import console, say, stage

Corpora = dict[str, list[LabelledTurn]]


class Measurements(NamedTuple):
    """Of all labellers: the figures of `table`, and by labeller the confusions and examples of errors."""

    rows: list[Json]
    by_label: dict[str, Json]
    wrong: dict[str, Json]


def measure_labellers(config: Path, overrides: tuple[str, ...]) -> list[Path]:
    """Measure every labeller of the config, print the table, and write the files. Raises ConfigError."""
    settings = read_as(LabelSettings, config, overrides)
    corpora, facts = read(settings)
    out = settings.folder
    out.mkdir(parents=True, exist_ok=True)
    made = _measure(settings, corpora)
    show_table(made.rows)
    detected, sections = detect(settings.corpora_folder, settings.reader, settings.engine, settings.reads)
    if detected:
        show_detected(detected, sections)
    whole = {"corpora": facts, "rows": made.rows, "found_by_label": made.by_label, "detectors": detected}
    asked = {"model": settings.judge, "prompt": prompt_hash()} if "judge" in settings.labellers else None
    shipped = written(figures(made.rows, detected, asked))
    paths = [
        write_whole(out / "labels.html", page(made.rows, made.by_label, made.wrong, facts, sections)),
        write_whole(out / "labels.md", f"{markdown(made.rows)}\n\n{sections_markdown(sections)}".rstrip() + "\n"),
        write_whole(out / "labels.json", json.dumps(whole, indent=1, allow_nan=False) + "\n"),
        write_whole(out / "figures.json", shipped),
    ]
    if "classifier" in settings.labellers:
        paths.append(write_whole(out / "classifier" / "figures.json", shipped).parent)
    return paths


def _measure(settings: LabelSettings, corpora: Corpora) -> Measurements:
    """Every labeller that the config names, and the baselines; the classifier of all corpora is stored."""
    shown = {name: thin(lines, settings.most) for name, lines in corpora.items()}
    reader = open_reader(settings.reads) if settings.reads else None  # a wrong name is told before all else
    made = Measurements(of_labeller(baseline, "baseline", "–", corpora), {}, {})
    if "rules" in settings.labellers:
        made.rows.extend(of_labeller(rules, "rules", "–", corpora, ("train", "test")))
        made.by_label["rules"] = confusions(corpora, rules, list(CLASSES))
        made.wrong["rules"] = examples(corpora, rules, settings.errors)
    if "classifier" in settings.labellers:
        out = settings.folder
        embed = Embedder(settings.embedder, out / "embeddings.npz")
        of_all, rows = classifiers(shown, embed, settings)
        made.rows.extend(rows)
        of_all.save(out / "classifier", f"training parts of {', '.join(shown)}; at most {settings.most} turns of each")
        made.by_label["classifier"] = confusions(shown, of(of_all), of_all.learned)
        made.wrong["classifier"] = examples(*unseen_training(shown, embed), settings.errors)
    if "judge" in settings.labellers:
        turns = [turn for lines in shown.values() for turn in lines]
        judge = asyncio.run(judged(Judge(open_model(settings.engine, settings.judge)), turns))
        made.rows.extend(of_labeller(judge, "judge", "–", shown, forms=("as written",)))
        made.by_label["judge"] = confusions(shown, judge, list(CLASSES))
        made.wrong["judge"] = examples(shown, judge, settings.errors)
    if reader:
        tested = {name: [turn for turn in lines if turn.part == "test"] for name, lines in shown.items()}
        every = [turn for lines in tested.values() for turn in lines]
        read_by = asyncio.run(read_labels(reader, every))
        made.rows.extend(of_labeller(read_by, settings.reads, "–", tested, ("test",), READ_CLASSES, ("as written",)))
        made.by_label[settings.reads] = confusions(tested, read_by, list(READ_CLASSES))
    return made


def read(settings: LabelSettings) -> tuple[Corpora, Json]:
    """The corpora that are there, and what was read of them. Raises ConfigError where none is."""
    folder = settings.corpora_folder
    corpora: Corpora = {}
    facts: Json = {}
    for name in settings.corpora:
        reader, place = READERS[name]
        if not (folder / place).exists():
            say(f"{name}: SKIPPED, {folder / place} is not there")
            continue
        corpora[name], bad = reader(folder / place)
        dropped = sum(map(left_out, corpora[name]))
        unmapped = Counter(label for turn in corpora[name] for label in turn.labels if label not in MEANINGS[name])
        facts[name] = {
            "turns": len(corpora[name]),
            "bad_rows": Counter(row.message for row in bad),
            "left_out": dropped,
            "left_out_labels": unmapped,
        }
        say(f"{name}: {len(corpora[name])} turns, {len(bad)} bad rows, {dropped} left out: their labels have no act")
    if not corpora:
        raise ConfigError(
            f"data: {settings.data!r} holds none of {', '.join(settings.corpora)}. Expected a folder with "
            f"{', '.join(READERS[name][1] for name in settings.corpora)}, for example in MAIEUTIC_DATA"
        )
    return corpora, facts


def classifiers(shown: Corpora, embed: Embedder, settings: LabelSettings) -> tuple[Classifier, list[Json]]:
    """Learned on each corpus and on all, tested on every test part; the one of all, as written, is what is kept."""
    rows: list[Json] = []
    kept: Classifier | None = None
    with stage("classifiers", len(shown) + 1) as progress:
        for name in [*shown, "all"]:
            own = [
                turn
                for lines in shown.values()
                for turn in lines
                if turn.part == "train" and name in (turn.corpus, "all")
            ]
            for form in FORMS:
                made = learn(embed, own, FORMS[form], settings.embedder)
                kept = made if form == "as written" else kept
                rows += of_labeller(of(made), "classifier", name, shown, ("test",), made.learned, (form,))
            progress()
    assert kept is not None
    return kept, rows


def unseen_training(shown: Corpora, embed: Embedder) -> tuple[Corpora, Labels]:
    """Half of the conversations of the training parts, and a classifier that learned from the other half alone."""
    learned: list[LabelledTurn] = []
    unseen: Corpora = {}
    for name, lines in shown.items():
        own = [turn for turn in lines if turn.part == "train"]
        half = set(list(dict.fromkeys(turn.conversation for turn in own))[::2])
        learned += [turn for turn in own if turn.conversation in half]
        unseen[name] = [turn for turn in own if turn.conversation not in half]
    made = learn(embed, learned)
    return unseen, lambda lines, name: of(made)(lines, name) if name in made.learned else [None] * len(lines)


def confusions(corpora: Mapping[str, list[LabelledTurn]], labels: Labels, classes: list[str]) -> Json:
    tested = {name: [turn for turn in lines if turn.part == "test"] for name, lines in corpora.items()}
    return {name: classes_by_label(lines, labels, classes) for name, lines in tested.items()}


def examples(corpora: Mapping[str, list[LabelledTurn]], labels: Labels, most: int) -> Json:
    """Errors by class, from training parts alone: who reads them may mend the labeller."""
    wrong = {}
    for name in CLASSES:
        turns = (turn for corpus, lines in corpora.items() if covers(corpus, name) for turn in lines)
        wrong[name] = errors(turns, name, "train", most, labels)
    return {name: examples for name, examples in wrong.items() if examples}


def thin(lines: list[LabelledTurn], most: int) -> list[LabelledTurn]:
    """Of each part whole conversations, evenly over it, about as many turns as asked for."""
    kept: set[str] = set()
    for part in ("train", "test"):
        own = [turn.conversation for turn in lines if turn.part == part]
        kept.update(list(dict.fromkeys(own))[:: max(1, -(-len(own) // most))])
    return [turn for turn in lines if turn.conversation in kept]


def show_table(rows: list[Json]) -> None:
    """What was measured on test parts, as written: a line per class, corpus and labeller."""
    table = Table("class", "tested on", "labeller", "n", "silent", "prec.", "recall", "F1", "kappa", "", box=None)
    tested = [row for row in rows if (row["part"], row["form"]) == ("test", "as written") and row["measured"]]
    for row in sorted(tested, key=lambda row: (list(CLASSES).index(row["class"]), row["corpus"])):
        if row["learned_on"] in ("–", "all", row["corpus"]):
            learned = {"–": "", "all": " (all)"}.get(row["learned_on"], " (its own)")
            short = ["–" if row[key] is None else f"{row[key][0]:.2f}" for key in ("precision", "recall")]
            last = [show(row["f1"]), "–" if row["kappa"] is None else f"{row['kappa'][0]:.2f}", verdict(row)]
            sizes = [str(row["n"]), str(row["silent"])]
            cells = [row["class"], row["corpus"], row["labeller"] + learned, *sizes, *short, *last]
            table.add_row(*map(escape, cells))
    console.print(table)
