"""How many verdicts on small programs does this machine give in a second, contained and not?

As many at once as it has cores, which is what a build does; each verdict is of eight calls.

    python -m benchmarks.sandbox
"""

from __future__ import annotations

import asyncio
import os
import time

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.sandbox.container import Call, verdict

VERDICTS, ROUNDS = 60, 4
CODE = "def middle(xs):\n    xs = sorted(xs)\n    return xs[len(xs) // 2] if xs else None\n"
CALLS = [Call("middle", (list(range(n, -n, -1)),), 1 if n else None) for n in range(8)]


async def rate(unsafe: bool) -> float:
    """Verdicts in a second."""
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def judge() -> None:
        async with free:
            got = await verdict(CODE, CALLS, unsafe=unsafe)
            if got.outcome != "passed":
                raise SystemExit(f"a right program got: {got}")

    began = time.perf_counter()
    await asyncio.gather(*(judge() for _ in range(VERDICTS)))
    return VERDICTS / (time.perf_counter() - began)


def main() -> None:
    # In turns, so that whatever else the machine does falls on both alike.
    rounds = [(asyncio.run(rate(unsafe=False)), asyncio.run(rate(unsafe=True))) for _ in range(ROUNDS)]
    figures = {
        "contained": summary([contained for contained, _ in rounds]),
        "unsafe": summary([unsafe for _, unsafe in rounds]),
        "ratio": summary([contained / unsafe for contained, unsafe in rounds]),
    }
    table = Table("", "mean", "least", "most", title=f"Verdicts in a second, {ROUNDS} rounds of {VERDICTS}")
    for name, row in figures.items():
        table.add_row(name, *(str(value) for value in row.values()))
    Console().print(table)
    record("sandbox", figures)


def summary(values: list[float]) -> dict[str, float]:
    figures = {"mean": sum(values) / len(values), "least": min(values), "most": max(values)}
    return {name: round(value, 2) for name, value in figures.items()}


if __name__ == "__main__":
    main()
