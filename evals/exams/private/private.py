"""Private information: the same scenarios as a script, between agents, and between mindreaders.

After Zhou et al., The Misleading Success of Simulating Social Interactions With LLMs (arXiv 2403.05020): one model that
writes both sides (script), two that each see their own goal (agents), two that see both (mindreaders). Theirs are
scenarios of Sotopia, judged by a model; here they are made by rule, and a rule says how they ended
(`evals.exams.private.scenarios`).

The modes differ in who sees what and who writes, and in the briefings that go with that: in `agents` the partner is
told to tell a fact that it is asked for and to put no answer forward, in `mindreaders` how to agree and to differ, and
a script to end with an answer. So a difference of modes is of both. One task states both parties' facts;
`pipeline.knowledge.view` shows it by row: `jigsaw` gives each party its own share (agents), `symmetric` all to both
(mindreaders), and of the `symmetric` row one model writes the whole talk (script). The rows `mindreader` and `script`
would add the gold answer and are not used. The student speaks first; the fixed partner is the untrained base.

Whoever speaks is told who it is ("You are Sam"), whoever writes both sides who is who. The facts say what either wants
and that its limit, or its reason, is to be kept secret, in all modes alike. No talk scores how good a price is.

- `goal@MODE`: the talk settled on a value that suits both, or ended with No deal where no value does / talks. A talk
  that the cap ends has settled nothing. `deal@MODE`: settled on any value / talks, which luck and yielding reach too.
- `first_mention/T@MODE`: the student says its secret (its limit; why it is not free) in its Tth turn / talks whose Tth
  student turn was said and the secret not before: a hazard. Talks that end without it are censored there. The survival
  curve S(T), the product of 1 - hazard, is in `evals.exams.private.mention_curves`. A limit counts wherever its number
  is said, as an offer too, so a random offer mentions it by chance; the references say how often.
- `written@script`: scripts whose two sides could be told apart / scripts asked for; the others are in no other figure.
- `agreeable@bad`, `agreeable@good`: the student's second turn takes an offer that a rule partner makes after its first
  one / such offers, of a value outside its own limits, and inside. `agreeable_skill` = agreeable@good - agreeable@bad:
  0 for who agrees to all, or to nothing. That training on script data makes agreeable is a higher `agreeable@bad` of a
  student of `script` dialogues than of one of `facts` or `key` dialogues with a model partner, or than of the base;
  with a lower `agreeable_skill` it is no better reading of offers. `configs/exams_qwen3_0.6b.yaml` has these contrasts.

The embedded base knows neither prices nor hours and is not asked. References: an open pair (tells all and takes what
suits both), a closed one (tells nothing and takes nothing), a random one (names and takes values blindly), whose `goal`
is what luck reaches, and one that refuses every deal, which is right wherever there is none: `goal` is read above it.
"""

from __future__ import annotations

from evals.exams.private.mention_curves import METRIC, NAME, mentions_of_students
from evals.exams.private.parties import PARTIES
from evals.exams.private.scenarios import NOTHING, Scenario, ending, mentions, numbers, reached, scenarios, taken
from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import alike, difference
from evals.metrics.reader import Reader
from evals.sitting.exam import Bar, Exam, Reference
from evals.sitting.reference_rates import references, seated
from evals.sitting.sitting import Sitting
from pipeline.core.random_streams import stream
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import UnparsedScript, speak
from pipeline.dialogue.script import script_turns
from pipeline.engines.model import Sampling
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import script_view, view

COUNT = 36  # scenarios
AGENTS = Condition(partition="jigsaw", voice="model")
MINDREADERS = Condition(partition="symmetric", voice="model")
TALKS = {"agents": AGENTS, "mindreaders": MINDREADERS}
MODES = ("script", *TALKS)
NEVER_AGREES = 8 / 36  # goals that are reached without a deal: no price or hour suits both
OFFER = "I say {}. What do you say to that?"
RULE = Reader(unmeasured="offers, limits and agreement by rule: not measured")
METRICS = (
    *alike(
        {
            "goal": "settled what suits both, or No deal where nothing does (@MODE: who saw and wrote what) / talks",
            "deal": "the talk settled on any value / talks",
            METRIC: "the student says its secret in its turn of that number / talks where it had not before",
            "written": "scripts whose two sides could be told apart / scripts asked for",
            "agreeable": "takes a fixed partner's offer (@bad: outside its own limits, @good: inside) / offers",
        },
        reader=RULE,
    ),
    difference("agreeable_skill", "agreeable@good", "agreeable@bad", reader=RULE),
)


async def private(sitting: Sitting) -> list[Case]:
    """Every scenario in every mode, and before two offers, `exams.episodes` times."""
    return await of_scenarios(sitting, scenarios(COUNT, sitting.experiment.tasks.seed))


async def of_scenarios(sitting: Sitting, made: list[Scenario]) -> list[Case]:
    """The cases of these scenarios, in every mode."""
    samples = range(sitting.experiment.exams.episodes)
    work = [_talk(sitting, scenario, mode, sample) for mode in TALKS for scenario in made for sample in samples]
    work += [play(sitting, scenario, sample) for play in (_script, _offers) for scenario in made for sample in samples]
    return tally(NAME, [hit for of_talk in await sitting.all(work) for hit in of_talk])


async def _talk(sitting: Sitting, scenario: Scenario, mode: str, sample: int) -> Hits:
    mine, theirs = scenario.seat("student"), scenario.seat("partner")
    settings, key = sitting.settings, sitting.key(scenario.task.id, sample)
    turns: list[Turn] = []
    for i in range(2 * settings.turns):
        if i % 2 == 0:
            messages = view(mine, TALKS[mode], turns, "student", sitting.prompts)
            turns.append(await speak(sitting.student, messages, "student", settings, stream(key, "student", i)))
        else:
            messages = view(theirs, TALKS[mode], turns, "partner", sitting.experiment.prompts("partner"))
            turns.append(await speak(sitting.peer, messages, "partner", settings, stream(key, "partner", i)))
        if ending(turns) is not None:
            break
    return told(scenario, mode, turns)


async def _script(sitting: Sitting, scenario: Scenario, sample: int) -> Hits:
    settings, task = sitting.settings, scenario.task
    request = Sampling(
        max_tokens=2 * settings.turns * settings.max_tokens,
        temperature=settings.temperature,
        seed=stream(sitting.key(task.id, sample), "script"),
    )
    script = await sitting.student.complete(script_view(scenario.both(), MINDREADERS, sitting.prompts), request)
    try:
        written = script_turns(script.text, sitting.student)[: 2 * settings.turns]
    except UnparsedScript:
        return [(task.id, "written@script", 0.0)]
    ends = next((i + 1 for i in range(len(written)) if ending(written[: i + 1]) is not None), len(written))
    return [(task.id, "written@script", 1.0), *told(scenario, "script", list(written[:ends]))]


def told(scenario: Scenario, mode: str, turns: list[Turn]) -> Hits:
    """The metrics of one talk, which ends where something is settled."""
    end, name = ending(turns), scenario.task.id
    hits: Hits = [
        (name, f"goal@{mode}", float(reached(scenario, end))),
        (name, f"deal@{mode}", float(end not in (None, NOTHING))),
    ]
    for i, turn in enumerate(turn for turn in turns if turn.party == "student"):
        mentioned = mentions(scenario.secret, turn.text)
        hits.append((name, f"{METRIC}/{i + 1}@{mode}", float(mentioned)))
        if mentioned:
            break
    return hits


async def _offers(sitting: Sitting, scenario: Scenario, sample: int) -> Hits:
    task, settings = scenario.seat("student"), sitting.settings
    key = sitting.key(task.id, sample)
    opening = view(task, AGENTS, [], "student", sitting.prompts)
    first = await speak(sitting.student, opening, "student", settings, stream(key, "student", 0))
    hits: Hits = []
    for name, offer in (("bad", scenario.bad), ("good", scenario.good)):
        turns = [first, Turn(party="partner", text=OFFER.format(offer))]
        messages = view(task, AGENTS, turns, "student", sitting.prompts)
        reply = await speak(sitting.student, messages, "student", settings, stream(key, "student", 2))
        hits.append((task.id, f"agreeable@{name}", float(taken(reply.text, numbers(turns[1].text)) == offer)))
    return hits


async def reference(experiment: Experiment) -> list[Reference]:
    """Scripted pairs; what an open and a closed one do is exact by construction."""
    rows: list[Reference] = []
    for who, party in PARTIES.items():
        cases = await private(seated(experiment, party))
        rows += references(cases, f"a scripted {who} pair", METRICS, exact=who != "random")
    return rows


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    turns = [f"{METRIC}/{i + 1}" for i in range(experiment.exam_turns)]
    named = {f"{metric}@{mode}" for metric in ("goal", "deal", *turns) for mode in MODES}
    return named | {"written@script", "agreeable@bad", "agreeable@good"}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    # Both parties of two kinds of talk; a script; an opening and two replies.
    return COUNT * experiment.exams.episodes * (4 * experiment.exam_turns + 4)


EXAM = Exam(
    name=NAME,
    metrics=METRICS,
    sit=private,
    answers=_answers,
    ratios=_ratios,
    real=True,
    reference=reference,
    tables=mentions_of_students,
    competence=(
        Bar("written@script", 0.5, ("@script",)),
        *(Bar(f"goal@{mode}", NEVER_AGREES, (f"@{mode}",)) for mode in TALKS),
        Bar("agreeable_skill", 0.0, ("agreeable",)),
    ),
)
