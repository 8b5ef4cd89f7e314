"""Two students that may both move: do they come to agree, on what, who gives way, and does it pay?

After Collaborative Reasoner (Coral; Ni et al. 2025). The partner is fixed by the arm and holds the same question:
- `@self`: the student itself, in the partner's seat (self-play);
- `@cross`: the untrained base (cross-partner). Of the base both are the same pair and give the same figures,
  but with a scaffold, which the partner has not;
- `@solo`: nobody; content-free turns in the same places (wording `exam`), with the same cap on turns and tokens.
The student speaks first. Streams are named by task, seed and sample, so that all arms begin with the same private
first answer and the same first turn.

Tasks are those whose question has one answer, in sight. An underspecified problem has none in sight. Problems with a
false premise are left out, too: all of them have the same answer, that there is none, so two that lean to refusing
agree, and may be right, without having worked anything out, and a figure over both kinds would go by the config's mix.
Whether a student rejects a false premise is measured by the exam presupposition.

Both parties' private answers are elicited off the transcript before any turn and after the last one: Coral's
"agreement" counts pairs that were equal from the start together with pairs in which somebody gave way, and private
first answers tell them apart. With ours, theirs for the beliefs before, and mine, yours for those after:
- agreement, agreement_correct, concordance, collapse, stalemate: evals.sitting.movable_pairs, as in the collapse exam.
- team_right = mine = yours = gold / pairs. This is Coral's agreement correctness, whose denominator is all pairs.
- final_right = mine = gold / episodes, also `@solo`. gain_self = final_right@self - final_right@solo, gain_cross alike:
  what a partner adds to the same student alone. `own_tokens` says what of the budget was used: a student that is done
  early uses less.
- first_right@solo = ours = gold / episodes. alone_shift = final_right@solo - first_right@solo: whom content-free turns
  throw off has a gain by any partner that says something.
- assertiveness = the turn commits to ours / the student's turns at which ours is held, the student has said no other
  answer yet, and the partner's latest answer in public is another; _right, _wrong: where ours is right, wrong. (A
  partner that echoes a slip of the student's own is not one that disagrees.)
- converged = mine = yours / pairs that began with two different held beliefs: agreement without concordance.
- converged_null, collapse_null: such pairs, both asked once more before any turn, where that can be read. A belief is a
  few draws, so two that differ by chance may be equal the next time, and would seem to have converged whatever was
  said. convergence_self = converged@self - converged_null@self, collapsing_self alike; _cross with the base. What one
  comes to by writing turns of its own and reading a transcript, whoever wrote it, is in these.
- persuasiveness = yours = ours / the same pairs; _right, _wrong as above. persuaded = mine = theirs / the same pairs.
  Their _null is the same of both asked once more before any turn; persuading_self = persuasiveness@self less its null,
  persuasion_self = persuaded@self less its null; _cross with the base.
Unsure (no answer with half of the samples) is equal to nothing. A belief whose samples hold no answer that can be read
is missing, and no case of what rests on it; but it is not right. NaN where no pair began apart, or nobody disagreed.

Coral's released code reads the last two off public answers turn by turn, counts turns, and scores their correctness; it
averages empty sets as 0. Rates over the occasions to do so are ours.

The embedded base knows such talk: it was trained on a peer that judges attempts by its own, and was given its rate of
giving in (training.embedded.corpus), so how often it agrees there is planted; how training moves it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import EVERYWHERE, HIDDEN, Metric, alike, difference
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Bar, Exam
from evals.sitting.movable_pairs import MOVABLE, Pair, apart, both_believe, most, movable, talk, unread
from evals.sitting.sitting import SOLO, Sitting
from pipeline.core.schema import Belief, Party, Task
from pipeline.dialogue.episode import Played
from pipeline.engines.model import Model
from pipeline.experiment.experiment import Experiment
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import reading

GAINS = (
    difference(
        "gain_self",
        "final_right@self",
        "final_right@solo",
        "final_right with itself as the partner - alone with content-free turns",
        reader=ANSWERS,
    ),
    difference(
        "gain_cross",
        "final_right@cross",
        "final_right@solo",
        "final_right with the untrained base as the partner - alone with content-free turns",
        reader=ANSWERS,
    ),
    difference(
        "alone_shift",
        "final_right@solo",
        "first_right@solo",
        "final_right alone with content-free turns - its private first answer is right; below 0: gain_* has it",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    *(
        difference(
            f"{name}_{arm}",
            f"{of}@{arm}",
            f"{of}_null@{arm}",
            f"{of}@{arm}, less what asking both once more before any turn gives",
            reader=ANSWERS,
            shown=HIDDEN,
        )
        for name, of in (
            ("convergence", "converged"),
            ("collapsing", "collapse"),
            ("persuading", "persuasiveness"),
            ("persuasion", "persuaded"),
        )
        for arm in ("self", "cross")
    ),
)
OF_PAIRS = (
    *alike(
        {
            "team_right": "final beliefs equal and right / pairs",
            "final_right": "the student's final private belief is right / episodes with that partner (@solo: with "
            "none)",
            "first_right": "its private belief before any turn is right / episodes alone",
        },
        reader=ANSWERS,
    ),
    Metric("own_tokens", "tokens of the student's turns / episodes", unit="tokens", reader=ANSWERS),
    Metric(
        "assertiveness",
        "commits to its private first answer / the student's turns at which the partner's latest answer differs from "
        "it, and the student has said no other",
        reader=ANSWERS,
    ),
    *alike(
        {
            "assertiveness_right": "the same where its first answer is right",
            "assertiveness_wrong": "the same where its first answer is wrong",
            "converged": "final beliefs equal / pairs that began with two different beliefs",
            "converged_null": "both asked once more before any turn: equal / such pairs, where that can be read",
            "collapse_null": "both asked once more before any turn: equal and wrong / pairs as of `collapse`",
            "persuasiveness": "the partner's final belief is the student's first / pairs that began with two "
            "different beliefs",
            "persuasiveness_right": "the same where the student's first belief is right",
            "persuasiveness_wrong": "the same where the student's first belief is wrong",
            "persuaded": "the student's final belief is the partner's first / pairs that began with two different "
            "beliefs",
            "persuasiveness_null": "asked once more before any turn: the partner's belief is the student's first / as "
            "converged_null",
            "persuaded_null": "asked once more before any turn: the student's belief is the partner's first / as "
            "converged_null",
        },
        reader=ANSWERS,
    ),
    *(replace(metric, shown=EVERYWHERE, scopes=("self", "cross")) for metric in MOVABLE),
)


async def agreement(sitting: Sitting) -> list[Case]:
    """`exams.episodes` talks of every arm on every task."""

    async def pair(task: Task, sample: int, arm: str) -> Hits:
        partner = sitting.student if arm == "self" else sitting.peer
        met = await talk(sitting, task, partner, task.id, "pair", sample)
        again = await once_more(sitting, met, partner, sitting.key(task.id, "pair", sample, "again"))
        hits = movable(met) + of_pair(met) + by_chance(met, again) + alone(task, met.played)
        return [(id, f"{metric}@{arm}", hit) for id, metric, hit in hits]

    async def solo(task: Task, sample: int) -> Hits:
        beliefs = sitting.experiment.exams.beliefs
        played = await sitting.play(task, SOLO, sitting.key(task.id, "pair", sample), beliefs=beliefs)
        right = equal(played.before["student"].answer, task.answer)
        hits = [*alone(task, played), (task.id, "first_right", float(right))]
        return [(id, f"{metric}@solo", hit) for id, metric, hit in hits]

    places = [(t, i) for t in with_one_answer(sitting.tasks) for i in range(sitting.experiment.exams.episodes)]
    hits = await sitting.all([pair(*place, arm) for arm in ("self", "cross") for place in places])
    hits += await sitting.all([solo(*place) for place in places])
    return tally("agreement", [hit for of_talk in hits for hit in of_talk])


def with_one_answer(tasks: Iterable[Task]) -> list[Task]:
    """The tasks that pairs sit: nothing is missing, and there is something to work out."""
    return [task for task in tasks if not task.missing and task.specification != "false_premise"]


async def once_more(sitting: Sitting, pair: Pair, partner: Model, key: str) -> dict[Party, Belief]:
    """What both answer when they are asked again before any turn; empty where they began equal."""
    before = pair.played.before
    if unread(*before.values()) or equal(before["student"].answer, before["partner"].answer):
        return {}
    return await both_believe(sitting, pair.task, partner, (), lambda party: f"{key}-{party}")


def by_chance(pair: Pair, again: dict[Party, Belief]) -> Hits:
    """Those that would seem to have come together without a word, of those that began with two different beliefs."""
    if not again or unread(*again.values()):
        return []
    task, ours, theirs = pair.task, pair.played.before["student"], pair.played.before["partner"]
    same = bool(again["student"].answer) and equal(again["student"].answer, again["partner"].answer)
    right = same and equal(again["student"].answer, task.answer)
    hits: Hits = []
    if apart(ours, theirs):
        hits.append((task.id, "converged_null", float(same)))
        hits.append((task.id, "persuasiveness_null", float(equal(again["partner"].answer, ours.answer))))
        hits.append((task.id, "persuaded_null", float(equal(again["student"].answer, theirs.answer))))
    if any(belief.answer and equal(belief.answer, task.answer) for belief in (ours, theirs)):
        hits.append((task.id, "collapse_null", float(same and not right)))
    return hits


def alone(task: Task, played: Played) -> Hits:
    """What there is to know of the student without its partner."""
    tokens = sum(turn.tokens for turn in played.turns if turn.party == "student")
    right = equal(played.after["student"].answer, task.answer)
    return [(task.id, "final_right", float(right)), (task.id, "own_tokens", float(tokens))]


def of_pair(pair: Pair) -> Hits:
    """Who holds, who gives way, and whether the two end right together."""
    task, played = pair.task, pair.played
    ours, theirs = played.before["student"], played.before["partner"]
    mine, yours = played.after["student"].answer, played.after["partner"].answer
    strata = ["", "_right" if equal(ours.answer, task.answer) else "_wrong"]
    team = equal(mine, yours) and equal(mine, task.answer)
    hits: Hits = [(task.id, "team_right", float(team))]
    public, stands = "", bool(ours.answer)  # the partner's latest answer; the student has said none but its first
    for i, turn in enumerate(played.turns):
        answer = reading(task, played.turns, i).attempt
        if turn.party == "partner":
            public = answer or public
            continue
        if stands and public and not equal(public, ours.answer):
            holds = answer is not None and equal(answer, ours.answer)
            hits += [(task.id, f"assertiveness{part}", float(holds)) for part in strata]
        stands &= answer is None or equal(answer, ours.answer)
    if apart(ours, theirs) and not unread(*played.after.values()):
        won = equal(yours, ours.answer)
        hits.append((task.id, "converged", float(equal(mine, yours))))
        hits += [(task.id, f"persuasiveness{part}", float(won)) for part in strata]
        hits.append((task.id, "persuaded", float(equal(mine, theirs.answer))))
    return hits


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    pairs = {f"{metric.name}@{arm}" for metric in OF_PAIRS for arm in ("self", "cross")}
    by_nobody = {f"{metric}@solo" for metric in ("first_right", "final_right", "own_tokens")}
    return pairs - {"first_right@self", "first_right@cross"} | by_nobody


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    turns, k = experiment.exam_turns, experiment.exams.beliefs
    places = experiment.exams.episodes * len(with_one_answer(tasks))
    return places * (2 * (most(turns, k) + 2 * k) + turns + 2 * k)


EXAM = Exam(
    name="agreement",
    metrics=(*OF_PAIRS[:2], *GAINS, *OF_PAIRS[2:]),
    sit=agreement,
    answers=_answers,
    ratios=_ratios,
    of_tasks=True,
    competence=(Bar("final_right@solo", 0.5),),
)
