"""A challenger learns from its own replies: a LoRA adapter of its base, by SFT on the best of them.

A round: pose tasks, build dialogues about them, learn from both, and pose again with the adapter into another file. An
adapter that posed is gone on with.

    maieutic challenger configs/posed_smollm2.yaml DOCUMENTS
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import fmean

from huggingface_hub import ModelCard

from pipeline.core.errors import ConfigError, RunError
from pipeline.core.schema import Task
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import write_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import RoleName, Student
from pipeline.knowledge.condition import Condition
from pipeline.posing.challenge import ask, task_of
from pipeline.posing.documents import KEY, Document, load_documents
from pipeline.posing.evidence import Refused
from pipeline.posing.labelled_lines import claimed
from pipeline.posing.pose import check_weights
from pipeline.posing.replies import NO_REPLY, Refusal, Reply, held, posed_to, refusals_path, replies_path
from pipeline.posing.reward import REFUSED, VALID, best, mean_reward, played, rewarding
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.directory import adapter_path
from pipeline.runs.progress import say
from pipeline.runs.store import read, read_ids
from training.student import train

NAME: RoleName = "challenger"
CARD = """
# {name}, challenger

A LoRA adapter of **{model}** that poses tasks about documents (`maieutic pose`). It learned {rows} of its own replies,
the best to each prompt. `training.json` beside this card says what was done.
"""


def learn(experiment: Experiment, source: Path, valid: bool = False) -> Path:
    """Train the challenger on its best replies about the documents of `source`; the adapter's folder is returned.

    What a task is worth the dialogues of the experiment's run say; with `valid` all are worth the same. Returns at once
    where the adapter is there, made from the same. Raises RunError where there is nothing to learn from yet,
    ConfigError for a challenger that cannot be trained here, or a document that is not the one a reply is about, and
    what `training.student.train` raises.
    """
    engine = experiment.engine_of(NAME)
    if engine.kind in ("openai", "scripted"):
        raise ConfigError(
            f"{engine.config_key}.kind: {engine.kind!r}, and the challenger's weights have to be here to be trained. "
            "Expected transformers or vllm"
        )
    documents, tasks = {document.id: document for document in load_documents(source)[0]}, posed_to(experiment)
    cell, before = _cell(experiment, tasks), experiment.challenger.adapter
    check_weights(experiment)
    if before and Path(before).resolve() == adapter_path(cell).resolve():
        raise ConfigError(
            f"challenger.adapter: {before!r} was learned from {tasks}, and would be replaced. Pose into another "
            "file with it, and learn from that: --set tasks.path=FILE"
        )
    with held(tasks):
        accepted, refused = _replies(tasks, documents)
        worth = {reply.id: VALID for reply in accepted} if valid else _rewards(experiment, tasks, accepted)
        chosen = best(accepted, worth)
        mean = fmean([*worth.values(), *[REFUSED] * refused])
        say(
            f"challenger: {len(accepted) + refused} replies = {len(accepted)} tasks + {refused} refused; "
            f"{len(worth)} tasks have a reward, with refusals {mean:.2f} on average; {len(chosen)} are learned"
        )
        write_rows(dataset_path(cell.experiment, NAME), [_row(cell, reply, documents) for reply in chosen])
        adapter = train(cell, Path(before) if before else None)
        _write_card(adapter, cell, len(chosen))
    say(f"Pose into another file with it: --set challenger.adapter={adapter} --set tasks.path=FILE")
    return adapter


def _replies(tasks: Path, documents: Collection[str]) -> tuple[list[Reply], int]:
    """Of these documents the replies that became tasks, and how many were refused. Raises RunError without tasks."""
    ids = {id.removeprefix("posed-") for id in read_ids(tasks, Task)}
    stored = {reply.id: reply for reply in read(replies_path(tasks), Reply)}  # once, however often it was asked for
    accepted = [reply for reply in stored.values() if reply.id in ids and reply.document in documents]
    refusals = [refusal for refusal in read(refusals_path(tasks), Refusal) if refusal.kind not in NO_REPLY]
    refused = sum(refusal.document in documents for refusal in refusals)
    if not accepted:
        raise RunError(
            f"{replies_path(tasks)}: of the replies about these documents none became a task, {refused} were refused "
            f"({refusals_path(tasks)} says why). Pose more with `maieutic pose --attempts`, show worked examples with "
            "challenger.prompts: demonstrated, or name another model."
        )
    return accepted, refused


def _rewards(experiment: Experiment, tasks: Path, accepted: list[Reply]) -> dict[str, float]:
    """By id, of those about whose tasks there are dialogues. Raises RunError where there are none of any."""
    of_tasks = played(experiment)
    found = {reply.id: of_tasks.get(f"posed-{reply.id}") for reply in accepted}
    if worth := {id: mean_reward(dialogues) for id, dialogues in found.items() if dialogues}:
        return worth
    places = ", ".join(str(dialogues_path(experiment.run, name)) for name in rewarding(experiment))
    raise RunError(
        f"{places or 'no condition has a partner that holds just the facts'}: no dialogue about a task of {tasks}. Run "
        "`maieutic build` on this config first, or learn from all tasks alike with --valid."
    )


def _cell(experiment: Experiment, tasks: Path) -> Cell:
    """The challenger's as a training like any other, in a folder of its own beside the tasks."""
    role = experiment.role(NAME)
    alone = experiment.model_copy(
        update={
            "out": str(tasks.with_suffix(f".{NAME}")),
            "student": Student(model=role.model, engine=role.engine),
            "conditions": {NAME: Condition(partition="symmetric")},
            "rounds": 1,
            "training": experiment.training.model_copy(update={"methods": {}, "regime": "natural", "learn": "all"}),
        }
    )
    return Cell(alone, NAME, experiment.seeds[0])


def _row(cell: Cell, reply: Reply, documents: Mapping[str, Document]) -> Row:
    """The prompt, and the claim of the reply without what stood around its lines. Raises ConfigError."""
    document = documents[reply.document]
    try:
        task_of(reply.id, reply.said, document)
    except Refused as error:
        raise ConfigError(
            f"{KEY}: {document.id!r} is not the document that {reply.id} was posed about ({error}). Name the documents "
            "that tasks were posed about."
        ) from None
    asked = ask(document, reply.attempt, cell.experiment.prompts(NAME))
    return {
        "id": reply.id,
        "task_id": f"posed-{reply.id}",
        "seed": cell.seed,
        "round": 0,
        "specification": "underspecified",
        "messages": [*asked, {"role": "assistant", "content": claimed(reply.said).text}],
        "learn": [False] * len(asked) + [True],
    }


def _write_card(adapter: Path, cell: Cell, rows: int) -> None:
    """In place of a student's."""
    card = ModelCard.load(adapter / "README.md")
    card.text = CARD.format(name=cell.experiment.name, model=Path(cell.experiment.base).name, rows=rows)
    card.save(adapter / "README.md")
