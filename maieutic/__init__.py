"""Same student, same tasks: change only who knows what, and how it is disclosed. The public API.

The commands call the functions here. Each shows its progress on the terminal, and raises this project's errors,
whose messages say what to do. `docs/python.md` has an example that runs.

    import maieutic
    experiment = maieutic.load("quickstart", "out=runs/mine")
    maieutic.run(experiment)                                   # or preview, build, train, examine, compare
    for dialogue in maieutic.dialogues("runs/mine", "facts"):
        print(dialogue.task.question, dialogue.turns[0].text)
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING

from maieutic.api import Report as Report
from maieutic.api import audit as audit
from maieutic.api import build as build
from maieutic.api import compare as compare
from maieutic.api import dialogues as dialogues
from maieutic.api import examine as examine
from maieutic.api import load as load
from maieutic.api import preview as preview
from maieutic.api import run as run
from maieutic.api import train as train
from pipeline.core.errors import MaieuticError as MaieuticError

TYPES = {
    "Check": "evals.audit.finding",
    "Dialogue": "pipeline.knowledge.records",
    "Experiment": "pipeline.experiment.experiment",
    "Failure": "pipeline.knowledge.records",
    "Summary": "evals.report.summary_types",
}
if TYPE_CHECKING:
    from evals.audit.finding import Check as Check
    from evals.report.summary_types import Summary as Summary
    from pipeline.experiment.experiment import Experiment as Experiment
    from pipeline.knowledge.records import Dialogue as Dialogue
    from pipeline.knowledge.records import Failure as Failure
else:

    def __getattr__(name):
        """The types of arguments and results, imported when they are asked for: they bring pydantic and numpy."""
        if name not in TYPES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(TYPES[name]), name)


__version__ = metadata.version("maieutic")

__all__ = [
    "Check", "Dialogue", "Experiment", "Failure", "MaieuticError", "Report", "Summary", "__version__", "audit", "build",
    "compare", "dialogues", "examine", "load", "preview", "run", "train",
]  # fmt: skip
