"""Does the gold answer stand where everybody can read it: in the question, or in what the student wrote before?

Where it does, that it is said in the talk shows nothing, and a match of the bare number is neither success nor leak.
"""

from __future__ import annotations

from collections.abc import Iterator

from evals.audit.audited_talks import Material, group, holds
from evals.audit.finding import Check, Tried, share
from evals.audit.places_by_hash import first_places, is_last
from pipeline.core.id_set import hashes_of
from pipeline.core.spool import in_order
from pipeline.tasks.talks import Talk

MOST = 0.10


def check(material: Material) -> Check:
    earlier = (talk for talk in _asked(material) if talk.earlier)
    no_gold = "the data hold no question with a gold answer"
    return Check(
        "public answer",
        "Does the gold answer stand in the question, or in what the student itself had written before? Then finding it "
        "in the talk is no leak and no success.",
        f"At most {MOST:.0%}: it is about 6% of GSM8K's questions by the accident of small numbers; above that bare "
        "matching misleads.",
        (
            share(
                "the answer stands in the question",
                (
                    Tried(group(t), holds(t.question, t.answer), t.id, f"answer {t.answer}: {t.question}")
                    for t in _of_questions(material)
                ),
                MOST,
                "of distinct questions",
                no_gold,
            ),
            share(
                "the answer stands in the student's earlier text",
                (Tried(group(t), holds(t.earlier, t.answer), t.id, f"answer {t.answer}: {t.earlier}") for t in earlier),
                MOST,
                empty="the data hold no earlier text of the student",
            ),
        ),
    )


def _asked(material: Material) -> Iterator[Talk]:
    return (talk for talk in material.talks if talk.answer and talk.question)


def _of_questions(material: Material) -> Iterator[Talk]:
    """The last talk about each question, in the order in which the questions come first."""
    hashes = hashes_of(f"{group(talk)} {talk.question}" for talk in _asked(material))
    firsts, lasts = first_places(hashes), is_last(hashes)
    talks = ((int(first), talk) for first, last, talk in zip(firsts, lasts, _asked(material), strict=True) if last)
    return (talk for _, talk in in_order(talks, lambda both: (both[0],)))
