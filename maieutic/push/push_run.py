"""A finished run onto the hub: its datasets into one repository, its students into another of the same name.

maieutic push runs/quickstart OWNER/NAME --dry-run     # writes runs/quickstart/push, and sends nothing
maieutic push runs/quickstart OWNER/NAME               # private, unless --public is said
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # its list of names leaves it out

from maieutic.push.dataset_folder import write_dataset
from maieutic.push.hub import Hub, Kind
from maieutic.push.may_be_pushed import check_finished, check_licences, check_partners, check_whole, students
from maieutic.push.student_folder import write_students
from pipeline.core.errors import ConfigError
from pipeline.runs.directory import experiment_of, require
from pipeline.runs.lock import writing
from pipeline.runs.progress import say


class Pushed(NamedTuple):
    """What is, or would be, in a repository; `address` is '' where nothing was sent."""

    kind: Kind
    folder: Path
    address: str


def push_run(
    run: Path, repository: str, licence: str = "", public: bool = False, dry_run: bool = False
) -> list[Pushed]:
    """Write RUN/push/dataset and RUN/push/model, and send each to the repository of that kind.

    `licence` is what the hub calls that of tasks whose rights are not known here. Raises ConfigError for a name or a
    licence that is none, NotPushed where a run is not finished, not whole or not to be passed on, StoreError for a
    broken line, HubError where the hub refuses or is not there.
    """
    _check_name(repository)
    require(run)
    with writing(run):
        experiment = experiment_of(run)
        licences = check_licences(experiment, licence)
        check_whole(experiment)
        trained = students(experiment)
        check_finished(experiment, trained)
        check_partners(experiment)
        folders: dict[Kind, Path] = {"dataset": write_dataset(experiment, repository, licences, bool(trained))}
        if trained:
            folders["model"] = write_students(experiment, trained, repository)
        if dry_run:
            return [Pushed(kind, folder, "") for kind, folder in folders.items()]
        hub = Hub(repository, public)
        for kind in [kind for kind in folders if hub.is_free(kind)]:  # all are asked before anything is made
            hub.make(kind)
        return [Pushed(kind, folder, hub.send(kind, folder)) for kind, folder in folders.items()]


def say_pushed(pushed: list[Pushed], repository: str) -> None:
    for kind, folder, address in pushed:
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files) / 1e6
        where = address or f"would be the {kind} repository {repository}; nothing was sent"
        say(f"push {kind}: {len(files)} files, {size:.1f} MB in {folder}: {where}")


def _check_name(repository: str) -> None:
    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise ConfigError(f"push: {error}") from None
    if repository.count("/") != 1:
        raise ConfigError(
            f"push: {repository!r} is no name of a repository. Expected OWNER/NAME, such as me/quickstart"
        )
