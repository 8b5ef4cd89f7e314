"""evals.report.page.first_screen: the first screen."""

from __future__ import annotations

import pytest

from evals.report.page.first_screen import Finding, finding
from evals.report.page.label_marks import Mark
from evals.report.report_page import experiments, metrics_of, write
from evals.report.summary import summarize
from evals.report.summary_types import Summary
from pipeline.experiment.settings import TurnValues
from pipeline.runs.directory import changed_path
from tests.evals.made_run import made_run

GOOD = {"ask_skill": Mark("good", None, ())}


@pytest.fixture(scope="module")
def summary(tmp_path_factory) -> Summary:
    return summarize([made_run(tmp_path_factory.mktemp("runs") / "made")])


def found(summary: Summary, marks: dict[str, Mark] = GOOD, **changes: object) -> Finding:
    """With values of the summary replaced, as facts__lucky_selected__value=0.5."""
    page = summary.plain()
    page["comparisons"][0] |= {"difference": 0.5, "low": 0.4, "high": 0.6}
    for path, value in changes.items():
        at = page["conditions"]
        *keys, last = path.split("__")
        for key in keys:
            at = at[key]
        at[last] = value
    return finding(page, experiments(summary), marks, metrics_of(summary))


def against(summary: Summary, marks: dict[str, Mark] = GOOD, **changes: object) -> str:
    return "\n".join(found(summary, marks, **changes).against)


def test_the_first_screen_has_the_contrast_both_values_the_base_and_of_whom(summary):
    shown = found(summary)
    assert (shown.contrast["metric"], shown.contrast["a"]) == ("ask_skill", "facts")
    assert [name for name, _ in shown.figures] == ["facts", "volunteer", "base"]
    assert shown.figures[0][1] == summary.plain()["conditions"]["facts"]["metrics"]["ask_skill"]
    assert [name for name, _ in shown.means] == ["ask_skill", "ask_needed", "ask_needless"]
    base, facts, volunteer = shown.of_whom
    assert base.startswith("base embedded: 2 students of each condition")
    assert facts.startswith("facts: partition facts, disclosure on_request, voice rule, method sft; ")
    assert volunteer.startswith("volunteer: ")


def test_of_whom_says_whose_students_did_not_all_sit(summary):
    said = found(summary, facts__seeds=[1]).of_whom[0]
    assert "2 students of each condition, one per seed, of which 1 of facts sat exams; " in said


def test_of_whom_counts_branches_and_says_who_plays_while_it_learns(tmp_path):
    summary = summarize([made_run(tmp_path / "run", turn_values=TurnValues(siblings=3))])
    entries = summary.plain()["conditions"]
    rollouts = [entries[name]["turn_values"]["rollouts"] for name in ("facts", "volunteer")]
    said = found(summary).of_whom[1:]
    assert all(f"dialogues and {n} branches kept" in line for n, line in zip(rollouts, said, strict=True))
    facts, volunteer = found(summary, facts__condition__method="grpo").of_whom[1:]
    assert facts.endswith("; it plays while it learns") and volunteer == said[1]


def test_a_planted_base_speaks_first_against_whatever_was_found(summary):
    assert "planted world" in found(summary).against[0]


def test_that_there_is_one_seed_speaks_first_of_all(summary):
    page = summary.plain() | {"notes": ["Regime natural: x", "One seed only: facts. Intervals are over tasks."]}
    said = finding(page, experiments(summary), GOOD, metrics_of(summary)).against
    assert said[0].startswith("One seed only") and said[-1].startswith("Regime natural") and len(set(said)) == len(said)


def test_a_contrast_named_after_dialogues_were_made_is_said_and_other_exams_are_not(summary):
    changed = changed_path(experiments(summary)[0].run)
    changed.write_text("  exams.samples: there 8, asked for 2\n")
    assert "after the fact" not in against(summary)
    changed.write_text('  compare.primary.metric: there "a", asked for "b"\n')
    try:
        assert "after the fact" in against(summary)
    finally:
        changed.unlink()


def test_unlike_amounts_of_training_take_the_place_of_the_note_on_the_regime(summary):
    assert "unlike amounts" not in against(summary) and "Regime natural" in against(summary)
    unlike = {"facts__budgets__trained_tokens": 1000, "volunteer__budgets__trained_tokens": 200}
    more = against(summary, **unlike)
    assert "facts on" in more and "(500 tokens over all passes)" in more and "Regime natural" not in more
    assert "training.regime: matched" in more
    assert "training.regime" not in against(summary, **unlike, facts__condition__method="dpo")  # which it does not suit
    one = against(summary, **unlike, facts__budgets__students=1, volunteer__budgets__students=0)
    assert "unlike amounts" not in one, "nobody noted how much, or of half as many students"


def test_a_side_that_fell_below_the_base_is_said_where_the_other_did_not_move(summary):
    def said(metric: str, low: float, *three: float) -> str:
        page = summary.plain()
        page["comparisons"][0] |= {"metric": metric, "difference": 0.5, "low": low, "high": 0.6}
        for name, value in zip(("facts", "volunteer", "base"), three, strict=True):
            rate = {"value": value, "low": value - 0.05, "high": value + 0.05, "n": 100, "greedy": None}
            page["conditions"][name]["metrics"][metric] = rate | {"apart": abs(value - three[2]) > 0.05}
        return "\n".join(finding(page, experiments(summary), {}, metrics_of(summary)).against)

    fell = "how far volunteer fell below the base (0.01 against 0.68); facts (0.70) is not told apart"
    assert fell in said("first_accuracy", 0.4, 0.7, 0.01, 0.68)
    assert "fell below" not in said("first_accuracy", 0.4, 0.9, 0.68, 0.68)
    assert "fell below" not in said("first_accuracy", 0.4, 0.9, 0.01, 0.68)
    assert "fell below" not in said("first_accuracy", -0.1, 0.7, 0.01, 0.68), "no difference was shown"
    assert "fell below" not in said("harmful_flip", 0.4, 0.7, 0.01, 0.68), "less is better"


def test_a_floor_that_both_sides_share_is_said_of_shares_alone(summary):
    def rates(facts: float, volunteer: float, base: float) -> dict[str, object]:
        named = {"facts": facts, "volunteer": volunteer, "base": base}
        return {
            f"{name}__metrics__ask_skill__{key}": value + reach
            for name, value in named.items()
            for key, reach in (("value", 0.0), ("low", -0.05), ("high", 0.05))
        }

    assert "Both sides are at 0" not in against(summary, **rates(0, 0, 0.1)), "of a difference of shares"
    floor = rates(0, 0, 0.1) | {"facts__metrics__ask_skill__low": 0.0, "volunteer__metrics__ask_skill__low": 0.0}
    assert "Both sides are at 0 in every case" in against(summary, **floor)


def test_who_learns_from_no_selection_is_said_to_have_rows(summary):
    facts = found(summary, facts__condition__method="expert", facts__counts__rows=1234).of_whom[1]
    assert "method expert; " in facts and facts.endswith("; 1,234 rows")


def test_selection_speaks_against_it_where_copying_gives_the_same_sign(summary):
    same = {"facts__predicted__ask_rate": 0.84, "volunteer__predicted__ask_rate": 0.13}
    assert "would ask (ask_needed) at 0.84 after facts and 0.13 after volunteer" in against(summary, **same)
    other = {"facts__predicted__ask_rate": 0.13, "volunteer__predicted__ask_rate": 0.84}
    assert "Selection alone" not in against(summary, **other)


def test_selection_speaks_against_a_contrast_with_the_base_too(summary):
    page = summary.plain()
    page["comparisons"][0] |= {"b": "base", "difference": 0.5, "low": 0.4, "high": 0.6}
    page["conditions"]["facts"]["predicted"] |= {"ask_rate": 0.84, "prior": 0.7}  # under a prompt for sampling
    page["conditions"]["base"]["metrics"]["ask_needed"] |= {"value": 0.1}
    said = "\n".join(finding(page, experiments(summary), GOOD, metrics_of(summary)).against)
    assert "at 0.84 after facts and 0.10 before; trained students do at" in said


def test_who_cannot_do_what_the_exam_asks_is_said_first(summary):
    page = summary.plain()
    reached = {"value": 0.1, "low": 0.0, "high": 0.2, "n": 9}
    students = {"facts": reached | {"stands": "not reached"}, "volunteer": reached | {"stands": "open"}}
    bar = {"exam": "asking", "metric": "first_accuracy", "above": 0.5, "of": None, "students": students}
    page["competence"] = [bar]
    first, second, *_ = finding(page, experiments(summary), GOOD, metrics_of(summary)).against
    assert first == "facts cannot do what exam asking asks, so ask_skill says nothing of a disposition."
    assert second.startswith("volunteer is not known to be able to do what exam asking asks")


def test_axes_that_tell_two_sides_apart_are_said(summary):
    whom = found(summary, facts__condition__begins="primed", facts__condition__selection="yoked").of_whom[1]
    assert "begins primed, selection yoked" in whom


def test_labels_that_are_rough_or_unmeasured_speak_against_it(summary):
    assert "lowest F1 of its labels is 0.61" in against(summary, {"ask_skill": Mark("rough", 0.61, ())})
    assert "nobody has measured" in against(summary, {"ask_skill": Mark("unmeasured", None, ())})
    assert "label" not in against(summary)
    page = summary.plain()
    page["comparisons"][0] |= {"metric": "first_mention/1@agents"}
    marks = {"first_mention": Mark("unmeasured", None, ())}
    said = finding(page, experiments(summary), marks, metrics_of(summary)).against
    assert any("nobody has measured" in line for line in said)


def test_a_difference_that_is_gone_in_greedy_decoding_is_said(summary):
    gone = {"facts__metrics__ask_skill__greedy": 0.2, "volunteer__metrics__ask_skill__greedy": 0.3}
    assert "Decoded greedily the difference is −0.100." in against(summary, **gone)
    there = {"facts__metrics__ask_skill__greedy": 0.4, "volunteer__metrics__ask_skill__greedy": 0.3}
    assert "greedily" not in against(summary, **there)


def test_answers_of_exams_that_are_not_there_or_not_whole_speak_against_it(summary):
    said = against(summary, facts__metrics__silent={"value": 0.3}, volunteer__metrics__cut={"value": 0.04})
    assert "Of facts, 30% of the exams' answers had no word." in said
    assert "Of volunteer, 4% of the exams' answers were cut off." in said
    assert "of the exams'" not in against(summary, facts__metrics__silent={"value": 0.01})


def test_what_is_wrong_with_the_dialogues_speaks_against_it(summary):
    wrong = {
        "facts__violated": {"value": 0.2},
        "volunteer__lucky_selected": {"value": 0.25, "n": 40},
        "facts__counts__failures": 30,
    }
    said = against(summary, **wrong)
    assert "partner of facts broke its knowledge constraint in at least 20% of dialogues" in said
    assert "25% of the 40 underspecified dialogues that volunteer learned from are right by luck" in said
    assert "dialogues of facts failed" in said


def test_every_note_of_the_summary_is_on_the_first_screen(summary, tmp_path):
    page = write(tmp_path, summary)[2].read_text()
    first = page.split('class="nav"')[0]
    assert summary.notes and all(note in first for note in summary.notes)
    assert summary.headline in first and "What speaks against it" in first
