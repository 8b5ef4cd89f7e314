"""A challenger poses tasks about documents: what it says becomes a task or a typed refusal, and neither twice.

TASKS is the config's `tasks.path`. Beside it TASKS.replies.jsonl holds the whole replies that became tasks, from which
a challenger can learn (training/challenger.py), and TASKS.failures.jsonl the refused ones, with the reason. An
attempt's id is a hash of its prompt (document and wording), the challenger's weights, the sampling and its number, so
the same command after a kill makes what is missing, and asks again where the engine failed.

    maieutic pose configs/posed_qwen3_0.6b.yaml DOCUMENTS
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.building.make_missing import Counts, make_missing
from pipeline.core.errors import ConfigError
from pipeline.core.random_streams import stream
from pipeline.core.schema import Message, Task, digest, question_hash
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import ContextOverflow, EngineDown, EngineError, Model, Sampling, check_adapter
from pipeline.engines.weights import weights_id
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.posing.challenge import ask, task_of
from pipeline.posing.documents import Document, load_documents
from pipeline.posing.evidence import RefusalKind, Refused
from pipeline.posing.replies import AGAIN, Refusal, Reply, held, posed_to, refusals_path, replies_path
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.runs.progress import say, stage
from pipeline.runs.store import Appender, end_last_line, read, rewrite
from pipeline.tasks.parsing import BadRow

MAX_TOKENS = 700  # of a reply


class Attempt(NamedTuple):
    """One question that is asked for."""

    id: str
    document: Document
    number: int
    asked: list[Message]


def attempts_at(
    documents: Sequence[Document], each: int, poser: str, temperature: float, prompts: Prompts = CLOSED_PROMPTS
) -> Iterator[Attempt]:
    """All that is asked for, in a fixed order."""
    for document in documents:
        for number in range(each):
            asked = ask(document, number, prompts)
            yield Attempt(digest(asked, poser, temperature, MAX_TOKENS, number), document, number, asked)


async def pose(
    model: Model,
    attempts: Iterable[Attempt],
    bad: Sequence[BadRow],
    tasks: Path,
    temperature: float,
    at_a_time: int,
    tick: Callable[[], None] = lambda: None,
) -> Counts:
    """Make what is missing; `tick` is called at each attempt's end. Raises Stopped at a signal, as a build does."""
    standing = [refusal for refusal in read(refusals_path(tasks), Refusal) if refusal.kind not in AGAIN]
    ended, asked = {refusal.id for refusal in standing}, dict[str, str]()
    end_last_line(tasks, Task)
    for task in read(tasks, Task):
        ended.add(task.id.removeprefix("posed-"))
        asked |= dict.fromkeys(_same(task), task.id)
    rewrite(refusals_path(tasks), standing)
    with Appender(refusals_path(tasks)) as refusals:
        for row in bad:
            id = digest(row.where.rpartition("/")[2], row.message)
            refusals.append(Refusal(id=id, document=row.where, attempt=-1, kind="bad_document", message=row.message))

    async def make(attempt: Attempt) -> Task | Refusal:
        text = ""
        try:
            sampling = Sampling(max_tokens=MAX_TOKENS, temperature=temperature, seed=stream(attempt.id))
            text = (await model.complete(attempt.asked, sampling)).text
            task = task_of(attempt.id, text, attempt.document)
            if twin := next((asked[key] for key in _same(task) if key in asked), None):
                raise Refused("duplicate", f"task {twin} poses the same question")
        except (Refused, ContextOverflow, EngineError) as error:
            return _refusal(attempt, error, text)
        asked.update(dict.fromkeys(_same(task), task.id))  # nothing was awaited since the look for a twin
        # Before its task: a kill may leave a reply without its task, which is asked for again, and no task without one.
        replies.append(Reply(**_whence(attempt, text)))
        return task

    with Appender(replies_path(tasks)) as replies:
        return await make_missing(
            attempts,
            ended,
            make,
            records=tasks,
            failures=refusals_path(tasks),
            failure=Refusal,
            at_a_time=at_a_time,
            tick=tick,
            what="attempts",
        )


def _same(task: Task) -> tuple[str, str]:
    """What no other task may share: the question, alone and with its facts."""
    return question_hash(task.question), question_hash(task.full_question)


def _refusal(attempt: Attempt, error: Exception, reply: str) -> Refusal:
    kind: RefusalKind = "context_overflow" if isinstance(error, ContextOverflow) else "engine_error"
    found = error.kind if isinstance(error, Refused) else kind
    return Refusal(**_whence(attempt, reply), kind=found, message=str(error))


def _whence(attempt: Attempt, reply: str) -> dict[str, Any]:
    said = reply.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be stored
    return {"id": attempt.id, "document": attempt.document.id, "attempt": attempt.number, "said": said}


def challenger_id(experiment: Experiment) -> str:
    """Names who poses: a base's weights, those of its adapter, and how it is sampled where that is its own."""
    own = experiment.challenger
    parts = [weights_id(experiment.role("challenger").model), *filter(None, (weights_id(own.adapter), own.shaping))]
    return digest(*parts) if len(parts) > 1 else str(parts[0])


def check_weights(experiment: Experiment) -> None:
    """Raises ConfigError where the challenger's adapter is none."""
    try:
        if experiment.challenger.adapter:
            check_adapter(experiment.challenger.adapter)
    except ConfigError as error:
        raise ConfigError(f"challenger.{error} `maieutic challenger` makes one.") from None


def pose_documents(experiment: Experiment, source: Path, each: int) -> int:
    """Pose `each` tasks per document of `source` into tasks.path, and say what came of it.

    Returns how many attempts the engine failed at. Raises ConfigError for a config that reads no such file.
    """
    tasks = posed_to(experiment)
    check_weights(experiment)
    documents, bad = load_documents(source)
    temperature, at_a_time = experiment.temperature_of("challenger"), experiment.dialogue.at_a_time
    poser, prompts = challenger_id(experiment), experiment.prompts("challenger")
    wanted = list(attempts_at(documents, each, poser, temperature, prompts))
    casting, adapter = Casting(experiment), experiment.challenger.adapter

    async def work() -> Counts:
        with stage("pose", len(wanted)) as progress:
            challenger = casting.open("challenger", Path(adapter) if adapter else None)
            return await pose(challenger, wanted, bad, tasks, temperature, at_a_time, progress)

    with held(tasks):
        try:
            posed = asyncio.run(work())
        finally:
            casting.meter.store(tasks.parent, "pose", Cell(experiment, "", 0))  # of no condition
    return _tell(tasks, documents, bad, wanted, posed)


def _tell(
    tasks: Path, documents: Sequence[Document], bad: Sequence[BadRow], wanted: Sequence[Attempt], posed: Counts
) -> int:
    """Counts that reconcile: attempts = tasks + refusals. Returns how many attempts the engine failed at."""
    ids = {attempt.id for attempt in wanted}
    refusals = [refusal for refusal in read(refusals_path(tasks), Refusal) if refusal.id in ids]
    kinds = Counter(refusal.kind for refusal in refusals)
    unreadable = f", {len(bad)} rows cannot be read as one" if bad else ""
    say(f"pose: {posed.made} tasks, {posed.failed} refused, {posed.skipped} there already")
    sums = f"{len(ids)} attempts = {len(ids) - len(refusals)} tasks + {len(refusals)} refused"
    say(f"  {len(documents)} documents{unreadable}; {sums}")
    if kinds:
        say("  refused: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    failed = [refusal for refusal in refusals if refusal.kind == "engine_error"]
    if failed and len(failed) == len(ids):
        raise EngineDown(
            f"The engine failed at every attempt; the last: {failed[-1].message}. Mend that, and try again."
        )
    if failed:
        say(f"  {len(failed)} attempts ended in an engine error; the same command tries them again.")
    say(f"\nOpen next:\n  {tasks}\n  {refusals_path(tasks)}")
    return len(failed)
