"""Learning while playing: online GRPO (Shao et al. 2024) through TRL's trainer, with the condition's partner.

Ways to reward the student, on the same tasks and as many sampled tokens as the other methods' pool has:

    grpo        a group of whole dialogues of a task; a right final answer is worth 1, discounted for every student
                turn before it (the conversation-level reward of online Social Meta-Learning)
    grpo_turn   a group of first turns of a task; each is worth what comes of it when it is played on
                (the multiturn-aware reward of CollabLLM, Wu et al. 2025, section 3)
    grpo_next   its control, the same group; a turn is worth whether it commits to the right answer itself
    grpo_step   a group of turns after the first steps of an expert's solution; each is worth how like the expert's
                next step it is (Supervised Reinforcement Learning, Deng et al., arXiv 2510.25992, section 3)

The trainer scores the ids that were sampled, of the student alone, and nothing is tokenised a second time.

    maieutic train configs/methods.yaml
"""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from statistics import fmean
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from pipeline.building.turn_values import answer_worth, worth
from pipeline.core.schema import Message, Task, Turn, digest
from pipeline.datasets.rows import Row, expert_turns
from pipeline.dialogue.episode import EmptyTurn, play
from pipeline.engines.model import ContextOverflow
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import attempts, is_correct
from pipeline.knowledge.condition import Method
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.runs.pool import Spent, spent
from pipeline.tasks.loading import stream_tasks
from training.generation import Company, Own, Vllm, company, generation
from training.lesson import Lesson, NothingToTrain, Pupil, rows_per_step
from training.session import Sampler, Session


class Sample(NamedTuple):
    """One member of a group."""

    session: Session  # that learns
    reward: float
    sampled: int  # tokens of the student, in playing on too


async def sample(pupil: Pupil, company: Company, engine: Sampler, task: Task, key: str, steps: int = 0) -> Sample:
    """Play what the method compares, and reward it; from after so many of the expert's steps. Raises EngineError."""
    session, ledger, turns = Session(engine), pupil.experiment.ledger, pupil.experiment.dialogue.turns
    if pupil.method == "grpo_step":
        begun = expert_turns(task, steps)
        said = await _play(pupil, company, session, task, key, steps + 1, begun)
        reward = 0.0 if said is None else likeness(said.siblings[0].turn.text, task.steps[steps].text)
        return Sample(session, reward, sum(session.own))
    made = await _play(pupil, company, session, task, key, turns if pupil.method == "grpo" else 1)
    if made is None:
        return Sample(session, 0.0, sum(session.own))
    if pupil.method == "grpo":
        discount = pupil.experiment.training.grpo.discount
        return Sample(session, discounted(made.dialogues(0)[0], discount), sum(session.own))
    if pupil.method == "grpo_next":
        return Sample(session, answer_worth(made, 0), sum(session.own))
    others, turn = [Session(engine) for _ in range(ledger.rollouts)], made.siblings[0].turn
    ends = await asyncio.gather(
        *(_play(pupil, company, other, task, digest(key, j), turns, [turn]) for j, other in enumerate(others))
    )
    reward = fmean(0.0 if end is None else worth(end, 0, ledger).value for end in ends)
    return Sample(session, reward, sum(sum(one.own) for one in (session, *others)))


async def _play(
    pupil: Pupil, company: Company, session: Session, task: Task, key: str, turns: int, begun: Sequence[Turn] = ()
) -> Branch | None:
    """One dialogue, as a branch with one rollout; None where the student said nothing or its context was full."""
    experiment, condition = pupil.experiment, pupil.experiment.conditions[pupil.condition_name]
    settings = experiment.dialogue.model_copy(update={"beliefs": 0, "turns": turns})
    try:
        played = await play(task, condition, company.cast(session), settings, key, begun=begun)
    except (EmptyTurn, ContextOverflow):
        return None
    first, *later = played.turns[len(begun) - len(begun) % 2 :]
    return Branch(
        id=key,
        dialogue=key,
        task=task,
        condition_name=pupil.condition_name,
        condition=condition.shaped(),
        seed=pupil.seed,
        round=0,
        prefix=(),
        siblings=(Sibling(turn=first, rollouts=(Rollout(turns=tuple(later), stop=played.stop),)),),
    )


def discounted(dialogue: Dialogue, discount: float) -> float:
    """discount ** (student turns before the one with the final answer) where that is right, else 0."""
    said = [answer for answer, turn in zip(attempts(dialogue), dialogue.turns, strict=True) if turn.party == "student"]
    return discount ** max(i for i, answer in enumerate(said) if answer is not None) if is_correct(dialogue) else 0.0


def likeness(said: str, step: str) -> float:
    """2 M / T: twice the characters in matching blocks, of all characters of both texts, from 0 to 1."""
    return SequenceMatcher(None, said, step, autojunk=False).ratio()


def dialogues_per_step(experiment: Experiment, method: Method) -> int:
    return rows_per_step(experiment, method) * (experiment.ledger.rollouts if method == "grpo_turn" else 1)


def steps(experiment: Experiment, method: Method, tasks: int, prompts: int, pool: Spent | None) -> int:
    """Optimizer steps, so that as many tokens are sampled as for the `pool` that the other methods learn from, if
    dialogues stay as long as they are there; without one, as many dialogues as it would have of so many tasks.

    `prompts` are where they begin: one for each task, or for each of an expert's steps.
    """
    if prompts < experiment.training.grpo.tasks_per_step:
        return 0
    if pool is None:
        return (
            tasks
            * experiment.dialogue.per_task
            * (1 + experiment.ledger.dialogues)
            // dialogues_per_step(experiment, method)
        )
    later = {"grpo": 1, "grpo_turn": experiment.ledger.rollouts}.get(method, 0)
    return int(pool.tokens // (rows_per_step(experiment, method) * (pool.first + later * pool.later)))


class Budget(TrainerCallback):
    """Ends the training when as many tokens were sampled as for the pool: dialogues may have become longer."""

    def __init__(self, tokens: int, sampled: Callable[[], int]):
        self.tokens, self.sampled = tokens, sampled

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.sampled() >= self.tokens:
            control.should_training_stop = True


def rollouts(
    pupil: Pupil, tasks: dict[str, Task], tally: Counter[str], sampler: Own | Vllm, others: Company
) -> Callable[..., dict[str, Any]]:
    """What GRPOTrainer calls for each step. Tokens are counted in `tally`."""
    group = pupil.experiment.training.grpo.group

    def rollout(prompts: list[list[Message]], trainer: GRPOTrainer) -> dict[str, Any]:
        begin, step = trainer.accelerator.process_index * len(prompts), trainer.state.global_step

        async def together(engine: Sampler) -> list[Sample]:
            played = []
            for i, prompt in enumerate(prompts):
                task, done = prompt[-1]["task"], sum(message["role"] == "assistant" for message in prompt)
                # The expert's steps are named only where there are some, so that other methods keep their draws.
                name = [task, pupil.seed, step, (begin + i) % group, *([done] if done else [])]
                played.append(sample(pupil, others, engine, tasks[task], digest("online", *name), done))
            return await asyncio.gather(*played)

        samples: list[Sample] = sampler.play(trainer, together)
        sampler.check(trainer, [one.session for one in samples])
        tally["trained"] += sum(sum(one.session.own) for one in samples)
        tally["sampled"] += sum(one.sampled for one in samples)
        # A context that was full before the first turn leaves nothing to score, and TRL takes no empty lists.
        end = [pupil.tokenizer.eos_token_id]
        return {
            "prompt_ids": [one.session.prompt or end for one in samples],
            "completion_ids": [one.session.ids or end for one in samples],
            "env_mask": [one.session.own or [0] for one in samples],
            "logprobs": None,
            "reward": [one.reward for one in samples],
        }

    return rollout


def reward(reward: list[float | None], **_: Any) -> list[float | None]:
    """What `rollouts` found."""
    return reward


def lesson(pupil: Pupil, rows: list[Row]) -> Lesson:
    """GRPO on the tasks of the rows. The loss is TRL's default (DAPO's token mean), without a KL term."""
    experiment, grpo, wanted = pupil.experiment, pupil.experiment.training.grpo, {row["task_id"] for row in rows}
    pool, tally = spent(experiment, pupil.condition_name, pupil.seed), Counter[str]()
    count = steps(experiment, pupil.method, len(wanted), len(rows), pool)
    if not count:
        raise NothingToTrain(
            f"{pupil.condition_name}, seed {pupil.seed}: {len(wanted)} tasks are too few for one step. Lower "
            "training.grpo.tasks_per_step or training.grpo.group, or raise tasks.train"
        )
    tasks = {task.id: task for task in stream_tasks(experiment.tasks, "train")[0] if task.id in wanted}
    # The trainer shows the messages alone to a rollout, so that they carry the task's name.
    prompts = [[{**message, "task": row["task_id"]} for message in row["prompt"]] for row in rows]
    arguments = {
        **pupil.arguments(),
        "max_steps": count,
        "num_generations": grpo.group,
        "temperature": experiment.dialogue.temperature,
        "max_completion_length": pupil.model.config.get_text_config().max_position_embeddings,
        "logging_steps": 1,  # into the history that `account` reads
    }
    sampler, others = generation(pupil), company(pupil)
    with warnings.catch_warnings():
        # `rollout_func` is the one way to free dialogue in TRL, and pyproject pins the version that has this one.
        warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)
        trainer = GRPOTrainer(
            model=pupil.model,
            reward_funcs=reward,
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=pupil.tokenizer,
            peft_config=pupil.lora,
            rollout_func=rollouts(pupil, tasks, tally, sampler, others),
        )
    if isinstance(sampler, Vllm):
        trainer.add_callback(sampler)

    def tokens() -> tuple[int, int]:
        """Trained and sampled, by all processes."""
        sums = tally["trained"], tally["sampled"] + others.meter.generated_tokens
        trained, sampled = trainer.accelerator.reduce(torch.tensor(sums, device=trainer.accelerator.device)).tolist()
        return trained, sampled

    if pool is not None:
        trainer.add_callback(Budget(pool.tokens, lambda: tokens()[1]))

    def account() -> dict[str, Any]:
        trained, sampled = tokens()
        rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
        fifth = max(1, len(rewards) // 5)
        return {
            "trained_tokens": trained,
            "sampled_tokens": sampled,
            "sequences": trainer.state.global_step * rows_per_step(experiment, pupil.method),
            "dialogues": trainer.state.global_step * dialogues_per_step(experiment, pupil.method),
            "reward_first": fmean(rewards[:fifth]),
            "reward_last": fmean(rewards[-fifth:]),
        }

    return Lesson(trainer, count * rows_per_step(experiment, pupil.method), 0, account=account)
