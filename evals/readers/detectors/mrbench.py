"""MRBench (Maurya et al., NAACL 2025): tutors' replies to a student's mistake, and whether they reveal the answer.

`Revealing_of_the_Answer` has three values. Positive is "Yes (and the answer is correct)": a leak hands over what only
the partner knew. "Yes (but the answer is incorrect)" is negative: what it hands over is false feedback, a violation of
another kind, and no detector that knows the gold can or should take it for the gold. `any_reveal` is the other reading.

Gold: MathDial's items end their worked solution in it. Bridge's have none; where the tutor's last sum can be done
("What is 7 x 8?") its value is the gold, and elsewhere there is none (''). No label is used for it.

A hash of the conversation id decides the part; the rules were written, and the detector fitted, on `train` alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from evals.readers.labelled_turns import Part, part_of
from evals.readers.published import read_json
from pipeline.core.errors import ConfigError
from pipeline.reading.numbers.sums import sums
from pipeline.tasks.parsing import BadRow, RowError, parse, text_of

PLACE = "mrbench/mrbench_v2_half.json"
CORRECT, INCORRECT, NO = "Yes (and the answer is correct)", "Yes (but the answer is incorrect)", "No"


class TutorReply(NamedTuple):
    """One tutor's reply. `question` is what was to be answered, `before` all that was said; `gold` may be ''."""

    conversation: str
    source: str  # MathDial | Bridge
    part: Part
    question: str
    before: str
    text: str
    gold: str
    solution: str
    label: str

    @property
    def leak(self) -> bool:
        return self.label == CORRECT

    @property
    def any_reveal(self) -> bool:
        return self.label != NO


def read(path: Path) -> tuple[list[TutorReply], list[BadRow]]:
    """Every labelled reply. A bad row is a BadRow; raises ConfigError where the file is no JSON list."""
    rows = read_json(path)
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: {type(rows).__name__}, expected a list of dialogues. Use the file as published.")
    made, bad = parse(((f"{path}, item {i}", row) for i, row in enumerate(rows)), _replies)
    return [reply for replies in made for reply in replies], bad


def _replies(row: dict[str, Any]) -> list[TutorReply]:
    before, source = text_of(row, "conversation_history"), text_of(row, "Data")
    solution, name = text_of(row, "Ground_Truth_Solution"), text_of(row, "conversation_id")
    answers = row.get("anno_llm_responses")
    if not isinstance(answers, dict) or not answers:
        raise RowError("'anno_llm_responses' maps no tutor to a reply")
    if solution == "Not Available":
        solution = ""
        question = _last_sum(before)
        gold = str(sums(question)[-1]) if question else ""
    else:
        question = before.partition("Student:")[0]
        gold = solution.split("\n")[-1].strip().replace(",", "")
    made = []
    for tutor, answer in answers.items():
        label = _label(answer)
        if label not in (CORRECT, INCORRECT, NO):
            raise RowError(
                f"{tutor}: Revealing_of_the_Answer is {label!r}, expected {CORRECT!r}, {INCORRECT!r} or {NO!r}"
            )
        text = text_of(answer, "response")
        made.append(
            TutorReply(
                conversation=name,
                source=source,
                part=part_of(name),
                question=question,
                before=before,
                text=text,
                gold=gold,
                solution=solution,
                label=label,
            )
        )
    return made


def _label(answer: Any) -> Any:
    annotation = answer.get("annotation") if isinstance(answer, dict) else None
    return annotation.get("Revealing_of_the_Answer") if isinstance(annotation, dict) else None


def _last_sum(before: str) -> str:
    """The last line of the tutor's that spells out a sum, or ''."""
    lines = re.split(r"\n|(?=\b(?:Tutor|Student):)", before)
    asked = [line.strip() for line in lines if line.strip().startswith("Tutor:") and sums(line)]
    return asked[-1] if asked else ""
