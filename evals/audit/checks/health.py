"""Is the data what it says it is: rows that can be read, turns with text, parties in turn, counts that add up?"""

from __future__ import annotations

from itertools import pairwise

from evals.audit.audited_talks import Material, group, seed_of, shown
from evals.audit.finding import Check, Example, Finding, Tried, share, untested
from evals.report.counting.counts import count_all
from evals.stats.intervals import wilson
from pipeline.experiment.experiment import Experiment

MOST = 0.01


def check(material: Material) -> Check:
    findings = _of_run(material, material.experiment) if material.experiment else _of_rows(material)
    talks = material.talks
    findings.append(
        share(
            "talks with an empty turn",
            (
                Tried(group(t), any(not turn.text.strip() for turn in t.turns), t.id, shown(t), seed_of(t))
                for t in talks
            ),
            MOST,
            empty="no talks",
        )
    )
    if material.experiment is None:
        findings += [
            share(
                "talks in which a party has two turns in a row",
                (Tried(group(t), any(a.party == b.party for a, b in pairwise(t.turns)), t.id, shown(t)) for t in talks),
                MOST,
                "most chat templates refuse them, or glue them together",
                "no talks",
            ),
            share(
                "talks that one party holds alone",
                (Tried(group(t), len({turn.party for turn in t.turns}) < 2, t.id, shown(t)) for t in talks),
                MOST,
                empty="no talks",
            ),
        ]
    return Check(
        "schema",
        "Can every row be read, has every turn text, do the parties take turns, do the counts add up?",
        f"At most {MOST:.0%} of rows or talks; counts must add up exactly.",
        tuple(findings),
    )


def _of_rows(material: Material) -> list[Finding]:
    n = len(material.talks) + len(material.bad)
    rate = wilson(len(material.bad), n)
    if not n:
        return [untested("rows that cannot be read", "the data hold no rows")]
    examples = tuple(Example(row.where, row.message) for row in material.bad[:5])
    return [
        Finding(
            what="rows that cannot be read",
            verdict="fail" if rate.value > MOST else "pass",
            rate=rate,
            bar=MOST,
            examples=examples,
        )
    ]


def _of_run(material: Material, experiment: Experiment) -> list[Finding]:
    findings = {}
    for name, (entry, _, problems) in count_all(experiment, material.pool):
        counts = ", ".join(f"{entry['counts'][key]} {key}" for key in ("dialogues", "failures", "selected", "rows"))
        kinds = ", ".join(f"{kind}: {n}" for kind, n in sorted(entry["failure_kinds"].items()))
        examples = tuple(Example(name, line) for line in problems[:5])
        note = f"{len(problems)} that do not; {counts}{f' ({kinds})' if kinds else ''}"
        findings[name] = Finding(
            what=f"{name}: counts add up",
            verdict="fail" if problems else "pass",
            bar=0,
            note=note,
            examples=examples,
        )
    return [findings[name] for name in experiment.conditions]
