"""What a student brings to a task from others that were played before: their dialogues, or what they taught.

Asymmetric memory: a dialogue that ended right is kept whole, as a demonstration; one that did not becomes a lesson of
one line, which a model writes from the student's own view. So SkillRL begins (Xia et al., arXiv 2602.08234); its method
distils successes, too, into short skills, by a strong model. Of a condition that remembers itself the memories are a
bank that grows with its rounds; its student has the bank in its exams, too.
The memories of the tasks that are nearest in meaning stand above the question in the student's view, and nowhere in its
partner's. `uniform` is the ablation that keeps every dialogue whole; `random` shows, for each memory, one of about
the same length of a task drawn at random. With `memory.words` all arms read about as many words. A task never has
memories of its own question, in any specification.

    maieutic build configs/memory_qwen3_0.6b.yaml     # writes memory/<condition>.jsonl before it is remembered
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain

import numpy as np

from pipeline.building.failures import TYPED, failure_of, forget_engine_errors, standing_failures
from pipeline.building.make_missing import Counts, make_missing
from pipeline.core.id_set import IdSet
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, aloud, digest, question_hash
from pipeline.dialogue.episode import EmptyTurn
from pipeline.engines.model import Model, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import MemorySettings
from pipeline.judging.outcome import is_correct
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue, Failure, Memory
from pipeline.knowledge.view import probe, view
from pipeline.reading.embedder import unit_vectors
from pipeline.runs.dialogue_pool import dialogues_of, memories_path
from pipeline.runs.store import read, read_ids

REFLECT = "The answer was not right. Say in one line what to do differently next time."
LIKE = 10  # memories of nearly the same length, of which `random` draws one


async def remember(cell: Cell, writer: Model | None, tick: Callable[[], None]) -> Counts:
    """Make a memory of each dialogue of a cell that has none yet; `writer` may be None where all have one. Raises
    Stopped.

    What an engine fails at is a typed failure in memory/failures.jsonl, and is tried again by the next call.
    """
    records = memories_path(cell.experiment.run, cell.condition_name)
    forget_engine_errors(records.parent, cell)
    return await make_missing(
        dialogues_of(cell),
        _ended(cell),
        partial(_memory, cell, writer),
        records=records,
        failures=records.with_name("failures.jsonl"),
        failure=Failure,
        at_a_time=cell.experiment.dialogue.at_a_time,
        tick=tick,
        what=f"memories of {cell}",
    )


def missing_memories(cell: Cell) -> int:
    """How many dialogues of a cell have no memory yet."""
    ended = _ended(cell)
    return sum(dialogue.id not in ended for dialogue in dialogues_of(cell))


def _ended(cell: Cell) -> IdSet:
    records = memories_path(cell.experiment.run, cell.condition_name)
    return IdSet(chain(read_ids(records, Memory), standing_failures(records.parent)))


async def _memory(cell: Cell, writer: Model | None, dialogue: Dialogue) -> Memory | Failure:
    assert writer is not None, f"{dialogue.id} has no memory, and nobody is there to write it"
    right, lesson, tokens = is_correct(dialogue), "", 0
    question = known(dialogue.task, dialogue.condition, "student").question  # of a problem that is dealt, its share
    if not right:
        try:
            lesson, tokens = await _lesson(cell.experiment, dialogue, writer)
        except TYPED as error:
            return failure_of(cell, dialogue.id, dialogue.task.id, error)
    label = dialogue.condition.label.capitalize()
    lines = [f"{'You' if turn.party == 'student' else label}: {turn.text}" for turn in dialogue.turns]
    return Memory(
        id=dialogue.id,
        question=question,
        problem=question_hash(dialogue.task.full_question),
        seed=dialogue.seed,
        round=dialogue.round,
        right=right,
        transcript="\n".join([f"Problem: {question}", *lines]),
        lesson=lesson,
        tokens=tokens,
    )


async def _lesson(experiment: Experiment, dialogue: Dialogue, writer: Model) -> tuple[str, int]:
    """One line from the student's own view, and the tokens that were generated for it. Raises EmptyTurn."""
    dialogue = dialogue.model_copy(update={"turns": aloud(dialogue.turns)})  # the writer is another model
    seen = view(dialogue.task, dialogue.condition, dialogue.turns, "student", experiment.prompts("student"))
    sampling = Sampling(max_tokens=experiment.dialogue.max_tokens, temperature=0.0, seed=stream(dialogue.id, "lesson"))
    written = await writer.complete(probe(seen, REFLECT), sampling)
    lesson = next(iter(written.text.strip().splitlines()), "").strip()
    if not lesson:
        raise EmptyTurn("the model wrote no lesson")
    return lesson, written.tokens


def remembered(cell: Cell) -> list[Cell]:
    """Whose dialogues the cell's student remembers: of another condition those of the same round, and of its own those
    of all rounds before."""
    name = cell.condition.remembers
    if name != cell.condition_name:
        return [cell._replace(condition_name=name)]
    return [cell.in_round(round) for round in range(cell.round)]


def recall(cell: Cell, tasks: Collection[Task]) -> list[Task]:
    """The tasks, each with the memories that the cell's student has of others. Raises ConfigError."""
    condition, settings = cell.condition, cell.experiment.memory
    path = memories_path(cell.experiment.run, condition.remembers)
    rounds = {source.round for source in remembered(cell)}
    pool = sorted((m for m in read(path, Memory) if m.seed == cell.seed and m.round in rounds), key=lambda m: m.id)
    if not pool or not tasks:
        return list(tasks)
    embed = partial(unit_vectors, name=settings.embedder, key="memory.embedder")
    asked = [known(task, condition, "student").question for task in tasks]
    likeness = embed(asked) @ embed([memory.question for memory in pool]).T
    reminded = []
    for task, row in zip(tasks, likeness, strict=True):
        whole = condition.memory == "uniform"
        chosen = _nearest(pool, row, question_hash(task.full_question), settings, whole)
        if condition.memory == "random":
            draw = random.Random(digest(task.id, cell.seed, cell.round, "memory"))
            chosen = _others(pool, chosen, task, settings, draw)
        texts = tuple(shown(memory, whole) for memory in chosen)
        reminded.append(task.model_copy(update={"memories": texts}))
    return reminded


def shown(memory: Memory, whole: bool) -> str:
    """What the student reads of a memory. `whole`: also of one that ended wrong."""
    if not memory.right and not whole:
        return f"A lesson from another problem: {memory.lesson}"
    return f"Another problem, which ended {'right' if memory.right else 'wrong'}.\n{memory.transcript}"


def _nearest(
    pool: Sequence[Memory], likeness: np.ndarray, problem: str, settings: MemorySettings, whole: bool
) -> list[Memory]:
    """The most alike first, one of each problem, none of this one; ties in the order of ids. One that would go beyond
    the words that are left gives way to the next that does not."""
    chosen: list[Memory] = []
    taken, left = {problem}, math.inf if settings.words is None else settings.words
    for i in np.argsort(-likeness, kind="stable"):
        if len(chosen) == settings.items:
            break
        words = len(shown(pool[i], whole).split())
        if pool[i].problem not in taken and words <= left:
            taken.add(pool[i].problem)
            chosen.append(pool[i])
            left -= words
    return chosen


def _others(
    pool: Sequence[Memory], chosen: list[Memory], task: Task, settings: MemorySettings, draw: random.Random
) -> list[Memory]:
    """For each memory another of about the same length, of no problem that was chosen: it is what the arm is compared
    with. Where none is left that ended alike, one that did not; where none at all, or none within the words, fewer."""
    taken = {question_hash(task.full_question), *(memory.problem for memory in chosen)}
    others: list[Memory] = []
    left = math.inf if settings.words is None else settings.words
    owed = 0  # words by which those drawn so far are too short: under a cap the shorter memories are chosen already
    for memory in chosen:
        owed += _words(memory)
        free = [other for other in pool if other.problem not in taken and _words(other) <= left]
        free = [other for other in free if other.right == memory.right] or free
        if not free:
            break
        free.sort(key=lambda other: (abs(_words(other) - owed), other.id))
        others.append(draw.choice(free[:LIKE]))
        owed -= _words(others[-1])
        left -= _words(others[-1])
        taken.add(others[-1].problem)
    return others


def _words(memory: Memory) -> int:
    return len(shown(memory, whole=False).split())
