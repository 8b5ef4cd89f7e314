"""Who could have known what.

Of a run by metamorphosis (invariant 2 of the design): all that is outside a party's row of the partition is changed
(the gold answer, the hidden facts and how many they are, the solution; evals/audit/other_worlds.py). The party's view
must stay byte for byte the same, as must what a rule partner says. A stored rule turn that the row's partner could not
have said knew something else.

Of other people's data, where nothing can be changed and played again, by reading: a partner that says the gold answer
when it stands neither in the question nor in anything said before knew it, or worked it out. The functional reader says
what can be worked out from its turns (evals/audit/checks/functional_leak_share.py).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain

from evals.audit.audited_talks import Material, by_knowledge, group, holds, seed_of
from evals.audit.checks import functional_leak_share, stated_leak_by_turn
from evals.audit.finding import Check, Finding, Tried, share, untested
from evals.audit.other_worlds import other_worlds, view_changed
from evals.audit.run_talks import RunTalks
from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.rule_partner import MOST_OFF, NUMBER, Reply, rule_reply
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import readings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import compared, known, printed
from pipeline.knowledge.partition import find_partition
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.numbers.equality import equal
from pipeline.reading.settings import GenericRequests
from pipeline.tasks.talks import Talk

MOST = 5000  # dialogues of a condition that are changed, drawn by their ids
LUCK = 0.02  # the design's bound on luck over a dialogue's attempts
MOST_LEAK = stated_leak_by_turn.MOST  # of talks whose partner holds the answer: to say it first is to leak it
MOST_TRIED = 50  # answers, for one that is another
TRIES = 64  # random streams that may have chosen a stored wording, where the weights that named them are not here


def check(material: Material) -> Check:
    experiment = material.experiment
    if experiment is None:
        parts = (_read(name, talks, material.settings.reader) for name, talks in by_knowledge(material))
        findings = list(chain.from_iterable(parts))
    else:
        findings = list(chain.from_iterable(_changed(material, experiment, name) for name in experiment.conditions))
    return Check(
        "knowledge",
        "Does what a party reads or says change when what it cannot know is changed? Where nothing can be played "
        "again: does the partner say what nobody had said?",
        f"0 where it can be changed. By reading: {LUCK:.0%}, the design's bound on luck, or of one that holds the "
        f"answer {MOST_LEAK:.0%}, the bar of leaks; where another talk's answer is said first in more than {LUCK:.0%}, "
        "the upper end of that chance's interval, if it is more.",
        tuple(findings),
    )


def _changed(material: Material, experiment: Experiment, condition_name: str) -> Iterator[Finding]:
    """The findings of one condition of a run."""
    condition, own = experiment.conditions[condition_name], material.conditions().get(condition_name)
    if own is None:
        yield untested(
            condition_name,
            f"no dialogues of its own (method {condition.method}, learns_from {condition.learns_from or 'none'})",
        )
        return
    assert isinstance(own, RunTalks)
    drawn = own.drawn(MOST)
    note = f"{len(drawn)} of {len(own)} dialogues"
    if condition.row.one_writer:
        yield untested(f"{condition_name}: views", "one model writes both sides and knows all")
        return
    yield share(
        f"{condition_name}: the student's view changed",
        (view_changed(view, condition, d, "student") for d in drawn.dialogues(condition_name)),
        0,
        note,
    )
    if condition.voice == "human" and condition.reveal:
        yield untested(f"{condition_name}: who says the answer first", "the partner may reveal it")
        return
    if condition.voice == "human":
        yield from _read(condition_name, own, material.settings.reader)
        return
    if condition.row.partner is not None:
        yield share(
            f"{condition_name}: the partner's view changed",
            (view_changed(view, condition, d, "partner") for d in drawn.dialogues(condition_name)),
            0,
            note,
        )
    if condition.voice == "rule":
        keys = cache(lambda seed, round: DialogueKeys(Cell(experiment, condition_name, seed, round)))
        generic = experiment.reading.generic_requests
        turns = (_replayed(keys(d.seed, d.round), generic, condition, d) for d in drawn.dialogues(condition_name))
        yield share(f"{condition_name}: a partner turn changed, or is none that its row can say", turns, 0, note)
        return
    if condition.row.holds_answer and not condition.reveal:
        yield _first_said(f"{condition_name}: ", own)
    if not condition.row.holds_all_facts:
        lacking = (_invented(d) for d in own.dialogues(condition_name) if d.task.missing)
        yield share(
            f"{condition_name}: the partner states a fact that its row does not hold",
            lacking,
            LUCK,
            empty="no task lacks a fact",
        )
        yield from functional_leak_share.findings(f"{condition_name}: ", own, material.settings.reader)


def _replayed(keys: DialogueKeys, generic: GenericRequests, condition: Condition, dialogue: Dialogue) -> Tried:
    """Hit where a stored turn cannot be said from the row, or another one is said when the rest is changed."""
    worlds = other_worlds(dialogue.task, condition, "partner", dialogue.turns)
    key = keys.stream(dialogue.task.id, dialogue.sample)
    for i, turn in enumerate(dialogue.turns):
        if turn.party == "student":
            continue
        before = dialogue.turns[:i]
        seeds = (stream(key, "partner", i // 2), *range(TRIES))
        said = partial(_said, generic, condition, before)
        is_stored = partial(_may_be_reply, turn.text, condition.manner == "erring")
        seed = next((s for s in seeds if is_stored(said(dialogue.task, s))), None)
        if seed is None or not all(is_stored(said(task, seed)) for task in worlds):
            expected = said(dialogue.task, seeds[0]).text
            text = f"partner turn {i // 2 + 1}: {turn.text}\nits row says: {expected}"
            return Tried(dialogue.task.id, True, dialogue.id, text, dialogue.seed)
    return Tried(dialogue.task.id, False, seed=dialogue.seed)


def _may_be_reply(stored: str, errs: bool, reply: Reply) -> bool:
    """Whether a stored turn is this reply. Of who misremembers what it tells, numbers may be off by as much as that:
    where the weights that named its stream are not here, no seed need misremember as the stored one did."""
    if reply.text == stored or not (errs and (reply.tells or reply.tells_wrong)):
        return reply.text == stored
    ours, theirs = (
        [int(found[1].replace(",", "")) for found in NUMBER.finditer(text)] for text in (reply.text, stored)
    )
    alike = NUMBER.sub(r"#\2", reply.text) == NUMBER.sub(r"#\2", stored)
    return alike and all(abs(a - b) <= MOST_OFF for a, b in zip(ours, theirs, strict=True))


def _said(generic: GenericRequests, condition: Condition, turns: Sequence[Turn], task: Task, seed: int) -> Reply:
    knows, checked = known(task, condition, "partner"), compared(task, condition, turns)
    out = printed(task, condition, turns)
    return rule_reply(knows, condition, turns, checked, random.Random(seed), printed=out, generic=generic)


def _invented(dialogue: Dialogue) -> Tried:
    """Hit where a partner is the first to state a missing fact."""
    told, missing = set[str](), {fact.id for fact in dialogue.task.missing}
    for turn, read in zip(dialogue.turns, readings(dialogue), strict=True):
        now = (read.tells & missing) - told
        if now and turn.party == "partner":
            facts = " ".join(fact.text for fact in dialogue.task.missing if fact.id in now)
            return Tried(dialogue.task.id, True, dialogue.id, f"{turn.text}\nhidden: {facts}", dialogue.seed)
        told |= now
    return Tried(dialogue.task.id, False, seed=dialogue.seed)


def _read(name: str, talks: Sequence[Talk], reader: str) -> Iterator[Finding]:
    """The findings of one condition of other people's talks."""
    of = f"{name}: " if name else ""
    yield _first_said(of, talks)
    yield from functional_leak_share.findings(of, talks, reader)


def _first_said(of: str, talks: Sequence[Talk]) -> Finding:
    """However it is worded: the bare answer in a partner's turn, before anybody has said it."""
    partition = talks[0].partition

    def hidden() -> Iterator[Talk]:
        asked = (talk for talk in talks if talk.answer and talk.question)
        return (talk for talk in asked if not holds(f"{talk.question}\n{talk.earlier}", talk.answer))

    def strangers() -> Iterator[Talk]:
        """Each with another talk's answer, all of them dealt anew: an answer that many have is said by chance as often
        as they have it. Without whom none suits of those that are left."""
        rng, left = random.Random(0), [talk.answer for talk in hidden()]
        rng.shuffle(left)
        for i, talk in enumerate(hidden()):
            for j in (i, *(rng.randrange(i, len(left)) for _ in range(MOST_TRIED))):
                if not equal(left[j], talk.answer) and not holds(f"{talk.question}\n{talk.earlier}", left[j]):
                    left[i], left[j] = left[j], left[i]
                    yield talk.model_copy(update={"answer": left[i]})
                    break

    chance = share("", map(_says_first, strangers()), None).rate
    note = f"by chance, with another talk's answer: {chance.value:.3f} (to {chance.high:.3f})" if chance else ""
    by_luck = chance.high if chance and chance.value > LUCK else 0.0
    row = find_partition(partition) if partition else None
    bar: float | None = max(LUCK, by_luck)
    if row and row.holds_answer:
        bar, note = max(MOST_LEAK, by_luck), f"it holds the answer (partition {partition}), so this is a leak; {note}"
    elif row and row.holds_private:
        bar, note = None, f"the description says that it knew more (partition {partition}), so there is no bar; {note}"
    what = f"{of}the partner is the first to say the answer"
    return share(what, map(_says_first, hidden()), bar, note, "the data hold no question with a gold answer")


def _says_first(talk: Talk) -> Tried:
    first = next((turn for turn in talk.turns if holds(turn.text, talk.answer)), None)
    hit = first is not None and first.party == "partner"
    return Tried(
        group(talk), hit, talk.id, f"answer {talk.answer}: {first.text}" if first and hit else "", seed_of(talk)
    )
