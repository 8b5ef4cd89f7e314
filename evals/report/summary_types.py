"""What report.json holds, and its only description; what one exam adds is declared beside that exam.

`maieutic compare` writes it, and anything may read it:

    Summary.model_validate_json((run / "report.json").read_text())

JSON has no NaN: what could not be measured (an empty denominator) is None. Keys that some runs or conditions do not
have are left out of the file (`written`), and are None or empty here. All intervals are 95%.
"""

from __future__ import annotations

import json
from typing import Any

from evals.exams.bandits.learned_tables import Bandits
from evals.exams.clarification.asking_against_need import Needs
from evals.exams.human.beside_people import BesidePeople
from evals.exams.lost.unreliability import LostBlock
from evals.exams.private.mention_curves import Mentions
from evals.report.shapes.shape_table import Shapes
from evals.report.warmup_table import WarmupSummary
from evals.sitting.competence import Competence
from evals.stats.parts import Figure, Number, Part
from pipeline.knowledge.condition import Condition
from pipeline.reading.reader_figures import ClassFigure


class Measured(Figure):
    """A metric of an exam, at the sampling temperature; `greedy` is its value with greedy decoding. `apart`: the
    interval of its difference from the base of its run, paired by task and seed, leaves out 0."""

    greedy: Number
    apart: bool


class Moved(Figure):
    """What was observed of a student; `apart` as in Measured."""

    apart: bool


class ReportedDifference(Part):
    """a - b on a metric (evals.stats.contrasts.Difference).

    `family` is the config's, over which `p_holm` is corrected. Both are None for a primary contrast, and for every
    other that stands in no family: it is exploratory.
    """

    metric: str
    a: str
    b: str
    difference: Number
    low: Number
    high: Number
    p: Number
    se: Number
    df: Number
    detectable: Number
    tasks: int
    seeds: int
    paired: bool
    primary: bool
    family: str | None
    measured: bool  # whoever labels what the metric counts was measured on such text; else it is no headline
    p_holm: Number


class RunHeading(Part):
    """One run directory; `names` maps its conditions to their names in the summary."""

    path: str
    name: str
    names: dict[str, str]
    source: str
    seeds: tuple[int, ...]
    regime: str
    temperature: float


class Predicted(Part):
    """The ask rate that selection alone predicts (evals.report.counting.counts.predict), and the one `observed`."""

    ask_rate: Number
    low: Number
    high: Number
    kept: int
    prior: Number
    keep_ask: Number
    keep_no: Number
    n: int
    observed: Measured | None


class Budgets(Part):
    """What was used, summed over seeds; `task_mix` counts what was trained on by specification."""

    turns: int
    student_turns: int
    distinct_tasks: int
    task_mix: dict[str, int]
    students: int
    trained_rows: int
    optimizer_steps: int
    trained_tokens: int
    sampled_tokens: int


class MoveValue(Part):
    """The value of a move among the branches of a place; tokens and questions are the student's from there on."""

    specification: str
    at: int  # student turn, 0 is the first
    move: str
    share: float  # of the turns sampled there
    value: Figure
    advantage: Figure
    success: float
    tokens: float
    questions: float


class TurnValuesSummary(Part):
    """The turn values of one condition in figures (evals.report.turn_values_table.values)."""

    branches: int
    rollouts: int
    sampled_tokens: int
    token_price: float
    question_price: float
    values: tuple[MoveValue, ...]
    facts: tuple[MoveValue, ...]  # moves "ask FACT": the first missing fact that a question asks for
    predicted: dict[str, Figure]
    advantages: dict[str, Figure]


class MisledJudge(Part):
    """How far a convincing partner moves its judge (evals.report.judges.misled_judge)."""

    turns: int
    unsure: int
    argues_wrong: Figure
    misled: Figure
    before: Figure
    moved_wrong: Figure
    moved_wrong_any: Figure
    moved_right: Figure
    moved_right_any: Figure


class Cost(Part):
    """Of one student, means over seeds; `gained` is skill at asking above the base per million sampled tokens."""

    pool: Number
    sampled_tokens: Number
    trained_tokens: Number
    optimizer_steps: Number
    seconds: Number
    gained: Figure | None


class ConditionSummary(Part):
    """One condition; the untrained base has seeds and metrics alone. `cost`: where conditions differ in method."""

    seeds: tuple[int, ...]
    metrics: dict[str, Measured]
    counts: dict[str, int] | None = None
    failure_kinds: dict[str, int] = {}
    predicted: Predicted | None = None
    budgets: Budgets | None = None
    leak_stated: Figure | None = None
    lucky: Figure | None = None
    lucky_selected: Figure | None = None
    violated: Figure | None = None
    violations: dict[str, Figure] = {}
    plumbing: bool = False  # on the embedded base its behaviour is the corpus author's choice
    condition: Condition | None = None
    turn_values: TurnValuesSummary | None = None
    turn_values_of: str | None = None  # the condition that has the values of this one's turns
    judge: MisledJudge | None = None  # of a convincing partner
    cost: Cost | None = None


class BesideCell(Part):
    """What turn values predict of a metric under a method, beside what was observed (evals.report.methods.beside)."""

    condition: str
    method: str
    metric: str
    base: Figure | None
    predicted: Figure | None
    advantage: Figure | None
    observed: Moved | None
    same_rewards: bool
    agrees: bool | None


class ReferenceRow(Part):
    """A figure that was known before any student sat (evals.sitting.exam.Reference)."""

    metric: str
    who: str
    value: Number
    low: Number
    high: Number
    n: int


class References(Part):
    """What is known of an exam before any student sits it, and what of it needs a real model."""

    rows: tuple[ReferenceRow, ...]
    needs_real_model: tuple[str, ...]


class TransferCell(Part):
    """What training on one family of tasks did to a metric on another, against the base."""

    value: Number
    low: Number
    high: Number
    p: Number
    tasks: int
    seeds: int
    p_holm: Number
    apart: bool  # the interval leaves out 0
    sure: bool  # so does Holm's correction over the matrix


class Transfer(Part):
    """Trained on (rows), examined on (columns; by heading the metric): differences from the base."""

    columns: dict[str, str]
    base: dict[str, Figure]
    rows: dict[str, dict[str, TransferCell]]
    counts: dict[str, int]


class ReaderUse(Part):
    """Who read the turns of a run: as partners by rule understood them, as metrics count them, and who labelled acts.

    `planted`: the metrics' reader fits the wordings, which are those of the embedded world. `figures`: by reader and
    class, on natural turns.
    """

    run: str
    partner: str
    metrics: str
    acts: str
    planted: bool
    figures: dict[str, dict[str, ClassFigure]]


class EngineUse(Part):
    """Sums of usage.jsonl; "all" where they are of all stages, conditions or roles.

    `hit_rate` is the share of prompt tokens that the engine had read before, of those answers where it says so, and
    `cached_tokens` their number. `money` is at the config's prices, and None where a part has no price.
    """

    stage: str
    condition_name: str
    role: str
    engine: str
    model: str
    answers: int
    prompt_tokens: int
    cached_tokens: int | None
    generated_tokens: int
    reasoning_tokens: int
    hit_rate: Number
    money: Number
    run: str


class Summary(Part):
    """One or several compared runs; conditions by the names that they have in the report, the base first."""

    runs: tuple[RunHeading, ...]
    headline: str
    headline_refused: bool  # the wording gives the specification away, or nobody has measured who reads the turns
    youden_j: Figure  # by how well the wording tells underspecified from full tasks; 0 is chance
    minimum_detectable_difference: Number
    conditions: dict[str, ConditionSummary]
    comparisons: tuple[ReportedDifference, ...]  # a run's primary contrast first
    beside: tuple[BesideCell, ...]
    agreement: str
    competence: tuple[Competence, ...] = ()  # read before other figures of an exam; older reports have none
    people: tuple[BesidePeople, ...]
    needs: tuple[Needs, ...]
    mentions: tuple[Mentions, ...]
    references: dict[str, References]
    lost: LostBlock | None
    bandits: tuple[Bandits, ...]
    warmups: tuple[WarmupSummary, ...]
    transfer: Transfer | None
    shapes: Shapes | None
    methods_differ: bool
    readers: tuple[ReaderUse, ...]
    engine: tuple[EngineUse, ...]  # by stage, condition and role
    engine_totals: tuple[EngineUse, ...]  # by role, and of the whole run
    problems: tuple[str, ...]  # what does not reconcile
    notes: tuple[str, ...]  # what to know before trusting a number

    def plain(self) -> dict[str, Any]:
        """As the file has it."""
        return self.model_dump(mode="json", exclude_unset=True)

    def written(self) -> str:
        """The file's text."""
        return json.dumps(self.plain(), indent=1, allow_nan=False) + "\n"
