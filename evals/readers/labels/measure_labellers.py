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

from rich.markup import escape
from rich.table import Table

from evals.readers.detectors.detectors_page import markdown as sections_markdown
from evals.readers.detectors.measure_detectors import detect, show_detected
from evals.readers.labels.corpora import READERS
from evals.readers.labels.label_settings import LabelSettings
from evals.readers.labels.labelled_turns import Said
from evals.readers.labels.labels_page import page
from evals.readers.labels.learn import Labels, baseline, judged, learn, of, rules
from evals.readers.labels.meaning import MEANINGS
from evals.readers.labels.measure import CLASSES, covers, left_out
from evals.readers.labels.shipped import figures, written
from evals.readers.labels.table import FORMS, errors, found_by_label, markdown, of_labeller, show, verdict
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole
from pipeline.core.schema import Json
from pipeline.core.settings import read_as
from pipeline.engines.open_model import open_model
from pipeline.reading.classifier import Classifier, Embedder
from pipeline.reading.judge import Judge, prompt_hash
from pipeline.runs.progress import console, say, stage

Corpora = dict[str, list[Said]]


def measure_labellers(word: str, config: Path, overrides: tuple[str, ...]) -> list[Path]:
    """Measure every labeller of the config, print the table, and write the files. Raises ConfigError.

    `word` is what stood before the config on the command line.
    """
    if word != "labels":
        raise ConfigError(f"eval {word} {config}: expected one config, or the word labels before it.")
    settings = read_as(LabelSettings, config, overrides)
    corpora, facts = read(settings)
    out = settings.folder
    out.mkdir(parents=True, exist_ok=True)
    shown = {name: thin(lines, settings.most) for name, lines in corpora.items()}
    rows = of_labeller(baseline, "baseline", "–", corpora)
    found: dict[str, Json] = {}
    wrong: dict[str, Json] = {}
    if "rules" in settings.labellers:
        rows += of_labeller(rules, "rules", "–", corpora, ("train", "test"))
        found["rules"] = confusions(corpora, rules, list(CLASSES))
        wrong["rules"] = examples(corpora, rules, settings.errors)
    if "classifier" in settings.labellers:
        embed = Embedder(settings.embedder, out / "embeddings.npz")
        of_all, made = classifiers(shown, embed, settings)
        rows += made
        of_all.save(out / "classifier", f"training parts of {', '.join(shown)}; at most {settings.most} turns of each")
        found["classifier"] = confusions(shown, of(of_all), of_all.learned)
        wrong["classifier"] = examples(*unseen_training(shown, embed), settings.errors)
    if "judge" in settings.labellers:
        both = [said for lines in shown.values() for said in lines]
        judge = asyncio.run(judged(Judge(open_model(settings.engine, settings.judge)), both))
        rows += of_labeller(judge, "judge", "–", shown, forms=("as written",))
        found["judge"] = confusions(shown, judge, list(CLASSES))
        wrong["judge"] = examples(shown, judge, settings.errors)
    show_table(rows)
    detected, sections = detect(settings.corpora_folder, settings.reader, settings.engine)
    if detected:
        show_detected(detected, sections)
    whole = {"corpora": facts, "rows": rows, "found_by_label": found, "detectors": detected}
    asked = {"model": settings.judge, "prompt": prompt_hash()} if "judge" in settings.labellers else None
    shipped = written(figures(rows, detected, asked))
    paths = [
        write_whole(out / "labels.html", page(rows, found, wrong, facts, sections)),
        write_whole(out / "labels.md", f"{markdown(rows)}\n\n{sections_markdown(sections)}".rstrip() + "\n"),
        write_whole(out / "labels.json", json.dumps(whole, indent=1, allow_nan=False) + "\n"),
        write_whole(out / "figures.json", shipped),
    ]
    if "classifier" in settings.labellers:
        paths.append(write_whole(out / "classifier" / "figures.json", shipped).parent)
    return paths


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
        unmapped = Counter(label for said in corpora[name] for label in said.labels if label not in MEANINGS[name])
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
                said
                for lines in shown.values()
                for said in lines
                if said.part == "train" and name in (said.corpus, "all")
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
    learned: list[Said] = []
    unseen: Corpora = {}
    for name, lines in shown.items():
        own = [said for said in lines if said.part == "train"]
        half = set(list(dict.fromkeys(said.conversation for said in own))[::2])
        learned += [said for said in own if said.conversation in half]
        unseen[name] = [said for said in own if said.conversation not in half]
    made = learn(embed, learned)
    return unseen, lambda lines, name: of(made)(lines, name) if name in made.learned else [None] * len(lines)


def confusions(corpora: Mapping[str, list[Said]], labels: Labels, classes: list[str]) -> Json:
    tested = {name: [said for said in lines if said.part == "test"] for name, lines in corpora.items()}
    return {name: found_by_label(lines, labels, classes) for name, lines in tested.items()}


def examples(corpora: Mapping[str, list[Said]], labels: Labels, most: int) -> Json:
    """Errors by class, from training parts alone: who reads them may mend the labeller."""
    return {
        name: found
        for name in CLASSES
        if (
            found := errors(
                (s for c, ls in corpora.items() if covers(c, name) for s in ls), name, "train", most, labels
            )
        )
    }


def thin(lines: list[Said], most: int) -> list[Said]:
    """Of each part whole conversations, evenly over it, about as many turns as asked for."""
    kept: set[str] = set()
    for part in ("train", "test"):
        own = [said.conversation for said in lines if said.part == part]
        kept.update(list(dict.fromkeys(own))[:: max(1, -(-len(own) // most))])
    return [said for said in lines if said.conversation in kept]


def show_table(rows: list[Json]) -> None:
    """What was measured on test parts, as written: a line per class, corpus and labeller."""
    table = Table("class", "tested on", "labeller", "n", "silent", "prec.", "recall", "F1", "kappa", "", box=None)
    tested = [row for row in rows if (row["part"], row["form"]) == ("test", "as written") and row["measured"]]
    for one in sorted(tested, key=lambda one: (list(CLASSES).index(one["class"]), one["corpus"])):
        if one["learned_on"] in ("–", "all", one["corpus"]):
            learned = {"–": "", "all": " (all)"}.get(one["learned_on"], " (its own)")
            short = ["–" if one[key] is None else f"{one[key][0]:.2f}" for key in ("precision", "recall")]
            last = [show(one["f1"]), "–" if one["kappa"] is None else f"{one['kappa'][0]:.2f}", verdict(one)]
            cells = [
                one["class"],
                one["corpus"],
                one["labeller"] + learned,
                str(one["n"]),
                str(one["silent"]),
                *short,
                *last,
            ]
            table.add_row(*map(escape, cells))
    console.print(table)
