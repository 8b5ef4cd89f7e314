"""What labels a metric rests on, so that a report can say how well they agree with people's (evals.report.validity)."""

from __future__ import annotations

from typing import NamedTuple

FACT = "which fact a turn asks for or tells: not measured, no corpus labels facts"
ATTEMPT = "attempts: numbers alone are read; in the embedded world their wordings are planted, and the rule fits them"
REFUSE = "saying that it cannot be answered: not measured, no corpus has a label for it"


class Reader(NamedTuple):
    """`classes` are those of data/labels.json whose labels make the metric, the one that says most first; `unmeasured`
    is what of it no corpus can measure.

    `configured`: the config's labeller decides (pipeline.reading.labelling.labeller), as far as it has
    the class; else the rules.
    """

    classes: tuple[str, ...] = ()
    unmeasured: str = ""
    configured: bool = False


ANSWERS = Reader(("attempt",), ATTEMPT)  # what is read is which answer a turn commits to, and whether it is right
