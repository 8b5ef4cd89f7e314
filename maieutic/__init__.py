"""Same student, same tasks: change only who knows what, and how it is disclosed. The public API.

The commands call the functions here. Each shows its progress on the terminal, and raises this project's errors,
whose messages say what to do. `docs/python.md` has an example that runs.

    import maieutic
    experiment = maieutic.load("quickstart", "out=runs/mine")
    maieutic.run(experiment)                                   # or preview, build, train, examine, compare
    for dialogue in maieutic.dialogues("runs/mine", "facts"):
        print(dialogue.task.question, dialogue.turns[0].text)
"""

import os
from importlib import metadata
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

TYPES = ("Check", "Dialogue", "Experiment", "Failure", "Summary")
if TYPE_CHECKING:
    from maieutic.types import Check as Check
    from maieutic.types import Dialogue as Dialogue
    from maieutic.types import Experiment as Experiment
    from maieutic.types import Failure as Failure
    from maieutic.types import Summary as Summary
else:

    def __getattr__(name):
        """The types are imported when somebody asks for one: they are heavy."""
        if name not in TYPES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from maieutic import types

        return getattr(types, name)


if "OMP_WAIT_POLICY" not in os.environ:
    # Threads that wait soon give way, where PyTorch (GNU OpenMP) is imported after this: else two beside a busy process
    # are several times slower than one.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

__version__ = metadata.version("maieutic")

__all__ = [
    "Check", "Dialogue", "Experiment", "Failure", "MaieuticError", "Report", "Summary", "__version__", "audit", "build",
    "compare", "dialogues", "examine", "load", "preview", "run", "train",
]  # fmt: skip
