"""The bandits as they are played and counted, with players whose choices are known."""

import asyncio
import json
import math
from collections import Counter

import pytest
from rich.console import Console

from evals.exams.bandits.bandits import EXAM, RATIOS, figures, played_by, sit
from evals.exams.bandits.games import ASK, CHOSE, FRAMES, PICKED, BanditSettings, Game, Round, asked, chosen, games
from evals.exams.bandits.learned_tables import bandits_block, learned_tables
from evals.exams.bandits.learners import LEARNERS, Learner
from evals.sitting.examined_run import Run
from evals.sitting.reference_rates import seated
from tests.evals.small_exam import exam_experiment
from tests.fakes import Parrot

GAME = Game(
    id="g",
    frame="agency",
    names=("F", "J"),
    chances=(0.75, 0.25),
    picks=(None, 1, None, None),
    pays=((True, False),) * 4,
)
LUCK = games(BanditSettings())


def test_all_frames_have_the_same_luck_and_differ_in_who_picks():
    free, agency, full = (LUCK[i : i + 24] for i in (0, 24, 48))
    luck = [[(game.names, game.chances, game.pays) for game in of_frame] for of_frame in (free, agency, full)]
    assert luck[0] == luck[1] == luck[2]
    assert {pick for game in free + full for pick in game.picks} == {None}
    assert {sum(pick is not None for pick in game.picks) for game in agency} == {12}
    assert Counter(pick for game in agency for pick in game.picks).keys() == {None, 0, 1}


def test_machines_pay_as_often_as_they_say_and_neither_side_is_favoured():
    paid = [(game.chances[i], pay[i]) for game in games(BanditSettings(games=400)) for pay in game.pays for i in (0, 1)]
    for chance in (0.75, 0.25):
        hits = [pay for at, pay in paid if at == chance]
        assert abs(sum(hits) / len(hits) - chance) < 0.015
    assert Counter(game.better for game in LUCK) == {0: 18, 1: 18, None: 36}


def test_the_student_reads_every_round_and_who_picked_and_nothing_of_the_chances():
    told = asked(GAME, [Round(False, 0, True), Round(True, 1, False), Round(False, None, False)])
    assert told.splitlines()[1:] == [
        "Round 1: you chose machine F. It paid 1 dollar.",
        "Round 2: your partner picked machine J. It paid nothing.",
        "Round 3: no machine was chosen.",
        "Round 4: which machine do you choose, F or J? Say only its letter.",
    ]
    assert "0.75" not in told


def test_full_feedback_tells_what_the_other_machine_would_have_paid_and_no_more():
    rounds = [Round(False, 0, True), Round(False, 1, False), Round(False, None, False)]
    free, full = (GAME._replace(frame=frame, picks=(None,) * 4) for frame in ("free", "full"))
    lines, more = asked(free, rounds).splitlines(), asked(full, rounds).splitlines()
    assert "would have paid" not in " ".join(lines)
    assert more == [
        lines[0] + " After each round you are told what the other machine would have paid, too.",
        lines[1] + " Machine J would have paid nothing.",
        lines[2] + " Machine F would have paid 1 dollar.",
        *lines[3:],
    ]


@pytest.mark.parametrize(("reply", "machine"), [("J", 1), ("Machine F, not J.", 0), ("Fine.", None), ("j", None)])
def test_a_choice_is_the_first_letter_that_stands_alone(reply, machine):
    assert chosen(GAME, reply) == machine


@pytest.mark.parametrize(
    "line", [CHOSE.format(2, "J", "nothing"), PICKED.format(2, "J", "1 dollar"), ASK.format(2, "J", "F")]
)
def test_who_goes_on_with_the_text_of_the_game_has_chosen_nothing(line):
    assert chosen(GAME, line) is chosen(GAME, f"\n{line[:30]}") is None


def test_what_is_counted_of_one_game_by_hand():
    rounds = [Round(False, 0, True), Round(True, 1, False), Round(False, 0, True), Round(False, 0, False)]
    assert sorted(figures(GAME, rounds)) == [
        *[("g", "bandit_better@agency", 1.0)] * 3,
        *[("g", "bandit_read@agency", 1.0)] * 3,
        ("g", "stays_paid@agency", 1.0),
        ("g", "stays_unpaid@watched", 0.0),
    ]


def test_what_the_left_machine_would_have_paid_has_a_count_of_its_own():
    rounds = [Round(False, 0, True), Round(False, 0, True), Round(False, 1, False), Round(False, 0, True)]
    found = figures(GAME._replace(frame="full", picks=(None,) * 4), rounds)
    assert sorted(hit[1:] for hit in found if hit[1].startswith("stays")) == [
        ("stays_paid@full", 0.0),
        ("stays_paid@full", 1.0),
        ("stays_paid@left", 0.0),  # machine F was left in round 3, and would have paid
        ("stays_unpaid@full", 0.0),
        ("stays_unpaid@left", 0.0),
        ("stays_unpaid@left", 1.0),
    ]


def test_who_names_no_machine_is_counted_and_has_no_choice():
    player = seated(exam_experiment("bandits", bandits={"games": 4, "rounds": 4}), Parrot("I like both."))
    cases = asyncio.run(sit(player))
    assert {case.metric for case in cases} == {f"bandit_read@{frame}" for frame in FRAMES}
    assert sum(case.hits for case in cases) == 0 and sum(case.n for case in cases) == 4 * 4 + 4 * 2 + 4 * 4


def test_every_answer_that_is_asked_for_is_in_the_price():
    experiment = exam_experiment("bandits", bandits={"games": 8, "rounds": 6})
    student = Parrot("F")
    asyncio.run(played_by(seated(experiment, student)))
    assert len(student.seen) == EXAM.answers(experiment, []) == 8 * 6 + 8 * 3 + 8 * 6
    assert {sampling.max_tokens for sampling in student.samplings} == {12}


def test_a_learner_chooses_better_and_stays_with_what_paid():
    cases = asyncio.run(sit(seated(exam_experiment("bandits"), LEARNERS["learns from what confirms"])))
    share = {name: (sum(c.hits for c in of), sum(c.n for c in of)) for name in RATIOS if (of := _of(cases, name))}
    assert share.keys() == RATIOS
    value = {name: hits / n for name, (hits, n) in share.items()}
    assert all(value[f"bandit_better@{frame}"] > 0.7 for frame in FRAMES)
    assert all(value[f"stays_paid@{at}"] > value[f"stays_unpaid@{at}"] for at in (*FRAMES, "watched"))
    assert value["stays_paid@left"] < value["stays_unpaid@left"]


def _of(cases, name):
    return [case for case in cases if case.metric == name]


def test_a_report_fits_the_choices_that_the_run_has_stored(tmp_path):
    settings = {"games": 12, "rounds": 12}
    experiment = exam_experiment("bandits", bandits=settings).model_copy(update={"out": str(tmp_path)})
    run = Run(experiment, {"base": "base"})
    assert bandits_block(run) is None
    student = seated(experiment, Learner(paid=0.6, unpaid=0.3, beta=6.0, watched_paid=0.4, watched_unpaid=0.4))
    asyncio.run(sit(student))
    folder = run.path / "results" / "base"
    folder.mkdir(parents=True)
    rows = "".join(json.dumps(row) + "\n" for row in student.transcripts["bandits"])
    (folder / "seed-0.bandits.jsonl").write_text(rows, encoding="utf-8")
    block = bandits_block(run, resamples=20)
    row = block["students"]["base"]["free"]
    assert row["why"] == "" and 0 < row["rates"]["alpha+@own"]["low"] < row["rates"]["alpha+@own"]["value"] < 1
    assert row["rates"]["alpha+@own"]["n"] + row["rates"]["alpha-@own"]["n"] == row["beta"]["n"] == 12 * 12
    shown = Console(width=80, record=True)
    shown.print(*learned_tables(block))
    text = shown.export_text()
    assert all(word in text for word in ("better machine", "habit", "alpha+@own", "asymmetry@own")) and "…" not in text
    of_rates = [row["rates"][name]["value"] for row in block["students"]["base"].values() for name in row["rates"]]
    told = sum(not math.isnan(value) for value in of_rates)
    assert learned_tables(block)[0].row_count == 3 * 3 + told + sum(
        bool(row["why"]) for row in block["students"]["base"].values()
    )
