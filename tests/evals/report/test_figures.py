"""Figures take the colours of the page that they stand on, light or dark."""

import re

import pytest

from evals.report.figures import forest, tinted
from evals.report.rendering import SCHEME


def schemes() -> list[dict[str, str]]:
    """The variables of the light page, and of the dark one."""
    light, dark = SCHEME.read_text().split("@media screen and (prefers-color-scheme: dark)")
    there = [dict(re.findall(r"--([a-z-]+): ([^;]+);", text)) for text in (light, dark)]
    assert there[0].keys() == there[1].keys()
    return there


def rgb(colour: str) -> list[float]:
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return [int(digits[i : i + 2], 16) for i in (0, 2, 4)]


def light(colour: list[float]) -> float:
    """Relative luminance, as WCAG 2 has it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize("difference", [-0.7, -0.5, -0.3, 0.0, 0.2, 0.5, 0.9, None])
def test_text_stands_out_from_every_cell_of_a_heat_map_on_either_page(page: int, difference: float | None) -> None:
    scheme, [[[*tint, alpha]]] = schemes()[page], tinted([[difference]], 0.5).tolist()
    ground = [alpha / 255 * c + (1 - alpha / 255) * under for c, under in zip(tint, rgb(scheme["page"]), strict=True)]
    darker, lighter = sorted((light(ground), light(rgb(scheme["ink"]))))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_a_stronger_difference_is_a_fuller_colour_and_its_sign_the_hue() -> None:
    [row] = tinted([[-0.9, -0.5, -0.2, 0.0, 0.2, 0.5]], 0.5).tolist()
    assert row[0] == row[1] and row[2][:3] == row[1][:3] != row[5][:3] == row[4][:3]
    assert row[1][3] > row[2][3] > row[3][3] == 0 < row[4][3] < row[5][3]


def test_a_figure_names_the_variables_of_the_page_and_no_place_for_one_is_left() -> None:
    row = {"a": "facts", "b": "blind", "metric": "ask_skill", "difference": 0.2, "low": 0.1, "high": 0.3}
    drawn = forest([row | {"primary": True, "measured": True}])
    assert (
        {"accent", "ink", "muted", "line", "page"} >= {*re.findall(r"var\(--([a-z]+)\)", drawn)} >= {"accent", "page"}
    )
    assert not re.findall("#00000[1-9]", drawn)


def test_an_exploratory_contrast_is_marked_as_one() -> None:
    row = {"a": "facts", "b": "blind", "difference": 0.2, "low": 0.1, "high": 0.3, "primary": False, "measured": True}
    named = [{"metric": "ask_skill", "family": None, "primary": True}, {"metric": "ask_skill", "family": "what moves"}]
    drawn = forest([row | each for each in [*named, {"metric": "ask_needed", "family": None}]])
    said = re.findall(r">(ask_\w+(?: \(exploratory\))?)<", drawn)
    assert said == ["ask_skill", "ask_skill", "ask_needed (exploratory)"] and drawn.count("facts − blind<") == 3
