"""Who samples for a student that learns while it plays: the trainer's own model, or vLLM with its adapter as it stands.

maieutic train configs/methods.yaml --set engine.kind=vllm
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine
from typing import Any

import torch
from trl import GRPOTrainer

from pipeline.core.errors import ConfigError
from pipeline.engines.model import EngineDown
from pipeline.engines.parity import TOLERANCE
from pipeline.engines.transformers import TransformersModel
from training.inputs.job import TrainingJob, in_bf16
from training.online.session import IdEngine, Session

CHECKED = 4  # dialogues of a step whose log-probabilities are compared


Work = Callable[[IdEngine], Coroutine[Any, Any, Any]]


def open_sampler(job: TrainingJob) -> TrainersModel | VllmBeside:
    """Raises ConfigError where the config's engine cannot sample for a student that changes."""
    engine = job.experiment.engine_of("student")
    if engine.kind != "vllm":
        return TrainersModel(job)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            f"{engine.config_key}.kind: 'vllm' with method {job.method!r} on several processes: each would start vLLM "
            f"on its GPU. Train it in one process, or set {engine.config_key}.kind: transformers"
        )
    return VllmBeside(job)


class TrainersModel:
    """The trainer's own model."""

    def __init__(self, job: TrainingJob):
        settings, engine = job.experiment, job.experiment.engine_of("student")
        self.tokenizer, self.batch = job.tokenizer, 1 if settings.dialogue.deterministic else engine.batch
        self.runner = asyncio.Runner()  # of all steps: a partner on vLLM is shut down with its loop

    def play(self, trainer: GRPOTrainer, work: Work) -> Any:
        """What `work` gives, with an engine that has the weights of the moment."""
        model = trainer.accelerator.unwrap_model(trainer.model).get_base_model()  # its layers hold the adapter
        # Anew in each step: an engine remembers keys and values of the weights that it was made with.
        engine = TransformersModel(model, self.tokenizer, self.batch)
        try:
            return self.runner.run(work(engine))
        finally:
            model.train()

    def check(self, trainer: GRPOTrainer, sessions: list[Session]) -> None:
        """It is the model that is trained."""

    def close(self) -> None:
        self.runner.close()


class VllmBeside:
    """vLLM in this process, beside the trainer."""

    def __init__(self, job: TrainingJob):
        from pipeline.engines.vllm_learning import LearningEngine

        experiment, engine = job.experiment, job.experiment.engine_of("student")
        self.engine = LearningEngine(engine, experiment.base, experiment.training.lora["r"])
        self.tolerance = TOLERANCE["bfloat16" if in_bf16(experiment) else engine.fixed_dtype]
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
        learning = model.training
        model.eval()  # dropout is no part of the model that sampled
        for session in [session for session in sessions if session.ids][:CHECKED]:
            ids = torch.tensor([session.prompt + session.ids], device=model.device)
            logits = model(input_ids=ids, logits_to_keep=len(session.ids) + 1).logits[0, :-1]
            scores = torch.log_softmax(logits.float(), -1)
            ours = scores.gather(1, ids[0, len(session.prompt) :, None])[:, 0].cpu()
            own = torch.tensor(session.own, dtype=torch.bool)
            apart.append(float((ours[own] - torch.tensor(session.scores)).abs().mean()))
        model.train(learning)
        if apart and not max(apart) <= self.tolerance:
            raise EngineDown(
                f"vLLM: log-probabilities of what it sampled are {max(apart):.3f} nats from the trained model's (at "
                f"most {self.tolerance} was expected). It does not answer as the student that learns. Use an "
                "engine of kind transformers, and report this."
            )

    def close(self) -> None:
        self.engine.shutdown()
        self.runner.close()
