"""What ships as data/labels.json, and what reports print beside rates: figures without any text.

maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from evals.readers.labels.label_classes import CLASSES
from evals.readers.labels.learn_labels import BASELINES
from evals.stats.classification import FEWEST
from pipeline.core.schema import Json

RATES = ("precision", "recall", "f1", "kappa", "precision_silent_no", "f1_silent_no")
SIZES = ("n", "others", "silent", "unlabelled", "measured")


def figures(rows: Iterable[Json], detected: Json | None, judge: Json | None) -> Json:
    """Test parts, as written; of classifiers the one that is kept. `judge`: its model, and a hash of its prompt."""
    chosen = [
        {key: row[key] for key in ("labeller", "class", "corpus", *SIZES, *RATES)}
        for row in rows
        if (row["part"], row["form"]) == ("test", "as written") and row["learned_on"] in ("–", "all")
    ]
    return {
        "about": "Agreement with people's labels on test parts, as written: [value, low, high] with 95% intervals; "
        f"null where undefined, or fewer than {FEWEST} cases. silent: turns whose labels do not decide the class; "
        "silent_no: these counted as not of the class. Made by: maieutic eval labels configs/labels.yaml",
        "classes": {name: sorted(of.acts) for name, of in CLASSES.items()},
        "baselines": {name: rule for name, (rule, _) in BASELINES.items()},
        "judge": judge,
        "figures": [*chosen, *(_detected(detected) if detected else [])],
    }


def _detected(detectors: Json) -> list[Json]:
    """The rules for attempts and leaks, in the rows of the others. `_people`: as people's talk is read."""
    solved, rows = detectors["attempts"]["teachers"]["solved"], []
    for name, recall in (("attempt", "right_plain"), ("attempt_people", "right_with_question")):
        rows.append(_row(name, "mathdial, dialogues solved", recall=solved[recall]))
    for corpus, cut in detectors["attempts"]["written"].items():
        where = f"{corpus}, solutions cut"
        rows.append(_row("attempt", where, recall=cut["found_plain"]))
        rows.append(_row("attempt_people", where, precision=cut["precision"], recall=cut["found"]))
    decided = detectors["leaks"]["figures"]["leak"]["with gold"]["test"]
    others = decided["replies"] - decided["positives"]
    for name, detector in (("leak", "stated"), ("leak_people", "gives_away"), ("leak_baseline", "naive")):
        rates = {key: decided["detectors"][detector][key] for key in ("precision", "recall", "f1")}
        rows.append(_row(name, "mrbench, replies with a gold", others, **rates))
    return rows


def _row(name: str, corpus: str, others: int = 0, **rates: Json) -> Json:
    """Few leaks (28) are measured, too: docs/labels.md gives the same figures with their n."""
    labeller = "baseline" if name.endswith("_baseline") else "rules"
    sizes = {"n": rates["recall"]["n"], "others": others, "silent": 0, "unlabelled": 0, "measured": True}
    plain = dict.fromkeys(RATES) | {key: _plain(rate) for key, rate in rates.items()}
    return {"labeller": labeller, "class": name.removesuffix("_baseline"), "corpus": corpus} | sizes | plain


def _plain(rate: Json) -> list[float] | None:
    return None if rate["value"] is None else [rate["value"], rate["low"], rate["high"]]


def written(figures: Json) -> str:
    """As JSON, one figure a line."""
    lines = ",\n".join(f"  {json.dumps(row, allow_nan=False)}" for row in figures["figures"])
    head = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in figures.items() if key != "figures"]
    return "{\n" + ",\n".join([*head, f' "figures": [\n{lines}\n ]']) + "\n}\n"
