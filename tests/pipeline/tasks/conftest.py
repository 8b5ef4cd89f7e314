"""Made-up rows in the form of each real source."""

import json

import pytest

THINGS = "pens hats cups books coins cards shells stones apples plums cakes balls kites rings bells dolls".split()


def question(i):
    things = THINGS[i % 16]
    return f"Tom has {i + 2} {things}. Ana has twice as many {things}. How many do they have in total?"


def answer(i):
    n = i + 2
    steps = [f"Ana has 2*{n} = <<2*{n}={2 * n}>>{2 * n}.", f"They have {n}+{2 * n} = <<{n}+{2 * n}={3 * n}>>{3 * n}."]
    return "\n".join([*steps, f"#### {3 * n}"])


def gsm8k_row(i):
    return {"question": question(i), "answer": answer(i)}


def sharded_row(i):
    shards = [
        f"How many {THINGS[i % 16]} do Tom and Ana have in total?",
        f"Tom has {i + 2} {THINGS[i % 16]}.",
        "Ana has two times as many as Tom.",
    ]
    return {
        "question": question(i),
        "answer": answer(i),
        "task_id": str(i),
        "shards": [{"shard_id": n + 1, "shard": shard} for n, shard in enumerate(shards)],
    }


def mathdial_row(i):
    n = i + 2
    talk = [
        "Teacher: (probing)How did you start?",
        f"Student: I added 2, so they have {2 * n + 2} in total.",
        "Teacher: (focus)What does twice mean?",
        "Student: Two times.",
        "Teacher: (generic)Good.",
        "Teacher: (telling)So use it.",
        f"Mia: Oh. They have {n} + {2 * n} = {3 * n} in total.",
    ]
    return {
        "qid": 6000000 + i,
        "scenario": 1,
        "question": question(i),
        "ground_truth": f"Ana has {2 * n}.\nThey have {3 * n}.\n {3 * n}",
        "student_incorrect_solution": f"Ana has {n + 2}.\n {2 * n + 2}",
        "teacher_described_confusion": "adds",
        "self-correctness": "Yes",
        "conversation": "|EOM|".join(talk),
    }


def posed_row(i):
    made = {"id": f"mine-{i}", "source": "mine", "specification": "full", "answer": str(3 * (i + 2))}
    return made | {"question": question(i), "full_question": question(i)}


def stepverify_row(i):
    n = i + 2
    steps = [f"Ana has {n} + 1 = {n + 1}.", f"They have {n} + {n + 1} = {2 * n + 1}."]
    return {
        "problem": question(i),
        "reference_solution": f"Ana has {2 * n}.\nThey have {3 * n}.\n {3 * n}",
        "student_incorrect_solution": [*steps, f" {2 * n + 1}"],
        "incorrect_index": 0,
        "incorrect_step": steps[0],
        "error_category": "Misunderstanding of a question",
        "error_description": "takes twice for more",
    }


@pytest.fixture(scope="session")
def row():
    """For each source, what makes its row number i. All of them pose the same question for the same i."""
    return {
        "gsm8k": gsm8k_row,
        "sharded": sharded_row,
        "mathdial": mathdial_row,
        "posed": posed_row,
        "stepverify": stepverify_row,
    }


@pytest.fixture(scope="session")
def write(tmp_path_factory):
    """Writes rows in the form of a source: JSON Lines (where bytes stand for a raw line), or one JSON list."""

    def to_file(source, rows):
        path = tmp_path_factory.mktemp(source) / "rows"
        if source in ("sharded", "stepverify"):
            path.write_text(json.dumps(rows), encoding="utf-8")
        else:
            path.write_bytes(b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in rows))
        return str(path)

    return to_file
