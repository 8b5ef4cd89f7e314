"""How well known students are measured: of each metric its truth, its mean estimate, and how often intervals hold it.

python -m tests.evals.known_students                         # natural wordings, 50 task sets
python -m tests.evals.known_students --voice closed --sets 20 --student mixed --exams asking,collapse
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

from tests.evals.known_students.cast import PEER, STUDENTS
from tests.evals.known_students.coverage import covered, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voice", choices=("natural", "closed"), default="natural")
    parser.add_argument("--student", choices=sorted(STUDENTS), default="mixed")
    parser.add_argument("--exams", default="asking,clarification", help="names, with commas between")
    parser.add_argument("--sets", type=int, default=50, help="task sets")
    parser.add_argument("--problems", type=int, default=20, help="in a set, each short and whole")
    parser.add_argument("--knowing", action="store_true", help="read by a reader that errs in nothing")
    options = parser.parse_args()
    student = STUDENTS[options.student]
    if "agreement" in options.exams:
        student = dataclasses.replace(student, needless_ask=0.0, needless_generic=0.0, needless_other=0.0)
    exams = options.exams.split(",")
    with tempfile.TemporaryDirectory() as folder:
        rows = covered(
            options.voice,
            exams,
            student,
            PEER,
            options.sets,
            options.problems,
            Path(folder),
            knowing=options.knowing,
        )
    print(table(rows))


if __name__ == "__main__":
    main()
