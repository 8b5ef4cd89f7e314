"""Reading other people's files: each row becomes tasks or a `BadRow` that says where and why.

Nothing is dropped without a word: rows in = rows read + bad rows, whatever stands in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.resources import may_be_of_hub
from pipeline.core.schema import Fact, Step, Task, question_hash
from pipeline.reading.sentences import sentences
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import split_of

T = TypeVar("T")
POWER = re.compile(r"(?:(?! \*\* ).)*[\d)] \*\* [\d(]")  # at the first
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape for one of two halves of a character


class BadRow(NamedTuple):
    """A row that did not become a task. `where` is file:line, or file, item N for a JSON list."""

    where: str
    message: str


class RowError(MaieuticError, ValueError):
    """What is wrong with one row; its place is added by `parse`."""


def local_file(settings: Tasks, what: str) -> Path:
    """The file that tasks.path names. Raises ConfigError."""
    path = Path(settings.path)
    if not settings.path:
        raise ConfigError(f"tasks.path: source {settings.source!r} needs {what}; set tasks.path to it.")
    if "$" in settings.path:
        raise ConfigError(
            f"tasks.path: {settings.path!r} names an environment variable that is not set. "
            f"Export it, or set tasks.path to {what}."
        )
    if not path.is_file():
        raise ConfigError(
            f"tasks.path: {settings.path!r} is not a file. Source {settings.source!r} reads {what}; "
            "download it or correct the path."
        )
    return path


def read_text(path: Path, key: str = "tasks.path") -> str:
    """The whole file. Bytes that are not UTF-8 are kept as surrogates, so that only their own row is bad.

    Raises ConfigError, which names the `key` that the path stood under.
    """
    try:
        # Not read_text, which would take a carriage return inside a damaged line for the end of a row.
        return path.read_bytes().decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        raise ConfigError(f"{key}: {str(path)!r} cannot be read ({error.strerror}). Check its permissions.") from error


def json_lines(path: Path, key: str = "tasks.path") -> Iterator[tuple[str, Any]]:
    """(file:line, row) for each line that is not blank; a line that is not JSON comes as its RowError."""
    return json_rows(read_text(path, key), path)


def json_rows(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    """The same of what was read from the path."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", _load(line)


def hub_name(path: str) -> str:
    """What `tasks.path` names on the hub, or the folder of a data set; '' where it is a file, or neither."""
    folder = path and Path(path).is_dir()
    return path if folder or may_be_of_hub(path) else ""


def hub_rows(name: str, configuration: str = "") -> Iterator[tuple[str, Any]]:
    """(name/split:N, row) of all of `load_splits`. Raises ConfigError."""
    splits = load_splits(name, "tasks.path", configuration)
    return ((f"{name}/{split}:{i + 1}", row) for split in sorted(splits) for i, row in enumerate(splits[split]))


def load_splits(name: str, key: str, configuration: str = "") -> dict[str, Iterable[Any]]:
    """The splits of a folder that `datasets` saved, of a folder of data files, or of a data set of the hub.

    Of `configuration` where the data set has one of that name. Raises ConfigError, which names the `key`.
    """
    import datasets  # seconds of import that a local file does not need

    folder = Path(name)
    try:
        if (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file():
            splits = datasets.load_from_disk(name)
        else:
            has = configuration and configuration in datasets.get_dataset_config_names(name)
            splits = datasets.load_dataset(name, configuration if has else None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        why = first_line(error)
        if isinstance(error, datasets.exceptions.DatasetGenerationError) and error.__cause__:
            why = first_line(error.__cause__)  # of files that differ the error itself says only that there was one
        if folder.is_dir():
            raise ConfigError(
                f"{key}: {name!r} is a folder that `datasets` cannot load ({why}). Expected JSON, JSON Lines or "
                "Parquet files that all have the same fields, or what `save_to_disk` wrote. Correct them, or name "
                "one file."
            ) from error
        raise ConfigError(
            f"{key}: the hub data set {name!r} could not be loaded ({why}). Expected OWNER/NAME of the Hugging Face "
            "hub. Check the name and the network, or name a local file."
        ) from error
    return splits if isinstance(splits, dict) else {"all": splits}


def first_line(error: BaseException) -> str:
    """What an error says first; its type where it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _load(line: str) -> Any:
    try:
        line.encode()
        row = json.loads(line)
        if HALF.search(line):
            json.dumps(row, ensure_ascii=False).encode()  # two halves are a whole
        return row
    except (ValueError, RecursionError) as error:
        return RowError("not UTF-8" if isinstance(error, UnicodeError) else f"not JSON: {error}")


def json_list(path: Path, source: str, what: str) -> Iterator[tuple[str, Any]]:
    """(file, item N) for each item of a JSON list. Raises ConfigError where the file of a source is none."""
    try:
        items = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"tasks.path: {str(path)!r} is not JSON: {error}. Source {source!r} reads {what}.") from error
    if not isinstance(items, list):
        raise ConfigError(f"tasks.path: {str(path)!r} holds {type(items).__name__}, expected {what}.")
    return ((f"{path}, item {i}", storable(item)) for i, item in enumerate(items))


def storable(item: Any) -> Any:
    """The item, or a RowError where a damaged byte, or half of a character, is in it, which no run could store."""
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeError:
        return RowError("not UTF-8")
    return item


def parse(rows: Iterator[tuple[str, Any]], make: Callable[[dict[str, Any]], T]) -> tuple[list[T], list[BadRow]]:
    """`make` on every row. A RowError or a record that its schema rejects becomes a BadRow."""
    made, bad = [], []
    for where, row in rows:
        try:
            if isinstance(row, RowError):
                raise row
            if not isinstance(row, dict):
                raise RowError(f"expected an object, found {type(row).__name__}")
            made.append(make(row))
        except ValueError as error:  # a pydantic ValidationError is one
            bad.append(BadRow(where, " ".join(str(error).split())))
    return made, bad


RowAndTask = tuple[dict[str, Any], Task]  # a row, and its task


def distinct(
    make: Callable[[dict[str, Any]], Task], more: Callable[[RowAndTask, RowAndTask], str]
) -> Callable[[dict[str, Any]], Task]:
    """`make`, but a row whose task an earlier row has is a RowError; `more` says what is to be said of the two."""
    seen: dict[str, RowAndTask] = {}

    def once(row: dict[str, Any]) -> Task:
        task = make(row)
        if task.id in seen:
            raise RowError(f"the same question stands in an earlier row{more(seen[task.id], (row, task))}")
        seen[task.id] = row, task
        return task

    return once


def text_of(row: dict[str, Any], key: str) -> str:
    """The text under a key. Raises RowError where it is missing, no text, or blank."""
    if key not in row:
        raise RowError(f"{key!r} is missing; found {', '.join(sorted(row)) or 'no keys'}")
    if not isinstance(row[key], str):
        raise RowError(f"{key!r} is {type(row[key]).__name__}, expected text")
    if not row[key].strip():
        raise RowError(f"{key!r} is empty")
    return str(row[key]).strip()


def gold_and_solution(text: str) -> tuple[str, str]:
    """GSM8K's answer field: the gold number after ####, and the worked solution without calculator marks.

    In the socratic form ("question ** step") the steps are kept.
    """
    work, mark, gold = text.rpartition("####")
    gold = without_commas(gold.strip(), "the gold number")
    if not mark or not gold:
        raise RowError("the answer has no '#### N' with the gold number at its end")
    return gold, solution_text(work)


def without_commas(number: str, what: str) -> str:
    """A number without the commas before its thousands. Raises RowError where a comma stands elsewhere in it."""
    if re.search(r"\d,\d", number) and not re.fullmatch(r"\D*\d{1,3}(?:,\d{2,3})*,\d{3}(?:[^\d,].*)?", number):
        raise RowError(f"{what} is {number!r}: a comma may stand before thousands alone. Write 3.5 for 3,5")
    return re.sub(r"(?<=\d),(?=\d)|,$", "", number)


def solution_text(work: str) -> str:
    """A worked solution without GSM8K's <<marks>> and sub-questions."""
    return "\n".join(step.text for step in _written_steps(work))


def _written_steps(work: str) -> list[Step]:
    """A line each, with the sub-question before its first ` ** `. Between numbers that is a power, but where
    other lines have a sub-question before theirs."""
    lines = [line for line in re.sub(r"<<[^<>]*>>", "", work).split("\n") if line.strip()]
    asks = [" ** " in line and not POWER.match(line) for line in lines]
    parted = [
        line.partition(" ** ") if asked or (any(asks) and " ** " in line) else ("", "", line)
        for line, asked in zip(lines, asks, strict=True)
    ]
    return [Step(text=text.strip(), question=question.strip()) for question, _, text in parted if text.strip()]


def expert_steps(steps: Sequence[Step], answer: str) -> tuple[Step, ...]:
    """The steps, the last of which also says the answer."""
    *first, last = steps
    return (*first, Step(text=f"{last.text} The answer is {answer}.", question=last.question))


def socratic_steps(text: str, answer: str) -> tuple[Step, ...]:
    """The lines of GSM8K's answer field, each with the sub-question before its ` ** ` where it has one."""
    steps = _written_steps(text.rpartition("####")[0])
    return expert_steps(steps, answer) if steps else ()


def full_task(source: str, name: str, question: str, answer: str, **more: Any) -> Task:
    """A problem that is told whole: its sentences are public facts, and its words decide its split."""
    told = {"question": question, "full_question": question, "facts": public_facts(question), "answer": answer}
    return Task(id=f"{source}-{name}", source=source, specification="full", split=split_of(question), **(told | more))


def public_facts(question: str) -> tuple[Fact, ...]:
    """One fact per sentence of the question; a sentence that only asks, without a number, is none."""
    telling = [part for part in sentences(question) if not part.endswith("?") or re.search(r"\d", part)]
    return tuple(Fact(id=f"s{i}", text=part) for i, part in enumerate(telling))


def wrong_answer(gold: str, question: str) -> str:
    """A plausible wrong number of the gold's size and kind, the same for the same question; '' for words.

    What stands around the number stays: "$5", "50%", "5 apples"; of a fraction the top changes.
    """
    match = re.fullmatch(r"([-$£€]*)(\d{1,15})((?:\.\d+)?(?:/\d+)?\s*(?:%|[a-zA-Z ]{2,})?)", gold)
    if match is None:
        return ""
    whole, roll = int(match[2]), int(question_hash(question), 16)
    steps = (1, 2, 10) if whole < 100 else (10, 20, 100)
    step = steps[roll % 3]
    other = whole - step if (roll // 3) % 2 and whole > step else whole + step
    return f"{match[1]}{other}{match[3]}"
