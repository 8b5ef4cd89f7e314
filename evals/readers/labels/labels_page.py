"""labels.html: one page that opens without a network. It quotes the corpora, so it stays in the output folder."""

from __future__ import annotations

from collections.abc import Iterable

from evals.readers.detectors.detectors_page import PageSection
from evals.readers.labels.label_classes import CLASSES
from evals.readers.labels.labels_table import PEOPLE, TARGETS, show, verdict
from evals.readers.labels.learn_labels import BASELINES
from evals.report.rendering import environment
from evals.stats.classification import FEWEST
from pipeline.core.schema import Json

FEWEST_SHOWN = 20  # turns with one human label, for a line of the confusion table


def page(rows: list[Json], by_label: Json, wrong: Json, facts: Json, detected: Iterable[PageSection]) -> str:
    env = environment()
    env.filters.update(show=show, verdict=verdict)
    tested = [row for row in rows if (row["part"], row["form"]) == ("test", "as written")]
    tested.sort(key=lambda row: list(CLASSES).index(row["class"]))
    kept = [row for row in tested if row["learned_on"] in ("–", "all", row["corpus"])]
    judged = [verdict(row) for row in kept if row["labeller"] != "baseline" and verdict(row)]
    return env.get_template("labels.html.j2").render(
        facts=facts,
        targets=TARGETS,
        people=PEOPLE,
        classes={name: sorted(of.acts) for name, of in CLASSES.items()},
        decided=[row for row in kept if row["class"] in TARGETS],
        baselines={name: rule for name, (rule, _) in BASELINES.items()},
        met=sum(verdict.startswith("meets") for verdict in judged),
        judged=len(judged),
        kept=kept,
        bare={key(row): row for row in rows if (row["part"], row["form"]) == ("test", "bare")},
        key=key,
        transfers=transfers(tested),
        confusions={labeller: confusion(corpora) for labeller, corpora in by_label.items()},
        wrong=wrong,
        detected=detected,
        fewest=FEWEST,
        fewest_shown=FEWEST_SHOWN,
    )


def key(row: Json) -> tuple[str, ...]:
    return row["labeller"], row["learned_on"], row["corpus"], row["class"]


def transfers(tested: Iterable[Json]) -> Json:
    """By class: what the classifier learned on (rows), tested on (columns)."""
    tables: Json = {}
    for row in tested:
        if row["labeller"] == "classifier" and row["measured"]:
            table = tables.setdefault(row["class"], {"columns": [], "rows": {}})
            if row["corpus"] not in table["columns"]:
                table["columns"].append(row["corpus"])
            table["rows"].setdefault(row["learned_on"], {})[row["corpus"]] = row
    return tables


def confusion(corpora: Json) -> list[Json]:
    """A table a corpus: human labels, and the share of their turns in which each class was labelled."""
    tables = []
    for corpus, labels in corpora.items():
        lines = {label: counts for label, counts in labels.items() if counts["turns"] >= FEWEST_SHOWN}
        columns = sorted(
            {name for counts in lines.values() for name, n in counts.items() if n}, key=["turns", *CLASSES].index
        )
        tables.append({"corpus": corpus, "columns": columns[1:], "lines": lines})
    return tables
