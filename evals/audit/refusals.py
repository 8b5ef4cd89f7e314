"""What is no audit: a folder that is taken, files and models that are not there, data of which no row fits."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.reading.embedder import sentence_model
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.talks import AuditSettings, TalkSource


def is_free(out: Path, source: str) -> None:
    """Raises ConfigError where the folder holds the audit of something else, or a page of somebody's of that name."""
    if not next(folder for folder in (out, *out.parents) if folder.exists()).is_dir():
        raise ConfigError(f"out: {out} cannot be a folder, since a file is in its place. Set another one.")
    if (out / "audit.html").is_file() and not (out / "audit.json").is_file():
        raise ConfigError(
            f"out: {out}/audit.html is there, and no audit of ours. Set another folder, or move that file."
        )
    try:
        stored = json.loads((out / "audit.json").read_bytes()).get("source", source)
    except (FileNotFoundError, ValueError):  # none, or one that was cut off
        return
    if stored != source:
        other = os.path.normpath(out / stored) if stored.startswith("..") else stored
        raise ConfigError(
            f"out: {out} holds the audit of {other}. Set another folder, such as --set out={out}-2, or remove that one."
        )


def can_be_used(settings: AuditSettings) -> None:
    """Raises ConfigError where a file or model that is named is not there, before minutes are spent on the rest."""
    for name in settings.known_tests:
        path = Path(os.path.expandvars(name))
        if "$" in str(path):
            raise ConfigError(f"audit.known_tests: {name!r} names a variable that is not set. Export it.")
        if not path.is_file():
            raise ConfigError(
                f"audit.known_tests: {name!r} is not a file (looked for {path.absolute()}). Expected JSON Lines with a "
                "`question`; correct the path, which is one from where the command is called."
            )
    try:
        if settings.embedder:
            sentence_model(settings.embedder, "audit.embedder")
        if settings.reader:
            from pipeline.engines.transformers import load_tokenizer

            load_tokenizer(settings.reader)
    except ConfigError as error:
        raise ConfigError(re.sub(r"\Amodel[^:]*:", "audit.reader:", str(error))) from error


def none_fits(target: str, settings: TalkSource, bad: list[BadRow]) -> str:
    """What is wrong with the rows, each reason once, with the first place that has it."""
    first: dict[str, str] = {}
    for row in bad:
        first.setdefault(row.message, row.where)
    counts = Counter(row.message for row in bad)
    reasons = [f"  {first[why]}: {why} ({n} of {len(bad)})" for why, n in counts.most_common(3)]
    return "\n".join([
        f"{target}: none of its {len(bad)} rows fits the description. The most frequent reasons:", *reasons,
        f"Looked for turns in {', '.join(settings.turns)}, a turn's speaker in {settings.role!r} and its text in "
        f"{settings.text!r}. Set the keys turns, role, text, roles and what else is named above to the fields that the "
        "rows have, as in --set 'turns=[conversations]' --set role=from --set text=value; where a file is no list "
        "itself, `rows` to the key of its list. Files are JSON (.json), JSON Lines in UTF-8, Parquet (.parquet), or "
        "folders of them.",
    ])  # fmt: skip
