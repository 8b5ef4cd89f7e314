"""Does training put loss on the student's own turns, and on nobody else's?

Of a run every row of the exported Parquet is held against its stored dialogue: its messages are the student's view,
also when all that the student cannot know is changed, and the messages that carry loss are the student's own turns.
The rows of a partner that is trained are held against the partner's view and its candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from evals.audit.audited_talks import Material, group, shown
from evals.audit.finding import Check, Finding, Tried, share, untested
from evals.audit.other_worlds import other_worlds
from evals.audit.places_by_hash import IdPlaces
from pipeline.core.schema import Message
from pipeline.core.spool import Spool
from pipeline.datasets.dataset_files import dataset_path, stream_rows
from pipeline.datasets.rows import Row
from pipeline.datasets.single_turn import solution, spoken
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import OF_PARTNER
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import Place, Pool, branches_path
from pipeline.runs.store import placed

DEFAULT = (
    "the data hold no mask. Trainers then learn every token, the partner's too: TRL's SFTTrainer does on `messages` "
    "unless assistant_only_loss is set, which masks by the chat role `assistant` and so needs the student to be it"
)


def check(material: Material) -> Check:
    experiment = material.experiment
    findings: list[Finding] = []
    if experiment:
        for name in experiment.conditions:
            findings += _rows(experiment, name)
    else:
        findings += _learn(material)
    return Check(
        "masks",
        "Are the tokens that carry loss the student's own, and does a row hold only what the student could read?",
        "0: training on the partner's tokens teaches to be the partner.",
        tuple(findings),
    )


def _learn(material: Material) -> Iterator[Finding]:
    marked = [talk for talk in material.talks if talk.learn is not None]
    learned = [{turn.party for turn, learn in zip(t.turns, t.learn or (), strict=True) if learn} for t in marked]
    both = list(zip(marked, learned, strict=True))
    wrong = (Tried(group(t), "partner" in parties, t.id, shown(t)) for t, parties in both)
    yield share("talks that train on a partner's turn", wrong, 0, empty=DEFAULT)
    if marked:
        nothing = (Tried(group(t), "student" not in parties, t.id, shown(t)) for t, parties in both)
        yield share("talks that train on no turn of the student's", nothing, 0)


def _rows(experiment: Experiment, condition_name: str) -> Iterator[Finding]:
    folder = dataset_path(experiment, condition_name)
    if not folder.is_dir():
        yield untested(condition_name, "no dataset was exported")
        return
    rows = partial(stream_rows, experiment, condition_name)
    if experiment.conditions[condition_name].method in OF_PARTNER:
        yield share(
            f"{condition_name}: pairs of a partner's that hold more than two candidates after its view",
            _judged(experiment, condition_name, rows()),
            0,
        )
        return
    if folder.name == "preference":
        yield share(
            f"{condition_name}: pairs that hold more than two turns of the student's after its view",
            _pairs(experiment, condition_name, rows()),
            0,
        )
        return
    if folder.name == "prompt_only":
        yield untested(condition_name, "its rows are where a task begins: nothing in them carries loss")
        return
    if experiment.conditions[condition_name].method == "expert":
        yield untested(condition_name, "its rows are an expert's dialogues: no student said them")
        return
    flat = experiment.conditions[condition_name].method == "monologue"
    with _stored(experiment, condition_name) as stored:
        both = Spool(_tried(experiment, row, stored(row["id"]), flat) for row in rows())
    yield share(
        f"{condition_name}: rows that train on what is no turn of the student's", (masked for masked, _ in both), 0
    )
    if not flat:
        yield share(f"{condition_name}: rows that hold more than the student's view", (seen for _, seen in both), 0)


@contextmanager
def _stored(experiment: Experiment, condition_name: str) -> Iterator[Callable[[str], Dialogue | None]]:
    """What reads the dialogue of an id in a condition's pool; None where there is none."""
    pool = Pool(experiment, condition_name)
    places = IdPlaces((dialogue.id, place) for place, dialogue in pool.placed())
    with pool.opened() as read:
        yield lambda id: read(place) if (place := places.of(id)) else None


def _pairs(experiment: Experiment, condition_name: str, rows: Iterable[Row]) -> Iterator[Tried]:
    path = branches_path(experiment.run, experiment.conditions[condition_name].learns_from or condition_name)
    places = IdPlaces((branch.id, Place(offset)) for offset, branch in placed(path, Branch))
    for row in rows:
        place = places.of(row["id"].rsplit("-", 2)[0])
        yield _paired(experiment, row, _branch(path, place) if place else None)


def _branch(path: Path, place: Place) -> Branch:
    with path.open("rb") as file:
        file.seek(place.offset)
        return Branch.model_validate_json(file.readline())


def _tried(experiment: Experiment, row: Row, dialogue: Dialogue | None, flat: bool) -> tuple[Tried, Tried]:
    row = _joined(row) if "completion" in row else row
    masked = _masked(row, dialogue, flat)
    return masked, masked if flat else _seen(experiment, row, dialogue)


def _joined(row: Row) -> Row:
    """A row of prompt and completion as one of messages."""
    learn = [False] * len(row["prompt"]) + list(row["learn"])
    return {**row, "messages": [*row["prompt"], *row["completion"]], "learn": learn}


def _paired(experiment: Experiment, row: Row, branch: Branch | None) -> Tried:
    """Hit where the prompt is not the view of a student who knows nothing else, or a turn was not the student's."""
    if branch is None:
        return _pair(row, [[]], set())
    condition = experiment.conditions[branch.condition_name]
    views = [
        view(task, condition, branch.prefix, "student", experiment.prompts("student"))
        for task in other_worlds(branch.task, condition, "student")
    ]
    return _pair(row, views, {s.turn.own_text for s in branch.siblings if s.turn.party == "student"})


def _judged(experiment: Experiment, condition_name: str, rows: Iterable[Row]) -> Iterator[Tried]:
    with _stored(experiment, condition_name) as stored:
        for row in rows:
            id, at, _, _ = row["id"].rsplit("-", 3)
            yield _of_partner(experiment, row, stored(id), int(at))


def _of_partner(experiment: Experiment, row: Row, dialogue: Dialogue | None, at: int) -> Tried:
    """Hit where the prompt is not the view of a partner who knows no more than its row, or a turn was no candidate."""
    choice = dialogue.turns[at].convincing if dialogue else None
    if dialogue is None or choice is None:
        return _pair(row, [[]], set())
    before = dialogue.turns[:at]
    views = [
        view(task, dialogue.condition, before, "partner", experiment.prompts("partner"))
        for task in other_worlds(dialogue.task, dialogue.condition, "partner", before)
    ]
    return _pair(row, views, {candidate.turn.own_text for candidate in choice.candidates})


def _pair(row: Row, views: list[list[Message]], said: set[str]) -> Tried:
    """Hit where the prompt is not each of the views, or the two turns are not among what was said there."""
    texts = [message["content"] for message in (*row["chosen"], *row["rejected"])]
    hit = len(texts) != 2 or any(row["prompt"] != shown for shown in views) or not set(texts) <= said
    return Tried(row["task_id"], hit, row["id"], "\n".join(texts), row["seed"])


def _masked(row: Row, dialogue: Dialogue | None, flat: bool) -> Tried:
    """Hit where a learned message is not, in its place, what the student said, or nothing is learned."""
    turns = [turn for turn in dialogue.turns if turn.party == "student"] if dialogue else []
    own = [turn.own_text for turn in turns]
    if flat:
        own = [spoken(dialogue, solution(dialogue))] if dialogue else []
    replies = [i for i, message in enumerate(row["messages"]) if message["role"] == "assistant"]
    texts = dict(zip(replies, own, strict=False))
    learned = [i for i, learn in enumerate(row["learn"]) if learn]
    wrong = [i for i in learned if texts.get(i) != row["messages"][i]["content"]]
    hit = bool(wrong) or not learned or len(row["learn"]) != len(row["messages"])
    said = [f"{'LEARNED' if i in learned else 'read'}: {m['content']}" for i, m in enumerate(row["messages"])]
    where, text = row["id"] + ("" if dialogue else ", no stored dialogue"), "\n".join(said) if hit else ""
    return Tried(row["task_id"], hit, where, text, row["seed"])


def _seen(experiment: Experiment, row: Row, dialogue: Dialogue | None) -> Tried:
    """Hit where the messages are not the view of a student who knows nothing else."""
    views: list[list[dict[str, Any]]] = [[]]
    if dialogue:
        condition = experiment.conditions[dialogue.condition_name]
        last = max(i for i, turn in enumerate(dialogue.turns) if turn.party == "student")
        views = [
            view(task, condition, dialogue.turns[: last + 1], "student", experiment.prompts("student"))
            for task in other_worlds(dialogue.task, condition, "student")
        ]
    different = [m["content"] for shown in views for m, e in zip(row["messages"], shown, strict=False) if m != e]
    hit = any(row["messages"] != shown for shown in views)
    text = "\n".join(different or ["another number of messages"]) if hit else ""
    return Tried(row["task_id"], hit, row["id"], text, row["seed"])
