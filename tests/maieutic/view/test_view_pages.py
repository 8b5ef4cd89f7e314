"""`maieutic view` over HTTP: what is filtered, shown, refused, and that nothing of a run is written to."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import Request, urlopen

import pyarrow.parquet as parquet
import pytest

from maieutic.view.export_pages import export_pages
from maieutic.view.queries import PAGE, same_as, students
from maieutic.view.server import Indexing
from maieutic.view.show_runs import shown_runs
from maieutic.view.talk_index import TalkIndex
from pipeline.core.errors import RunError
from pipeline.core.schema import digest
from pipeline.experiment.fields import BEFORE_WARMUP
from pipeline.judging.outcome import is_correct
from pipeline.judging.violations import violations
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import StoreError, read, rewrite
from tests.builders import select
from tests.evals.made_run import CONDITIONS, made_run
from tests.maieutic.view.shown_run import HOSTILE, dialogues, said_by_the_student, served, shown_run


class Answer(NamedTuple):
    text: str
    headers: dict[str, str]
    status: int = 200


class Site(NamedTuple):
    address: str
    path: Path  # of the run

    def get(self, path: str, **query: str) -> Answer:
        return get(urljoin(self.address, path) + (f"?{urlencode(query)}" if query else ""))

    def total(self, page: str = "/dialogue", **query: str) -> int:
        found = re.search(r'id="total">([\d,]+)<', self.get(page, **query).text)
        assert found
        return int(found[1].replace(",", ""))


def get(address: str, host: str = "") -> Answer:
    try:
        with urlopen(Request(address, headers={"Host": host} if host else {})) as answer:
            return Answer(answer.read().decode(), dict(answer.headers))
    except HTTPError as error:
        with error:
            return Answer(error.read().decode(), dict(error.headers), error.code)


def digests(path: Path) -> dict[str, str]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("view")
    run = shown_run(folder / "run")
    with served([run], folder / "index.sqlite") as address:
        yield Site(address, run.path)


def test_a_filter_finds_what_the_pipeline_itself_judges_so(site: Site) -> None:
    made = dialogues(site.path)
    assert site.total() == len(made)
    assert site.total(condition="facts", seed="2") == sum(d.condition_name == "facts" and d.seed == 2 for d in made)
    assert site.total(outcome="right") == sum(map(is_correct, made)) > 0
    files = (site.path / "datasets").rglob("train.parquet")
    assert site.total(kept="1") == sum(len(parquet.read_table(file)) for file in files) > 0
    assert site.total(specification="full", condition="blind") == 8
    kinds = Counter(kind for d in made for kind in {violation.kind for violation in violations(d)})
    for kind, count in kinds.items():
        assert site.total(violation=kind) == count
    assert site.total(act="student_ask") + site.total(asking="missed") > 0
    assert site.total(asking="asked", act="student_ask") == site.total(act="student_ask")


def test_pages_of_a_list_hold_each_dialogue_once(site: Site) -> None:
    made, pages = dialogues(site.path), -(-site.total() // PAGE)
    texts = [site.get("/dialogue", page=str(page + 1)).text for page in range(pages)]
    found = [id for text in texts for id in re.findall(r'href="/dialogue/0/(\w+)', text)]
    assert sorted(found) == sorted(one.id for one in made)


def test_a_search_takes_words_phrases_and_whatever_else_is_typed(site: Site) -> None:
    first = dialogues(site.path)[0]
    assert 0 < site.total(q=f'"{first.turns[0].text}"') < site.total()
    assert site.total(q=first.task.id) > 0 == site.total(q="zzzz")
    assert site.total(q="  \" ' ) * ( : -") == site.total()
    assert site.total(q='OR NEAR( "said:" ^x {a}') == 0


def test_a_page_has_both_views_and_what_only_the_partner_knew(site: Site) -> None:
    run = shown_runs([site.path])[0]
    for one in dialogues(site.path)[::7]:
        text = html.unescape(site.get(f"/dialogue/0/{one.id}").text)
        student = view(one.task, one.condition, one.turns, "student", run.experiment.prompts("student"))
        partner = view(one.task, one.condition, one.turns, "partner", run.experiment.partner_prompts(one.condition))
        for message in (*student, *partner):
            for piece in message["content"].split("\n\n"):
                assert piece in text
        for fact in known(one.task, one.condition, "partner").private:
            assert fact.text in text
        assert "Why it was kept, or not" in text


def test_a_page_says_kept_of_what_is_in_the_dataset_and_of_nothing_else(site: Site) -> None:
    files = (site.path / "datasets").rglob("train.parquet")
    trained = {id for file in files for id in parquet.read_table(file)["id"].to_pylist()}
    said = {one.id: site.get(f"/dialogue/0/{one.id}").text for one in dialogues(site.path)}
    kept_by = '<ul class="why"><li><b>{}</b>: <b class="chip good">kept</b>'
    shown = {one.id for one in dialogues(site.path) if kept_by.format(one.condition_name) in said[one.id]}
    assert trained and trained == shown


def test_of_a_learner_a_page_says_kept_of_what_is_in_its_own_dataset(tmp_path: Path) -> None:
    grounded = CONDITIONS["facts"].model_copy(update={"learns_from": "facts", "keep": "grounded"})
    path = made_run(tmp_path / "run", conditions=CONDITIONS | {"facts_grounded": grounded})
    for episodes in path.rglob("*.episodes.jsonl"):
        episodes.unlink()
    file = dialogues_path(path, "facts")
    pool = [twin for one in read(file, Dialogue) for twin in (one, one.model_copy(update={"id": f"{one.id}0"}))]
    rewrite(file, pool)
    trained = {one.id for one in select(pool, grounded)}
    kept_by = '<li><b>facts_grounded</b>: <b class="chip good">kept</b>'
    with served(shown_runs([path]), tmp_path / "index.sqlite") as address:
        site = Site(address, path)
        assert trained and trained == {one.id for one in pool if kept_by in site.get(f"/dialogue/0/{one.id}").text}
        assert site.total(kept="1", condition="facts") == len(select(pool, CONDITIONS["facts"]))


def test_episodes_before_a_warm_up_are_listed_beside_the_others(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    before = run.path / "results" / BEFORE_WARMUP / "seed-1.episodes.jsonl"
    before.parent.mkdir()
    before.write_bytes((run.path / "results" / "base" / "seed-1.episodes.jsonl").read_bytes())
    with served([run], tmp_path / "index.sqlite") as address:
        site = Site(address, run.path)
        assert site.total("/exam", condition=BEFORE_WARMUP) == site.total("/exam", condition="base") > 0


def test_two_conditions_stand_beside_each_other_on_the_same_task_and_seed(site: Site) -> None:
    apart = site.get("/pairs", a="0:volunteer", b="0:facts", by="outcome").text
    assert re.search(r'final answer">right: \d+</b>', apart)  # not only what it said first, which may be the same
    page = site.get("/pairs", a="0:volunteer", b="0:facts", by="asking").text
    cells = re.findall(r'<a href="(/pairs\?[^"]*cell[^"]*)">(\d+)</a>', page)
    two = [one for one in dialogues(site.path) if one.condition_name in ("volunteer", "facts")]
    made = Counter((one.task.id, one.seed) for one in two)
    assert sum(int(count) for _, count in cells) == sum(count == 2 for count in made.values())
    link, count = next((link, int(count)) for link, count in cells)
    pairs = re.findall(r'<a class="row pair" href="([^"]+)"', site.get(html.unescape(link)).text)
    assert len(pairs) == count
    both = site.get(html.unescape(pairs[0])).text
    assert both.count('<article class="column">') == 2 and "volunteer</a>" in both and "facts</a>" in both


def test_a_student_stands_beside_itself_before_training_with_its_exam_cases(site: Site) -> None:
    page = site.get("/training", a="0:base", b="0:facts").text
    pair = re.search(r'<a class="row pair" href="([^"]+)"', page)
    assert pair
    both = html.unescape(site.get(html.unescape(pair[1])).text)
    assert "The answer is 5." in both and "How many" in both and "here they part" in both
    missed = [site.total("/exam", condition=name, asking="missed") for name in ("base", "facts")]
    assert missed[0] > 0 == missed[1]
    cases = site.get("/cases", metric="ask_needed", condition="facts").text
    assert "ask_needed" in cases and "premature" not in re.sub(r"<select.*?</select>", "", cases, flags=re.DOTALL)


@pytest.mark.parametrize("letters", [100_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_text_of_a_model_is_shown_as_text(tmp_path: Path, letters: int) -> None:
    run = shown_run(tmp_path / "run")
    told = said_by_the_student(run.path, "facts", HOSTILE + "x" * letters)
    with served([run], tmp_path / "index.sqlite") as address:
        site = Site(address, run.path)
        pages = [site.get(f"/dialogue/0/{told.id}"), site.get("/dialogue", q="hacked"), site.get("/pairs")]
        for page in pages:
            assert len(page.text) < 500_000
            assert "<script>window" not in page.text and "<img" not in page.text and "<svg" not in page.text
            assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page.text)
            assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert "&lt;script&gt;" in pages[0].text and "‹U+001B›[31mred" in pages[0].text and "‹U+202E›" in pages[0].text
        assert "שלום עולם {{ 7 * 7 }}" in pages[0].text
        whole = re.search(r'href="(/text/[^"]+)"', pages[0].text)
        assert whole
        text = site.get(whole[1])
        assert text.text == HOSTILE + "x" * letters and text.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert text.headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_of_a_run_is_written_to_and_nobody_else_may_read_it(site: Site) -> None:
    before = digests(site.path)
    for page in ("/", "/dialogue", "/exam", "/pairs", "/training", "/cases"):
        assert site.get(page).status == 200
    assert digests(site.path) == before
    assert get(f"{site.address}/dialogue", host="evil.example").status == 403
    assert get(f"{site.address}/dialogue", host="localhost:9").status == 200
    unknown = ("/dialogue/0/none", "/dialogue/9/none", "/same/none", "/text/dialogue/0/x/1/text")
    for lost in (*unknown, "/file/pages.py", "/file/..%2fpages.py"):
        answer = site.get(lost)
        assert answer.status == 404 and "Content-Security-Policy" in answer.headers


def test_an_index_follows_files_that_grow_and_files_that_are_replaced(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    file = dialogues_path(run.path, "facts")
    lines = file.read_bytes().splitlines(keepends=True)

    def indexed() -> list[str]:
        index = TalkIndex([run], tmp_path / "index.sqlite")
        index.update()
        connection = index.connect()
        asked = "SELECT id FROM talks WHERE condition = 'facts' AND kind = 'dialogue' ORDER BY n"
        rows = connection.execute(asked).fetchall()
        connection.close()
        return [row["id"] for row in rows]

    ids = [json.loads(line)["id"] for line in lines]
    file.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    assert indexed() == ids[:3]
    file.write_bytes(b"".join(lines))
    assert indexed() == indexed() == ids
    file.write_bytes(b"".join(reversed(lines)))
    assert indexed() == ids[::-1]
    file.unlink()
    assert indexed() == []


def test_who_is_indexed_anew_keeps_its_place_in_the_config(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    index = TalkIndex([run], tmp_path / "index.sqlite")
    index.update()
    [base] = (run.path / "results" / "base").glob("*.episodes.jsonl")
    base.write_bytes(b"".join(reversed(base.read_bytes().splitlines(keepends=True))))
    index.update()
    with closing(index.connect()) as connection:
        assert [student.condition for student in students(connection, "exam")] == ["base", "facts"]
        [same] = connection.execute(
            "SELECT same FROM talks WHERE kind = 'exam' AND condition = 'base' LIMIT 1"
        ).fetchone()
        assert [row["condition"] for row in same_as(connection, same)] == ["base", "facts"]


def test_a_damaged_index_is_made_anew_and_a_lost_one_is_said(tmp_path: Path) -> None:
    run, file = shown_run(tmp_path / "run"), tmp_path / "index.sqlite"
    file.write_bytes(b"no database" * 1000)
    index = TalkIndex([run], file)
    indexing = Indexing(index)
    indexing.start()
    assert indexing.whole.wait(60) and indexing.state == ""
    indexing.stopped.set()
    indexing.join()
    file.unlink()
    lost = Indexing(index)
    lost.start()
    assert lost.whole.wait(60) and "Start `maieutic view` again" in lost.state and lost.is_alive()
    lost.stopped.set()


def test_an_export_replaces_its_own_pages_alone(tmp_path: Path) -> None:
    index = TalkIndex([shown_run(tmp_path / "run")], tmp_path / "index.sqlite")
    export_pages(index, tmp_path / "pages")
    (tmp_path / "pages" / "mine.html").write_text("mine")
    (tmp_path / "pages" / "pairs-90-91.html").write_text("of students that are gone")
    export_pages(index, tmp_path / "pages")
    assert (tmp_path / "pages" / "mine.html").read_text() == "mine"
    assert not (tmp_path / "pages" / "pairs-90-91.html").exists()


def test_an_id_of_a_run_names_no_file_outside_an_export(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    file = dialogues_path(run.path, "facts")
    first, *rest = read(file, Dialogue)
    rewrite(file, [first.model_copy(update={"id": "x/../../../../outside"}), *rest])
    export_pages(TalkIndex([run], tmp_path / "index.sqlite"), tmp_path / "pages")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "pages", "index.sqlite"}
    name = f"0-{digest('x/../../../../outside')}.html"
    assert (tmp_path / "pages" / "dialogue" / name).is_file()
    assert f'href="dialogue/{name}"' in (tmp_path / "pages" / "index.html").read_text()


def test_an_index_that_somebody_holds_is_left_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "index.sqlite"
    folder.mkdir()  # as unwritable as a disk that is full
    with pytest.raises(RunError, match=r"index\.sqlite: unable to open.*XDG_CACHE_HOME names another place"):
        TalkIndex([shown_run(tmp_path / "run")], folder)


def test_episodes_that_were_stored_with_readings_are_shown_as_they_were_read(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    file = run.path / "results" / "facts" / "seed-1.episodes.jsonl"
    row = json.loads(file.read_text().splitlines()[-1])
    row["turns"] = [["student", "Was fehlt mir?"], ["partner", "Hm."]]
    row["readings"] = [{"party": "student", "generic_request": True}, {"party": "partner", "off_role": True}]
    row["heard"] = [{"party": "student", "done": True}, None]
    file.write_text(json.dumps(row) + "\n")
    with served([run], tmp_path / "index.sqlite") as address:
        site = Site(address, run.path)
        assert site.total("/exam", act="student_ask_generic") == site.total("/exam", violation="off_role") == 1
        assert site.total("/exam", condition="facts", asking="asked") == 1
        link = re.search(r'href="(/exam/0/[^"]+)"', site.get("/exam", act="student_ask_generic").text)
        assert link
        page = site.get(html.unescape(link[1])).text
    assert "asks for help in general" in page and "The partner understood" in page and "says it is done" in page


def test_what_cannot_be_shown_is_said_with_its_file(tmp_path: Path) -> None:
    run = shown_run(tmp_path / "run")
    with pytest.raises(RunError, match=r"no config\.yaml here"):
        shown_runs([tmp_path])
    file = dialogues_path(run.path, "facts")
    file.write_text(file.read_text() + "{}\n")
    with pytest.raises(StoreError, match=r"facts\.jsonl:\d+: not a Dialogue"):
        TalkIndex([run], tmp_path / "index.sqlite").update()
