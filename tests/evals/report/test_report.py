from __future__ import annotations

import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from evals.report.page.first_screen import finding
from evals.report.page.shown_dialogues import samples
from evals.report.report_page import experiments, matrix, metrics_of, write
from evals.report.summary import summarize
from evals.report.summary_types import Summary
from evals.report.terminal_tables import table
from evals.stats.number_format import interval, number
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import Appender, read, rewrite
from pipeline.runs.usage import Usage
from tests.evals.made_run import CONDITIONS, made_run

VOID = {"meta", "link", "br", "hr", "img", "input"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    conditions = {"solo": Condition(partition="solo"), **CONDITIONS}
    return made_run(tmp_path_factory.mktemp("runs") / "made", conditions=conditions)


@pytest.fixture(scope="module")
def summary(run):
    return summarize([run])


@pytest.fixture(scope="module")
def page(run, summary) -> str:
    return write(run, summary)[2].read_text(encoding="utf-8")


class Nesting(HTMLParser):
    """Fails on a tag that closes another."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        named = [value for key, value in attrs if key in ("src", "href", "xlink:href")]
        self.links += [value for value in named if not value.startswith("#")]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag


def test_three_files_are_written_and_the_json_is_the_summary(run, summary, page):
    assert {path.name for path in run.glob("report.*")} == {"report.json", "report.md", "report.html"}
    assert Summary.model_validate_json((run / "report.json").read_text()) == summary
    assert not list(run.glob(".report*"))


def test_the_page_is_well_nested_and_loads_nothing(page):
    parser = Nesting()
    parser.feed(page)
    assert parser.open == [] and parser.links == []
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_page_states_the_headline_and_every_contrast(page, summary):
    assert summary.headline in page
    for row in summary.comparisons:
        assert f"<td>{row.a} − {row.b}" in page
    assert page.count("<svg") == 2


def test_a_metric_has_one_mark_whose_figures_stand_once_and_open_on_demand(run, page):
    button = r'popovertarget="([^"]+)" aria-label="labels of {}: (\w+)"'
    of = {name: re.search(button.format(name), page).groups() for name in ("ask_skill", "violated")}
    assert (of["ask_skill"][1], of["violated"][1]) == ("good", "unmeasured")
    for place, _ in of.values():
        assert page.count(f'<div popover id="{place}"') == 1
    assert page.count("asks_withheld by closed on natural turns, n 171") == len(
        [text for text in re.findall(r"<div popover.*?</div>", page, re.S) if "asks_withheld by closed" in text]
    )
    markdown = (run / "report.md").read_text()
    for written in (page, markdown):
        assert "leak by rules on mrbench, replies with a gold, n 28: precision 1.00" in written
        assert "Who reads the turns" in written
    assert "| ask_skill | good |" in markdown and "| lucky " not in markdown.split("## Behaviour")[1].split("##")[0]
    assert "metrics rest on `closed`, exact on planted wordings" in markdown


def test_the_glossary_has_one_line_for_each_metric(run, page, summary):
    lines = (run / "report.md").read_text().split("## Glossary")[1].split("##")[0].splitlines()
    named = [line for line in lines if line.startswith("- `")]
    assert named and not [line for line in named if "natural turns" in line or "precision" in line]
    assert page.split('id="glossary"')[1].split("</dl>")[0].count("<dt>") == len(named)


READER = """
from pipeline.reading.embedded_world.closed import Closed
READER = Closed()
"""


def read_again(run: Path) -> None:
    """Store with each turn what a reader of one's own stores; that nobody asks for anything will do here."""
    for file in (run / "dialogues").glob("*.jsonl"):
        rewrite(file, [dialogue.model_copy(update={"turns": tuple(
            turn.model_copy(update={"reading": StudentReading() if turn.party == "student" else PartnerReading()})
            for turn in dialogue.turns)}) for dialogue in read(file, Dialogue)])  # fmt: skip


def test_a_family_stands_together_though_some_of_its_metrics_were_not_measured(tmp_path):
    summary = summarize([made_run(tmp_path / "made")])
    rows = tuple(
        row.model_copy(update={"primary": False, "family": "shapes", "measured": bool(i % 2)})
        for i, row in enumerate([*summary.comparisons, *summary.comparisons])
    )
    shown = text(summary.model_copy(update={"comparisons": rows}))
    assert shown.count("shapes") == 1 and shown.count("not measured: no headline") == len(rows) / 2


def test_a_contrast_is_a_headline_where_its_reader_was_measured_and_else_marked(tmp_path):
    made, own = made_run(tmp_path / "made"), tmp_path / "own.py"
    own.write_text(READER)
    config = (made / "config.yaml").read_text()
    named = f"  metrics: {own}:READER\n"
    (made / "config.yaml").write_text(config.replace("  metrics: auto\n", named))
    read_again(made)
    refused = summarize([made])
    _, markdown, page = (path.read_text() for path in write(made, refused))
    assert refused.headline_refused and "not measured: no headline" in refused.headline
    assert not any(row.measured for row in refused.comparisons)
    assert refused.comparisons[0].difference == summarize([made]).comparisons[0].difference is not None
    for shown in (text(refused), markdown, page):
        assert "not measured: no headline" in shown and "ask_skill is" not in shown
    assert "primary; not measured" in markdown
    assert "primary" not in re.findall(r'<tr class="(\w+)"', page)
    figure = {"precision": 0.8, "recall": 0.7, "f1": 0.75, "low": 0.7, "high": 0.8, "n": 50}
    classes = dict.fromkeys(("asks_withheld", "generic_request", "attempt"), figure)
    (tmp_path / "figures.json").write_text(json.dumps({f"{own}:READER": classes}))
    figures = config.replace("  metrics: auto\n", named).replace(
        "  figures: ''\n", f"  figures: {tmp_path}/figures.json\n"
    )
    (made / "config.yaml").write_text(figures)
    measured = summarize([made])
    assert not measured.headline_refused and measured.headline.startswith("ask_skill is")
    [use] = measured.readers
    assert (use.partner, use.metrics, use.planted) == ("closed", f"{own}:READER", False)
    assert use.figures[use.metrics]["attempt"].f1 == 0.75
    assert "0.80/0.70/0.75" in write(made, measured)[1].read_text()


def test_each_dialogue_is_shown_from_both_views_and_only_one_reads_the_facts(summary):
    shown = [
        sample
        for sample in samples(summary, experiments(summary))
        if sample["condition"] == "facts" and sample["task"].missing
    ]
    assert shown
    for sample in shown:
        fact = sample["task"].missing[0].text
        assert fact not in sample["views"]["student"][0]["text"]
        assert fact in sample["views"]["partner"][0]["text"]


def test_without_a_partner_there_is_no_view_of_it(summary, page):
    solo = [sample for sample in samples(summary, experiments(summary)) if sample["condition"] == "solo"]
    assert solo and all(list(sample["views"]) == ["student"] for sample in solo)
    assert "there is no partner" in page


ODD = {
    "script": ("<script>alert(1)</script><img src=x onerror=alert(2)>", "&lt;script&gt;alert(1)"),
    "terminal": ("\x1b[31mred\x1b]0;title\x07", "‹U+001B›[31mred"),
    "turned": ("\u202egnp.exe ومرحبا", "‹U+202E›gnp.exe ومرحبا"),
    "long": ("x" * 10_000_000, "more letters"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_was_said_is_shown_as_text_whatever_it_is(tmp_path, kind):
    said, shown = ODD[kind]
    run = made_run(tmp_path / "made", count=2, seeds=(1,))
    for file in (run / "dialogues").glob("*.jsonl"):
        odd = json.dumps(said)[1:-1]
        file.write_text(file.read_text().replace('"text":"The answer', f'"text":"{odd} The answer', 1))
    page = write(run, summarize([run]))[2].read_text()
    assert shown in page and page.count("<script>") == 1 and "\x1b" not in page and "\u202e" not in page
    assert len(page) < 1_000_000
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []


def test_a_mismatch_is_loud_everywhere(tmp_path):
    run = made_run(tmp_path / "made")
    file = run / "dialogues" / "blind.jsonl"
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[1:]))
    summary = summarize([run])
    _, markdown, page = write(run, summary)
    assert "DOES NOT RECONCILE: blind" in markdown.read_text()
    assert "Does not reconcile" in page.read_text()
    assert "Does not reconcile" in text(summary)


def text(summary) -> str:
    console = Console(width=160, file=io.StringIO())
    with console.capture() as shown:
        console.print(table(summary))
    return shown.get()


def test_what_rounds_to_zero_has_a_minus_only_where_signs_are_shown():
    assert [number(-0.004), number(-0.0), number(-0.006)] == ["0.00", "0.00", "−0.01"]
    assert [number(value, sign=True) for value in (-0.004, -0.0, 0.004)] == ["−0.00", "+0.00", "+0.00"]


def test_an_interval_says_on_which_side_of_zero_it_ends():
    ends = [(-0.3, -0.004), (-0.3, 0.004), (-1e-17, 0.3), (-0.004, 0.3)]
    shown = [interval({"low": low, "high": high}) for low, high in ends]
    assert shown == ["−0.30 to −0.00", "−0.30 to 0.00", "0.00 to 0.30", "−0.00 to 0.30"]


def test_the_terminal_says_what_speaks_against_the_headline(summary):
    shown = text(summary)
    assert (
        shown.index(summary.headline[:40]) < shown.index("Against it: The base (embedded)") < shown.index("Contrasts")
    )


def test_the_terminal_shows_the_primary_first_and_the_prediction(summary):
    lines = text(summary).splitlines()
    family, metric, contrast = [line for line in lines if line.startswith("│")][:3]
    assert "primary" in family and "ask_skill" in metric and "facts − volunteer" in contrast
    assert any("predicted" in line for line in lines)


def test_markdown_tables_have_as_many_cells_in_every_row(run, page):
    tables: list[list[int]] = [[]]
    for line in (run / "report.md").read_text().splitlines():
        if line.startswith("|"):
            tables[-1].append(line.count("|"))
        elif tables[-1]:
            tables.append([])
    found = [cells for cells in tables if cells]
    assert len(found) == 4 and all(len(set(cells)) == 1 and len(cells) > 2 for cells in found)


def test_a_run_without_a_comparison_or_results_still_reports(tmp_path):
    run = made_run(tmp_path / "made")
    config = run / "config.yaml"
    lines = config.read_text().split("compare:")[0]
    config.write_text(lines)
    for file in (run / "results").glob("*/*"):
        file.unlink()
    summary = summarize([run])
    assert "No config named a primary contrast" in summary.headline and "no headline" in summary.headline
    assert len(write(run, summary)) == 3 and text(summary)


def test_what_the_exams_found_is_shown_with_n_in_terminal_page_and_markdown(tmp_path):
    made = made_run(tmp_path / "made", exams=("agreement", "tutoring", "common_ground"))
    cases = made / "results" / "base" / "seed-1.jsonl"
    found = ("agreement@cross", "team_right@cross", "tutor_reached_turn2", "ground_used@corrected")
    rows = [
        {"exam": "any", "task": f"t{i}", "metric": metric, "hits": i % 2, "n": 5, "greedy": False}
        for metric in found
        for i in range(8)
    ]
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = made / "config.yaml"
    config.write_text(re.sub(r"^compare:.*?(?=^\S|\Z)", "compare: null\n", config.read_text(), flags=re.M | re.S))
    told = summarize([made])
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table(told))
    text = console.export_text()
    markdown = write(made, told)[1].read_text()
    for metric in found:
        assert re.search(rf"{re.escape(metric)} .* 40\b", text)
        assert re.search(rf"^\| {re.escape(metric)} \|.*, n 40\b", markdown, re.M)
    families = [metrics_of(told).family(metric) for metric in found]
    assert families == ["agreement", "agreement", "tutoring", "common_ground"]
    assert all(row["shown"] for row in matrix(told.plain(), metrics_of(told))["tutoring"])


def test_the_report_sums_what_roles_were_asked_and_money_where_all_has_a_price(tmp_path):
    run = made_run(tmp_path / "asked")
    counts = {
        "answers": 1,
        "prompt_tokens": 2000,
        "cached_tokens": 500,
        "generated_tokens": 3000,
        "reasoning_tokens": 7,
    }
    for role, money in (("student", None), ("partner", 1.5)):
        of = {"stage": "build", "condition_name": "facts", "seed": 1, "round": 0, "role": role, "engine": "api"}
        with Appender(run / "usage.jsonl") as file:
            file.append(Usage(id=role, **of, model=f"m-{role}", **counts, money=money))
    summary = summarize([run])
    write(run, summary)
    assert [row.role for row in summary.engine] == ["student", "partner"]
    lines = (run / "report.md").read_text().splitlines()
    assert "| build | facts | partner | m-partner | api | 1 | 2000 | 500 | 3000 | 7 | 0.25 | 1.5000 |" in lines
    assert "| all | all | all | all | all | 2 | 4000 | 1000 | 6000 | 14 | 0.25 | – |" in lines
    assert "<td>6,000</td>" in (run / "report.html").read_text()


def test_a_primary_contrast_that_lacks_a_side_is_said_to_and_not_denied(tmp_path):
    run = made_run(tmp_path / "made")
    config = run / "config.yaml"
    config.write_text(re.sub(r"(primary:\n(?:.*\n)*?    b: )volunteer", r"\1base", config.read_text(), count=1))
    shutil.rmtree(run / "results" / "base")
    summary = summarize([run])
    assert summary.headline == (
        f"There is no headline. 1 of the contrasts that {run} names lack a side, the primary one among them, "
        "since base has sat no exam."
    )


def test_each_run_of_several_is_held_against_its_own_base(tmp_path):
    runs = [made_run(tmp_path / name) for name in ("one", "two")]
    config = runs[0] / "config.yaml"
    config.write_text(config.read_text().split("compare:")[0])
    told = summarize(runs)
    page, metrics = told.plain(), metrics_of(told)
    said = finding(page, experiments(told), {}, metrics)
    assert [name for name, _ in said.figures] == ["two/facts", "two/volunteer", "two/base"]
    cells = [cell for rows in matrix(page, metrics).values() for row in rows for cell in row["cells"]]
    assert any(cell["tint"] for cell in cells)
