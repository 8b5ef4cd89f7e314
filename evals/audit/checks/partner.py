"""How often does the partner violate its knowledge constraint?

False feedback, the answer revealed, what it cannot know, against its disclosure, out of its role.

`pipeline.judging.violations` over every dialogue; each of its rules says what it misses (docs/partner_audit.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from evals.audit.audited_talks import Material, dialogue_of
from evals.audit.finding import Check, Finding, Tried, share, untested
from pipeline.core.schema import question_hash
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import violations
from pipeline.knowledge.records import Dialogue
from pipeline.reading.numbers.equality import number
from pipeline.runs.dialogue_pool import own_dialogues
from pipeline.tasks.talks import Talk

MOST = 0.05
WHAT = "the partner violates its knowledge constraint"


def check(material: Material) -> Check:
    experiment = material.experiment
    if experiment is None:
        findings = [_of_talks(name, talks) for name, talks in material.conditions().items()]
    else:
        findings = [_of_condition(experiment, name) for name in experiment.conditions]
    return Check(
        "partner",
        "In how many dialogues does the partner violate its knowledge constraint: false feedback, the answer revealed, "
        "a fact that it does not hold or that is false, against its disclosure, or out of its role?",
        f"0 of a rule partner (none where its manner errs on purpose), {MOST:.0%} of a model or of people.",
        tuple(findings),
    )


def _of_condition(experiment: Experiment, condition_name: str) -> Finding:
    condition = experiment.conditions[condition_name]
    if condition.row.partner is None:
        return untested(condition_name, "there is no partner")
    bar = None if condition.manner == "erring" else 0 if condition.voice == "rule" else MOST
    return _violating(f"{condition_name}: {WHAT}", own_dialogues(experiment, condition_name), bar)


def _of_talks(name: str, talks: Iterable[Talk]) -> Finding:
    what = f"{name}: {WHAT}" if name else WHAT
    read = (talk for talk in talks if talk.question and talk.partition and number(talk.answer) is not None)
    empty = "the rules need to know what the partner knew (partition), and gold answers that are numbers"
    return _violating(what, map(dialogue_of, read), MOST, empty)


def _violating(
    what: str, dialogues: Iterable[Dialogue], bar: float | None, empty: str = "no dialogues of its own"
) -> Finding:
    kinds = Counter[str]()

    def tried(dialogue: Dialogue) -> Tried:
        violated = violations(dialogue)
        kinds.update({violation.kind for violation in violated})
        text = "\n".join(
            f"turn {violation.turn + 1}, {violation.kind}: {violation.text}\n({violation.knows})"
            for violation in violated
        )
        return Tried(question_hash(dialogue.task.full_question), bool(violated), dialogue.id, text, dialogue.seed)

    finding = share(what, map(tried, dialogues), bar, empty=empty)
    note = ", ".join(f"{kind} in {n}" for kind, n in sorted(kinds.items()))
    return finding._replace(note=note) if finding.rate else finding
