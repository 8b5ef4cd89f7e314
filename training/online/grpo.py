"""Learning while playing: online GRPO (Shao et al. 2024) through TRL's trainer, with the condition's partner.

The student is rewarded in one of four ways (training/online/rewards.py), on the same tasks and as many sampled tokens
as the other methods' pool has. The trainer scores the ids that were sampled, of the student alone, and nothing is
tokenised a second time.

    maieutic train configs/methods.yaml
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import fmean
from typing import Any

from accelerate.utils import gather_object
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from pipeline.core.schema import Message, Task, digest
from pipeline.datasets.rows import Row
from pipeline.engines.model import EngineDown, EngineError
from pipeline.experiment.cell import Cell
from pipeline.runs.dialogue_pool import spent
from pipeline.tasks.loading import stream_tasks
from training.inputs.job import PreparedTrainer, TrainingJob, rows_per_step
from training.inputs.token_counts import TokenCounts
from training.inputs.untrained import NothingToTrain
from training.online.budget import Budget, dialogues_per_step, optimizer_steps
from training.online.partners import Partners, open_partners
from training.online.rewards import Sample, by_lot, comparable, sample, without_spread
from training.online.sampling import TrainersModel, VllmBeside, open_sampler
from training.online.session import IdEngine

WAITS = (2, 15, 60)  # seconds before a dialogue is played again whose engine failed; the engine has tried by itself


class PlayingTrainer(GRPOTrainer):
    """GRPOTrainer whose order of tasks goes on where an interrupted training was."""

    epochs_done = 0

    def skip_epochs(self, epochs: int) -> None:
        """Whole epochs that the checkpoint has behind it, which is gone on from."""
        self.epochs_done = epochs

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        sampler = super()._get_train_sampler(dataset)
        for _ in range(self.epochs_done):
            next(iter(sampler))  # draws an epoch's order: all come from one generator, which no checkpoint keeps
        return sampler


def _not_of_failures(record: logging.LogRecord) -> bool:
    """TRL warns of each dialogue without a reward, with all that was said: a partner's failure, counted elsewhere."""
    return "returned None" not in str(record.msg)


def grpo_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """GRPO on the tasks of the rows. The loss is TRL's default (DAPO's token mean), without a KL term."""
    experiment, grpo, names = job.experiment, job.experiment.training.grpo, {row["task_id"] for row in rows}
    logging.getLogger("trl.trainer.grpo_trainer").addFilter(_not_of_failures)
    pool = spent(job.cell)
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
    token_counts = TokenCounts(lambda: partners.sampled)
    with warnings.catch_warnings():
        # `rollout_func` is the one way to free dialogue in TRL, and pyproject pins the version that has this one.
        warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)
        trainer = PlayingTrainer(
            model=job.model,
            reward_funcs=reward,
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=job.tokenizer,
            peft_config=job.lora,
            rollout_func=rollouts(job, tasks, token_counts, sampler, partners),
        )
    if pool is not None:
        trainer.add_callback(Budget(pool.tokens, lambda: token_counts.totals(trainer.accelerator)["sampled"]))
    return PreparedTrainer(
        trainer,
        sequences=steps * rows_per_step(experiment, job.method),
        tokens=0,
        account=_account(job, trainer, token_counts),
        token_counts=token_counts,
        skip_epochs=trainer.skip_epochs,
        close=partial(close, sampler, partners, job.cell),
    )


def rollouts(
    job: TrainingJob,
    tasks: dict[str, Task],
    token_counts: TokenCounts,
    sampler: TrainersModel | VllmBeside,
    partners: Partners,
) -> Callable[..., dict[str, Any]]:
    """What GRPOTrainer calls for each step. Tokens are counted in `token_counts`."""
    group = job.experiment.training.grpo.group

    def rollout(prompts: list[list[Message]], trainer: GRPOTrainer) -> dict[str, Any]:
        begin, step = trainer.accelerator.process_index * len(prompts), trainer.state.global_step

        async def together(engine: IdEngine) -> list[Sample]:
            played = []
            for i, prompt in enumerate(prompts):
                task, done = prompt[-1]["task"], sum(message["role"] == "assistant" for message in prompt)
                # The expert's steps are named only where there are some, so that other methods keep their draws.
                name = [task, job.cell.seed, step, (begin + i) % group, *([done] if done else [])]
                key = digest("online", *name)
                played.append(persistently(partial(sample, job.cell, partners, engine, tasks[task], key, done)))
            return await asyncio.gather(*played)

        samples = failing_together(partial(sampler.play, trainer, together))
        sampler.check(trainer, [each.session for each in samples])
        mine = slice(begin, begin + len(samples))
        of_all = gather_object([each.reward for each in samples])
        if job.cell.condition.selection == "yoked":
            of_all = by_lot(of_all, group, digest("yoked", job.cell.seed, step))
        rewards = comparable(of_all, group)
        failed, alike = [reward is None for reward in of_all], without_spread(rewards, group)
        idle = [one or other for one, other in zip(failed, alike, strict=True)]  # their loss is 0
        out = idle if job.method == "grpo_step" else failed  # by DAPO those of whom all did alike stay in the mean
        owns = [each.session.own or [0] for each in samples]
        learned = [[0] * len(own) if left else own for own, left in zip(owns, out[mine], strict=True)]
        token_counts.trained += sum(sum(own) for own, nothing in zip(owns, idle[mine], strict=True) if not nothing)
        token_counts.sampled += sum(each.sampled for each in samples)
        # A context that was full before the first turn leaves nothing to score, and TRL takes no empty lists.
        end = [job.tokenizer.eos_token_id]
        return {
            "prompt_ids": [each.session.prompt or end for each in samples],
            "completion_ids": [each.session.ids or end for each in samples],
            "env_mask": learned,
            "logprobs": None,
            "reward": rewards[mine],
        }

    return rollout


def reward(reward: list[float | None], **_: Any) -> list[float | None]:
    """What `rollouts` gave."""
    return reward


def close(sampler: TrainersModel | VllmBeside, partners: Partners, cell: Cell) -> None:
    """Each process stores what it asked, interrupted or not, and ends what it started."""
    try:
        partners.meter.store(cell.experiment.run, "train", cell)
    finally:
        sampler.close()


def failing_together(play: Callable[[], list[Sample]]) -> list[Sample]:
    """What `play` gives. Raises in every process what an engine of one of them did: the others would wait for it."""
    samples, failures = list[Sample](), list[Exception]()
    try:
        samples = play()
    except (EngineError, EngineDown) as error:
        failures.append(error)
    for failure in gather_object(failures):
        raise failure
    return samples


async def persistently(play: Callable[[], Awaitable[Sample]]) -> Sample:
    """What `play` gives, which is called again where an engine failed: its draws hang on its key, so it is the same
    dialogue. Raises EngineError where the last try fails too, EngineDown at once."""
    for wait in WAITS:
        try:
            return await play()
        except EngineError:
            await asyncio.sleep(wait)
    return await play()


def _account(job: TrainingJob, trainer: GRPOTrainer, token_counts: TokenCounts) -> Callable[[], dict[str, Any]]:
    """For training.json, what is known only once it has been trained."""

    def account() -> dict[str, Any]:
        totals = token_counts.totals(trainer.accelerator)
        logged = [entry for entry in trainer.state.log_history if "reward" in entry]
        rewards = [entry["reward"] for entry in logged]
        fifth, steps = max(1, len(rewards) // 5), trainer.state.global_step
        return {
            "trained_tokens": totals["trained"],
            "sampled_tokens": totals["sampled"],
            "sequences": steps * rows_per_step(job.experiment, job.method),
            "dialogues": steps * dialogues_per_step(job.experiment, job.method),
            "reward_first": fmean(rewards[:fifth]),
            "reward_last": fmean(rewards[-fifth:]),
            "groups_alike": fmean(entry["frac_reward_zero_std"] for entry in logged),  # from which nothing is learned
        }

    return account
