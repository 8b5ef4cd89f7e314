"""Who speaks with a student that learns while it plays."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.errors import ConfigError
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Model
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
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

    def cast(self, session: Session) -> Cast:
        """The parties of one dialogue."""
        settings, partner = self.experiment.partner, self.partner
        if self.condition.voice == "model" and partner is None:
            partner = session.engine
        return Cast(
            student=session,
            partner=None if partner is None else Metered(partner, self.meter.add),
            student_system=self.experiment.student.system,
            partner_system=settings.system,
            judge=self.judge,
            candidates=settings.candidates,
            judgements=settings.judgements,
            hears=self.hears,
            reads=self.reads,
            generic_requests=self.experiment.reading.generic_requests,
        )


def open_partners(job: TrainingJob) -> Partners:
    """Raises ConfigError where the partner cannot be heard beside the student's engine."""
    experiment, condition, meter = job.experiment, job.cell.condition, Meter()
    hears, reads = open_instruments(experiment)
    of_other_weights = condition.weights != "current" or condition.manner == "convincing"
    if condition.voice != "model" or not of_other_weights:
        return Partners(
            experiment=experiment, condition=condition, partner=None, judge=None, meter=meter, hears=hears, reads=reads
        )
    if experiment.engine.kind == "vllm":
        raise ConfigError(
            f"conditions.{job.cell.condition_name}: method {job.method!r} with engine.kind 'vllm' and a model partner "
            "of other weights would need a second vLLM on the same GPU. Use weights: current, or engine.kind: "
            "transformers"
        )
    cast = Casting(experiment, newest_adapter).cast(job.cell)
    partner = None if condition.weights == "current" else cast.partner
    judge = None if cast.judge is None else Metered(cast.judge, meter.add)
    return Partners(
        experiment=experiment, condition=condition, partner=partner, judge=judge, meter=meter, hears=hears, reads=reads
    )
