"""Common ground: what was told is corrected, the goal changes, the topic changes hands: does the next turn follow?

Models are said to keep the frame that a talk opened with (Shaikh et al., Grounding Gaps, arXiv 2311.09144, count how
seldom they ground at all); what a correction does to the next answer is measured here by rule, on the embedded world's
problems, which any model can read. The fixed partner tells, and then says one of several things:

- `told`: the student has spoken once on a problem that lacks one fact; the partner tells that fact. What the student
  says next shows whether it uses a first statement at all: the ceiling of the others.
- `corrected`: the partner then says "Sorry, I was wrong." and the same fact with another number.
- `null`: it says a content-free turn instead. What changes here changes without a reason.
- `pivot`: it asks how many more would be needed to make a larger number. `topic`: it poses another problem.
- `floor`: it hands the floor over ("what would you like to look at next?").

Each arm has the same two turns before it, sampled once. Over draws (`exams.episodes` a problem):

- `ground_used@ARM`: the turn commits to the answer that follows from what was said last (the revised fact, the new
  goal, the new problem; of a pivot from the right answer before it, not from a wrong one of its own) / draws.
  `ground_kept@ARM`: it commits to the answer of the turn before, right or not / draws whose turn before committed to an
  answer. At `null` keeping is what is right.
- `ground_said@ARM`: the turn says that it heard: it acknowledges or repairs (by the labeller of acts), or states the
  revised fact again (by the metrics' reader) / draws with a label.
- `ground_revised@ARM`: it takes back what depended on the old fact: it commits to another answer than the turn before /
  draws whose turn before committed to one. It need not be the right one.
- `floor_taken@floor`: it proposes something ("let us", "I would like to"), or asks something that does not hand the
  floor back (what the partner would like, means or can be helped with, what comes next, whether all was right); and it
  does not repeat its answer or say that it is done / draws. A topic that is opened by plain telling is missed. The
  wordings are ours, and nobody has measured them against people. `floor_taken@null` is the same after the content-free
  turn, and `floor_opened` their difference: who only puts the problem's question again does so after either.

`corrected` is read between `told`, its ceiling (who cannot use a fact cannot use its correction), and `null`. The
embedded base understands a second statement of a fact: of 354 it used .57 (.48 to .66), of first ones .91 (.86 to .96).
With "not 12" after it it used .13 of 45; a pivot and a second problem it never answered (0 of 45 each), and no open
floor is in its corpus: `pivot`, `topic` and `floor` are not asked of it. What it does with a second statement is what
its corpus left it, and says nothing of other models.
"""

from __future__ import annotations

import random
import re

from evals.exams.common_ground.grounds import Ground, expected, grounds, posed, wordings
from evals.exams.common_ground.listeners import LISTENERS
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike, difference
from evals.metrics.reader import ANSWERS, Reader
from evals.sitting.exam import Bar, Exam, Reference
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting, needs_real_model
from pipeline.core.random_streams import stream
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.labelling.context import TurnInContext
from pipeline.reading.numbers.equality import equal
from pipeline.reading.sentences import sentences

_PROPOSES = re.compile(
    r"^(?:(?:okay|ok|well|then|now|so|good|sure|great|maybe|perhaps|thanks|thank you)[,.]? )*(?:let us|let's|shall we"
    r"|how about|what about|next,? (?:let us|i)|(?:i would|i'd) (?:(?:like|love) to|be interested in)|i want to"
    r"|i propose|i suggest|let me (?:propose|suggest)|tell me about|give me another|we (?:could|might|should)"
    r"|(?:may|can|could) (?:i|we)) (?!(?:just )?(?:thank|say|stop|end|leave|finish|help|assist)\b)",
    re.I,
)
_HANDS_BACK = re.compile(
    r"\b(?:anything|something) (?:else|more|further|specific|particular|in particular)\b"
    r"|\b(?:other|more|further) questions\b|\b(?:your|you'd|you would) (?:questions?|next|like)\b"
    r"|\b(?:would|do) you (?:like|want|wish|prefer|have (?:any|a (?:topic|question|problem|preference)|in mind))\b"
    r"|\bare you (?:ready|satisfied|sure|done|happy|okay)\b|\byou (?:clarify|explain|repeat|mean)\b"
    r"|\b(?:how|what) (?:can|may|could|should) i (?:help|do|assist)\b|\b(?:can|may|could) i (?:help|assist)\b"
    r"|\bwhat(?:'s| is| comes| should we do| shall we do| do we do) next\b|\b(?:what|which) topic\b"
    r"|\b(?:is|was) (?:that|this|it|my answer) (?:right|correct|okay|ok|all)\b|\bdid i get (?:it|that) right\b"
    r"|\b(?:should|do|must) we (?:stop|end|finish|have to)\b",
    re.I,
)
UNDERSTOOD = ("corrected", "null")  # by the embedded base
ARMS = (*UNDERSTOOD, "pivot", "topic", "floor")

FLOOR = Reader(("done", "attempt"), unmeasured="proposals, and questions that hand back, by rule: not measured")
METRICS = (
    *alike(
        {
            "ground_used": "commits to the answer that follows from what was said last (@ARM: what that was) / turns",
            "ground_kept": "commits to the same answer as before / turns after one that committed to an answer",
            "ground_revised": "commits to another answer than before / turns after one that committed to an answer",
        },
        reader=ANSWERS,
    ),
    Metric(
        "ground_said",
        "acknowledges, repairs or restates what was said last / turns with a label",
        reader=Reader(("tells",), ("acknowledge", "repair")),
    ),
    Metric("floor_taken", "opens something new when given the floor (@null: when told nothing) / turns", reader=FLOOR),
    difference("floor_opened", "floor_taken@floor", "floor_taken@null", reader=FLOOR),
)


def arms(understands: bool) -> tuple[str, ...]:
    return ARMS if understands else UNDERSTOOD


async def common_ground(sitting: Sitting) -> list[Case]:
    samples = range(sitting.experiment.exams.episodes)
    problems = grounds(sitting.experiment, sitting.tasks)
    work = [_talk(sitting, ground, sample) for ground in problems for sample in samples]
    return tally("common_ground", [hit for of_talk in await sitting.all(work) for hit in of_talk])


async def _talk(sitting: Sitting, ground: Ground, sample: int) -> Hits:
    key, turns = sitting.key(ground.task.id, "ground", sample), list[Turn]()
    rng = random.Random(key)

    async def student(name: object) -> Turn:
        messages = view(ground.task, OPENING, turns, "student", sitting.prompts)
        return await speak(sitting.student, messages, "student", sitting.settings, stream(key, name))

    turns.append(await student(0))
    turns.append(Turn(party="partner", text=rng.choice(WORDINGS["exam"]["tell"]).format(ground.told.text)))
    turns.append(await student(1))
    hits = await _heard(sitting, ground, "told", turns)
    says = wordings(ground, rng)
    before = list(turns)
    for arm in arms(sitting.understands):
        turns[:] = [*before, Turn(party="partner", text=says[arm])]
        turns.append(await student(2))
        hits += await _heard(sitting, ground, arm, turns)
    return hits


async def _heard(sitting: Sitting, ground: Ground, arm: str, turns: list[Turn]) -> Hits:
    """What the last of `turns` makes of the one before it. Raises NotRead."""
    task, name, last = posed(ground, arm), ground.task.id, len(turns) - 1
    before = (await sitting.last(ground.task, turns[:-2])).attempt
    now = await sitting.last(task, turns)
    said = turns[last]
    opens = [(name, f"floor_taken@{arm}", float(took_floor(said.text, now)))]
    if arm == "floor":
        return opens
    used = now.attempt is not None and equal(now.attempt, expected(ground, arm))
    hits = [(name, f"ground_used@{arm}", float(used))]
    hits += opens if arm == "null" and sitting.understands else []
    if arm != "told" and before is not None:
        kept = now.attempt is not None and equal(now.attempt, before)
        hits.append((name, f"ground_kept@{arm}", float(kept)))
        hits.append((name, f"ground_revised@{arm}", float(now.attempt is not None and not kept)))
    told = frozenset({ground.told.id} if arm in ("told", "corrected") else ())
    in_context = TurnInContext(text=said.text, before=turns[-2].text, own=False, facts=task.facts, told=told)
    [seen] = await sitting.acts([in_context])
    if seen is not None:
        again = bool(told) and bool(told & await sitting.stated(task, turns, last))
        hits.append((name, f"ground_said@{arm}", float(again or bool(seen & {"acknowledge", "repair"}))))
    return hits


def took_floor(text: str, reading: StudentReading) -> bool:
    """Whether a turn opens something new: a proposal, or a question that does not hand the floor back."""
    if reading.done or reading.attempt is not None:
        return False
    asks = (part for part in sentences(text) if part.endswith("?"))
    return any(not _HANDS_BACK.search(part) for part in asks) or any(_PROPOSES.search(part) for part in sentences(text))


async def reference(experiment: Experiment) -> list[Reference]:
    """A scripted listener, which follows whatever is said, and one that keeps what it said first."""
    tasks, _ = exam_tasks(experiment)
    rows: list[Reference] = []
    for who, listener in LISTENERS.items():
        student = listener(grounds(experiment, tasks))
        cases = await common_ground(seated(experiment, student, tasks))
        rows += references(cases, f"a scripted {who}", METRICS, exact=True)
    return rows


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    named = {f"{metric}@{arm}" for metric in ("ground_used", "ground_said") for arm in ("told", *arms(understands))}
    named |= {f"{metric}@{arm}" for metric in ("ground_kept", "ground_revised") for arm in arms(understands)}
    apart = {metric for metric in named if metric.endswith("@floor")}
    return (named - apart) | ({"floor_taken@floor", "floor_taken@null"} if apart else set())


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    asked = 2 + len(arms(not needs_real_model(experiment)))
    return len(grounds(experiment, tasks)) * experiment.exams.episodes * asked


EXAM = Exam(
    name="common_ground",
    metrics=METRICS,
    sit=common_ground,
    answers=_answers,
    ratios=_ratios,
    reference=reference,
    competence=(Bar("ground_used@told", 0.5),),
)
