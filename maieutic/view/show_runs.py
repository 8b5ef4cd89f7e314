"""`maieutic view`: the dialogues and exam cases of runs, to be read, on this machine or as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from maieutic.view.export_pages import export_pages
from maieutic.view.read_talks import ShownRun
from maieutic.view.server import serve
from maieutic.view.talk_index import TalkIndex
from pipeline.runs.progress import say


def shown_runs(paths: Sequence[Path]) -> list[ShownRun]:
    """Each with a name of its own. Raises RunError and ConfigError where one is no run."""
    names = [path.resolve().name for path in paths]
    twice = {name for name, count in Counter(names).items() if count > 1}
    return [ShownRun(path, str(path) if name in twice else name) for path, name in zip(paths, names, strict=True)]


def view_runs(paths: Sequence[Path], folder: Path | None, port: int) -> None:
    """Serve the pages of runs until one stops it, or write them into a folder."""
    index = TalkIndex(shown_runs(paths))
    if folder is None:
        with suppress(KeyboardInterrupt):  # which is how one ends it
            serve(index, port)
    else:
        say(f"Open {export_pages(index, folder)}")
