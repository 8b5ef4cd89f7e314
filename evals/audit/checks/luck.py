"""Which right answers owe nothing to the talk?

Of a run: right, though a needed fact was never given (`pipeline.judging.outcome.is_grounded`), of what selection keeps.
Of other people's data: right in the student's first turn, before the partner said the answer, so that the talk taught
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count

from evals.audit.audited_talks import Material, group, holds, rights, seed_of, shown
from evals.audit.finding import EXAMPLES, Check, Finding, Tried, share, untested
from evals.audit.run_talks import talk_of
from evals.report.counting.counted_files import Seen
from pipeline.core.id_set import IdSet
from pipeline.datasets.rejection_sampling import selected
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Pool
from pipeline.tasks.talks import Talk

MOST = 0.05


def check(material: Material) -> Check:
    experiment = material.experiment
    if experiment is None:
        findings = [_early(name, talks) for name, talks in material.conditions().items()]
    else:
        findings = list(chain.from_iterable(_lucky(material, experiment, name) for name in experiment.conditions))
    return Check(
        "luck",
        "How many right answers are not owed to the talk: right though a needed fact was never given, or right before "
        "the partner said anything of use?",
        f"At most {MOST:.0%} of what is trained on; what is lucky teaches to guess.",
        tuple(findings),
    )


def _lucky(material: Material, experiment: Experiment, condition_name: str) -> Iterator[Finding]:
    condition = experiment.conditions[condition_name]
    if condition.learns_from:
        yield untested(condition_name, f"its dialogues are those of {condition.learns_from}")
        return
    hits, pool = count(), material.pool(condition_name).dialogues
    with Pool(experiment, condition_name).opened() as read:

        def tried(seen: Seen) -> Tried:
            hit = seen.record.is_correct and not seen.record.is_grounded
            text = _text(read(seen.record.place)) if hit and next(hits) < EXAMPLES else ""
            return Tried(seen.question, hit, seen.record.id, text, seen.record.seed)

        ids = IdSet(record.id for record in selected((seen.record for seen in pool), condition))
        kept = (seen for seen in pool if seen.record.id in ids)
        yield share(f"{condition_name}: lucky, of kept dialogues", map(tried, kept), MOST, empty="none is kept")
        hits = count()
        lacking = (seen for seen in pool if seen.missing and seen.record.id in ids)
        yield share(f"{condition_name}: lucky, of those on tasks that lack a fact", map(tried, lacking), None)


def _text(dialogue: Dialogue) -> str:
    return f"{dialogue.task.question}\n{shown(talk_of(dialogue, dialogue.condition))}"


def _early(name: str, talks: Iterable[Talk]) -> Finding:
    what = f"{name}: right in the student's first turn" if name else "right in the student's first turn"
    asked = (talk for talk in talks if talk.answer and talk.texts("student"))
    return share(what, map(_first, asked), MOST, empty="the data hold no gold answer")


def _first(talk: Talk) -> Tried:
    first = next(i for i, turn in enumerate(talk.turns) if turn.party == "student")
    told = any(holds(turn.text, talk.answer) for turn in talk.turns[:first])
    hit = not told and rights(talk)[first]
    return Tried(
        group(talk), hit, talk.id, f"answer {talk.answer}: {talk.turns[first].text}" if hit else "", seed_of(talk)
    )
