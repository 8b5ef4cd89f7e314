"""Register and persona: asked in mid-talk to speak otherwise, does the student, and does its answer stay?

Alignment is said to freeze one register. The student answers a full problem; the fixed partner then asks for it again
in another manner (`evals.exams.register.styles`: formal, casual, brief, you, we, a sailor). Beside it stands what the
student says when it is only asked to say it again, and one more sample of that: two turns differ by chance too. All are
sampled after the same first turn, `exams.episodes` times a problem.

- `style_shown@STYLE`: the turn shows the style more than the turn beside it / requests. `style_by_chance@STYLE`: the
  other sample of the turn that was asked for no style does / the same. `style_change@STYLE`: their difference.
- `content_kept@STYLE`: the turn says the answer of the first turn, right or wrong, in whatever words / requests after a
  first turn that committed to one. Where it is read to commit to an answer, that decides. Else, of an answer in words,
  whether these stand in it; of a number, its last one that is not denied and, where it has one, not of the question. A
  turn that says no number has lost it. `content_kept@again`: the same of the two turns that were only asked to say it
  again, beside which the others are read.
- `style_alone@STYLE`: the style is shown and the answer kept / requests after a first turn that committed to an answer.
- `style_answered`: first turns that commit to an answer / talks. **Competence**: where it is low, there is no content
  that a style could keep, and content_kept and style_alone rest on few talks.
- `style_lasts@STYLE`: the turn after a content-free turn of the partner still shows it / turns that showed it.

Styles are counted in words (`evals.exams.register.styles`), which bounds what is seen: an irony, a tone or a rhythm is
not. The measures are ours; no figure of the literature is their target. The embedded base has heard none of the
requests and has one style, so it is not asked. References: a chameleon that changes its words and keeps its answer, one
that does so in words of its own ("Aye, that be 12, matey!"), one that is frozen, and two that lose their answer with
their style.
"""

from __future__ import annotations

import re

from evals.exams.register.speakers import SPEAKERS
from evals.exams.register.styles import STYLES
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import alike, difference
from evals.metrics.reader import Reader
from evals.sitting.exam import Bar, Exam, Reference
from evals.sitting.exam_partners import OPENING
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.numbers.equality import equal, number
from pipeline.reading.numbers.numerals import WORDS, spoken

_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_NUMBER = re.compile(rf"-?\d+(?:,\d{{3}})*(?:\.\d+)?|\b(?:{_WORD})(?:[\s-](?:and )?(?:{_WORD}))*\b", re.I)
_DENIED = re.compile(r"(?:\bnot|\bnever|n't)(?: \w+)?\s*$", re.I)
_PERCENT = re.compile(r"\s*(?:%|percent\b)(?=\s*(?:sure|certain|positive)\b)", re.I)
AGAIN = "Please say that again."
GO_ON = "Go on."
RULE = Reader(unmeasured="counts of words, by rule: not measured as judgements of style")
METRICS = (
    difference("style_change", "style_shown", "style_by_chance", reader=RULE),
    *alike(
        {
            "style_shown": "speaks in the style that was asked for (@STYLE), more than when asked for none / requests",
            "style_by_chance": "another turn that was asked for no style does / requests",
            "content_kept": "commits to the answer of its first turn, or says it / requests (@again: for no style) "
            "after a first turn with an answer",
            "style_alone": "speaks in the style and keeps the answer / requests after a first turn with an answer",
            "style_answered": "the first turn commits to an answer / talks",
            "style_lasts": "still speaks in the style in its next turn / turns that did",
        },
        reader=RULE,
    ),
)


async def register(sitting: Sitting) -> list[Case]:
    work = [
        _talk(sitting, task, sample)
        for task in sitting.tasks
        if task.specification == "full"
        for sample in range(sitting.experiment.exams.episodes)
    ]
    return tally("register", [hit for of_talk in await sitting.all(work) for hit in of_talk])


async def _talk(sitting: Sitting, task: Task, sample: int) -> Hits:
    key = sitting.key(task.id, "register", sample)

    async def student(turns: list[Turn], name: object) -> Turn:
        messages = view(task, OPENING, turns, "student", sitting.prompts)
        return await speak(sitting.student, messages, "student", sitting.settings, stream(key, name))

    first = await student([], 0)
    asked_again = [first, Turn(party="partner", text=AGAIN)]
    repeated = [await student(asked_again, name) for name in (1, "other")]
    beside, by_chance = (turn.text for turn in repeated)
    answer = (await sitting.last(task, [first])).attempt
    hits: Hits = [(task.id, "style_answered", float(answer is not None))]
    for turn in repeated if answer is not None else ():
        named = (await sitting.last(task, [*asked_again, turn])).attempt
        hits.append((task.id, "content_kept@again", float(keeps(turn.text, named, answer or "", task.question))))
    for name, style in STYLES.items():
        turns = [first, Turn(party="partner", text=style.request)]
        # Draws of its own, as those of the null: with the same ones a student that ignores the request says the same.
        reply = await student(turns, name)
        later = await student([*turns, reply, Turn(party="partner", text=GO_ON)], f"{name} later")
        said = (await sitting.last(task, [*turns, reply])).attempt
        shown, kept = (
            style.shows(reply.text, beside),
            answer is not None and keeps(reply.text, said, answer, task.question),
        )
        hits.append((task.id, f"style_shown@{name}", float(shown)))
        hits.append((task.id, f"style_by_chance@{name}", float(style.shows(by_chance, beside))))
        if answer is not None:
            hits.append((task.id, f"content_kept@{name}", float(kept)))
            hits.append((task.id, f"style_alone@{name}", float(shown and kept)))
        if shown:
            hits.append((task.id, f"style_lasts@{name}", float(style.shows(later.text, beside))))
    return hits


def keeps(text: str, said: str | None, answer: str, question: str) -> bool:
    """Whether a turn, which commits to what was `said`, still says the answer; see `content_kept`."""
    if said is not None:
        return equal(said, answer)
    if number(answer) is None:
        return bool(re.search(rf"\b{re.escape(answer)}\b", text, re.I))
    told = _numbers(text)
    asked = _numbers(question)
    news = [value for value in told if not any(equal(value, other) for other in asked)]
    return bool(told) and equal((news or told)[-1], answer)


def _numbers(text: str) -> list[str]:
    """The numbers of a text that are not denied, in their order; a bare "one" is a pronoun."""
    numbers = [
        match[0]
        for match in _NUMBER.finditer(text)
        if not _DENIED.search(text[: match.start()]) and not _PERCENT.match(text[match.end() :])
    ]
    return [str(spoken(number) or number.replace(",", "")) for number in numbers if number.casefold() != "one"]


async def reference(experiment: Experiment) -> list[Reference]:
    """Scripted speakers, all styles together."""
    tasks, _ = exam_tasks(experiment)
    rows: list[Reference] = []
    for who, speaker in SPEAKERS.items():
        cases = await register(seated(experiment, speaker, tasks))
        asked = [case for case in cases if not case.metric.endswith("@again")]
        pooled = [case._replace(metric=case.metric.partition("@")[0]) for case in asked]
        rows += references(pooled, f"a scripted {who}", METRICS, exact=True)
    return rows


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    full = sum(task.specification == "full" for task in tasks)
    return full * experiment.exams.episodes * (3 + 2 * len(STYLES))


EXAM = Exam(
    name="register",
    metrics=METRICS,
    sit=register,
    answers=_answers,
    ratios=lambda experiment, understands: (
        {
            metric.name if metric.name == "style_answered" else f"{metric.name}@{style}"
            for metric in METRICS
            if not metric.parts
            for style in STYLES
        }
        | {"content_kept@again"}
    ),
    real=True,
    reference=reference,
    competence=(Bar("style_answered", 0.5), Bar("content_kept@again", 0.5)),
)
