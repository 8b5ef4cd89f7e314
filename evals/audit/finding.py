"""What a check found: figures, each with n, a 95% interval, a bar and a verdict.

A share fails where it is above its bar. A bar of 0 is an invariant; the others are stated with the check that has them.
What cannot be known from the data is `not testable`, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from evals.stats.cell_sums import pooled_cases
from evals.stats.intervals import Rate

Verdict = Literal["pass", "fail", "not testable"]
Curve = tuple[tuple[int, float, float, float, int], ...]  # partner turn, share without a mention, low, high, n at risk
EXAMPLES = 5
WIDEST = 600  # characters of an example


class Example(NamedTuple):
    """A case of a finding: where it stands (a dialogue's id, a file's line), and what stands there."""

    where: str
    text: str


class Finding(NamedTuple):
    """One figure."""

    what: str
    verdict: Verdict
    rate: Rate | None = None
    bar: float | None = None
    note: str = ""
    examples: tuple[Example, ...] = ()
    curve: Curve = ()


class Check(NamedTuple):
    """One row of the page: what it asks, and why its bars are where they are."""

    name: str
    asks: str
    bars: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its findings; what is not testable stands aside where something was tested."""
        verdicts = {finding.verdict for finding in self.findings}
        return "fail" if "fail" in verdicts else "pass" if "pass" in verdicts else "not testable"


class Tried(NamedTuple):
    """One case of a share. Cases of one `group` (a question, most often) are not independent, nor those of one seed."""

    group: str
    hit: bool
    where: str = ""
    text: str = ""  # shown where it is a hit
    seed: int = 0


def share(what: str, cases: Iterable[Tried], bar: float | None, note: str = "", empty: str = "") -> Finding:
    """The share of hits, with the first of them as examples. Without a bar it is shown and not judged.

    `empty` says why there is no case, where there is none.
    """
    examples: list[Example] = []

    def counted() -> Iterator[tuple[int, str, bool]]:
        for case in cases:
            if case.hit and len(examples) < EXAMPLES:
                text = case.text if len(case.text) <= WIDEST else case.text[:WIDEST] + " ..."
                examples.append(Example(case.where, text))
            yield case.seed, case.group, case.hit

    rate = pooled_cases(counted())
    if not rate.n:
        return Finding(what=what, verdict="not testable", bar=bar, note=empty or "no case")
    verdict: Verdict = "not testable" if bar is None else "fail" if rate.value > bar else "pass"
    return Finding(what=what, verdict=verdict, rate=rate, bar=bar, note=note, examples=tuple(examples))


def untested(what: str, note: str) -> Finding:
    """A finding without a figure; `note` says what would be needed."""
    return Finding(what=what, verdict="not testable", note=note)


def plain(check: Check) -> dict[str, Any]:
    """For JSON."""
    findings = [
        finding._asdict()
        | {
            "rate": finding.rate._asdict() if finding.rate else None,
            "examples": [example._asdict() for example in finding.examples],
        }
        for finding in check.findings
    ]
    return check._asdict() | {"verdict": check.verdict, "findings": findings}
