"""What labels a metric rests on, so that a report can say how well they are read (evals.report.validity)."""

from __future__ import annotations

from typing import NamedTuple


class Reader(NamedTuple):
    """Who reads what makes a metric: the instrument of metrics, or the labeller of acts.

    `classes` are what the instrument reads off turns (`reading.metrics` of a config; `maieutic eval reading` measures
    it), the one that says most first. `people` are classes of data/labels.json, labels that people gave, which the
    labeller of `acts` reads, and a rule the leaks. `unmeasured`: what an exam reads by rules of its own, which nobody
    has measured.
    """

    classes: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    unmeasured: str = ""


ANSWERS = Reader(("attempt",))  # what is read is which answer a turn commits to; whether it is right is computed
ASKING = Reader(("asks_withheld", "generic_request", "attempt"))  # what a turn asks for in place of an answer
