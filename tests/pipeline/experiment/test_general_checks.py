"""What no experiment may ask for, whatever its conditions are."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.builders import small_experiment

FACTS = {"partition": "facts"}
TEACHER = FACTS | {"voice": "model"}
REMEMBERS = {"memory": "uniform", "remembers": "a"}
SIBLINGS = {"siblings": 2}


@pytest.mark.parametrize(("sections", "said"), [
    ({"turn_values": SIBLINGS | {"at": [0, 0]}}, "names a turn twice"),
    (
        {
            "conditions": {"a": {"partition": "key", "voice": "model", "reveal": True}},
            "partner": {"prompts": "demonstrated"},
        },
        r"conditions\.a\.reveal: true: the prompts `demonstrated` show a partner with the key",
    ),
    ({"conditions": {"a" * 300: FACTS}}, "300 letters, expected 80 at most"),
    ({"turn_values": SIBLINGS | {"at": [0, 2]}, "dialogue": {"turns": 2}}, "the student's last turn is 1"),
    (
        {
            "conditions": {"a": FACTS | {"method": "dpo"}},
            "turn_values": SIBLINGS,
            "dialogue": {"temperature": 0.0},
        },
        r"conditions\.a compares samples of one task, and with dialogue\.temperature: 0",
    ),
    (
        {
            "conditions": {"a": FACTS, "b": FACTS | {"learns_from": "a", "selection": "yoked"}},
            "dialogue": {"temperature": 0.0, "per_task": 4},
        },
        r"conditions\.b compares samples of one task",
    ),
    (
        {
            "conditions": {
                "a": TEACHER | {"method": "dpo_judge", "manner": "convincing"},
                "b": FACTS | {"speaker": "a"},
            },
            "judge": {"model": "m"},
        },
        "which would sit in the student's seat",
    ),
    (
        {"conditions": {"a": FACTS | {"regime": "shuffled"}, "b": FACTS | {"regime": "shuffled", "speaker": "a"}}},
        r"conditions\.b\.speaker: 'a' must be trained before 'b' is built, but regime: 'shuffled' needs all datasets",
    ),
    (
        {
            "conditions": {"a": FACTS, "b": TEACHER | {"partition": "script"} | REMEMBERS},
            "memory": {"embedder": "m"},
        },
        r"conditions\.b\.memory: 'uniform': who writes a script reads no memory",
    ),
    (
        {
            "conditions": {"a": FACTS, "b": FACTS | REMEMBERS},
            "memory": {"embedder": "m"},
            "tasks": {"train": {"full": 4, "false_premise": 4}},
        },
        r"conditions\.b\.memory: 'uniform' with tasks\.train\.false_premise: a problem's false_premise twin",
    ),
    ({"engine": {"url": "http://127.0.0.1:9/v1"}}, "Set kind: openai, or leave url out"),
])  # fmt: skip
def test_what_would_be_counted_twice_or_compared_with_itself_is_refused(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        small_experiment(**sections)
