"""The program that a turn holds."""

from __future__ import annotations

import pytest

from pipeline.reading.programs import program


@pytest.mark.parametrize(
    "code",
    [
        "import math\n\n# doubles a number\ndef f(a):\n    return 2 * a",
        "def f(a):\n    return h(a)\n\n# helper\ndef h(a):\n    return 2 * a",
        "def f(a):\n    return LIMIT + a\n\nLIMIT: int = 3",
        "def f(a):\n    return 2 * a",
    ],
)
def test_a_program_without_a_fence_is_whole_and_ends_where_words_go_on(code: str) -> None:
    assert program(f"Here it is.\n{code}\nThat is all.", "f") == code
    assert program(f"```python\n{code}\n```", "f") == code
    lines = code.replace("\n", "\r\n")
    assert program(f"Here it is.\r\n{lines}\r\nThat is all.", "f") == code
