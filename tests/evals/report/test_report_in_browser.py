"""report.html in a real browser: the first screen at two widths, marks that open, and text that never runs."""

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


def test_what_a_model_said_is_text_and_runs_nothing(page: Browser) -> None:
    shown = page.js("document.querySelector('#dialogues').textContent")
    assert "<script>document.title" in shown and "‹U+001B›[31m" in shown and "‹U+202E›gnp" in shown
    assert page.js("document.title") == "made: report" and page.said == []
