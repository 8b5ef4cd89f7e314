"""Who speaks with a student that learns while it plays."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Model
from pipeline.experiment.asked_in_role import InRole
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.preflight import check_beside_training
from pipeline.knowledge.condition import Condition
from pipeline.reading.instrument import Instrument
from pipeline.runs.directory import newest_adapter
from pipeline.runs.usage import Meter, Metered
from training.inputs.job import TrainingJob
from training.online.session import Session


@dataclass
class Partners:
    """The partner and the judge of one condition; what they sample is metered."""

    experiment: Experiment
    condition: Condition
    partner: Model | None  # None also where it has the student's weights of the moment
    judge: Model | None
    meter: Meter
    hears: Instrument
    reads: Instrument

    @property
    def sampled(self) -> int:
        """Tokens of the partner, and of the judge whom it is to convince; not of a judge that only reads."""
        roles = ("partner", *(("judge",) if self.judge else ()))
        return sum(tally.generated_tokens for role, tally in self.meter.roles.items() if role in roles)

    def cast(self, session: Session) -> Cast:
        """The parties of one dialogue."""
        experiment, settings, partner = self.experiment, self.experiment.partner, self.partner
        if self.condition.voice == "model" and partner is None:
            partner = Metered(InRole(session.engine, "partner", settings), self.meter.of("partner"))
        return Cast(
            student=Metered(InRole(session, "student", experiment.student), self.meter.of("student")),
            partner=partner,
            student_prompts=experiment.prompts("student"),
            partner_prompts=experiment.prompts("partner"),
            judge=self.judge,
            candidates=settings.candidates,
            judgements=settings.judgements,
            hears=self.hears,
            reads=self.reads,
            generic_requests=experiment.reading.generic_requests,
        )


def open_partners(job: TrainingJob) -> Partners:
    """Raises ConfigError where the partner cannot be heard beside the student's engine."""
    experiment, condition = job.experiment, job.cell.condition
    check_beside_training(experiment, job.cell.condition_name)
    casting = Casting(experiment, newest_adapter)
    return Partners(
        experiment=experiment,
        condition=condition,
        partner=None if condition.weights == "current" else casting.partner(job.cell),
        judge=casting.open("judge") if condition.manner == "convincing" else None,
        meter=casting.meter,
        hears=casting.hears,
        reads=casting.reads,
    )
