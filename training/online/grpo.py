"""Learning while playing: online GRPO (Shao et al. 2024) through TRL's trainer, with the condition's partner.

The student is rewarded in one of four ways (training/online/rewards.py), on the same tasks and as many sampled tokens
as the other methods' pool has. The trainer scores the ids that were sampled, of the student alone, and nothing is
tokenised a second time.

    maieutic train configs/methods.yaml
"""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from pipeline.core.schema import Message, Task, digest
from pipeline.datasets.rows import Row
from pipeline.runs.dialogue_pool import spent
from pipeline.tasks.loading import stream_tasks
from training.inputs.job import NothingToTrain, PreparedTrainer, TrainingJob, rows_per_step
from training.online.budget import Budget, dialogues_per_step, optimizer_steps
from training.online.partners import Partners, open_partners
from training.online.rewards import Sample, sample
from training.online.sampling import TrainersModel, VllmBeside, open_sampler
from training.online.session import IdEngine


def grpo_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """GRPO on the tasks of the rows. The loss is TRL's default (DAPO's token mean), without a KL term."""
    experiment, grpo, names = job.experiment, job.experiment.training.grpo, {row["task_id"] for row in rows}
    pool, tally = spent(job.cell), Counter[str]()
    steps = optimizer_steps(experiment, job.method, len(names), len(rows), pool)
    if not steps:
        raise NothingToTrain(
            f"{job.cell}: {len(names)} tasks are too few for one step. Lower training.grpo.tasks_per_step or "
            "training.grpo.group, or raise tasks.train"
        )
    tasks = {task.id: task for task in stream_tasks(experiment.tasks, "train")[0] if task.id in names}
    # The trainer shows the messages alone to a rollout, so that they carry the task's name.
    prompts = [[{**message, "task": row["task_id"]} for message in row["prompt"]] for row in rows]
    arguments = {
        **job.arguments(),
        "max_steps": steps,
        "num_generations": grpo.group,
        "temperature": experiment.temperature_of("student"),
        "max_completion_length": job.model.config.get_text_config().max_position_embeddings,
        "logging_steps": 1,  # into the history that `account` reads
    }
    sampler, partners = open_sampler(job), open_partners(job)
    with warnings.catch_warnings():
        # `rollout_func` is the one way to free dialogue in TRL, and pyproject pins the version that has this one.
        warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)
        trainer = GRPOTrainer(
            model=job.model,
            reward_funcs=reward,
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=job.tokenizer,
            peft_config=job.lora,
            rollout_func=rollouts(job, tasks, tally, sampler, partners),
        )
    if isinstance(sampler, VllmBeside):
        trainer.add_callback(sampler)
    if pool is not None:
        trainer.add_callback(Budget(pool.tokens, lambda: _tokens(trainer, tally, partners)[1]))
    return PreparedTrainer(
        trainer, steps * rows_per_step(experiment, job.method), 0, account=_account(job, trainer, tally, partners)
    )


def rollouts(
    job: TrainingJob,
    tasks: dict[str, Task],
    tally: Counter[str],
    sampler: TrainersModel | VllmBeside,
    partners: Partners,
) -> Callable[..., dict[str, Any]]:
    """What GRPOTrainer calls for each step. Tokens are counted in `tally`."""
    group = job.experiment.training.grpo.group

    def rollout(prompts: list[list[Message]], trainer: GRPOTrainer) -> dict[str, Any]:
        begin, step = trainer.accelerator.process_index * len(prompts), trainer.state.global_step

        async def together(engine: IdEngine) -> list[Sample]:
            played = []
            for i, prompt in enumerate(prompts):
                task, done = prompt[-1]["task"], sum(message["role"] == "assistant" for message in prompt)
                # The expert's steps are named only where there are some, so that other methods keep their draws.
                name = [task, job.cell.seed, step, (begin + i) % group, *([done] if done else [])]
                played.append(sample(job.cell, partners, engine, tasks[task], digest("online", *name), done))
            return await asyncio.gather(*played)

        samples: list[Sample] = sampler.play(trainer, together)
        sampler.check(trainer, [each.session for each in samples])
        tally["trained"] += sum(sum(each.session.own) for each in samples)
        tally["sampled"] += sum(each.sampled for each in samples)
        # A context that was full before the first turn leaves nothing to score, and TRL takes no empty lists.
        end = [job.tokenizer.eos_token_id]
        return {
            "prompt_ids": [each.session.prompt or end for each in samples],
            "completion_ids": [each.session.ids or end for each in samples],
            "env_mask": [each.session.own or [0] for each in samples],
            "logprobs": None,
            "reward": [each.reward for each in samples],
        }

    return rollout


def reward(reward: list[float | None], **_: Any) -> list[float | None]:
    """What `rollouts` gave."""
    return reward


def _tokens(trainer: GRPOTrainer, tally: Counter[str], partners: Partners) -> tuple[int, int]:
    """Trained and sampled, by all processes."""
    sums = tally["trained"], tally["sampled"] + partners.sampled
    trained, sampled = trainer.accelerator.reduce(torch.tensor(sums, device=trainer.accelerator.device)).tolist()
    return trained, sampled


def _account(
    job: TrainingJob, trainer: GRPOTrainer, tally: Counter[str], partners: Partners
) -> Callable[[], dict[str, Any]]:
    """For training.json, what is known only once it has been trained."""

    def account() -> dict[str, Any]:
        trained, sampled = _tokens(trainer, tally, partners)
        rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
        fifth, steps = max(1, len(rewards) // 5), trainer.state.global_step
        return {
            "trained_tokens": trained,
            "sampled_tokens": sampled,
            "sequences": steps * rows_per_step(job.experiment, job.method),
            "dialogues": steps * dialogues_per_step(job.experiment, job.method),
            "reward_first": fmean(rewards[:fifth]),
            "reward_last": fmean(rewards[-fifth:]),
        }

    return account
