"""The hub as push uses it: a repository of a kind is made, or found to be one of ours, and a folder is sent to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import httpx
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from pipeline.core.errors import MaieuticError

Kind = Literal["dataset", "model"]
# Of what a push sends: a tag of the card, and a file. What a repository without both holds is not replaced.
TAG, CONFIG = "maieutic", "config.yaml"
OWN = {".gitattributes", "README.md"}  # what the hub itself puts into a new repository
T = TypeVar("T")


class HubError(MaieuticError, RuntimeError):
    """The hub refused, or could not be reached; the message says which repository and what to do."""


class Hub:
    """The repositories of one name, reached with the token that `hf auth login` or HF_TOKEN gives, at HF_ENDPOINT."""

    def __init__(self, repository: str, public: bool):
        self.api, self.repository, self.public = HfApi(), repository, public

    def is_free(self, kind: Kind) -> bool:
        """Whether no repository is there. Raises HubError where what is there is not to be written to."""
        name, api = self.repository, self.api
        if not self._ask(kind, lambda: api.repo_exists(name, repo_type=kind)):
            return True
        info = api.dataset_info if kind == "dataset" else api.model_info
        there = self._ask(kind, lambda: info(name))
        if not there.private and not self.public:
            raise HubError(f"push: the {kind} repository {name} is public already. Say --public, or name another.")
        if there.private and self.public:
            raise HubError(
                f"push: the {kind} repository {name} is private, and stays so. Make it public on the hub first, or "
                "leave --public out."
            )
        files = {*self._ask(kind, lambda: api.list_repo_files(name, repo_type=kind))}
        if files - OWN and not (TAG in (there.tags or ()) and CONFIG in files):
            raise HubError(
                f"push: the {kind} repository {name} holds other things ({', '.join(sorted(files)[:3])}). Name another."
            )
        return False

    def make(self, kind: Kind) -> None:
        """Raises HubError."""
        self._ask(kind, lambda: self.api.create_repo(self.repository, repo_type=kind, private=not self.public))

    def send(self, kind: Kind, folder: Path) -> str:
        """One commit, after which the repository holds what the folder holds. Returns its address."""
        sent = self._ask(
            kind,
            lambda: self.api.upload_folder(
                repo_id=self.repository, repo_type=kind, folder_path=folder,
                commit_message=f"maieutic push: the {kind}", delete_patterns="*",
            ),
        )  # fmt: skip
        return str(sent.repo_url)

    def _ask(self, kind: Kind, request: Callable[[], T]) -> T:
        where = f"push: {self.api.endpoint}, the {kind} repository {self.repository}"
        try:
            return request()
        except HfHubHTTPError as error:
            raise HubError(
                f"{where}: {error}\nIs the token one that may write there? `hf auth whoami` says whose."
            ) from error
        except (httpx.TransportError, OfflineModeIsEnabled) as error:
            raise HubError(f"{where}: not reached ({error}). What was to be sent lies in the run's push/.") from error
