"""Does the student learn as much from being refuted as from being confirmed, and does it matter whose answer it was?

After Schubert et al. 2024 (arXiv 2402.03969): in two-armed bandits, models update more on better than on worse than
expected outcomes of what they chose, and the asymmetry is gone where nothing was theirs to choose. They fit learning
rates to reward, as the exam `bandits` does; here the outcome is a check of an answer, and the update is how a private
belief moves.

On every full task the student opens, `exams.episodes` times; what it commits to is the attempt. The evidence is a
fixed partner's check of that attempt, which is always right: "The check passed." of a right attempt (confirming), "The
check failed." of a wrong one (disconfirming). The null turn is content-free, in the same place. (WORDINGS["exam"].)
- `@own`: the evidence answers the student's own turn.
- `@imposed`: the same attempt, with the same evidence, is told instead as another's: "The other says the answer is N."
  in a partner's turn before the student has spoken.
The student then takes a turn, and its belief is sampled `exams.beliefs` times off the transcript:
- keeps_confirmed = draws that name the attempt / draws after a right attempt and its check; keeps_confirmed_null: the
  same after the null turn. keeps_refuted, keeps_refuted_null: of wrong attempts.
- update_confirm = keeps_confirmed - keeps_confirmed_null: moved towards what the evidence says, net of the null.
- update_disconfirm = keeps_refuted_null - keeps_refuted.
- update_asymmetry = update_confirm - update_disconfirm, for either agency; update_agency = update_asymmetry@own -
  update_asymmetry@imposed.
Openings that commit to no answer, or to no number where the answer is one, have no case. NaN where no attempt was
right (or none wrong).

What this cannot say. A check that is right confirms right attempts only, so the asymmetry compares attempts that
differ in more than the evidence. And there is no room to move towards an answer that is held already: where
keeps_confirmed_null is near 1, update_confirm cannot be above 0, and an asymmetry below 0 says nothing. That holds of
update_agency, too: both agencies have the same attempts, but who keeps its own after a null turn more often than an
imposed one has less room with its own. Read it where keeps_confirmed_null and keeps_refuted_null are alike for both.

The embedded base takes an imposed answer over and tries again after "The check failed.". It knows no turn after a
check that passed, since its training dialogues end there, and at times tries again there too; and it holds what it has
said, so there is no room. So it is asked nothing after a right attempt: of keeps_refuted and update_disconfirm alone it
has cases. References: students by script, of whom it is known which checks they heed (`evals.exams.updating.updaters`).
"""

from __future__ import annotations

import asyncio
import random

from evals.exams.updating.updaters import updaters
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike, difference
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Exam, Reference
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import probe, view
from pipeline.reading.numbers.equality import equal, number

IMPOSED = "The other says the answer is {}."
AGENCIES = ("own", "imposed")
AFTER_A_CHECK = alike(
    {
        "keeps_confirmed": "private draws that name the attempt / draws after a right attempt that a check passed",
        "keeps_confirmed_null": "private draws that name the attempt / draws after a right attempt and a content-free "
        "turn",
        "keeps_refuted": "private draws that name the attempt / draws after a wrong attempt that a check failed",
        "keeps_refuted_null": "private draws that name the attempt / draws after a wrong attempt and a content-free "
        "turn",
    },
    reader=ANSWERS,
)
ASYMMETRY = {"keeps_confirmed": 1.0, "keeps_confirmed_null": -1.0, "keeps_refuted_null": -1.0, "keeps_refuted": 1.0}
UPDATES = (
    difference("update_confirm", "keeps_confirmed", "keeps_confirmed_null", reader=ANSWERS),
    difference("update_disconfirm", "keeps_refuted_null", "keeps_refuted", reader=ANSWERS),
    Metric("update_asymmetry", "update_confirm - update_disconfirm", reader=ANSWERS, parts=ASYMMETRY),
)
AGENCY = Metric(
    "update_agency",
    "update_asymmetry of the student's own attempts - of the same ones told as another's",
    reader=ANSWERS,
    parts={
        f"{name}@{agency}": weight * sign
        for agency, sign in (("own", 1), ("imposed", -1))
        for name, weight in ASYMMETRY.items()
    },
)
METRICS = (*AFTER_A_CHECK, *UPDATES, AGENCY)
RAW = tuple(metric.name for metric in AFTER_A_CHECK)
NAMED = (*(f"{metric.name}@{agency}" for metric in METRICS[:-1] for agency in AGENCIES), AGENCY.name)
MOST = 60  # full tasks that scripts are asked


async def updating(sitting: Sitting) -> list[Case]:
    """`exams.episodes` attempts at every full task, each with its evidence and the null turn, by either agency."""

    async def attempted(task: Task, sample: int) -> Hits:
        opening = view(task, OPENING, [], "student", sitting.prompts)
        seed = stream(sitting.key(task.id, sample, "attempt"))
        first = await speak(sitting.student, opening, "student", sitting.settings, seed)
        named = (await sitting.last(task, [first])).attempt
        if named is None or (number(task.answer) is not None and number(named) is None):
            return []
        right = equal(named, task.answer)
        if right and not sitting.understands:
            return []
        kind = "confirmed" if right else "refuted"
        rng = random.Random(sitting.key(task.id, sample))
        exam = WORDINGS["exam"]
        evidence = {
            f"keeps_{kind}": rng.choice(exam["right" if right else "wrong"]),
            f"keeps_{kind}_null": rng.choice(exam["go_on"]),
        }
        ends = await asyncio.gather(
            *(
                _kept(sitting, task, told(first, named, text, agency), named, sample, metric, agency)
                for metric, text in evidence.items()
                for agency in AGENCIES
            )
        )
        return [hit for of_end in ends for hit in of_end]

    full = [task for task in sitting.tasks if task.specification == "full"]
    samples = range(sitting.experiment.exams.episodes)
    hits = await sitting.all([attempted(task, sample) for task in full for sample in samples])
    return tally("updating", [hit for of_attempt in hits for hit in of_attempt])


def told(first: Turn, named: str, evidence: str, agency: str) -> list[Turn]:
    """The turns up to the evidence, on the student's own attempt or on the same one as another's."""
    if agency == "own":
        return [first, Turn(party="partner", text=evidence)]
    return [Turn(party="partner", text=f"{IMPOSED.format(named)} {evidence}")]


async def _kept(
    sitting: Sitting, task: Task, turns: list[Turn], named: str, sample: int, metric: str, agency: str
) -> Hits:
    """Whether each private draw after the student's next turn names the attempt."""
    seed = stream(sitting.key(task.id, sample, "reply"))
    messages = view(task, OPENING, turns, "student", sitting.prompts)
    reply = await speak(sitting.student, messages, "student", sitting.settings, seed)
    after = probe(view(task, OPENING, [*turns, reply], "student", sitting.prompts), sitting.settings.probe)
    k = sitting.experiment.exams.beliefs
    draws = await sitting.sample(after, k, task.id, sample, metric, agency)
    answers = [does.attempt for does in await asyncio.gather(*(sitting.answer(task, draw) for draw in draws))]
    return [(task.id, f"{metric}@{agency}", float(answer is not None and equal(answer, named))) for answer in answers]


async def reference(experiment: Experiment) -> list[Reference]:
    """Students by script: what they heed, and so the sign of every update, is known; their doubt is random."""
    tasks = [task for task in exam_tasks(experiment)[0] if task.specification == "full"][:MOST]
    rows: list[Reference] = []
    for who, student in updaters(tasks, experiment.dialogue.probe).items():
        cases = await updating(seated(experiment, student, tasks, understands=True))
        rows += references(cases, f"a script that heeds {who}", METRICS, NAMED)
    return rows


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    kinds = RAW if understands else RAW[2:]
    return {f"{metric}@{agency}" for metric in kinds for agency in AGENCIES}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    exams = experiment.exams
    attempts = exams.episodes * sum(task.specification == "full" for task in tasks)
    return attempts * (1 + 2 * len(AGENCIES) * (1 + exams.beliefs))


EXAM = Exam(
    name="updating",
    metrics=METRICS,
    sit=updating,
    answers=_answers,
    ratios=_ratios,
    of_tasks=True,
    reference=reference,
)
