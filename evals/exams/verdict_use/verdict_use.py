"""How much of a verdict does the student use: that it is wrong, where, or what is wrong?

StepVerify (Daheim et al., EMNLP 2024, arXiv 2407.09136) has wrong solutions with the first wrong step and a description
of the error, as teachers gave them (`pipeline.tasks.stepverify`). Here the student has said such a solution as
its own first turn, hears one of five things, and is asked in the same words for its whole solution again:

    none        nothing but that request
    wrong       that it is not right
    where       the same, and the first wrong step, e
    what        the same, and the teacher's description
    elsewhere   as `where`, but with the step d of another problem's row, drawn by seed and row: one of the steps there
                are, and none that a teacher of this solution has named

Each row of the exam split is played `exams.episodes` times in each arm, with one random stream in all. Of a reply:

    no_step_or_answer@ARM   it has no numbered step and commits to no answer / replies
    revises@ARM             a step has changed, or it commits to another answer than before / replies
    revises_error@ARM       the first step that has changed is e / replies
    revises_other@ARM       the first step that has changed is d / replies, of rows that have a d
    mends@ARM               the answer that it commits to is right / replies
    mends_with_other@ARM    the same / replies, of rows that have a d

A step has changed where its new text states other numbers (in digits or words, as a set), or other content words where
neither text states any; where the reply has steps but not this one; and where it is new. So a mistake that is mended in
words alone is missed, and merged or renumbered steps count as changed from there on. A reply without numbered steps
has changed none, and is no less a reply: no denominator depends on what the student does. What `e` is, one teacher
said; `same_step` is how often two teachers of one solution name the same (`same_step_chance`: of two problems).

Differences are paired, on the same rows and streams:

    use_wrong = revises@wrong - revises@none: told that, it does something
    use_where = revises_error@where - revises_error@wrong: it goes to the step that it is told
    use_elsewhere = revises_other@elsewhere - revises_other@wrong: it goes there on another problem's word, too
    use_what = mends@what - mends@where: the description mends what the place did not
    gain_X = mends@X - mends@none: what feedback X gains in all
    gain_elsewhere = mends_with_other@elsewhere - mends_with_other@none: the same, of rows that have a d

Who checks has use_where high and use_elsewhere low; who obeys has both. `elsewhere` is a false verdict of its step
only where the solution has one error. Cases are counted by problem, since one problem may have several rows. Without a
row there is no case: NaN.

Teachers' own figures: which step is the first wrong one (`error_at`, /1 to /4, and /5 for five or later); how often it
is described, in how many words, and how often the description gives the answer away; how often the right number stands
in the problem or in the wrong solution already, so that `mends` may be luck, alike in all arms (`answer_public`).

The embedded base cannot read it and is not asked; nobody is without exams.verdict_use. The reference is teachers, and
students by script on invented problems, of whom it is known what they use.

    maieutic eval configs/quickstart.yaml --set out=runs/verdict_use --set compare=null \\
        --set 'exams.include=[verdict_use]'
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from pydantic import Field

from evals.exams.verdict_use.revisers import PROBLEMS, SCRIPTS
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, alike
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam, Reference, options
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting
from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.core.random_streams import stream
from pipeline.core.schema import Draft, Task, Turn, digest, question_hash
from pipeline.dialogue.episode import speak
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.numbers.equality import equal
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.sentences import content_words
from pipeline.reading.stated_answer import mentions
from pipeline.runs.progress import say
from pipeline.tasks import stepverify
from pipeline.tasks.settings import Tasks
from pipeline.tasks.stepverify import Note

ARMS = ("none", "wrong", "where", "what", "elsewhere")
AGAIN = (
    "Say your whole solution again, changed or not: each step on a line of its own, as Step 1:, Step 2: and so on, and "
    "at the end: The answer is N."
)
TEACHERS = "StepVerify's teachers"
LAST = 5  # of error_at: this step or a later one
STEPS = Reader(unmeasured="which step of a reply has changed, by its numbers: not measured, nothing is labelled")
SUMS = {
    "use_wrong": {"revises@wrong": 1.0, "revises@none": -1.0},
    "use_where": {"revises_error@where": 1.0, "revises_error@wrong": -1.0},
    "use_elsewhere": {"revises_other@elsewhere": 1.0, "revises_other@wrong": -1.0},
    "use_what": {"mends@what": 1.0, "mends@where": -1.0},
    **{f"gain_{arm}": {f"mends@{arm}": 1.0, "mends@none": -1.0} for arm in ARMS[1:-1]},
    "gain_elsewhere": {"mends_with_other@elsewhere": 1.0, "mends_with_other@none": -1.0},
}
REPLIES = alike(
    {
        "no_step_or_answer": "has no numbered step and no answer, after feedback on a wrong solution "
        "(@what was said of it) / replies",
        "revises": "changes a step or the answer of a wrong solution (@what was said of it) / replies",
        "revises_error": "the first step that it changes is the one that a teacher found wrong / replies",
        "revises_other": "the first step that it changes is the one of another row / replies of rows that have such a "
        "step",
        "mends_with_other": "mends / replies of rows that have such a step",
        "mends": "the answer after feedback on a wrong solution (@what was said of it) is right / replies",
    },
    reader=STEPS,
)
OF_TEACHERS = (
    Metric(
        "error_at",
        "the first wrong step is this one (/1 to /4; /5: this or a later one) / teachers' notes",
        reader=STEPS,
    ),
    Metric("solution_steps", "steps of the wrong solution / teachers' notes", unit="steps", reader=STEPS),
    Metric("described", "the error is described / teachers' notes", reader=STEPS),
    Metric("described_words", "words of the description / descriptions", unit="words", reader=STEPS),
    *alike(
        {
            "described_leak": "the description gives the answer away / descriptions",
            "answer_public": "the right answer's number stands in the problem or in the wrong solution / teachers' "
            "notes",
            "same_step_chance": "both name the same first wrong step / a note of each problem with one of the next "
            "problem",
            "same_step": "both name the same first wrong step / pairs of teachers of one wrong solution",
        },
        reader=STEPS,
    ),
)
METRICS = (
    *(Metric(name, " - ".join(parts), reader=STEPS, parts=parts) for name, parts in SUMS.items()),
    *REPLIES,
    *OF_TEACHERS,
)
SHOWN = ("use_wrong", "use_where", "use_elsewhere", "use_what", "gain_what")  # of students by script
_HEAD = r"^\W*step\s*(\d{1,3})[\s*_]*[:.)–-]\W*"
_STEP = re.compile(rf"{_HEAD}(.*?)(?={_HEAD.replace('(', '(?:', 1)}|\Z)", re.I | re.M | re.S)
_ANSWER_LINE = re.compile(r"\n\W*the (?:final )?answer is[^\n]*\s*\Z", re.I)


class WrongSolutions(Section):
    """Wrong solutions in which teachers found the error."""

    path: str = Field(min_length=1)  # StepVerify's JSON list; $VARIABLES are expanded
    most: int = Field(default=100, ge=1)  # of its rows that a student is asked about


class Options(Section):
    verdict_use: WrongSolutions | None = None  # None: nobody is asked


async def sit(sitting: Sitting) -> list[Case]:
    """Every row of the exam split, `exams.episodes` times in each arm."""
    tasks = _tasks(sitting.experiment)
    if not tasks:
        say("verdict_use: exams.verdict_use is not set, or its file has no row of the exam split; left out")
    return await asked_of(sitting, tasks)


async def asked_of(sitting: Sitting, tasks: Sequence[Task]) -> list[Case]:
    """The cases of these tasks, in every arm."""
    samples = range(sitting.experiment.exams.episodes)
    work = [
        _reply(sitting, task, arm, other, sample)
        for task, other in zip(tasks, _others(sitting, tasks), strict=True)
        for arm in ARMS
        if other or arm != "elsewhere"
        for sample in samples
    ]
    return tally("verdict_use", [hit for of_reply in await sitting.all(work) for hit in of_reply])


def _tasks(experiment: Experiment) -> list[Task]:
    settings = options(experiment, Options).verdict_use
    if settings is None:
        return []
    tasks, _ = stepverify.read(_source(settings))
    held_out = sorted((t for t in tasks if t.split == "exam"), key=lambda task: digest("verdict_use", task.id))
    return held_out[: settings.most]


def _source(settings: WrongSolutions) -> Tasks:
    path = os.path.expandvars(settings.path)
    if not Path(path).is_file():
        raise ConfigError(
            f"exams.verdict_use.path: {path!r} is not a file. Expected {stepverify.WHAT}; correct the path, export the "
            "variable that it names, or leave exams.verdict_use out."
        )
    return Tasks(source="stepverify", path=path)


def _others(sitting: Sitting, tasks: Sequence[Task]) -> list[int]:
    """For each task the place of the error in another problem's row; 0 where none of them fits.

    It fits where the solution has such a step, and no teacher of that solution says that it is the first wrong one.
    """
    others = []
    for task in tasks:
        theirs = {_draft(other).where for other in tasks if _problem(other) == _problem(task)}
        places = [_draft(other).where for other in tasks if _problem(other) != _problem(task)]
        fit = [place for place in places if place not in theirs and place <= len(_draft(task).steps)]
        others.append(random.Random(sitting.key(task.id, "elsewhere")).choice(fit) if fit else 0)
    return others


async def _reply(sitting: Sitting, task: Task, arm: str, other: int, sample: int) -> Hits:
    # No arm in the key: all arms are heard with the same draws.
    key = sitting.key(task.id, sample, "verdict_use")
    draft, posed = _draft(task), task.model_copy(update={"question": task.full_question})
    turns = [Turn(party="student", text=draft.text), Turn(party="partner", text=heard(draft, arm, other, key))]
    messages = view(posed, OPENING, turns, "student", sitting.prompts)
    reply = await speak(sitting.student, messages, "student", sitting.settings, stream(key))
    answer = (await sitting.last(posed, [*turns, reply])).attempt
    return [(_problem(task), f"{metric}@{arm}", float(hit)) for metric, hit in figures(task, other, reply, answer)]


def _draft(task: Task) -> Draft:
    assert task.draft is not None
    return task.draft


def _problem(task: Task) -> str:
    return question_hash(task.full_question)


def heard(draft: Draft, arm: str, other: int, key: str) -> str:
    """What the student hears in an arm; arms that say the same thing say it in the same words."""
    rng = random.Random(key)
    wrong, where = (rng.choice(WORDINGS["exam"][move]) for move in ("wrong", "where"))
    parts = {
        "none": (),
        "wrong": (wrong,),
        "where": (wrong, where.format(draft.where)),
        "what": (wrong, where.format(draft.where), draft.what),
        "elsewhere": (wrong, where.format(other)),
    }
    return " ".join((*parts[arm], AGAIN))


def figures(task: Task, other: int, reply: Turn, answer: str | None) -> list[tuple[str, bool]]:
    """What one reply shows, which commits to `answer`. `other` is the step of another row, 0 for none.

    Of a reply that was cut nobody knows how its last step ends, nor what follows it.
    """
    draft, steps = _draft(task), steps_of(reply.text)
    known = len(draft.steps) if reply.finished or not steps else max(steps) - 1
    whole = {number: step for number, step in steps.items() if reply.finished or number <= known}
    first = first_changed(draft.steps[:known], whole) if steps else None
    shows = [
        ("no_step_or_answer", not steps and answer is None),
        ("revises", first is not None or (answer is not None and not equal(answer, draft.answer))),
        ("revises_error", first == draft.where),
        ("mends", answer is not None and equal(answer, task.answer)),
    ]
    return [*shows, ("revises_other", first == other), ("mends_with_other", shows[-1][1])] if other else shows


def steps_of(text: str) -> dict[int, str]:
    """The numbered steps of a reply, without the line of its answer; of two with one number the last."""
    return {int(number): step.strip() for number, step in _STEP.findall(_ANSWER_LINE.sub("", text))}


def first_changed(old: Sequence[str], new: dict[int, str]) -> int | None:
    """The first step, from 1, that is not as it was; None where all are."""
    for i in range(1, max([len(old), *new]) + 1):
        if i > len(old) or i not in new or _content(old[i - 1]) != _content(new[i]):
            return i
    return None


def _content(step: str) -> tuple[set[Fraction], frozenset[str]]:
    stated = numbers(step)
    return stated, frozenset() if stated else content_words(step)


async def reference(experiment: Experiment) -> list[Reference]:
    """Scripted students on invented problems; teachers' figures where exams.verdict_use names their file."""
    plain = experiment.model_copy(update={"exams": experiment.exams.model_copy(update={"episodes": 1})})
    rows: list[Reference] = []
    for who, script in SCRIPTS.items():
        cases = await asked_of(seated(plain, script), PROBLEMS)
        rows += references(cases, who, METRICS, SHOWN, exact=True)
    settings = options(experiment, Options).verdict_use
    if settings is None:
        say("verdict_use: no file of wrong solutions (exams.verdict_use.path); scripted students alone")
        return rows
    notes, _ = stepverify.notes(_source(settings))
    tasks, bad = stepverify.read(_source(settings))
    say(f"verdict_use: {len(tasks)} rows, {len(bad)} left out")
    for why, count in _reasons([row.message for row in bad]):
        say(f"  {count}: {why}")
    positions = [f"error_at/{k}" for k in range(1, LAST + 1)]
    named = [metric.name for metric in OF_TEACHERS if metric.name != "error_at"]
    return rows + references(of_teachers(notes), TEACHERS, METRICS, sorted(positions + named))


def _reasons(messages: Iterable[str]) -> list[tuple[str, int]]:
    ordered = sorted(re.sub(r", \S+$", "", message) for message in messages)
    return [(why, len(list(group))) for why, group in itertools.groupby(ordered)]


def of_teachers(notes: Sequence[Note]) -> list[Case]:
    """What teachers said of wrong solutions, counted by problem; pairs are two teachers of one solution."""
    hits: Hits = []
    for note in notes:
        problem = question_hash(note.problem)
        hits += [(problem, f"error_at/{k}", float(min(note.where, LAST) == k)) for k in range(1, LAST + 1)]
        hits.append((problem, "solution_steps", float(len(note.steps))))
        hits.append((problem, "answer_public", float(mentions("\n".join((note.problem, *note.steps)), note.gold))))
        hits.append((problem, "described", float(bool(note.what))))
        if note.what:
            hits.append((problem, "described_words", float(len(note.what.split()))))
            hits.append((problem, "described_leak", float(stepverify.tells(note))))
    ordered = sorted(notes, key=lambda note: (note.problem, note.steps))
    for (problem, _), group in itertools.groupby(ordered, key=lambda note: (note.problem, note.steps)):
        pairs = itertools.combinations(group, 2)
        hits += [(question_hash(problem), "same_step", float(a.where == b.where)) for a, b in pairs]
    firsts = list({note.problem: note for note in sorted(notes, key=lambda note: digest(note.problem))}.values())
    if len(firsts) > 1:
        neighbours = zip(firsts, [*firsts[1:], firsts[0]], strict=True)
        hits += [(question_hash(a.problem), "same_step_chance", float(a.where == b.where)) for a, b in neighbours]
    return tally("verdict_use", hits)


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    return len(_tasks(experiment)) * len(ARMS) * experiment.exams.episodes


EXAM = Exam(
    name="verdict_use",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=lambda experiment, understands: {f"{metric.name}@{arm}" for metric in REPLIES for arm in ARMS},
    options=Options,
    real=True,
    reference=reference,
)
