"""What a challenger claims, read from the labelled lines of its reply.

    Evidence: "..."    for each sentence a line, and these lines together
    Question: ...
    Expression: ...    where the answer is computed
    Answer: ...

Lines, because a model of a hundred million parameters writes them and no JSON. The evidence stands first and in
quotation marks, because that is when such a model copies it. It need not: any order is read, with marks or without.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.engines.reasoning import parted
from pipeline.posing.evidence import Refused

# Bold labels, bullets and numbers of evidence are marks of the same line.
_LINE = re.compile(r"[\s>*_#-]*(evidence|question|expression|answer)(?: \d+)?[\s*_]*:[\s*_]*(.*)", re.I)
_IN_QUOTES = re.compile(r"^[\"“](.*)[\"”]$")


class Claim(NamedTuple):
    """What the challenger says. Nothing of it is believed but what is found in the document."""

    evidence: tuple[str, ...]
    question: str
    expression: str = ""
    answer: str = ""

    @property
    def text(self) -> str:
        """Its lines, and nothing of what stood around them."""
        labelled = [("Question", self.question), ("Expression", self.expression), ("Answer", self.answer)]
        return "\n".join(
            [f'Evidence: "{span}"' for span in self.evidence] + [f"{label}: {said}" for label, said in labelled if said]
        )


def claimed(reply: str) -> Claim:
    """The first claim of a reply, whatever stands around its lines. Raises Refused."""
    found, before = dict[str, list[str]](), ""
    for line in parted(reply).answer.splitlines():
        if labelled := _LINE.fullmatch(line):
            label = labelled[1].lower()
            if label in found and not label == before == "evidence":
                break  # another claim begins
            found.setdefault(label, []).append(" ".join(labelled[2].split()))
            before = label
    if not found:
        raise Refused("no_lines", "no line of the reply begins with Evidence:, Question:, Expression: or Answer:")
    evidence = tuple(_IN_QUOTES.sub(r"\1", span).strip() for span in found.get("evidence", ()))
    question, expression, answer = (found.get(label, [""])[0] for label in ("question", "expression", "answer"))
    if not question or not evidence or not all(evidence) or not (answer or expression):
        raise Refused("wrong_lines", "a question, evidence, and an answer or an expression are expected, none empty")
    claim = Claim(evidence, question, expression, answer)
    try:
        claim.text.encode()
    except UnicodeError:
        raise Refused("wrong_lines", "half a surrogate pair stands in it, which is no text") from None
    return claim
