"""What does the student do when somebody tells it how they feel?

After BOLT (Chiu et al., arXiv 2401.00820), which measures how often therapists, human and model, behave in each of 13
ways after each kind of client turn, and reports that models solve problems more than good therapy does where clients
share emotions. Here the client is `data/disclosures.csv`: twenty first turns written for this project, four of each
kind: a negative or a positive feeling, an event of life, a strength of their own, and a request for advice, after
which advice is no fault. The student answers each once per draw, as the counsellor that it is told to be:

    counsel_ACT@CLIENT    the answer has the act / answers to client turns of that kind
    counsel_own           most of its content words are not the client's / answers

The second is a competence check: who repeats the client helps nobody. A refusal passes it.

ACT is read by the labeller of `evals.exams.support.therapists`, and counted only where that is measured: question,
reflection and solution (solving and planning as one) with BOLT's files; reflections on strengths, normalizing and
teaching are too rare in them. So of claim 30 of docs/claims.md only the first half, problem solving, can be looked at,
and the second, more reflection on strengths than low-quality therapy, cannot. The labeller's errors are not taken out
of the rates.

The therapists' reference is the share of labelled turns that people gave each act: a mix that was picked for training,
without any client's turn. It is no P(act | client's act), and no target.

The embedded base knows none of these words: it is not asked. Without exams.support nothing is, and it is said.

    maieutic eval configs/quickstart.yaml --set out=runs/support --set compare=null \\
        --set 'exams.include=[support]' \\
        --set 'exams.support.train=$MAIEUTIC_DATA/bolt/finetune_therapist_combined_train.csv' \\
        --set 'exams.support.valid=$MAIEUTIC_DATA/bolt/finetune_therapist_combined_valid.csv'
"""

from __future__ import annotations

import csv

from evals.exams.support.therapists import ACTS, TherapistsTurns, TherapyLabeller, open_labeller, read, truth
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike
from evals.metrics.reader import Reader
from evals.sitting.about import own_words
from evals.sitting.exam import Bar, Exam, Reference, options
from evals.sitting.reference_rates import references
from evals.sitting.sitting import Sitting
from pipeline.core.config_reading import Section
from pipeline.core.resources import shipped
from pipeline.core.schema import Task
from pipeline.experiment.experiment import Experiment
from pipeline.runs.progress import say

CLIENTS = ("negative_feeling", "positive_feeling", "life_event", "strength", "asks_advice")
SHIPPED = shipped("data", "disclosures.csv")
FRAME = "You are a counsellor in a first talk with a client. Say your next turn, and nothing else.\n\nClient: {}"
THERAPISTS = "labels of therapists' turns picked for training (BOLT)"
MACHINE, ALONE = "labeller, out of fold and on BOLT's validation file", "labeller, on BOLT's validation file alone"
METRICS = alike(
    {f"counsel_{act}": f"{act} in the answer (@ what the client said), by a labeller / answers" for act in ACTS},
    reader=Reader(
        unmeasured="evals/exams/support/therapists.py: not measured on test parts; its figures are in the references",
    ),
)

OWN = Metric(
    "counsel_own",
    "most content words of the answer are neither the client's nor of what it is asked / answers",
    reader=Reader(unmeasured="content words that an answer shares with the client: not measured against people"),
)


class Options(Section):
    support: TherapistsTurns | None = None  # None: nobody is asked


def said_by_clients() -> list[tuple[str, str]]:
    """(kind, text) of what ships."""
    with SHIPPED.open(encoding="utf-8", newline="") as file:
        return [(row["client"], row["text"]) for row in csv.DictReader(file)]


async def sit(sitting: Sitting) -> list[Case]:
    """Each client turn, `exams.samples` times."""
    source = options(sitting.experiment, Options).support
    if source is None:
        say("support: exams.support names no labelled turns; left out")
        return []
    work = [_answered(sitting, f"client-{i}", kind, text) for i, (kind, text) in enumerate(said_by_clients())]
    answered = await sitting.all(work)
    return figures(answered, open_labeller(source)) + tally("support", in_own_words(answered))


async def _answered(sitting: Sitting, name: str, kind: str, text: str) -> tuple[str, str, list[str]]:
    messages = sitting.said_to(FRAME.format(text))
    # The exam's first name stays in the key: draws are those of earlier runs.
    drawn = await sitting.sample(messages, sitting.experiment.exams.samples, name, "disclosure")
    return name, kind, [draw.text for draw in drawn]


def figures(answered: list[tuple[str, str, list[str]]], labeller: TherapyLabeller) -> list[Case]:
    """Of (name, kind, answers) of each client turn."""
    hits: Hits = []
    for name, kind, texts in answered:
        said = [text for text in texts if text.strip()]
        silent = [frozenset[str]()] * (len(texts) - len(said))  # an answer without a word has no act
        for acts in labeller(said) + silent:
            hits += [(name, f"counsel_{act}@{kind}", float(act in acts)) for act in labeller.measured]
    return tally("support", hits)


def in_own_words(answered: list[tuple[str, str, list[str]]]) -> Hits:
    """Of the same: which answers say something that was not said to it."""
    said = {f"client-{i}": FRAME.format(text) for i, (_, text) in enumerate(said_by_clients())}
    return [(name, OWN.name, float(own_words(text, said[name]))) for name, _, texts in answered for text in texts]


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    return {OWN.name} | {f"{metric.name}@{kind}" for metric in METRICS for kind in CLIENTS}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    asked = options(experiment, Options).support is not None
    return len(said_by_clients()) * experiment.exams.samples if asked else 0


async def reference(experiment: Experiment) -> list[Reference]:
    """What people labelled, and how well the labeller does; nothing without exams.support."""
    source = options(experiment, Options).support
    if source is None:
        return []
    turns = read(source.train, "exams.support.train") + read(source.valid, "exams.support.valid")
    cases = [(str(i), f"counsel_{act}", float(yes)) for act in ACTS for i, yes in enumerate(truth(turns, act))]
    rows = references(tally("support", cases), THERAPISTS, METRICS, [metric.name for metric in METRICS])
    labeller = open_labeller(source)
    scores = {(MACHINE, act): score for act, score in labeller.scores.items()} | {(ALONE, "all"): labeller.alone}
    for (who, act), score in scores.items():
        for name, rate in (("precision", score.precision), ("recall", score.recall), ("F1", score.f1)):
            rows.append(Reference(metric=f"{name} of {act}", who=who, **rate._asdict()))
    return rows


EXAM = Exam(
    name="support",
    metrics=(*METRICS, OWN),
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    options=Options,
    real=True,
    reference=reference,
    competence=(Bar(OWN.name, 0.5),),
)
