from __future__ import annotations

import json

import pytest

from pipeline.experiment.cell import Cell
from pipeline.runs import progress as shown
from pipeline.runs.lock import holder, writing
from pipeline.runs.progress import end_briefly, end_in_words, stage, whole_in_words
from pipeline.runs.usage import Meter, Tally
from pipeline.runs.whole_run import ANSWER, PlannedStage, WholeRun, followed, progress_path, read_progress
from tests.builders import small_experiment

PLAN = (
    PlannedStage("build", "build a seed 1", 10, ("build a", "build")),
    PlannedStage("build", "build b seed 1", 20, ("build b", "build")),
    PlannedStage("select", "select a", 1),
    PlannedStage("train", "train a seed 1", 1, ("train a",)),
    PlannedStage("train", "train b seed 1", 0, ("train b",)),
)


class Clock:
    """Time passes when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def go(whole: WholeRun, label: str, done: int, seconds: float, total: int = 10) -> None:
    whole.begin(label, total)
    whole.clock.now += seconds
    whole.tick(done, total)
    whole.end()


def test_of_stages_side_by_side_each_takes_its_part_of_the_time(tmp_path, clock):
    exams = [PlannedStage("examine", f"examine a seed {i}", 100, ("examine a",)) for i in range(4)]
    whole = WholeRun(tmp_path, exams, clock)
    whole.begin("examine a seed 0", 100, at_once=2)
    clock.now += 30
    whole.tick(50, 100)
    assert whole.progress().left == 30 + 3 * 30  # its own half, and 60 s for each two of the others


def test_what_is_left_is_what_stages_of_the_kind_took_and_the_unmeasured_is_named(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN, clock)
    assert whole.progress().left is None and "not known" in end_in_words(whole.progress())
    go(whole, "build a seed 1", 10, 5.0)
    told = whole.progress()
    assert (told.left, told.unmeasured, told.stages_done) == (10.0, ("train",), 2)  # 20 dialogues, .5 s each
    assert "more than 10 s (train: not measured yet)" in end_in_words(told)
    go(whole, "build b seed 1", 20, 40.0, 20)
    go(whole, "select a", 0, 1.0, 0)
    go(whole, "train a seed 1", 8, 7.0, 8)
    told = whole.progress()
    assert (told.left, told.unmeasured, told.stages_done) == (0.0, (), 5)
    assert [stage.seconds for stage in told.stages] == [5.0, 40.0, 1.0, 7.0, 0.0]


def test_exams_are_reckoned_from_what_all_models_answered_in_builds(tmp_path, clock):
    """Where a judge answers ten times a turn, an answer of the student's alone would seem to take ten times as long."""
    whole = WholeRun(tmp_path, [PLAN[0], PlannedStage("examine", "examine a seed 1", 50, ("examine a", ANSWER))], clock)
    meter = Meter()
    meter.roles = {"student": Tally(answers=10), "judge": Tally(answers=90)}
    meter.store(tmp_path, "build", Cell(small_experiment(tmp_path), "facts", 1))
    go(whole, "build a seed 1", 10, 5.0)
    assert whole.progress().left == 50 * 5.0 / 100


def test_a_running_stage_tells_how_long_it_and_others_of_its_kind_take(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN, clock)
    whole.begin("build a seed 1", 10)
    clock.now += 4.0
    whole.tick(2, 10)
    assert whole.progress().left == 4.0 / 2 * 8 + 4.0 / 2 * 20


def test_the_first_of_many_does_not_outweigh_what_was_measured(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN[:2], clock)
    go(whole, "build a seed 1", 10, 5.0)
    whole.begin("build b seed 1", 20)
    clock.now += 6.0
    whole.tick(1, 20)
    assert whole.progress().left == 20 * 0.5 - 6.0


def test_what_an_earlier_call_measured_counts_until_this_one_has_measured(tmp_path, clock):
    go(WholeRun(tmp_path, PLAN, clock), "build a seed 1", 10, 5.0)
    again = [PLAN[0]._replace(size=0), *PLAN[1:]]
    assert WholeRun(tmp_path, again, clock).progress().left == 10.0


def test_what_a_stage_took_is_that_of_all_calls(tmp_path, clock):
    go(WholeRun(tmp_path, PLAN, clock), "build a seed 1", 10, 5.0)
    again = WholeRun(tmp_path, PLAN, clock)
    assert again.progress().stages[0].seconds == 5.0
    go(again, "build a seed 1", 10, 2.0)
    assert read_progress(tmp_path).stages[0].seconds == 7.0


def test_a_training_from_a_checkpoint_is_measured_by_what_it_did_itself(tmp_path, clock):
    whole = WholeRun(tmp_path, [PLAN[3], PLAN[3]._replace(label="train a seed 2")], clock)
    whole.begin("train a seed 1", 0)
    for step in range(6, 11):
        clock.now += 1.0
        whole.tick(step, 10)
    whole.end()
    assert whole.progress().left == pytest.approx(10.0)


def test_a_training_looked_at_near_its_end_is_measured_from_then_on(tmp_path, clock):
    whole = WholeRun(tmp_path, [PLAN[3], PLAN[3]._replace(label="train a seed 2")], clock)
    clock.now += 60.0  # it goes on meanwhile
    whole.begin("train a seed 1", 0)
    for step in (96, 97, 98, 99, 100):
        clock.now += 1.0
        whole.tick(step, 100)
    whole.end()
    assert whole.progress().left == pytest.approx(100.0)


def test_a_stage_that_never_begins_is_done_when_a_later_one_begins(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN, clock)
    whole.begin("train a seed 1", 0)
    states = [stage.state for stage in whole.progress().stages]
    assert states == ["done", "done", "done", "running", "done"]


def test_a_run_that_fails_leaves_where_it_stood_and_one_that_ends_all_done(tmp_path):
    with pytest.raises(KeyError), followed(tmp_path, PLAN), stage("build a seed 1", 10) as tick:
        tick()
        raise KeyError
    left = read_progress(tmp_path)
    assert (left.now, left.done, left.stages[0].state) == ("build a seed 1", 0, "running")
    with followed(tmp_path, PLAN), stage("build a seed 1", 1) as tick:
        tick()
    ended = read_progress(tmp_path)
    assert (ended.now, ended.left, ended.stages_done) == ("", 0.0, 5)
    with stage("build a seed 1"):  # of nobody's run
        pass
    assert read_progress(tmp_path) == ended


def test_plain_lines_tell_of_the_whole_run_where_other_stages_begin(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shown.console, "_force_terminal", False)
    with followed(tmp_path, PLAN):
        for planned in PLAN[:4]:
            with stage(planned.label, 1) as tick:
                tick()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("; ")[0] for line in lines] == [
        "whole run: 1 of 5 stages done, now build a seed 1",
        "whole run: 3 of 5 stages done, now select a",
        "whole run: 4 of 5 stages done, now train a seed 1",
    ]


def test_a_file_of_another_version_is_no_progress(tmp_path, clock):
    progress_path(tmp_path).write_text(json.dumps({"process": 1}))
    assert read_progress(tmp_path) is None
    assert WholeRun(tmp_path, PLAN, clock).earlier == {}


def test_who_writes_to_a_run_is_known_from_outside(tmp_path):
    assert holder(tmp_path) == ""
    with writing(tmp_path):
        assert holder(tmp_path).isdigit()
    with writing(tmp_path, shared=True):
        assert holder(tmp_path) == "that makes a shard"
    assert holder(tmp_path) == ""


def test_a_bar_has_room_for_when_the_run_ends(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN, clock)
    told = [end_briefly(whole.progress())]
    go(whole, "build a seed 1", 10, 3600.0)
    told.append(end_briefly(whole.progress()))
    go(whole, "train a seed 1", 8, 7.0, 8)
    told.append(end_briefly(whole.progress()))
    assert told[0] == "end not known yet" and told[1].startswith("ends after ") and told[2].endswith(", in 0 s")
    assert max(map(len, told)) <= 30


def test_the_words_name_the_running_stage_and_the_end(tmp_path, clock):
    whole = WholeRun(tmp_path, PLAN[:2], clock)
    go(whole, "build a seed 1", 10, 5.0)
    whole.begin("build b seed 1", 20)
    said = whole_in_words(whole.progress())
    assert said.startswith("whole run: 1 of 2 stages done, now build b seed 1; ends about ") and "in 10 s" in said
    whole.tick(5, 20)
    assert "now build b seed 1 (5 of 20); " in whole_in_words(whole.progress())
