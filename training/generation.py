"""Who samples for a student that learns while it plays: the trainer's own model, or vLLM with its adapter as it stands.

maieutic train configs/methods.yaml --set engine.kind=vllm
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from transformers import TrainerCallback
from trl import GRPOTrainer

from pipeline.core.errors import ConfigError
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import EngineDown, Model
from pipeline.engines.parity import TOLERANCE
from pipeline.engines.transformers import TransformersModel
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.runs.directory import newest_adapter
from pipeline.runs.usage import Meter, Metered
from training.lesson import Pupil
from training.session import Sampler, Session

CHECKED = 4  # dialogues of a step whose log-probabilities are compared


Work = Callable[[Sampler], Coroutine[Any, Any, Any]]


def generation(pupil: Pupil) -> Own | Vllm:
    """Raises ConfigError where the config's engine cannot sample for a student that changes."""
    experiment = pupil.experiment
    if experiment.engine.kind != "vllm":
        return Own(pupil)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            f"engine.kind: 'vllm' with method {pupil.method!r} on several processes: each would start vLLM on its GPU. "
            "Train it in one process, or use engine.kind: transformers"
        )
    return Vllm(pupil)


@dataclass
class Company:
    """Who speaks with the student while it plays; what partners and judges sample is metered."""

    experiment: Experiment
    condition: Condition
    partner: Model | None  # None also where it has the student's weights of the moment
    judge: Model | None
    meter: Meter

    def cast(self, session: Session) -> Cast:
        """The parties of one dialogue."""
        said, partner = self.experiment.partner, self.partner
        if self.condition.voice == "model" and partner is None:
            partner = session.engine
        if partner is not None:
            partner = Metered(partner, self.meter)
        systems = self.experiment.student.system, said.system
        return Cast(session, partner, *systems, self.judge, said.candidates, said.judgements)


def company(pupil: Pupil) -> Company:
    """Raises ConfigError where the partner cannot be heard beside the student's engine."""
    experiment, condition = pupil.experiment, pupil.experiment.conditions[pupil.condition_name]
    if condition.voice != "model":
        return Company(experiment, condition, None, None, Meter())
    if experiment.engine.kind == "vllm" and (condition.weights != "current" or condition.manner == "convincing"):
        raise ConfigError(
            f"conditions.{pupil.condition_name}: method {pupil.method!r} with engine.kind 'vllm' and a model "
            f"partner of "
            "other weights would need a second vLLM on the same GPU. Use weights: current, or engine.kind: transformers"
        )
    casting = Casting(experiment, partial(newest_adapter, experiment))
    partner = None if condition.weights == "current" else casting.cast(pupil.condition_name, pupil.seed, 0).partner
    meter = Meter()
    judge = casting.cast(pupil.condition_name, pupil.seed, 0).judge if condition.manner == "convincing" else None
    return Company(experiment, condition, partner, None if judge is None else Metered(judge, meter), meter)


class Own:
    """The trainer's own model."""

    def __init__(self, pupil: Pupil):
        settings = pupil.experiment
        self.tokenizer, self.batch = pupil.tokenizer, 1 if settings.dialogue.deterministic else settings.engine.batch

    def play(self, trainer: GRPOTrainer, work: Work) -> Any:
        """What `work` gives, with an engine that has the weights of the moment."""
        model = trainer.accelerator.unwrap_model(trainer.model).get_base_model()  # its layers hold the adapter
        # Anew in each step: an engine remembers keys and values of the weights that it was made with.
        engine = TransformersModel(model, self.tokenizer, self.batch)
        try:
            return asyncio.run(work(engine))
        finally:
            model.train()

    def check(self, trainer: GRPOTrainer, sessions: list[Session]) -> None:
        """It is the model that is trained."""


class Vllm(TrainerCallback):
    """vLLM in this process, beside the trainer. It ends with the training."""

    def __init__(self, pupil: Pupil):
        from pipeline.engines.vllm_learning import LearningEngine

        experiment = pupil.experiment
        self.engine = LearningEngine(experiment.student.model, experiment.engine.dtype, experiment.training.rank)
        self.tolerance = TOLERANCE["bfloat16" if experiment.training.bf16 else experiment.engine.dtype]
        self.runner = asyncio.Runner()

    def play(self, trainer: GRPOTrainer, work: Work) -> Any:
        """What `work` gives, with an engine that has the weights of the moment."""
        with tempfile.TemporaryDirectory() as folder:
            trainer.accelerator.unwrap_model(trainer.model).save_pretrained(folder, save_embedding_layers=False)

            async def together() -> Any:
                await self.engine.take(folder)
                return await work(self.engine)

            return self.runner.run(together())

    @torch.inference_mode()
    def check(self, trainer: GRPOTrainer, sessions: list[Session]) -> None:
        """Raises EngineDown where vLLM's log-probabilities of what it sampled are not those of the trained model."""
        model, apart = trainer.accelerator.unwrap_model(trainer.model), []
        for session in [session for session in sessions if session.ids][:CHECKED]:
            ids = torch.tensor([session.prompt + session.ids], device=model.device)
            scores = torch.log_softmax(model(input_ids=ids).logits[0, len(session.prompt) - 1 : -1].float(), -1)
            ours = scores.gather(1, ids[0, len(session.prompt) :, None])[:, 0].cpu()
            own = torch.tensor(session.own, dtype=torch.bool)
            apart.append(float((ours[own] - torch.tensor(session.scores)).abs().mean()))
        if apart and not max(apart) <= self.tolerance:
            raise EngineDown(
                f"vLLM: log-probabilities of what it sampled are {max(apart):.3f} nats from the trained model's (at "
                f"most {self.tolerance} was expected). It does not answer as the student that learns. Use engine.kind: "
                "transformers, and report this."
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.engine.shutdown()
        self.runner.close()
