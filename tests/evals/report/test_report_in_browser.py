"""report.html in a real browser: the first screen at two widths, marks that open, light and dark, and text that never
runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.report.report_page import write
from evals.report.summary import summarize
from tests.browser import CHROMIUM, MISSING, Browser, browser
from tests.evals.made_run import made_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=MISSING)]
HOSTILE = (
    "<script>document.title = 'ran'</script><img src=x onerror=\\\"document.title = 'ran'\\\"> \\u001b[31m \\u202egnp "
)

# The text elements whose colour stands out least from what lies behind them, as [WCAG contrast, text], least first.
CONTRASTS = """
(() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (grounds) => {
    paint.clearRect(0, 0, 1, 1);
    for (const ground of grounds) { paint.fillStyle = ground; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = rgb => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const seen = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest("script, style, metadata, option")) continue;
    const grounds = [];
    for (let at = e; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    const ink = getComputedStyle(e)[e.closest("svg") ? "fill" : "color"];
    const [behind, text] = [light(over(grounds)), light(over([...grounds, ink]))];
    seen.push([(Math.max(behind, text) + 0.05) / (Math.min(behind, text) + 0.05), e.textContent.trim().slice(0, 40)]);
  }
  return seen.sort((a, b) => a[0] - b[0]);
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    run = made_run(tmp_path_factory.mktemp("browser") / "made")
    for file in (run / "dialogues").glob("*.jsonl"):
        lines = file.read_text().splitlines()
        said = HOSTILE + "long " * 2000 + "unbroken" * 500
        file.write_text("".join(line.replace('"text":"', f'"text":"{said}', 1) + "\n" for line in lines))
    report: Path = write(run, summarize([run]))[2]
    with browser() as page:
        page.size(1280)
        page.open(report.as_uri())
        yield page


@pytest.mark.parametrize("width", [1280, 420])
def test_the_first_screen_holds_the_finding_and_its_caveat(page: Browser, width: int) -> None:
    page.size(width)
    bottoms = (
        "[...document.querySelectorAll('h1, .against li:first-of-type')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert all(bottom < 900 for bottom in page.js(bottoms))
    assert page.js("document.documentElement.scrollWidth") <= width, "only tables and figures scroll sideways"


def test_a_mark_opens_its_figures_and_closes_again(page: Browser) -> None:
    page.size(1280)
    opened = "[...document.querySelectorAll('.read')].filter(e => e.matches(':popover-open')).map(e => e.innerText)"
    assert page.js(opened) == []
    page.js("document.querySelector('#behaviour button.label').click()")
    [figures] = page.js(opened)
    assert "ask_skill" in figures and "exact" in figures
    page.type("Escape")
    assert page.js(opened) == []


def test_the_name_of_a_metric_stays_in_view_while_a_wide_table_scrolls(page: Browser) -> None:
    page.size(420)
    left = "document.querySelector('#heat tbody td').getBoundingClientRect().left"
    before = page.js(left)
    page.js("document.querySelector('#heat').parentElement.scrollLeft = 200")
    assert page.js("document.querySelector('#heat').parentElement.scrollLeft") > 0 and page.js(left) == before


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_marks_and_tinted_cells_stand_out_in_light_and_dark(page: Browser, dark: bool) -> None:
    page.size(1280, dark=dark)
    assert page.js("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)"
    )
    contrasts = page.js(CONTRASTS)
    assert len(contrasts) > 300 and {"good", "ask_skill", "difference, 95% interval"} <= {text for _, text in contrasts}
    assert contrasts[0][0] >= 4.5, contrasts[:5]


def test_what_a_model_said_is_text_and_runs_nothing(page: Browser) -> None:
    shown = page.js("document.querySelector('#dialogues').textContent")
    assert "<script>document.title" in shown and "‹U+001B›[31m" in shown and "‹U+202E›gnp" in shown
    assert page.js("document.title") == "made: report" and page.said == []
