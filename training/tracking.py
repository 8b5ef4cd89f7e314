"""What a training, and the exams after it, are shown in while they run: trackio, W&B or TensorBoard.

The project has the experiment's name, the run is named after condition and seed (facts/seed-1), and figures and some
dialogues of the exams end in the run of the training before them. Nothing leaves this machine unless the tracker's own
variables say so (WANDB_MODE=online, TRACKIO_SPACE_ID).

    maieutic run configs/quickstart.yaml --set training.report_to=tensorboard
    tensorboard --logdir runs/quickstart/tensorboard
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.core.schema import digest
from pipeline.core.shown_text import cut
from pipeline.experiment.cell import Cell
from pipeline.runs.directory import adapter_path


class SampleDialogue(NamedTuple):
    """A dialogue as a tracker shows it: its partner in the exam, its task, and (party, text) of each turn."""

    arm: str
    task: str
    turns: Sequence[tuple[str, str]]

    @property
    def text(self) -> str:
        """Trackers read Markdown: an indented block stays text. What is longer than a page is cut."""
        lines = [line for party, said in self.turns for line in f"{party}: {cut(said)[0]}".splitlines()]
        return "\n".join(f"    {line}" for line in lines)


class Tracker:
    """One run of the tracker that `training.report_to` names; the same cell's run is gone on with."""

    def __init__(self, cell: Cell):
        experiment, kind = cell.experiment, cell.experiment.training.report_to
        name = f"{cell.condition_name}/{adapter_path(cell).name}"
        self.module: Any = None
        self.writer: Any = None
        if kind == "tensorboard":
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(experiment.run / "tensorboard" / name))
            return
        if kind == "wandb":
            import wandb

            self.module = wandb
        else:
            import trackio

            self.module = trackio
        about: dict[str, Any] = {"seed": cell.seed, "round": cell.round, "student": experiment.student.model}
        about["training"] = experiment.training.model_dump(mode="json")
        if cell.condition_name in experiment.conditions:  # the base is no condition's
            about["condition"] = cell.condition.model_dump(mode="json")
        project = re.sub(r"[/\\#?%:]+", "-", experiment.name)  # which W&B refuses in names of projects
        where: dict[str, Any] = {"project": project, "name": name, "group": cell.condition_name}
        if kind == "wandb":  # it knows a run by its id, and another directory's is another run
            where |= {"id": digest(str(experiment.run.resolve()), name, length=16), "dir": str(experiment.run)}
            where["mode"] = os.environ.get("WANDB_MODE", "offline")
        self.module.init(**where, config=about, resume="allow")

    def log(self, figures: Mapping[str, Any], step: int | None = None) -> None:
        """Figures by name; what is no number is left out."""
        numbers = {name: value for name, value in figures.items() if isinstance(value, int | float)}
        if self.writer is None:
            self.module.log(numbers, step=step)
            return
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, step)

    def show(self, dialogues: Sequence[SampleDialogue]) -> None:
        if self.writer is None:
            rows = [[one.arm, one.task, one.text] for one in dialogues]
            self.module.log({"exam/dialogues": self.module.Table(columns=["partner", "task", "dialogue"], data=rows)})
            return
        for i, one in enumerate(dialogues):
            self.writer.add_text(f"exam/dialogue {i + 1}", f"`{one.arm}`, `{one.task}`\n\n{one.text}")

    def close(self) -> None:
        if self.writer is None:
            self.module.finish()
        else:
            self.writer.close()


def log_exams(cell: Cell, figures: Mapping[str, float], dialogues: Sequence[SampleDialogue] = ()) -> None:
    """Show the exam figures of a student, by metric, and dialogues, in the run of its training."""
    tracker = Tracker(cell)
    tracker.log({f"exam/{name}": value for name, value in figures.items()})
    if dialogues:
        tracker.show(dialogues)
    tracker.close()
