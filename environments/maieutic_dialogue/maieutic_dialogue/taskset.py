"""verifiers' current interface (0.3 and 0.4): a taskset, the environment that plays it, and how the student is asked.

eval maieutic-dialogue --env.taskset.condition_name facts --model MODEL --client.base-url URL     # vf-eval from 0.4 on
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aiohttp
import verifiers.v1 as vf

from maieutic_dialogue import metrics
from maieutic_dialogue.rows import Split, rows
from maieutic_dialogue.stage import Info, Stage, open_stage
from pipeline.core.schema import Turn
from pipeline.dialogue.episode import EmptyTurn
from pipeline.engines.reasoning import parted
from pipeline.knowledge.records import Dialogue


class DialogueData(vf.TaskData):
    """`info` is what the student does not see; a request holds `prompt` and what was said since."""

    info: Info


class DialogueState(vf.State):
    dialogue: Dialogue | None = None


class DialogueTask(vf.Task[DialogueData, DialogueState]):
    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        return metrics.correct(trace.state.dialogue)

    @vf.metric
    async def measured(self, trace: vf.Trace) -> dict[str, float]:
        return {metric.__name__: metric(trace.state.dialogue) for metric in metrics.METRICS}


class DialogueConfig(vf.TasksetConfig):
    config: str = "configs/quickstart.yaml"
    condition_name: str = "facts"
    seed: int | None = None  # the config's first
    overrides: list[str] = []
    split: Split = "train"


class DialogueTaskset(vf.Taskset[DialogueTask, DialogueConfig]):
    def __init__(self, config: DialogueConfig):
        super().__init__(config)
        self.stage: Stage = open_stage(config.config, config.condition_name, config.seed, config.overrides)

    def load(self) -> Iterable[DialogueTask]:
        for i, row in enumerate(rows(self.stage, self.config.split)):
            system = next((message["content"] for message in row.prompt if message["role"] == "system"), None)
            data = DialogueData(idx=i, prompt=row.prompt[-1]["content"], system_prompt=system, info=row.info)
            yield DialogueTask(data, self.config.task)


class DialogueEnvConfig(vf.EnvConfig):
    student: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())  # of which nothing is run


class DialogueEnv(vf.Env[DialogueEnvConfig]):
    async def run(self, task: DialogueTask, agents: vf.Agents) -> None:
        """Ask the student and the pipeline in turn. Raises what `respond` raises, for this episode alone."""
        stage: Stage = self.taskset.stage
        turns = list[Turn]()
        async with agents.student.interaction(task) as talk:
            talk.trace.state.dialogue = stage.dialogue(task.data.info, turns, None)
            segment = await talk.turn()
            while not segment.terminated:
                said = parted(segment.last_reply)
                if not said.answer:
                    raise EmptyTurn(f"the student said nothing after {len(turns)} turns")
                turns.append(Turn(party="student", text=said.answer, reasoning=said.reasoning))
                reply, stop = await stage.respond(task.data.info, turns)
                turns += [] if reply is None else [reply]
                read = await stage.read(task.data.info, turns)
                talk.trace.state.dialogue = stage.dialogue(task.data.info, read, stop)
                if reply is None or stop is not None:
                    talk.trace.stop(stop)
                    break
                segment = await talk.turn(reply.text)


class Chat(vf.Harness[vf.HarnessConfig]):
    """Asks for one answer within this process, where verifiers' own chat starts a program for each."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
        **_: Any,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages = (
            [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [_plain(m) for m in prompt or ()]
        )
        body = {
            "model": ctx.model,
            "messages": [{"role": "system", "content": system}, *messages] if system else messages,
        }
        headers = {"Authorization": f"Bearer {secret}"}
        timeout = aiohttp.ClientTimeout(total=None)  # verifiers ends what takes too long
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(f"{endpoint}/chat/completions", json=body, headers=headers) as response,
        ):
            text = await response.text()
            return vf.ProgramResult(exit_code=int(response.status != 200), stdout="", stderr=text)


def _plain(message: vf.Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.content}
