"""A run directory of made-up societies: what pipeline.society writes, without playing anything."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

Ids = Callable[[np.random.Generator], np.ndarray]  # the cluster ids [T + 1, n] of one repeat


def write_repeats(out: Path, settings: dict[tuple[int, float], Ids], repeats: int = 4, **more: object) -> Path:
    """For each (k, p) `repeats` societies; `more` are further keys of every row. Returns `out`."""
    folder = out / "society"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "repeats.jsonl").open("a") as rows:
        for (k, p), ids in settings.items():
            for repeat in range(repeats):
                rng = np.random.default_rng([k, int(100 * p), repeat])
                silo = ids(rng).astype(np.int32)
                name = f"k{k}-p{p}-r{repeat}" + "".join(
                    f"-{key}{value}" for key, value in more.items() if key not in ("kind", "varies")
                )
                flat = np.stack([np.cos(silo), np.sin(silo)], axis=2) + 0.1 * rng.normal(size=(*silo.shape, 2))
                arrays = {"silo": silo, "flat": flat.astype(np.float32)}
                if "q" in more:
                    arrays["right"] = silo == 0
                np.savez(folder / f"{name}.npz", **arrays)
                steps, n = len(silo) - 1, silo.shape[1]
                row = {
                    "id": name,
                    "k": k,
                    "p": p,
                    "n": n,
                    "steps": steps,
                    "kind": "proxy",
                    "repeat": repeat,
                    "seed": repeat,
                }
                rows.write(json.dumps(row | more) + "\n")
    return out


def held(ids: list[int], steps: int = 12) -> Ids:
    return lambda rng: np.tile(np.array(ids), (steps + 1, 1))


def wandering(silos: int, n: int = 6, steps: int = 12) -> Ids:
    return lambda rng: rng.integers(0, silos, (steps + 1, n))
