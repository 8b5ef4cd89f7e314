"""What is remembered of a text, and what is not."""

from __future__ import annotations

from pipeline.reading.lately import SHORT, lately


def test_a_short_text_is_read_once_and_a_long_one_whenever_it_is_asked_for() -> None:
    seen: list[tuple[str, str]] = []

    @lately
    def read(text: str, act: str = "asks") -> int:
        seen.append((text, act))
        return len(text)

    short, long = "a" * SHORT, "b" * (SHORT + 1)
    assert [read(short), read(short), read(short, "tells"), read(long), read(long)] == [SHORT] * 3 + [SHORT + 1] * 2
    assert seen == [(short, "asks"), (short, "tells"), (long, "asks"), (long, "asks")]
