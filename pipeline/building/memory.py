"""What a student brings to a task from others that were played before: their dialogues, or what they taught.

Asymmetric memory (SkillRL, Xia et al., arXiv 2602.08234, section 3): a dialogue that ended right is kept whole, as a
demonstration; one that did not becomes a lesson of one line, which a model writes from the student's own view. The
memories of the tasks that are nearest in meaning stand above the question in the student's view, and nowhere in its
partner's. `uniform` is the ablation that keeps every dialogue whole; `random` shows, for each memory, one of about
the same length of a task drawn at random. A task never has memories of its own question, in any specification.

    maieutic build configs/memory_qwen3_0.6b.yaml     # writes memory/<condition>.jsonl before it is remembered
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from pipeline.building.build import FAILURES, Counts, forget_engine_errors
from pipeline.building.concurrency import Stopped, admit
from pipeline.core.schema import Task, digest, question_hash
from pipeline.dialogue.episode import EmptyTurn
from pipeline.engines.model import Model, Sampling
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import MemorySettings
from pipeline.judging.outcome import is_correct
from pipeline.knowledge.records import Dialogue, Failure, Memory
from pipeline.knowledge.view import probe, view
from pipeline.reading.embedder import sentence_model
from pipeline.runs.store import Appender, read

REFLECT = "The answer was not right. Say in one line what to do differently next time."
LIKE = 10  # memories of nearly the same length, of which `random` draws one


async def remember(
    experiment: Experiment, condition_name: str, seed: int, round: int, writer: Model, tick: Callable[[], None]
) -> Counts:
    """Make a memory of each dialogue of a cell that has none yet. Raises Stopped.

    What an engine fails at is a typed failure in memory/failures.jsonl, and is tried again by the next call.
    """
    folder, made, failed, skipped = experiment.run / "memory", 0, 0, 0
    forget_engine_errors(folder, condition_name, seed, round)
    ended = {memory.id for memory in read(folder / f"{condition_name}.jsonl", Memory)}
    ended |= {failure.id for failure in read(folder / "failures.jsonl", Failure)}

    def missing() -> Iterator[Dialogue]:
        nonlocal skipped
        for dialogue in cell(experiment, condition_name, seed, round):
            if dialogue.id in ended:
                skipped += 1
            else:
                yield dialogue

    with Appender(folder / f"{condition_name}.jsonl") as memories, Appender(folder / "failures.jsonl") as failures:

        async def work(dialogue: Dialogue) -> None:
            nonlocal made, failed
            try:
                memories.append(await _memory(experiment, dialogue, writer))
                made += 1
            except tuple(FAILURES) as error:
                common = {"condition_name": condition_name, "seed": seed, "round": round, "message": str(error)}
                kind = FAILURES[type(error)]
                failures.append(Failure(id=dialogue.id, task_id=dialogue.task.id, kind=kind, **common))
                failed += 1
            tick()

        if await admit(missing(), work, 1 if experiment.dialogue.deterministic else experiment.dialogue.concurrency):
            raise Stopped(f"after {made + failed} more memories of {condition_name!r}, seed {seed}")
    return Counts(made, failed, skipped)


def cell(experiment: Experiment, condition_name: str, seed: int, round: int) -> Iterator[Dialogue]:
    """The dialogues of one condition, seed and round."""
    for dialogue in read(experiment.run / "dialogues" / f"{condition_name}.jsonl", Dialogue):
        if (dialogue.seed, dialogue.round) == (seed, round):
            yield dialogue


async def _memory(experiment: Experiment, dialogue: Dialogue, writer: Model) -> Memory:
    condition, right, lesson, tokens = dialogue.condition, is_correct(dialogue), "", 0
    if not right:
        seen = probe(view(dialogue.task, condition, dialogue.turns, "student", experiment.student.system), REFLECT)
        settings = Sampling(experiment.dialogue.max_tokens, 0.0, int(digest(dialogue.id, "lesson", length=15), 16))
        written = await writer.complete(seen, settings)
        lesson, tokens = next(iter(written.text.strip().splitlines()), "").strip(), written.tokens
        if not lesson:
            raise EmptyTurn("the model wrote no lesson")
    said = [
        f"{'You' if turn.party == 'student' else condition.label.capitalize()}: {turn.text}" for turn in dialogue.turns
    ]
    return Memory(
        id=dialogue.id,
        question=dialogue.task.question,
        problem=question_hash(dialogue.task.full_question),
        seed=dialogue.seed,
        round=dialogue.round,
        right=right,
        transcript="\n".join([f"Problem: {dialogue.task.question}", *said]),
        lesson=lesson,
        tokens=tokens,
    )


def recall(experiment: Experiment, condition_name: str, seed: int, round: int, tasks: Collection[Task]) -> list[Task]:
    """The tasks, each with the memories that the condition's student has of others. Raises ConfigError."""
    condition, settings = experiment.conditions[condition_name], experiment.memory
    path = experiment.run / "memory" / f"{condition.remembers}.jsonl"
    pool = sorted((m for m in read(path, Memory) if (m.seed, m.round) == (seed, round)), key=lambda m: m.id)
    if not pool:
        return list(tasks)
    vectors = embed(settings, [memory.question for memory in pool])
    likeness = embed(settings, [task.question for task in tasks]) @ vectors.T
    found = []
    for task, row in zip(tasks, likeness, strict=True):
        chosen = _nearest(pool, row, question_hash(task.full_question), settings.items)
        if condition.memory == "random":
            chosen = _others(pool, chosen, task, random.Random(digest(task.id, seed, round, "memory")))
        texts = tuple(shown(memory, whole=condition.memory == "uniform") for memory in chosen)
        found.append(task.model_copy(update={"memories": texts}))
    return found


def shown(memory: Memory, whole: bool) -> str:
    """What the student reads of a memory. `whole`: also of one that ended wrong."""
    if not memory.right and not whole:
        return f"A lesson from another problem: {memory.lesson}"
    return f"Another problem, which ended {'right' if memory.right else 'wrong'}.\n{memory.transcript}"


def _nearest(pool: Sequence[Memory], likeness: np.ndarray, problem: str, items: int) -> list[Memory]:
    """The most alike first, one of each problem, none of this one; ties in the order of ids."""
    chosen: list[Memory] = []
    taken = {problem}
    for i in np.argsort(-likeness, kind="stable"):
        if len(chosen) == items:
            break
        if pool[i].problem not in taken:
            taken.add(pool[i].problem)
            chosen.append(pool[i])
    return chosen


def _others(pool: Sequence[Memory], chosen: list[Memory], task: Task, draw: random.Random) -> list[Memory]:
    """For each memory another of about the same length."""
    taken, found = {question_hash(task.full_question)}, []
    for memory in chosen:
        length = len(shown(memory, whole=False).split())
        free = [other for other in pool if other.problem not in taken and other.right == memory.right] or [memory]
        free.sort(key=lambda other: (abs(len(shown(other, whole=False).split()) - length), other.id))
        found.append(draw.choice(free[:LIKE]))
        taken.add(found[-1].problem)
    return found


def embed(settings: MemorySettings, texts: Sequence[str]) -> np.ndarray:
    """Unit vectors, shape (texts, dimensions). Raises ConfigError where the model cannot be loaded."""
    model = sentence_model(settings.embedder, "memory.embedder")
    return np.asarray(model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))
