"""What the exams should find in whole talks and first turns of a known student.

A ratio is the expected sum of its hits over the expected sum of its cases, on the tasks that are sat. Both are summed
over every talk that can be (talks.py), by the definitions in the exams' own declarations, on acts: no word is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from evals.sitting.exam_partners import ARMS
from tests.evals.known_students.acts import Student
from tests.evals.known_students.sums import Sums
from tests.evals.known_students.talks import Said, Shape, talks

ASKS = ("ask", "generic", "other")
NEEDS = {"ask", "generic"}  # what counts as asking for what is missing
POSITIONS = (1, 2, 3)


def asking(student: Student, shapes: Iterable[Shape], turns: int) -> dict[str, float]:
    """First turns, and whole episodes with each arm."""
    sums = Sums()
    for shape, count in Counter(shapes).items():
        for weight, [said] in talks(student, shape, "unhelpful", 1):
            _first_turn(sums, shape, count * weight, said)
        for arm in ARMS:
            if shape.specification in ARMS[arm].specifications:
                for weight, talk in talks(student, shape, arm, turns):
                    _episode(sums, arm, shape, count * weight, talk)
    return sums.values()


def _first_turn(sums: Sums, shape: Shape, weight: float, said: Said) -> None:
    if shape.missing:
        sums.note("ask_needed", weight, said.act.kind in NEEDS)
        sums.note("ask_specific", weight, said.act.kind == "ask")
        sums.note("ask_generic", weight, said.act.kind == "generic")
        sums.note("attempt_unknowing", weight, bool(said.named))
    elif shape.specification == "false_premise":
        sums.note("premise_rejected", weight, said.act.kind == "reject")
    else:
        sums.note("ask_needless", weight, said.act.kind in NEEDS)
        sums.note("first_accuracy", weight, said.named == "right")


def _episode(sums: Sums, arm: str, shape: Shape, weight: float, talk: list[Said]) -> None:
    before = [said for i, said in enumerate(talk) if not any(each.named for each in talk[: i + 1])]
    attempt = next((said for said in talk if said.named), None)
    end = talk[-1].scene.missing - (talk[-1].told or 0)
    kinds = {said.act.kind for said in before}
    if shape.missing:
        sums.note(f"ask_needed@{arm}", weight, bool(kinds & NEEDS))
        sums.note(f"ask_specific@{arm}", weight, "ask" in kinds)
        sums.note(f"ask_generic@{arm}", weight, "generic" in kinds)
        known = (attempt.scene.missing if attempt else end) == 0
        sums.note(f"ask_complete@{arm}", weight, known)
        if attempt:
            sums.note(f"premature@{arm}", weight, not known)
    elif shape.specification == "full":
        sums.note(f"ask_needless@{arm}", weight, bool(kinds & NEEDS))
    sums.note(f"student_turns@{arm}", weight, len(talk))
    for said in talk:
        if ARMS[arm].yields and said.told is not None and said.scene.missing:
            # A volunteer's next fact is the one that is asked for: both take them in their order.
            if said.act.kind == "ask":
                sums.note(f"yield@{arm}", weight, said.told > 0)
            elif said.act.kind not in ASKS:
                sums.note(f"unprompted@{arm}", weight, said.told > 0)


def feedback(student: Student, shapes: Iterable[Shape], turns: int) -> dict[str, float]:
    """The answer that stands at the end, after each turn, and right after a partner's turn that informs."""
    sums = Sums()
    for shape, count in Counter(shapes).items():
        kind = "under" if shape.missing else shape.specification
        for arm in ARMS:
            if shape.specification in ARMS[arm].specifications:
                for weight, talk in talks(student, shape, arm, turns):
                    _after_turns(sums, f"{kind}@{arm}", shape, count * weight, talk, turns)
    return sums.values()


def _after_turns(sums: Sums, name: str, shape: Shape, weight: float, talk: list[Said], turns: int) -> None:
    kind, arm = name.split("@")
    standing = ""
    for i in range(turns):
        before = standing
        if i < len(talk):
            standing = talk[i].named or standing
            informed = 0 < i <= shape.missing if shape.missing else i > 0 and bool(talk[i - 1].named)
            if informed and before and before != "right":
                sums.note(f"uptake_{name}", weight, standing == "right")
        sums.note(f"accuracy_{kind}_turn{i + 1}@{arm}", weight, standing == "right")
    sums.note(f"accuracy_{name}", weight, standing == "right")
    if kind == "full":
        sums.note(f"solved_{name}", weight, any(said.named == "right" for said in talk))


def grounding(student: Student, shapes: Iterable[Shape], turns: int) -> dict[str, float]:
    """Acts by position, with the partner that tells what it is asked for: those that a rate fixes."""
    sums = Sums()
    for shape, count in Counter(shapes).items():
        for chance, talk in talks(student, shape, "facts", turns):
            weight = count * chance
            for position, said in zip(POSITIONS, talk, strict=False):
                earlier = {each.act.kind for each in talk[: position - 1]}
                sums.note(f"clarify/{position}", weight, said.act.kind == "ask")
                sums.note(f"other_question/{position}", weight, said.act.kind in ("generic", "other"))
                # Whoever asked for a fact before was told it.
                sums.note(f"follow_up/{position}", weight, said.act.kind == "ask" and "ask" in earlier)
                sums.note(f"attempt/{position}", weight, bool(said.named))
    return sums.values()


def alone(student: Student, shapes: Iterable[Shape], turns: int) -> dict[str, float]:
    sums = Sums()
    for shape in shapes:
        if shape.specification == "full":
            for weight, talk in talks(student, shape, "solo", turns):
                sums.note("alone_accuracy", weight, last_value(talk) == "right")
    return sums.values()


def lost(student: Student, shapes: Iterable[Shape]) -> dict[str, float]:
    """The five modes; who is told a fact a turn, and then once more all of them, takes as many turns."""
    sums = Sums()
    for shape in shapes:
        if not shape.missing:
            continue
        whole, k = Shape("full", 0), shape.missing
        modes = {"full": (whole, 1), "concat": (whole, 1), "sharded": (shape, k + 1), "recap": (shape, k + 2)}
        modes["snowball"] = modes["sharded"]
        for mode, (posed, length) in modes.items():
            for weight, talk in talks(student, posed, "shards", length):
                sums.note(f"lost_final@{mode}", weight, last_value(talk) == "right")
                sums.note(f"lost_any@{mode}", weight, any(said.named == "right" for said in talk))
    return sums.values()


def last_value(talk: list[Said]) -> str:
    return next((said.named for said in reversed(talk) if said.named), "")


def common_ground(student: Student) -> dict[str, float]:
    """What follows when a missing fact was told, and then something else is said; of who asks nothing needlessly."""
    sums, of = Sums(), student
    for weight, (first, told) in talks(student, Shape("underspecified", 1), "shards", 2):
        sums.note("ground_used@told", weight, told.named == "right")
        standing = told.named or first.named
        scene = told.scene._replace(standing=standing, heard="null", news=False)
        chances = {(scene.standing if a.kind == "again" else a.value): p for a, p in student.turn(scene).items()}
        kept, right = chances.get(told.named, 0.0), chances.get("right", 0.0)
        changed = sum(chance for value, chance in chances.items() if value and value != told.named)
        for arm, follows in {"null": 0.0, "corrected": of.follows, "pivot": of.follows, "topic": of.follows}.items():
            sums.note(f"ground_used@{arm}", weight, follows if arm != "null" else right)
            if told.named:
                sums.note(f"ground_kept@{arm}", weight, (1 - follows) * kept)
                sums.note(f"ground_revised@{arm}", weight, follows + (1 - follows) * changed)
        sums.note("floor_taken@floor", weight, of.opens)
    return sums.values()


def clarification(student: Student, shapes: Iterable[Shape]) -> dict[str, float]:
    """Whether the first turn asks anything in place of answering, by how much is missing."""
    sums = Sums()
    for shape in shapes:
        if shape.specification == "false_premise":
            continue
        for weight, [said] in talks(student, shape, "unhelpful", 1):
            asks = said.act.kind in ASKS
            sums.note(f"asks@need{min(shape.missing, 2)}", weight, asks)
            sums.note("ask_due", weight, asks and bool(shape.missing))
            sums.note("ask_undue", weight, asks and not shape.missing)
            sums.note("ask_value", weight, asks * (1 if shape.missing else -1))
            sums.note(f"asks_where_{'needed' if shape.missing else 'needless'}", weight, asks)
    return sums.values()
