"""benchmarks/results.json: what each benchmark found when it was run last, on each kind of machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent / "results.json"
# From the widest down: which of them a processor has decides how fast it multiplies, and its name does not say it.
INSTRUCTIONS = {"amx_bf16": "AMX", "avx512f": "AVX-512", "avx2": "AVX2"}

Found = dict[str, dict[str, float]]  # by what was measured: figures
WHEN = "when"  # beside the benchmarks: by machine and benchmark the day and the commit


def machine() -> str:
    """The kind of this machine in words: its processor, its widest instructions, its cores."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    facts = {key.strip(): value.strip() for key, value in pairs}
    flags = set(facts.get("flags", "").split())
    widest = next((name for flag, name in INSTRUCTIONS.items() if flag in flags), platform.machine())
    return f"{facts.get('model name', platform.processor())}, {widest}, {os.cpu_count()} cores"


def record(name: str, figures: Found) -> None:
    """Replace a benchmark's figures of this kind of machine; those that were not measured this time stay."""
    everything = _everything()
    everything.setdefault(name, {}).setdefault(machine(), {}).update(figures)
    everything.setdefault(WHEN, {}).setdefault(machine(), {})[name] = f"{date.today()}, {_commit()}"
    PATH.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Found]]:
    """What was found, by benchmark and by machine."""
    return {name: of for name, of in _everything().items() if name != WHEN}


def when() -> dict[str, dict[str, str]]:
    """By machine and benchmark the day and the commit; none of what was measured before these were kept."""
    return _everything().get(WHEN, {})


def _everything() -> dict[str, Any]:
    everything: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return everything


def _commit() -> str:
    asked = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "no commit"
