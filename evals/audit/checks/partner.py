"""How often does the partner violate its knowledge constraint?

False feedback, the answer revealed, what it cannot know, against its disclosure, out of its role.

`pipeline.judging.violations` over every dialogue; each of its rules says what it misses (docs/partner_audit.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from evals.audit.audited_talks import Material, dialogue_of
from evals.audit.finding import EXAMPLES, Check, Finding, Tried, share, untested
from evals.report.counting.counted_files import Seen
from pipeline.core.schema import question_hash
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import Violation, violations
from pipeline.reading.numbers.equality import is_number
from pipeline.runs.dialogue_pool import Pool
from pipeline.tasks.talks import Talk

MOST = 0.05
WHAT = "the partner violates its knowledge constraint"


def check(material: Material) -> Check:
    experiment = material.experiment
    if experiment is None:
        findings = [_of_talks(name, talks) for name, talks in material.conditions().items()]
    else:
        findings = [_of_condition(material, experiment, name) for name in experiment.conditions]
    return Check(
        "partner",
        "In how many dialogues does the partner violate its knowledge constraint: false feedback, the answer revealed, "
        "a fact that it does not hold or that is false, against its disclosure, or out of its role?",
        f"0 of a rule partner (none where its manner errs on purpose), {MOST:.0%} of a model or of people.",
        tuple(findings),
    )


def _of_condition(material: Material, experiment: Experiment, condition_name: str) -> Finding:
    condition = experiment.conditions[condition_name]
    if condition.row.partner is None:
        return untested(condition_name, "there is no partner")
    bar = None if condition.manner == "erring" else 0 if condition.voice == "rule" else MOST
    kinds, hits = Counter[str](), count()
    with Pool(experiment, condition_name).opened() as read:

        def tried(seen: Seen) -> Tried:
            violated = seen.record.violations
            kinds.update(violated)
            shown = bool(violated) and next(hits) < EXAMPLES
            text = _text(violations(read(seen.record.place))) if shown else ""
            return Tried(seen.question, bool(violated), seen.record.id, text, seen.record.seed)

        own = (seen for seen in material.pool(condition_name).dialogues if seen.own and not condition.learns_from)
        finding = share(f"{condition_name}: {WHAT}", map(tried, own), bar, empty="no dialogues of its own")
    return _with_kinds(finding, kinds)


def _of_talks(name: str, talks: Iterable[Talk]) -> Finding:
    kinds = Counter[str]()

    def tried(talk: Talk) -> Tried:
        dialogue = dialogue_of(talk)
        violated = violations(dialogue)
        kinds.update({violation.kind for violation in violated})
        question = question_hash(dialogue.task.full_question)
        return Tried(question, bool(violated), dialogue.id, _text(violated), dialogue.seed)

    read = (talk for talk in talks if talk.question and talk.partition and is_number(talk.answer))
    empty = "the rules need to know what the partner knew (partition), and gold answers that are numbers"
    return _with_kinds(share(f"{name}: {WHAT}" if name else WHAT, map(tried, read), MOST, empty=empty), kinds)


def _text(violated: Iterable[Violation]) -> str:
    return "\n".join(
        f"turn {violation.turn + 1}, {violation.kind}: {violation.text}\n({violation.knows})" for violation in violated
    )


def _with_kinds(finding: Finding, kinds: Counter[str]) -> Finding:
    note = ", ".join(f"{kind} in {n}" for kind, n in sorted(kinds.items()))
    return finding._replace(note=note) if finding.rate else finding
