"""`maieutic view` in a real browser: keys, two widths, light and dark, and that nothing of a model's text runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from maieutic.view.export_pages import export_pages
from maieutic.view.talk_index import TalkIndex
from pipeline.core.errors import RunError
from tests.browser import CHROMIUM, MISSING, Browser, browser
from tests.maieutic.view.shown_run import HOSTILE, dialogues, said_by_the_student, served, shown_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=MISSING)]


class Seen(NamedTuple):
    page: Browser
    address: str
    export: Path  # its first page
    hostile: str  # the id of a dialogue with such text
    count: int


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("browser")
    run = shown_run(folder / "run")
    hostile = said_by_the_student(run.path, "facts", HOSTILE + "long " * 10_000).id
    export = export_pages(TalkIndex([run], folder / "index.sqlite"), folder / "export")
    with served([run], folder / "index.sqlite") as address, browser() as page:
        yield Seen(page, address, export, hostile, len(dialogues(run.path)))


def test_a_list_is_gone_through_and_a_dialogue_opened_by_keys(seen: Seen) -> None:
    page = seen.page
    page.open(f"{seen.address}/dialogue?condition=facts")
    page.type("jj")
    second = page.js("document.activeElement.pathname")
    assert second == page.js("document.querySelectorAll('a.row')[1].pathname")
    page.type("Enter", loads=True)
    assert page.js("location.pathname") == second
    page.type("j", loads=True)
    assert page.js("location.pathname") != second and "condition=facts" in page.js("location.search")
    page.type("u", loads=True)
    assert page.js("location.pathname + location.search") == "/dialogue?condition=facts"
    page.type("/")
    page.type("missing")
    page.type("Enter", loads=True)
    assert "q=missing" in page.js("location.search")
    page.type("g3", loads=True)
    assert page.js("location.pathname") == "/pairs"


def test_a_filter_that_is_chosen_is_shown_at_once(seen: Seen) -> None:
    page = seen.page
    page.open(f"{seen.address}/dialogue")
    page.click("nav.finds a")
    assert "asking=missed" in page.js("location.search")
    assert "should have asked" in page.js("document.querySelector('ol.talks').innerText")
    page.js("document.querySelector('select[name=outcome]').value = 'wrong'")
    before = page.loads
    page.js("document.querySelector('select[name=outcome]').dispatchEvent(new Event('change', {bubbles: true}))")
    page.loaded(before)
    assert "asking=missed" in page.js("location.search") and "outcome=wrong" in page.js("location.search")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_page_fits_its_width_in_light_and_dark(seen: Seen, width: int, dark: bool) -> None:
    page = seen.page
    page.size(width, dark=dark)
    pages = ["/dialogue", "/exam", "/pairs", "/training", "/cases", f"/dialogue/0/{seen.hostile}"]
    for name in pages:
        page.open(f"{seen.address}{name}")
        assert page.js("document.documentElement.scrollWidth") <= width, name
        ground = page.js("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(20, 24, 29)") == dark
    page.type("c", loads=True)
    assert page.js("document.querySelectorAll('article.column').length") == 3
    assert page.js("document.documentElement.scrollWidth") <= width


def test_a_narrow_screen_begins_with_dialogues_and_folded_filters_say_what_is_set(seen: Seen) -> None:
    page, folded = seen.page, "!document.querySelector('details.fold').open"
    whole_rows = (
        "[...document.querySelectorAll('ol.talks li')].filter(e => e.getBoundingClientRect().bottom < 844).length"
    )
    line = "document.querySelector('details.fold summary').innerText"
    drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
    for address, chosen in ((f"{seen.address}/dialogue", "?"), (seen.export.as_uri(), "#")):
        page.size(390, 844)
        page.open("about:blank")
        page.open(f"{address}{chosen}condition=facts&outcome=wrong")
        assert page.js(folded) and page.js(whole_rows) >= 2 and page.js(line) == "Filters: facts, wrong"
        page.js("document.querySelector('details.fold summary').click()")
        assert page.js("document.querySelector('select[name=outcome]').checkVisibility()")
        page.size(1280)
        page.js(drawn)
        assert not page.js(folded) and not page.js("document.querySelector('details.fold summary').checkVisibility()")
        page.size(390, 844)
        page.js(drawn)
        assert page.js(folded)


def test_nothing_of_a_text_runs_on_the_server_or_in_an_export(seen: Seen) -> None:
    page = seen.page
    page.said.clear()
    of_export = seen.export.parent / "dialogue" / f"0-{seen.hostile}.html"
    for address in (f"{seen.address}/dialogue/0/{seen.hostile}", of_export.as_uri()):
        page.open(address)
        assert page.js("window.hacked === undefined && document.querySelectorAll('pre img, pre script').length === 0")
        assert "<script>window.hacked = 1</script>" in page.js("document.querySelector('main').innerText")
        assert "‹U+001B›[31mred" in page.js("document.querySelector('main').innerText")
        # The policy would stop it, too, were a tag ever written unescaped.
        page.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
        page.js("new Promise(done => setTimeout(done, 300))")
        assert page.js("window.hacked === undefined")
        assert any("Content Security Policy" in line for line in page.said)
        page.said.clear()


def test_an_export_is_filtered_and_searched_without_a_server(seen: Seen) -> None:
    page = seen.page
    page.size(1280)
    page.said.clear()
    page.open(seen.export.as_uri())
    assert page.js("Number(document.getElementById('total').textContent)") == seen.count
    page.js("document.querySelector('select[name=condition]').value = 'facts'")
    page.js("document.querySelector('select[name=condition]').dispatchEvent(new Event('change', {bubbles: true}))")
    count = page.js("Number(document.getElementById('total').textContent)")
    assert 0 < count < seen.count and page.js("location.hash") == "#condition=facts"
    assert page.js("[...document.querySelectorAll('ol.talks li')].every(row => row.dataset.condition === 'facts')")
    search = "document.querySelector('input[name=q]')"
    for words, finds in (('"answer is"', True), ('"is answer"', False), ("is answer", True)):
        page.js(f"{search}.value = {json.dumps(words)}")
        page.js(f"{search}.dispatchEvent(new Event('change', {{bubbles: true}}))")
        assert (page.js("Number(document.getElementById('total').textContent)") > 0) == finds, words
    page.js(f"{search}.value = ''")
    page.js(f"{search}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    page.type("j")
    page.type("Enter", loads=True)
    assert "/export/dialogue/0-" in page.js("location.href")
    page.type("c", loads=True)
    assert page.js("document.querySelectorAll('article.column').length") == 3
    assert not page.said


def test_every_link_of_an_export_is_a_file_of_it(seen: Seen) -> None:
    folder = seen.export.parent
    lost = [
        (file.name, link)
        for file in folder.rglob("*.html")
        for link in re.findall(r'(?:href|src)="([^"#]+)', file.read_text())
        if link != "data:," and not (file.parent / link).resolve().is_file()
    ]
    assert not lost


def test_an_export_replaces_an_export_and_no_other_folder(seen: Seen, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match=r"no export of `maieutic view`"):
        export_pages(TalkIndex([]), tmp_path)


def test_an_export_keeps_no_page_of_the_run_before(seen: Seen, tmp_path: Path) -> None:
    folder = shutil.copytree(seen.export.parent, tmp_path / "export")
    small = shown_run(tmp_path / "small")
    small.path.joinpath("results/facts/seed-1.episodes.jsonl").unlink()
    export_pages(TalkIndex([small], tmp_path / "small.sqlite"), folder)
    export_pages(TalkIndex([small], tmp_path / "again.sqlite"), tmp_path / "fresh")
    pages = [{file.relative_to(at) for file in at.rglob("*.html")} for at in (folder, tmp_path / "fresh")]
    assert pages[0] == pages[1]
