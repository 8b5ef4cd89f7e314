"""Make docs/prompts.md: what every role reads in every partition, and the dialogues in which the prompts were tried.

python docs/prompts_page.py
"""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Template

from pipeline.core.schema import Draft, Fact, Message, Party, Step, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.view import question_view, script_view, view
from pipeline.posing.challenge import KINDS, ask
from pipeline.posing.documents import Document
from pipeline.prompts.prompts import NAMES, Prompts
from pipeline.reading import judge_reader
from pipeline.reading.labelling import judge
from pipeline.reading.labelling.context import TurnInContext
from pipeline.reading.protocol import measured

PAGE = Path(__file__).with_name("prompts.md")
TEXT = Path(__file__).with_name("prompts.md.j2")
TRIED = Path(__file__).with_name("prompts_tried.json")

# Problems made for this page: they stand in no source.
ROLLS = Task(
    id="rolls",
    source="page",
    specification="underspecified",
    question="Ines bakes rolls on trays that hold 20 each, and packs them in bags. How many bags does she fill?",
    full_question="Ines bakes 12 trays of 20 rolls and packs 8 in each bag. How many bags does she fill?",
    facts=(
        Fact(id="tray", text="Each tray holds 20 rolls."),
        Fact(id="trays", text="Ines bakes 12 trays.", public=False),
        Fact(id="bag", text="A bag takes 8 rolls.", public=False),
    ),
    answer="30",
    solution="12 x 20 = 240. 240 / 8 = 30.",
    steps=(Step(text="12 x 20 = 240."), Step(text="240 / 8 = 30. The answer is 30.")),
    wrong_answer="32",
)
BOAT = Task(
    id="boat",
    source="page",
    specification="underspecified",
    question="Omar rents a boat at a fixed price and a price an hour. How much does he pay for 3 hours?",
    full_question="Omar rents a boat for 15 euros and 9 euros an hour. How much does he pay for 3 hours?",
    facts=(
        Fact(id="fixed", text="The fixed price is 15 euros.", public=False),
        Fact(id="hour", text="Each hour costs 9 euros.", public=False),
    ),
    answer="42",
    solution="3 x 9 = 27. 27 + 15 = 42.",
    wrong_answer="45",
)
SHELF_QUESTION = "A shelf has 4 rows of 15 books. 13 books are lent out. How many books are on the shelf?"
DRAFT = Draft(
    steps=("4 + 15 = 19.", "19 - 13 = 6."), answer="6", where=1, what="The rows have 15 books each: it adds the rows."
)
SHELF = Task(
    id="shelf",
    source="page",
    specification="full",
    question=SHELF_QUESTION,
    full_question=SHELF_QUESTION,
    answer="47",
    solution="4 x 15 = 60. 60 - 13 = 47.",
    wrong_answer="51",
)
DRAFTED = SHELF.model_copy(update={"question": f"{SHELF_QUESTION}\nA first solution:\n{DRAFT.text}", "draft": DRAFT})
TASKS = {task.id: task for task in (ROLLS, BOAT, SHELF)}
CHAT, CLOSED, INSTRUCTED, SHOWN = (Prompts(name) for name in ("chat", "closed", "instructed", "demonstrated"))
WITH_PARTNER = [name for name, row in PARTITIONS.items() if row.partner is not None and not row.one_writer]
ATTEMPT = Turn(party="student", text="I think it is 6 bags or so. The answer is 6.")


def page() -> str:
    names = [f"| `{kind}` | {', '.join(f'`{name}`' for name in sorted(NAMES[kind])) or 'nothing'} |" for kind in NAMES]
    text = Template(TEXT.read_text(encoding="utf-8"), trim_blocks=True, keep_trailing_newline=True)
    table = "\n".join(["| template | may name |", "|---|---|", *names])
    return text.render(names=table, prompts=prompts(), tried=tried())


def prompts() -> str:
    """Every role and partition of the sets that ship, folded."""
    public = Condition(partition="symmetric")
    shown = [
        folded("student, in all partitions but `mindreader`", view(ROLLS, public, [], "student", CHAT)),
        folded("student, `instructed`", view(ROLLS, public, [], "student", INSTRUCTED)),
        folded("student, `mindreader`", view(ROLLS, model("mindreader"), [], "student", CHAT)),
    ]
    for name in WITH_PARTNER:
        shown.append(folded(f"partner, `{name}`", partner(name)))
        if model(name).row.holds_facts:
            shown.append(folded(f"partner, `{name}`, `disclosure: volunteer`", partner(name, disclosure="volunteer")))
        if model(name).row.holds_answer:
            shown.append(folded(f"partner, `{name}`, `reveal: true`", partner(name, reveal=True)))
    shown += [
        folded("partner, `symmetric`, `label: teacher`", partner("symmetric", label="teacher")),
        folded("writer of both sides, `script`", script_view(ROLLS, model("script"), CHAT)),
        folded("writer of a question, `method: q_priming`", question_view(ROLLS, model("facts"), [ATTEMPT], CHAT)),
    ]
    to_read = measured(ROLLS, [ATTEMPT], 0)
    document = Document(id="bridge", text="The bridge was built in 1894. It is 120 metres long.")
    shown += [
        folded("judge that reads turns", judge_reader.prompt(to_read, "(a JSON schema)")),
        folded("judge that labels acts", judge.prompt(TurnInContext(ATTEMPT.text, facts=ROLLS.facts))),
        *(folded(f"challenger, <i>{kind}</i>", ask(document, i)) for i, kind in enumerate(KINDS)),
        *(
            folded(f"challenger, `demonstrated`, <i>{kind}</i>", ask(document, i, SHOWN))
            for i, kind in enumerate(KINDS)
        ),
    ]
    closed = [("student", view(ROLLS, public, [], "student", CLOSED))]
    closed += [(f"partner, {name}", partner(name, prompts=CLOSED)) for name in WITH_PARTNER]
    closed += [("writer of both sides, script", script_view(ROLLS, model("script"), CLOSED))]
    closed += [("writer of a question, q_priming", question_view(ROLLS, model("facts"), [ATTEMPT], CLOSED))]
    lines = "\n\n".join(f"{who}:\n{text(messages)}" for who, messages in closed)
    return "\n\n".join([*shown, fold("the set `closed`, all of it", lines)])


def model(partition: str, **axes: object) -> Condition:
    return Condition.model_validate({"partition": partition, "voice": "model", **axes})


def partner(partition: str, prompts: Prompts = CHAT, **axes: object) -> list[Message]:
    """What a partner reads after a first attempt."""
    condition = model(partition, **axes)
    return view(DRAFTED if condition.row.tells_mistakes else ROLLS, condition, [ATTEMPT], "partner", prompts)


def tried() -> str:
    """The dialogues of the trial as the partner read them, folded."""
    found = []
    for talk in json.loads(TRIED.read_text(encoding="utf-8")):
        read = view(TASKS[talk["task"]], model(talk["partition"]), turns(talk["said"]), "partner", CHAT)
        lines = "\n".join(f"{'Partner' if m['role'] == 'assistant' else 'Student'}: {m['content']}" for m in read[1:])
        found.append(fold(f"`{talk['partition']}`, {talk['task']}: {talk['student']}", lines))
    return "\n\n".join(found)


def turns(said: list[str]) -> list[Turn]:
    parties: tuple[Party, Party] = ("student", "partner")
    return [Turn(party=parties[i % 2], text=line) for i, line in enumerate(said)]


def folded(who: str, messages: list[Message]) -> str:
    return fold(who, text(messages))


def text(messages: list[Message]) -> str:
    return "\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


def fold(title: str, lines: str) -> str:
    title = "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(title.split("`")))
    return f"<details><summary>{title}</summary>\n\n```text\n{lines}\n```\n\n</details>"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
