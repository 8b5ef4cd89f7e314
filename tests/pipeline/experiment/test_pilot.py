"""A pilot shares no seed and no problem with what it pilots; those that ship, and those that a config's head shows."""

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import load
from pipeline.experiment.pilot import check_pilot

FOLDER = Path(__file__).parents[3] / "configs"
TEXTS = {path: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}
PILOTS = [path for path, text in TEXTS.items() if yaml.safe_load(text).get("pilot_of")]
OTHERS = ("pilot_of=methods", "seeds=[101]", "tasks.seed=7")


TOLD = re.compile(r"^# Pilots: seeds ([\d, ]+); tasks\.seed (\d+)\.$", re.MULTILINE)
# They say that a pilot had other seeds and other tasks, and not which: no record of those is left.
NOT_ON_RECORD = {"lookup_expert", "shapes", "subliminal_giving_in"}


def shown() -> list[list[str]]:
    """The commands in the heads of configs that say that they are pilots, by their words."""
    heads = ("".join(re.findall(r"^#(.*\n)", text, re.MULTILINE)).replace("\\\n", " ") for text in TEXTS.values())
    commands = [
        shlex.split(line) for head in heads for line in re.findall(r"^ +(maieutic (?:run|build) .*)", head, re.M)
    ]
    return [words for words in commands if any(word.startswith("pilot_of=") for word in words)]


@pytest.mark.parametrize("path", PILOTS, ids=lambda path: path.stem)
def test_a_shipped_pilot_has_none_of_the_seeds_and_problems_reported(path: Path) -> None:
    check_pilot(load(path))


@pytest.mark.parametrize("path", PILOTS, ids=lambda path: path.stem)
def test_a_shipped_pilot_learns_no_kind_of_problem_that_its_run_holds_out(path: Path) -> None:
    pilot = load(path)
    assert {*load(Path(pilot.pilot_of)).tasks.held_out} <= {*pilot.tasks.held_out}


@pytest.mark.parametrize("words", shown(), ids=lambda words: Path(words[2]).stem)
def test_a_pilot_in_a_head_has_none_of_the_seeds_and_problems_reported(words: list[str]) -> None:
    values = tuple(words[i + 1] for i, word in enumerate(words) if word == "--set")
    pilot = load(FOLDER.parent / words[2], values)
    if any(part.path for part in pilot.tasks.parts) and not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: problems that are read of files cannot be compared")
    check_pilot(pilot)


@pytest.mark.parametrize("path", [path for path in TEXTS if TOLD.search(TEXTS[path])], ids=lambda path: path.stem)
def test_a_pilot_that_a_head_tells_of_has_none_of_the_seeds_and_problems_reported(path: Path) -> None:
    seeds, tasks = TOLD.findall(TEXTS[path])[0]
    check_pilot(load(path, (f"pilot_of={path.stem}", f"seeds=[{seeds}]", f"tasks.seed={tasks}")))


def test_every_config_that_speaks_of_a_pilot_says_which_seeds_and_tasks_it_had() -> None:
    speaks = {path.stem for path, text in TEXTS.items() if re.search("pilot", text, re.IGNORECASE)}
    commands = {word.removeprefix("pilot_of=") for words in shown() for word in words if word.startswith("pilot_of=")}
    configs = {path.stem for path in PILOTS} | {yaml.safe_load(TEXTS[path])["pilot_of"] for path in PILOTS}
    told = {path.stem for path, text in TEXTS.items() if TOLD.search(text)}
    assert speaks - {Path(name).stem for name in commands} - configs - told == NOT_ON_RECORD


def test_every_config_that_is_called_a_pilot_says_of_what() -> None:
    called = {path for path, text in TEXTS.items() if "pilot" in path.stem or re.search(r"\ba pilot's\b", text)}
    assert called and called <= set(PILOTS) and shown()


def test_a_pilot_that_shares_a_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"seeds: \[63\] are seeds of 'methods' too"):
        check_pilot(load(FOLDER / "methods.yaml", (*OTHERS, "seeds=[63, 101]")))


def test_a_pilot_that_shares_a_problem_is_refused() -> None:
    one = ("tasks.train={full: 0}", "tasks.exam={full: 1}")
    check_pilot(load(FOLDER / "methods.yaml", (*OTHERS, *one)))
    with pytest.raises(ConfigError, match=r"tasks\.seed: 37: 1 problems of 'embedded' are also"):
        check_pilot(load(FOLDER / "methods.yaml", (*OTHERS, *one, "tasks.seed=37")))


def test_what_is_no_pilot_is_not_compared_with_anything() -> None:
    check_pilot(load(FOLDER / "methods.yaml"))
