"""How likely is the right answer to the student, before a partner has said anything and after each partner's turn?

Accuracy moves when an answer flips; its log-probability moves with every turn that tells something. In the whole
episodes that all exams share, the student's own words "The answer is" are put behind each of the partner's turns. The
score is the log-probability of the right answer and a full stop after them. Nothing is sampled for it.

    gold_logprob_KIND_turnN@ARM   after the partner's Nth turn, in nats; turn 0 is the student's opening view
    gold_logprob_KIND@ARM         after the last turn that it heard; a talk that ended keeps its last value
    logprob_gain                  on underspecified tasks, with facts volunteered - with chatter in the same turns
    logprob_gain_verdict          on full tasks, with a verifier - with a partner that says nothing useful

- A verifier's "right" follows on the student's own answer, which is likely to be said again. Who only repeats itself
  gains by that.
- A long answer has a lower score: compare on the same tasks. Behind other words than "The answer is" it is another,
  most of all for a model that was trained on other words.
- A model that reasons is scored behind an empty thought.
- Servers of the OpenAI protocol score no text, so the student has to be in this process (transformers, vllm).

The scores of each talk are in seed-N.gold_logprob.jsonl. The question is this project's; the score is what evaluation
harnesses call the log-likelihood of a reference answer.

    maieutic eval configs/quickstart.yaml --set out=runs/gold --set compare=null --set 'exams.include=[gold_logprob]'
"""

from __future__ import annotations

import asyncio

from evals.exams.feedback import KINDS, kind_of
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import HIDDEN, Metric, Shown, difference
from evals.sitting.exam import Exam
from evals.sitting.exam_partners import ARMS, pairs_met
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Json, Task
from pipeline.engines.model import EngineError, Sampling, Scored
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view

NAME = "gold_logprob"
BEGINS = "The answer is"
AFTER = "nats of the right answer behind the student's words 'The answer is', after the last turn of the partner "
DEFINED = "(_turnN: its Nth turn, 0 before any) / episodes on"
METRICS = (
    difference(
        "logprob_gain",
        "gold_logprob_under@volunteer",
        "gold_logprob_under@chatter",
        "log-probability of the right answer with facts volunteered - with chatter in the same turns",
        unit="nats",
        shown=Shown(behaviour=("",), deciding=True),
    ),
    difference(
        "logprob_gain_verdict",
        "gold_logprob_full@verifier",
        "gold_logprob_full@unhelpful",
        "log-probability of the right answer with a verifier - with an unhelpful partner, full tasks",
        unit="nats",
        shown=Shown(behaviour=("",)),
    ),
    Metric("gold_logprob_under", f"{AFTER}{DEFINED} underspecified tasks", unit="nats", shown=HIDDEN),
    Metric("gold_logprob_full", f"{AFTER}{DEFINED} full tasks", unit="nats", shown=HIDDEN),
    Metric("gold_logprob_false_premise", f"{AFTER}{DEFINED} false-premise tasks", unit="nats", shown=HIDDEN),
)


async def sit(sitting: Sitting) -> list[Case]:
    """Scores after each of the partner's turns, in the whole episodes that all exams share."""
    episodes = await sitting.episodes()
    scored = await sitting.all([_scores(sitting, episode) for episode in episodes])
    sitting.transcripts[NAME] = [_row(episode, nats) for episode, nats in scored]
    return tally(NAME, [hit for each in scored for hit in hits_of(*each, sitting.settings.turns)])


async def _scores(sitting: Sitting, episode: ExamEpisode) -> tuple[ExamEpisode, list[float]]:
    """Of the opening view, and after each of the partner's turns. Raises EngineError where none is given."""
    task, turns, condition = episode.task, episode.played.turns, ARMS[episode.arm].condition
    asked = Sampling(max_tokens=0, temperature=0.0, scored=Scored(BEGINS, f" {task.answer}."))
    ends = [0, *(i + 1 for i, turn in enumerate(turns) if turn.party == "partner")]
    views = [view(task, condition, turns[:end], "student", sitting.prompts) for end in ends]
    answers = await asyncio.gather(*(sitting.student.complete(messages, asked) for messages in views))
    nats = [answer.score for answer in answers if answer.score is not None]
    if len(nats) < len(views):
        raise EngineError("the student's engine gives no log-probability of a text")
    return episode, nats


def hits_of(episode: ExamEpisode, nats: list[float], turns: int) -> Hits:
    """`nats` are before any turn of the partner, and after each; who stopped early keeps the last.

    Of `turns` turns that the student may take the last is answered by nobody.
    """
    name, arm = f"gold_logprob_{kind_of(episode.task)}", episode.arm
    kept = nats + nats[-1:] * (turns - len(nats))
    by_turn = [(episode.task.id, f"{name}_turn{i}@{arm}", each) for i, each in enumerate(kept)]
    return [*by_turn, (episode.task.id, f"{name}@{arm}", nats[-1])]


def _row(episode: ExamEpisode, nats: list[float]) -> Json:
    return {"arm": episode.arm, "task": episode.task.id, "sample": episode.sample, "nats": nats}


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    turns = ["", *(f"_turn{i}" for i in range(experiment.exam_turns))]
    return {f"gold_logprob_{kind}{turn}@{arm}" for kind in KINDS for turn in turns for arm in ARMS}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    return experiment.exams.episodes * experiment.exam_turns * pairs_met(tasks)


def _check(experiment: Experiment) -> None:
    engine = experiment.engine_of("student")
    if engine.kind not in ("transformers", "vllm"):
        raise ValueError(
            f"exams.include: {NAME!r} asks for the log-probability of a text, which {engine.config_key}.kind: "
            f"{engine.kind!r} cannot say. Leave it out, or serve the student by transformers or vllm"
        )
    if experiment.exams.scaffold != "none":
        raise ValueError(f"exams.include: {NAME!r} has no place for a plan. Leave it out, or exams.scaffold: none")


EXAM = Exam(
    name=NAME,
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    check=_check,
    episodes=True,
)
