"""A run's report as a page of docs/results: the tables that `maieutic compare` wrote, and the figure of all contrasts.
A path into the run is shortened to its name.

    python -m evals.report.page.published_run runs/lookup_smollm2 docs/results/lookup_smollm2.md

Beside the page lies its figure, with the ending .svg.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from evals.report.figures import forest, svg_file
from pipeline.core.errors import RunError
from pipeline.core.files import write_whole


def publish(run: Path, page: Path) -> None:
    """Write the page and its figure. Raises RunError where the run was not compared."""
    report, table = run / "report.md", run / "report.json"
    if not (report.is_file() and table.is_file()):
        raise RunError(f"{run}: no report.md and report.json. Run first: maieutic compare {run}")
    comparisons = json.loads(table.read_text(encoding="utf-8"))["comparisons"]
    figure = page.with_suffix(".svg")
    said = report.read_text(encoding="utf-8").replace(str(run.resolve()), run.name)
    title, headline, rest = said.split("\n\n", 2)
    made = f"Made by `python -m evals.report.page.published_run` from the run `{run.name}`."
    what = "Each contrast: the difference and its 95% interval, the primary first; exploratory ones are hollow."
    drawn = f"![{what}]({figure.name})"
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, "\n\n".join([title, made, headline, drawn, rest]))
    write_whole(figure, svg_file(forest(comparisons)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    try:
        publish(options.run, options.page)
    except RunError as error:
        raise SystemExit(str(error)) from None
    print(options.page)


if __name__ == "__main__":
    main()
