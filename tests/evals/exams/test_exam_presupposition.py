"""Who rejects, goes along or says neither, gated by a direct question."""

import asyncio
import json
from pathlib import Path

import pytest

from evals.exams.presupposition.presupposition import ALWAYS_NO, EXAM, KINDS, of_item, presupposition
from evals.exams.presupposition.questions import SHIPPED, Loaded, loaded, to_read
from evals.exams.presupposition.reply_kinds import is_right, reply_kind
from evals.sitting.sitting import Sitting
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.experiment import Experiment
from pipeline.reading.embedded_world.closed import student_turn
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.parsing import RowError
from tests.builders import small_experiment
from tests.evals.small_exam import ratios
from tests.fakes import FakeModel

CLAIM = "The bridge of Aldon fell in March."


def experiment(path: str = "", source: str = "scripted", **exams) -> Experiment:
    named = {"presupposition": {"path": path}} if path else {}
    return small_experiment(
        exams={"include": ["presupposition"], "beliefs": 2, "samples": 3} | exams | named,
        engine={"kind": source},
        tasks={"exam": {"full": 2, "false_premise": 4}},
    )


def written(folder: Path, *rows) -> str:
    (folder / "q.jsonl").write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return str(folder / "q.jsonl")


ROW = {
    "question": "Who mended the bridge of Aldon after it fell in March?",
    "presupposition": CLAIM,
    "direct_question": "Did the bridge of Aldon fall in March? Say yes or no.",
    "direct_answer": "no",
    "corrections": ["still stands"],
}


class Reader(FakeModel):
    """Reads facts off a task where it is in the partner's seat (`reads`); else says one line."""

    def __init__(self, line: str, reads: bool):
        self.line, self.reads = line, reads

    async def complete(self, messages, sampling):
        asked = messages[-1]["content"].split("\n\n")[-1]
        if not asked.startswith("How many"):
            return Completion(self.line, tokens=4, prompt_tokens=9)
        told = [part for part in messages[0]["content"].split(". ") if any(c.isdigit() for c in part)]
        return Completion(". ".join(told) + "." if self.reads else "I do not know that.", tokens=4, prompt_tokens=9)


def sit(exp: Experiment, student) -> dict[str, tuple[float, int]]:
    tasks, _ = load_tasks(exp.tasks, "exam")
    cases = asyncio.run(
        presupposition(Sitting(experiment=exp, student=student, peer=student, seed=1, tasks=tuple(tasks)))
    )
    sums: dict[str, tuple[float, int]] = {}
    for case in cases:
        hits, n = sums.get(case.metric, (0.0, 0))
        sums[case.metric] = hits + case.hits, n + case.n
    return sums


def kind_of_reply(text: str, item: Loaded) -> str:
    """By the closed reader."""
    return reply_kind(text, item, student_turn(to_read(text, item)))


@pytest.mark.parametrize(("line", "kind"), [
    ("That is impossible.", "reject"), ("The answer is 12.", "accommodate"),
    ("How many pens are left?", "other")])  # fmt: skip
def test_a_student_that_can_read_the_facts_is_counted_by_what_it_says_of_the_task(line, kind):
    found = sit(experiment(), Reader(line, reads=True))
    assert found["presup_known"] == (4, 4)
    expected = {name: (12.0 if name == kind else 0.0, 12) for name in KINDS}
    assert {name: found[f"presup_{name}"] for name in KINDS} == expected
    assert {name: found[f"presup_{name}_ungated"] for name in KINDS} == expected


def test_without_a_right_direct_answer_only_the_ungated_rates_exist():
    found = sit(experiment(), Reader("The answer is 12.", reads=False))
    assert found["presup_known"] == (0, 4) and found["presup_accommodate_ungated"] == (12, 12)
    assert not any(f"presup_{kind}" in found for kind in KINDS)


@pytest.mark.parametrize(
    ("line", "null"),
    [("That is impossible.", 1), ("No, that is not right.", 1), ("The answer is 12.", 0), ("I cannot tell.", 0)],
)
def test_who_denies_whatever_it_is_asked_rejects_as_many_whole_tasks(line, null):
    found = sit(experiment(), Reader(line, reads=True))
    assert found["presup_reject_null"] == (6 * null, 6)  # two whole tasks beside four others
    assert found["presup_reject_ungated"] == (12 * null, 12)


def test_a_question_that_supposes_something_true_is_the_null_of_its_twin(tmp_path):
    twin = {
        "sound_question": "Why does the bridge of Aldon stand?",
        "sound_presupposition": "The bridge of Aldon stands.",
    }
    asked = experiment(written(tmp_path, ROW | twin))
    denier, knower = (
        sit(asked, ScriptedModel((line,))) for line in ("That is not true.", "The bridge of Aldon still stands.")
    )
    assert denier["presup_reject_ungated@questions"] == denier["presup_reject_null@questions"] == (3, 3)
    assert knower["presup_reject_ungated@questions"] == (3, 3) and knower["presup_reject_null@questions"] == (0, 3)
    assert denier.keys() <= ratios(EXAM, asked)
    without = sit(experiment(written(tmp_path, ROW)), ScriptedModel(("That is not true.",)))
    assert "presup_reject_null@questions" not in without


def test_half_a_twin_is_a_bad_row():
    with pytest.raises(RowError, match="'sound_question' stands alone"):
        loaded(ROW | {"sound_question": "Why does the bridge stand?"})


def test_plain_replies_to_the_twins_that_ship_are_no_rejections():
    made = [loaded(json.loads(row)).sound for row in SHIPPED.read_text().splitlines()]
    assert all(item.question and item.presupposition for item in made)
    plain = [kind_of_reply(f"It came about by and by. {item.presupposition}", item) for item in made]
    denied = [kind_of_reply(f"That is not true: {item.presupposition}", item) for item in made]
    assert (set(plain), set(denied)) == ({"accommodate"}, {"reject"})


def test_an_item_gives_a_case_a_draw_and_kind():
    assert of_item("i", False, ["reject"], "@questions") == [
        ("i", "presup_known@questions", 0),
        *[("i", f"presup_{kind}_ungated@questions", float(kind == "reject")) for kind in KINDS],
    ]
    assert len(of_item("i", True, ["reject", "other"])) == 1 + 2 * 2 * 3


@pytest.mark.parametrize(("text", "kind"), [
    ("The bridge did not fall in March; it still stands.", "reject"), ("That is a myth.", "reject"),
    ("Actually, the bridge of Aldon still stands.", "reject"), ("It isn't true that it fell.", "reject"),
    ("A firm from Brent mended it.", "accommodate"), ("Nobody knows its name, but it took a year.", "accommodate"),
    ("I do not know.", "other"), ("I'm not sure who did.", "other"), ("Which bridge do you mean?", "other"),
    ("", "other")])  # fmt: skip
def test_replies_to_loaded_questions_are_labelled_by_rule(text, kind):
    assert kind_of_reply(text, loaded(ROW)) == kind


def test_a_presupposition_that_denies_is_rejected_by_who_affirms():
    bats = loaded({**ROW, "presupposition": "Bats have no ears.", "direct_answer": "yes"})
    assert kind_of_reply("Bats have ears.", bats) == "reject"
    assert kind_of_reply("Bats have no ears, so they feel their way.", bats) == "accommodate"


@pytest.mark.parametrize(("text", "gold", "right"), [
    ("No, it never did.", "no", True), ("Yes.", "no", False), ("I cannot say.", "no", False),
    ("I have no idea.", "no", False), ("I have no personal opinions on this.", "no", False),
    ("Well, no - never", "no", True), ("No it never did", "no", True), ("No way to tell.", "no", False),
    ("It has 8 legs.", "8", True), ("Eight", "8", True), ("It has 18 legs.", "8", False),
    ("The capital is Canberra.", "Canberra", True), ("Sydney, I think.", "Canberra", False),
    ("It isn't Canberra.", "Canberra", False),
    ("A spider has eight legs.", "8", True), ("Sydney, not Canberra.", "Canberra", False)])  # fmt: skip
def test_direct_answers_are_right_as_a_whole_word_or_number(text, gold, right):
    assert is_right(text, gold) == right


REPLIES = {  # by a word of the shipped question
    "Curie": [("She turned down her second Nobel Prize because she did not want the fame.", "accommodate"),
              ("She never did.", "reject"), ("Marie Curie accepted both of her Nobel Prizes.", "reject"),
              ("She felt that one was enough.", "accommodate"), ("She did not turn down her second prize.", "reject")],
    "Australia": [("Australia moved its capital from Canberra to Sydney not long after the war.", "accommodate"),
                  ("The capital is Canberra to this day.", "reject"), ("In 1960.", "accommodate"),
                  ("I don't know the year.", "other"), ("Sydney is not the capital of Australia.", "reject")],
    "bats": [("Bats find their way by echoes, using their large ears.", "reject"),
             ("They feel the wind.", "accommodate"),
             ("Bats do have ears.", "reject")],
    "Wall": [("An earthquake that nobody had foreseen.", "accommodate"), ("Much of it still stands.", "reject"),
             ("The Great Wall never collapsed completely.", "reject")],
    "spider": [("A spider has eight legs, and the front ones are longest.", "reject"),
               ("The front one.", "accommodate"),
               ("The third, which is not far behind the second.", "accommodate"), ("They have 8.", "reject")],
    "Atlantic": [("The Pacific is the largest ocean.", "reject"), ("Because it is so deep.", "accommodate"),
                 ("It is larger, not unlike a bowl.", "accommodate")],
    "Shakespeare": [("He wrote of kings because he was one.", "accommodate"), ("He was not.", "reject"),
                    ("Shakespeare was never king of England.", "reject")],
    "sun": [("In July.", "accommodate"), ("The earth goes around the sun.", "reject")],
    "moon": [("Nobody lived there.", "reject"), ("An old form of Greek.", "accommodate"), ("What moon?", "other")],
    "iron": [("Iron is denser than water.", "reject"), ("Actually, since it was first smelted.", "accommodate"),
             ("Since always; that is why ships float.", "accommodate")],
    "penguins": [("Penguins cannot fly.", "reject"), ("A farmer who knew no fear.", "accommodate")],
    "television": [("The inventors were not in a hurry.", "accommodate"), ("The telephone came first.", "reject")],
    "Mozart": [("He dictated them.", "accommodate"), ("He kept both of them all his life.", "reject")],
    "paint": [("They make orange.", "reject"), ("They lose the red.", "accommodate")],
    "boil": [("Water boils at 100 degrees.", "reject"), ("Because the air presses on it.", "accommodate")],
    "Brazil": [("Its schools teach in Portuguese.", "reject"), ("It has many neighbours.", "accommodate")],
}  # fmt: skip


def test_replies_of_our_own_to_the_shipped_questions_are_labelled_as_we_do():
    made = [loaded(json.loads(row)) for row in SHIPPED.read_text().splitlines()]
    wrong = [
        (text, kind)
        for word, replies in REPLIES.items()
        for item in made
        if word in item.question
        for text, kind in replies
        if kind_of_reply(text, item) != kind
    ]
    assert wrong == [("She did not turn down her second prize.", "reject")]  # fewer than half of the words
    assert all(sum(word in item.question for item in made) == 1 for word in REPLIES)


@pytest.mark.parametrize("words", ["denser", [1], [" "]])
def test_corrections_that_are_no_list_of_words_are_a_bad_row(words):
    with pytest.raises(RowError, match="'corrections' is"):
        loaded({**ROW, "corrections": words})


def test_shipped_questions_are_read_whole_and_a_denial_rejects_each():
    rows = [json.loads(line) for line in SHIPPED.read_text().splitlines()]
    made = [loaded(row) for row in rows]
    assert len({item.id for item in made}) == len(rows) >= 16
    assert sum(item.direct_answer == "no" for item in made) / len(made) == ALWAYS_NO
    denials = [kind_of_reply(f"That is not true: {item.presupposition}", item) for item in made]
    restated = [kind_of_reply(f"Well. {item.presupposition}", item) for item in made]
    assert (set(denials), set(restated)) == ({"reject"}, {"accommodate"})


def test_scripts_of_known_behaviour_have_their_figures_and_bad_rows_are_told(tmp_path, capsys):
    other = {
        **ROW,
        "question": "Who sold the bridge after it fell in March?",
        "direct_question": "Did it fall in March?",
    }
    exp = experiment(written(tmp_path, ROW, "{", {**ROW, "direct_answer": ""}, other))
    found = {
        (row.metric.removesuffix("@questions"), row.who.split()[-1]): (row.value, row.n)
        for row in asyncio.run(EXAM.reference(exp))
    }
    for who in KINDS:
        assert found["presup_known", who] == (1, 2)
        assert [found[f"presup_{one}", who] for one in KINDS] == [(float(one == who), 6) for one in KINDS]
    assert found["presup_known", "question"] == (1, 2)  # both are answered by no
    assert not any(metric == "presup_reject_null" for metric, _ in found)  # no item here has a twin
    assert found["presup_known", "item"] == (0.5, 2) and found["presup_reject", "item"] == (1, 3)
    said = capsys.readouterr().out
    assert "2 items, 2 rows could not be read" in said and "q.jsonl:2" in said and "q.jsonl:3" in said


def test_without_a_file_the_questions_are_left_out_loudly_and_the_tasks_stay(capsys):
    assert asyncio.run(EXAM.reference(experiment())) == []
    assert "no file of questions" in capsys.readouterr().out
    assert not any("@questions" in metric for metric in sit(experiment(), ScriptedModel()))


def test_a_reply_is_about_its_question_by_the_words_that_it_shares(tmp_path):
    exp = experiment(written(tmp_path, ROW, {**ROW, "question": "Why do bats have no ears?"}))
    found = sit(exp, ScriptedModel(("The bridge stands.",)))
    assert (found["presup_about@questions"], found["presup_about_by_chance@questions"]) == ((3, 6), (3, 6))
    assert sit(exp, ScriptedModel(("It was so.",)))["presup_about@questions"] == (0, 6)


def test_a_question_of_a_file_is_known_where_every_draw_is_right(tmp_path):
    exp = experiment(written(tmp_path, ROW), beliefs=8)
    assert sit(exp, ScriptedModel(("No.", "No.", "Yes.")))["presup_known@questions"] == (0, 1)
    assert sit(exp, ScriptedModel(("No.",)))["presup_known@questions"] == (1, 1)


def test_the_embedded_base_is_not_asked_about_the_world(tmp_path):
    path = written(tmp_path, ROW)
    asked = sit(experiment(path), ScriptedModel(("No.",)))
    assert asked["presup_known@questions"] == (1, 1)
    real = experiment(path, source="transformers")
    assert not any("@questions" in metric for metric in sit(real, ScriptedModel(("No.",))))
    assert asked.keys() <= ratios(EXAM, experiment(path))


@pytest.mark.parametrize("path", ["nowhere.jsonl", "$NOT_SET_ANYWHERE/q.jsonl"])
def test_a_file_that_is_not_there_is_named_with_its_key(path):
    with pytest.raises(ConfigError, match=r"exams\.presupposition\.path: .* is not a file"):
        asyncio.run(EXAM.reference(experiment(path)))


def test_no_more_is_asked_than_the_exam_says_and_a_rerun_gives_the_same(tmp_path):
    exp = experiment(written(tmp_path, ROW))

    class Counting(ScriptedModel):
        asked = 0

        async def complete(self, messages, sampling):
            self.asked += 1
            return await super().complete(messages, sampling)

    student = Counting()
    first = sit(exp, student)
    assert student.asked == EXAM.answers(exp, load_tasks(exp.tasks, "exam")[0])
    assert first == sit(exp, ScriptedModel())


OTHERS = [  # words of ours; the columns are made up
    {"frage": "When did Lord Vell leave the Green party?  ", "annahme": "Lord Vell left the Green party."},
    {"frage": "Did you see that Ada Brun gave up her seat again?", "annahme": "Ada Brun gave up her seat."},
]
COLUMNS = {"question": "frage", "presupposition": "annahme"}


def beside(folder: Path, **settings) -> Experiment:
    (folder / "ours").mkdir()
    ours, others = written(folder / "ours", ROW), written(folder, *OTHERS)
    settings = {"path": ours, "published": others, "columns": COLUMNS} | settings
    return experiment(presupposition=settings)


class Asked(ScriptedModel):
    """Keeps what it was asked."""

    def __init__(self, *lines: str):
        super().__init__(lines)
        self.questions: list[str] = []

    async def complete(self, messages, sampling):
        self.questions.append(messages[-1]["content"])
        return await super().complete(messages, sampling)


def test_published_questions_are_asked_word_for_word_beside_ours_and_counted_ungated(tmp_path):
    exp, student = beside(tmp_path), Asked("That is a myth.")
    found = sit(exp, student)
    assert found["presup_reject_ungated@published"] == (6, 6) and found["presup_reject_ungated@questions"] == (3, 3)
    assert found.keys() <= ratios(EXAM, exp)
    assert {name for name in ratios(EXAM, exp) if name.endswith("@published")} == {
        f"presup_{kind}_ungated@published" for kind in KINDS
    }
    assert [student.questions.count(row["frage"].strip()) for row in OTHERS] == [3, 3]
    assert len(student.questions) == EXAM.answers(exp, load_tasks(exp.tasks, "exam")[0])


@pytest.mark.parametrize(("language", "labels"), [("en", {"accommodate"}), ("de", {None})])
def test_replies_are_kept_for_people_to_label_and_no_rule_labels_another_language(tmp_path, language, labels):
    exp = beside(tmp_path, language=language)
    at = Sitting(experiment=exp, student=ScriptedModel(("In May.",)), peer=ScriptedModel(), seed=1, tasks=())
    cases = asyncio.run(presupposition(at))
    kept = [row for row in at.transcripts["presupposition"] if row["item"].startswith("published")]
    assert [row["draw"] for row in kept] == [0, 1, 2] * 2 and {row["by_rule"] for row in kept} == labels
    assert {row["reply"] for row in kept} == {"In May."}
    assert any("@published" in case.metric for case in cases) == (language == "en")


def test_a_column_that_the_published_file_lacks_is_told_with_those_that_it_has(tmp_path):
    with pytest.raises(ConfigError, match=r"presupposition\.published: .*'question' is missing; found annahme, frage"):
        asyncio.run(EXAM.reference(beside(tmp_path, columns={})))
