"""The run directory: one experiment, one writer.

The first thing in a run directory is `config.yaml`, and a directory that holds another experiment's is
never written to. Who writes holds its lock (pipeline/runs/lock.py).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.config_reading import written_out
from pipeline.core.errors import ConfigError, RunError, UnknownKey
from pipeline.core.files import file_hash, is_left, remove_left, write_first, write_whole
from pipeline.core.plugins import file_of, is_address
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump, is_dumped, load
from pipeline.runs.progress import say
from pipeline.tasks.sources import files_of

# What may change until a student sits.
EXAMINING = ("exams", "compare")
# What a resumed run may change.
FREE = {
    "out", "pilot_of", "executor", "workers", "dialogue.concurrency", "partner.sound", "training.max_length",
    "training.save_steps", "training.report_to", "training.micro_batch", "training.gradient_checkpointing",
    "compare.difference", "compare.pilot", "compare.tokens_per_second", "reading.figures",
}  # fmt: skip
# And of engines how they are reached and what memory they take, and of models what they cost.
ALSO_FREE = re.compile(
    r"(engine|engines\..+)\.(url|key_env|max_tokens_field|ranks|timeout|retries|requests_per_minute)"
    r"|(engine|engines\..+)\.(batch|gpu_memory_utilization)|prices(\..+)?"
)


def adapter_path(cell: Cell) -> Path:
    """adapters/<condition>/seed-N for the last round; earlier rounds keep theirs beside it."""
    is_last = cell.round == cell.experiment.rounds - 1
    name = f"seed-{cell.seed}" if is_last else f"seed-{cell.seed}-round-{cell.round}"
    return cell.experiment.run / "adapters" / cell.condition_name / name


def untrained_path(cell: Cell) -> Path:
    """Why this student was left untrained, where there was nothing that it could learn from."""
    adapter = adapter_path(cell)
    return adapter.with_name(f"{adapter.name}.untrained.txt")


def is_trained(cell: Cell) -> bool:
    """Whether this round's training has ended, be it that nothing was learned; an earlier round's does not count."""
    return adapter_path(cell).exists() or untrained_path(cell).exists()


def newest_adapter(cell: Cell) -> Path | None:
    """What the newest training up to the cell's round left; None where there is none, before round 0 among others."""
    paths = [adapter_path(cell.in_round(round)) for round in range(cell.round, -1, -1)]
    return next((path for path in paths if path.exists()), None)


def adapter_before(cell: Cell) -> Path | None:
    """What a student of this cell goes on from: the adapter of the condition that it begins at, of the same seed and
    round, else its own of the rounds before; None is the base."""
    if begins := cell.condition.begins:
        return newest_adapter(cell._replace(condition_name=begins))
    return newest_adapter(cell.in_round(cell.round - 1))


def require(run: Path) -> None:
    """Raises RunError where this is no run directory; of a file in one it names the directory."""
    if run.is_file() and (run.parent / "config.yaml").is_file():
        raise RunError(f"{run}: a file of a run. Expected the run directory that it lies in: {run.parent}")
    if not (run / "config.yaml").is_file():
        raise RunError(f"{run}: no config.yaml here. Expected a run directory, such as runs/quickstart after a run.")


def experiment_of(run: Path) -> Experiment:
    """The experiment of a run, which lies where it lies: that need not be where it was made.

    Raises RunError where an earlier version made it, ConfigError where its config cannot be read.
    """
    try:
        return load(run / "config.yaml").model_copy(update={"out": str(run)})
    except UnknownKey as error:
        raise RunError(
            f"{run}: made by an earlier version of maieutic, whose keys are unknown ({', '.join(error.keys)} in its "
            "config.yaml). Begin in another `out`."
        ) from None


def claim(experiment: Experiment, shared: bool = False) -> None:
    """Write config.yaml and tasks.sha256, or check that those there are the same.

    What shapes neither dialogues nor students may change: where the run lies, who does the work (`is_free`), and
    `training.max_length`, since a row that fitted stays as it was; until a student sits, exams and what is
    compared, too. Where nothing was made yet, after a config that failed at once, it is replaced, but not by a
    shard (`shared`): another may have begun with it. A config.yaml that somebody wrote by hand is not.
    Raises RunError with the differing keys.
    """
    try:
        written_out(experiment.out)  # here, since a run that lies in such a folder stays readable
    except ValueError as error:
        raise RunError(f"out: {error}") from None
    path, ours = experiment.run / "config.yaml", dump(experiment)
    pinned, source = experiment.run / "tasks.sha256", source_hashes(experiment)
    if shared:
        if source:
            write_first(pinned, source)
        write_first(path, ours)
    elif not path.exists() or not _anything_made(experiment.run):
        _require_no_hand(path)
        remove_left(experiment.run)
        write_whole(path, ours)
        if source:
            write_whole(pinned, source)
        _claim_exams(experiment)
        return
    differing = _differing(path, ours)
    if differing:
        others, sat = {key.split(".")[0] for key in differing} - _examining(experiment), _anyone_sat(experiment.run)
        if others or sat or shared:
            again = experiment.run / "results" if sat and not others else experiment.run
            raise RunError(
                f"{path}: this directory holds another experiment.\n"
                + "\n".join(differing.values())
                + f"\nChoose another directory (--set out=DIR), or delete {again} to start again."
            )
    if pinned.exists() and _without_exams(pinned.read_text(encoding="utf-8"), experiment) != source:
        changed = _changed(pinned.read_text(encoding="utf-8"), experiment)
        raise RunError(
            f"{changed} is not the file that this run began with (see {pinned}). Bring that one back, choose another "
            f"directory (--set out=DIR), or delete {experiment.run} to start again."
        )
    if not shared:  # who holds the run alone
        remove_left(experiment.run)
        _claim_exams(experiment)
        if differing:
            _say_changed(experiment.run, differing)
        if path.read_text(encoding="utf-8") != ours:
            write_whole(path, ours)


def _examining(experiment: Experiment) -> set[str]:
    """Whose embedder one exam reads, where nobody remembers: `memory`, too."""
    remembers = any(condition.memory != "none" for condition in experiment.conditions.values())
    return {*EXAMINING} if remembers else {*EXAMINING, "memory"}


def _claim_exams(experiment: Experiment) -> None:
    """Write down, in exams.sha256, the files that exams ask from, or check that they are the same where a student has
    sat already: who sits later would be asked something else. Those that are not on this machine are passed over.
    Raises RunError with the file."""
    pinned, ours = experiment.run / "exams.sha256", exam_hashes(experiment)
    if not _anyone_sat(experiment.run):
        if ours or pinned.exists():
            write_whole(pinned, ours)
        return
    # Of a run that was begun before such files were written down nothing is known.
    there = pinned.read_text(encoding="utf-8").splitlines() if pinned.exists() else []
    known = {line.partition("  ")[2] for line in there}
    for line in ours.splitlines():
        if line not in there and (name := line.partition("  ")[2]) in known:
            raise RunError(
                f"exams: {name} is not the file that the students of this run were examined with (see {pinned}). Bring "
                f"that one back, choose another directory (--set out=DIR), or delete {experiment.run / 'results'} to "
                "examine all of them again."
            )


def _say_changed(run: Path, differing: dict[str, str]) -> None:
    """Say, and write down for who reads the report, that something was named after dialogues were made."""
    lines = "\n".join(differing.values())
    say(f"Changed since dialogues were made, which {changed_path(run)} says:\n{lines}")
    with changed_path(run).open("a", encoding="utf-8") as file:
        file.write(f"{lines}\n")


def changed_path(run: Path) -> Path:
    """What of exams and comparison was changed after dialogues were made; there is no such file where nothing was."""
    return run / "changed.txt"


def _without_exams(pinned: str, experiment: Experiment) -> str:
    """Lines of tasks.sha256 but for those of exams, which stood there in runs of an earlier version."""
    of_exams = set(exam_hashes(experiment).splitlines()).difference(source_hashes(experiment).splitlines())
    return "".join(f"{line}\n" for line in pinned.splitlines() if line not in of_exams)


def _anyone_sat(run: Path) -> bool:
    """Whether a student has sat exams, or is sitting them."""
    return any(run.glob("results/*/seed-*"))


def exam_hashes(experiment: Experiment) -> str:
    """The hashes of the files that exams ask from, and of exams of one's own, in the form of sha256sum."""
    return _hashes(_exam_files(experiment))


def _exam_files(experiment: Experiment) -> list[Path]:
    """The files on this machine that keys of `exams` name, and exams of one's own."""
    named = (os.path.expandvars(text) for text in _texts(experiment.exams.own))
    own = (str(file_of(name)) for name in experiment.exams.include or () if is_address(name))
    return [Path(path) for path in dict.fromkeys([*own, *named]) if os.path.isfile(path)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def label(experiment: Experiment, folder: Path) -> None:
    """Write down in a shard whose it is, unless that is written already."""
    folder.mkdir(parents=True, exist_ok=True)
    write_first(folder / "config.yaml", dump(experiment))


def same(experiment: Experiment, folder: Path) -> None:
    """Raises RunError where a shard was made for another experiment, or does not say for which."""
    path = folder / "config.yaml"
    differing = _differing(path, dump(experiment)) if path.exists() else {"": "  it has no config.yaml"}
    if differing and any(folder.rglob("*.jsonl")):
        raise RunError(
            f"{folder}: not a shard of this experiment.\n"
            + "\n".join(differing.values())
            + "\nNothing of it was taken in. Move it out of the run, or bring the shards of this experiment."
        )


def _differing(path: Path, ours: str) -> dict[str, str]:
    """The keys whose values in a stored config are others than ours, each with a line that says both."""
    try:  # loaded, so that a key younger than the run has there the value that it has where it is left out
        stored = dump(load(path))
    except ConfigError:  # of a version whose keys are no longer known
        stored = path.read_text(encoding="utf-8")
    there, here = _leaves(yaml.safe_load(stored)), _leaves(yaml.safe_load(ours))
    return {
        key: f"  {key}: there {json.dumps(there.get(key, 'absent'))}, asked for {json.dumps(here.get(key, 'absent'))}"
        for key in sorted(there.keys() | here.keys())
        if not is_free(key) and there.get(key, "absent") != here.get(key, "absent")
    }


def unlike(run: Path, experiment: Experiment) -> dict[str, str]:
    """The keys of which a run's config has another value than an experiment, each with a line that says both."""
    return _differing(run / "config.yaml", dump(experiment))


def is_free(key: str) -> bool:
    """Whether a resumed run may have another value there."""
    return key in FREE or ALSO_FREE.fullmatch(key) is not None


def source_hashes(experiment: Experiment) -> str:
    """The hashes of the files that it was made with, in the form of sha256sum."""
    return _hashes([path for paths in _files(experiment).values() for path in paths])


def _hashes(files: Iterable[Path]) -> str:
    return "".join(f"{file_hash(path)}  {path.name}\n" for path in files)


def _files(experiment: Experiment) -> dict[str, list[Path]]:
    """Those of tasks; and of partitions, readers and a labeller outside the repository. By the key that names them."""
    addresses = {
        "conditions": [condition.partition for condition in experiment.conditions.values()],
        "acts.labeller": [experiment.acts.labeller],
        "reading": experiment.readers,
    }
    files = {"tasks": [path for settings in experiment.tasks.parts for path in files_of(settings)]}
    for key, names in addresses.items():
        files[key] = [file_of(name) for name in dict.fromkeys(names) if is_address(name)]
    return files


def _changed(pinned: str, experiment: Experiment) -> str:
    """The files whose hashes differ from those that a run began with, each with the key that names it."""
    other = set(pinned.splitlines()).symmetric_difference(source_hashes(experiment).splitlines())
    names = sorted({line.partition("  ")[2] for line in other})
    of = {path.name: key for key, paths in _files(experiment).items() for path in paths}
    return ", ".join(f"{of[name]}: {name}" if name in of else name for name in names)


def _require_no_hand(path: Path) -> None:
    """Raises RunError for a config.yaml that no run wrote: it would be gone, with its comments."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if text and not is_dumped(text):
        raise RunError(
            f"{path}: no run wrote this file, and a run keeps its config under this name. Choose another directory "
            "(--set out=DIR), or give that file another name."
        )


def _anything_made(run: Path) -> bool:
    files = (file for file in run.rglob("*") if file.suffix != ".made_with" and not is_left(file.name))
    made = {file.name for file in files if file.is_file() and file.stat().st_size}
    return not made <= {"config.yaml", "tasks.sha256", "exams.sha256", "progress.json", ".lock"}


def _leaves(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        return {prefix: value}
    leaves: dict[str, Any] = {}
    for key, item in value.items():
        leaves |= _leaves(item, f"{prefix}.{key}" if prefix else str(key))
    return leaves
