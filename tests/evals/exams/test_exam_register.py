"""Register: styles that the words show, and students whose style and answer are scripted."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from evals.exams.register.register import EXAM, keeps, reference
from evals.exams.register.speakers import SPEAKERS
from evals.exams.register.styles import STYLES, formality, words
from evals.exams.registry import catalog
from evals.metrics.case import Case
from evals.sitting.reference_rates import seated
from pipeline.engines.model import Completion
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.reading.attempt import attempt
from tests.builders import small_experiment
from tests.evals.small_exam import is_declared, ratios
from tests.fakes import FakeModel

FULL = 4


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    tasks = {"exam": {"full": FULL, "underspecified": 3}}
    return small_experiment(
        exams={"include": ["register"], "episodes": 1}, out=tmp_path, seeds=[1], tasks=tasks, engine={}
    )


def sat(experiment, student) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for case in asyncio.run(EXAM.sit(seated(experiment, student, exam_tasks(experiment)[0]))):
        hits, n = found.get(case.metric, (0.0, 0))
        found[case.metric] = hits + case.hits, n + case.n
    return found


@pytest.mark.parametrize(("style", "said", "beside", "expected"), [
    ("formal", "We therefore conclude that it is 12.", "It is 12.", True),
    ("formal", "It's 12, therefore.", "It is 12.", False),  # a contraction takes the formal word back
    ("casual", "Yeah, it’s 12.", "It is 12.", True), ("casual", "It is 12.", "Therefore it is 12.", False),
    ("brief", "12.", "It is 12.", True), ("brief", "", "It is 12.", False), ("brief", "It is 12.", "It is 12.", False),
    ("you", "You have 12.", "It is 12.", True), ("you", "You have 12.", "You had 12.", False),
    ("we", "Let's add our numbers.", "Add them.", True), ("sailor", "Aye aye, 12.", "It is 12.", True),
    ("sailor", "It is seasonal.", "It is 12.", False)])  # fmt: skip
def test_a_style_is_shown_by_words_that_the_turn_beside_it_has_fewer_of(style, said, beside, expected):
    assert STYLES[style].shows(said, beside) == expected


def test_no_style_is_shown_by_the_same_words_again():
    for style in STYLES.values():
        assert not style.shows("Hey, we don't know your ship, therefore.", "Hey, we don't know your ship, therefore.")


def test_contractions_count_and_possessives_do_not():
    assert formality("I don't think it's Tom's.") == -2 / 5 and words("Tom's 1,200 pens") == ["tom's", "1,200", "pens"]


def test_a_chameleon_changes_its_style_alone_and_a_frozen_student_nothing(experiment):
    chameleon, actor, frozen, flighty, actress = (sat(experiment, student) for student in SPEAKERS.values())
    for style in STYLES:
        for metric in ("style_shown", "content_kept", "style_alone"):
            assert actor[f"{metric}@{style}"] == (FULL, FULL)
            assert actress[f"{metric}@{style}"] == (FULL if metric == "style_shown" else 0, FULL)
        assert chameleon[f"style_shown@{style}"] == chameleon[f"style_alone@{style}"] == (FULL, FULL)
        assert chameleon[f"style_lasts@{style}"] == (FULL, FULL)
        assert frozen[f"style_shown@{style}"] == frozen[f"style_alone@{style}"] == (0, FULL)
        assert frozen[f"content_kept@{style}"] == (FULL, FULL) and f"style_lasts@{style}" not in frozen
        assert flighty[f"style_shown@{style}"] == (FULL, FULL) and flighty[f"content_kept@{style}"] == (0, FULL)
        assert frozen["style_answered"] == flighty["style_answered"] == (FULL, FULL)
        assert flighty[f"style_alone@{style}"] == chameleon[f"style_by_chance@{style}"] == (0, FULL)


@pytest.mark.parametrize("text", ["Shiver me timbers! 12 bells.", "Avast! 12 bells.", "12 bells, ye landlubber!"])
def test_a_sailor_is_known_by_more_than_ahoy(text):
    assert STYLES["sailor"].shows(text, "There are 12 bells.")


@pytest.mark.parametrize(("text", "kept"), [
    ("Aye, that be 12 bells, matey!", True), ("So it's 12, buddy!", True), ("We have 12 bells together.", True),
    ("Yeah, that's 12!", True), ("Together they consequently possess 12 bells.", True), ("Twelve bells, lads!", True),
    ("You add 5 and 7, and then you have 12 of them.", True), ("It's 3 x 4, so 12.", True), ("12.", True),
    ("Aye, that be 13 bells, matey!", False), ("Aye, 13 bells, not 12!", False), ("Thirteen bells, lads!", False),
    ("First 12, and with one more box 15.", False), ("Aye, matey!", False), ("The answer is 13, hey!", False),
    ("It's totally 12, 100% sure!", True), ("You have 5 bells and I have 7.", False)])  # fmt: skip
def test_content_is_kept_where_the_answer_is_said_in_whatever_words(text, kept):
    said = attempt(text)
    assert keeps(text, said, "12", "Tom has 5 bells and Joy has 7 bells. How many do they have?") == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [("Aye, it be in the kitchen, matey!", True), ("It be in the garden, matey!", False), ("Kitchens, lads!", False)],
)
def test_an_answer_in_words_is_kept_where_they_are_said(text, kept):
    assert keeps(text, None, "kitchen", "Where is the wallet?") == kept


def test_what_being_asked_again_does_to_the_answer_stands_beside_what_styles_do(experiment):
    frozen = sat(experiment, SPEAKERS["frozen student"])
    assert frozen["content_kept@again"] == (2 * FULL, 2 * FULL)


def test_a_longer_turn_shows_no_style_for_its_length():
    said = "You know that the answer is twelve."
    assert not STYLES["you"].shows(f"{said} {said}", said)


def test_an_answer_that_the_question_states_too_is_kept_where_no_other_is_said():
    question = "Tom has 12 bells and gets 0 more. How many has he?"
    assert keeps("Aye, he be having 12, matey!", None, "12", question)
    assert not keeps("Aye, he be having 13, matey!", None, "12", question)


class Drifts(FakeModel):
    """Another style in every sample, and never an answer."""

    async def complete(self, messages, sampling):
        return Completion("Hey, yeah." if sampling.seed % 2 else "It is so.", tokens=3, prompt_tokens=0)


def test_a_style_that_comes_and_goes_by_chance_is_counted_as_chance(experiment):
    many = experiment.model_copy(update={"exams": experiment.exams.model_copy(update={"episodes": 40})})
    found = sat(many, Drifts())
    assert found["style_answered"] == (0, 40 * FULL)
    shown, by_chance = found["style_shown@casual"], found["style_by_chance@casual"]
    assert 0 < by_chance[0] < by_chance[1] == 40 * FULL and shown[0] < shown[1]
    assert not any(metric.startswith(("content_kept", "style_alone")) for metric in found)


class Ignores(FakeModel):
    """One of two styles by its seed, whatever it is asked for."""

    async def complete(self, messages, sampling):
        return Completion("Hey, yeah, gonna." if sampling.seed % 2 else "It is so.", tokens=3, prompt_tokens=0)


def test_who_ignores_a_request_shows_its_style_as_often_as_by_chance(experiment):
    many = experiment.model_copy(update={"exams": experiment.exams.model_copy(update={"episodes": 200})})
    found = sat(many, Ignores())
    (shown, n), (by_chance, _) = found["style_shown@casual"], found["style_by_chance@casual"]
    assert 0.1 < by_chance / n < 0.4 and abs(shown - by_chance) / n < 0.06


def test_the_change_is_offered_where_both_its_parts_are_and_every_metric_is_defined(experiment):
    assert "style_change@formal" in catalog([EXAM]).offered(ratios(EXAM, experiment))
    assert all(is_declared(EXAM, metric) for metric in ratios(EXAM, experiment))


def test_the_same_seed_gives_the_same_cases_and_no_more_answers_than_announced(experiment):
    tasks, _ = exam_tasks(experiment)

    class Counts(Drifts):
        asked = 0

        async def complete(self, messages, sampling):
            self.asked += 1
            return await super().complete(messages, sampling)

    student = Counts()
    first: list[Case] = asyncio.run(EXAM.sit(seated(experiment, student, tasks)))
    assert student.asked == EXAM.answers(experiment, tasks) == FULL * 15
    assert first == asyncio.run(EXAM.sit(seated(experiment, student, tasks)))
    assert {case.metric for case in first} <= ratios(EXAM, experiment)


def test_references_give_the_scripts_figures(experiment):
    rows = {(row.who, row.metric): row for row in asyncio.run(reference(experiment))}
    assert rows["a scripted chameleon", "style_alone"].value == 1
    still = rows["a scripted frozen student", "style_shown"]
    assert (still.value, still.n) == (0, FULL * len(STYLES))


@pytest.mark.skipif("MAIEUTIC_DATA" not in os.environ, reason="MAIEUTIC_DATA is not set: no corpora to compare")
def test_people_who_talk_are_less_formal_than_people_who_write_solutions():
    data = Path(os.environ["MAIEUTIC_DATA"])
    talk = (line.split("|")[1] for line in (data / "swda" / "val_set.txt").read_text().splitlines() if "|" in line)
    written = (json.loads(line)["answer"] for line in (data / "gsm8k" / "test.jsonl").read_text().splitlines())

    def per_100(texts: list[str]) -> float:
        lengths = [len(words(text)) for text in texts]
        return 100 * sum(n * formality(text) for n, text in zip(lengths, texts, strict=True)) / sum(lengths)

    assert per_100(list(talk)) < -4 < -0.5 < per_100(list(written))
