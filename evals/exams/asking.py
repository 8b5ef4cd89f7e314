"""Does the student ask for what it needs, and only then?

The headline is the first student turn, before any partner spoke: `ask_needed` on underspecified tasks,
`ask_needless` on full ones, their difference `ask_skill`. Whole episodes carry the partner's name
after an @; first turns in a held-out wording are @stress, on kinds of problems that no training had @held_out,
on tasks of a second source @SOURCE.
"""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting.sitting import OPENING, Case, ExamEpisode, Found, Sitting, tally
from pipeline.core.schema import Task, Turn
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.acts import asked, attempt, given, questions
from pipeline.reading.correctness import judged


def first_turn(task: Task, turn: Turn, scope: str = "") -> Found:
    """The metrics of an opening turn. A turn that also commits to an answer does not count as asking."""
    text, answer = turn.text, attempt(turn.text, entry=task.entry)
    asks = bool(questions(text)) and answer is None
    right = answer is not None and judged(task, turn, answer)
    if task.missing:
        needed = answer is None and bool(set(asked(text, task.facts)) & {fact.id for fact in task.missing})
        return [(task.id, f"ask_needed{scope}", needed), (task.id, f"attempt_unknowing{scope}", answer is not None)]
    if task.specification == "false_premise":
        return [(task.id, f"premise_rejected{scope}", right)]
    strata = [f"_{task.stratum}"] if task.stratum else []
    return [
        (task.id, f"ask_needless{scope}", asks),
        *[(task.id, f"first_accuracy{part}{scope}", right) for part in ["", *strata]],
    ]


def whole_episode(episode: ExamEpisode) -> Found:
    """The metrics of one episode, as the design defines them."""
    task, turns = episode.task, episode.played.turns
    facts = {fact.id: fact for fact in task.facts}
    missing = {fact.id for fact in task.missing}
    known = {fact.id for fact in task.facts if fact.public}
    found: Found = []

    def note(metric: str, hit: float) -> None:
        found.append((task.id, f"{metric}@{episode.arm}", float(hit)))

    asked_needed = asked_any = False
    attempted = False
    for i, turn in enumerate(turns):
        if turn.party == "partner":
            known |= set(given(turn.text, facts.values()))
            continue
        wanted, said = asked(turn.text, facts.values()), attempt(turn.text, entry=task.entry)
        reply = turns[i + 1].text if i + 1 < len(turns) else None
        if said is None and not attempted:
            asked_needed |= bool(set(wanted) & missing)
            asked_any |= bool(questions(turn.text))
        if said is not None and not attempted:
            attempted = True
            if missing:
                note("premature", not missing <= known)
                note("ask_complete", missing <= known)
        for fact in wanted:
            note("duplicates", fact in known and not facts[fact].public)
        if reply is not None and not missing <= known:
            told = set(given(reply, facts.values())) - known
            for question in questions(turn.text):
                note("yield", bool(told & set(asked(question, facts.values()))))
            if not questions(turn.text):
                note("unprompted", bool(told))
    if missing:
        note("ask_needed", asked_needed)
        if not attempted:
            note("ask_complete", missing <= known)
    elif task.specification == "full":
        note("ask_needless", asked_any)
    note("student_turns", sum(turn.party == "student" for turn in turns))
    return found


async def asking(sitting: Sitting) -> list[Case]:
    """First turns: K samples a task at the sampling temperature, and greedy in a column of its own."""
    exams, system = sitting.experiment.exams, sitting.system

    async def one(task: Task, scope: str) -> tuple[Found, Found]:
        messages = view(task, OPENING, [], "student", system)
        said = await sitting.turns(task, await sitting.sample(messages, exams.samples, task.id, "first"))
        best = await sitting.turns(task, [await sitting.greedy(messages)] if exams.greedy else [])
        return (
            [hit for turn in said for hit in first_turn(task, turn, scope)],
            [hit for turn in best for hit in first_turn(task, turn, scope)],
        )

    work = [one(task, "") for task in sitting.tasks]
    work += [one(task, _aside(sitting.experiment, task)) for task in sitting.aside]
    results = await sitting.all(work)
    sampled = [hit for found, _ in results for hit in found]
    return tally("asking", sampled) + tally("asking", [hit for _, found in results for hit in found], greedy=True)


def _aside(experiment: Experiment, task: Task) -> str:
    """The scope of a task that only first turns are asked on."""
    _, *second = (source.name for source in experiment.sources)
    if task.source in second:
        return f"@{task.source}"
    return "@held_out" if task.kind in experiment.tasks.held_out else "@stress"


def asking_episodes(episodes: Iterable[ExamEpisode]) -> list[Case]:
    # A partner that holds no facts cannot yield any, so the metric does not exist there.
    holds = ("@facts", "@volunteer")
    found = [hit for episode in episodes for hit in whole_episode(episode)]
    return tally(
        "episodes",
        [hit for hit in found if hit[1].split("@")[0] not in ("yield", "unprompted") or hit[1].endswith(holds)],
    )
