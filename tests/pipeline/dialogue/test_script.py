"""A script's turns are found in the ways in which models write them, and whole."""

import asyncio

import pytest

from pipeline.dialogue.episode import Cast, Episode, UnparsedScript
from pipeline.dialogue.script import script_turns
from pipeline.dialogue.turn_taking import play
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.prompts.prompts import Prompts
from tests.fakes import Parrot

THREE = ["How many are there?", "Four.", "The answer is 8."]
# Each with the words of the three turns in its braces.
FORMS = {
    "plain": "Student: {}\nPartner: {}\nStudent: {}",
    "bold": "**Student:** {}\n\n**Partner:** {}\n\n**Student:** {}",
    "bold name": "**Student**: {}\n**Partner**: {}\n**Student**: {}",
    "italics": "*Student:* {}\n_Partner_: {}\n*Student:* {}",
    "capitals": "STUDENT: {}\nPARTNER: {}\nSTUDENT: {}",
    "numbered": "1. Student: {}\n2. Partner: {}\n3. Student: {}",
    "numbered and bold": "1) **Student:** {}\n2) **Partner:** {}\n3) **Student:** {}",
    "turns": "Turn 1 - Student: {}\nTurn 2 - Partner: {}\nTurn 3 - Student: {}",
    "turns in brackets": "**Turn 1 (Student):** {}\n**Turn 2 (Partner):** {}\n**Turn 3 (Student):** {}",
    "headings": "### Student\n{}\n\n### Teacher\n{}\n\n### Student\n{}",
    "brackets": "[Student]: {}\n[Partner]: {}\n[Student]: {}",
    "list": "- Student: {}\n- Partner: {}\n- Student: {}",
    "moods": "Student (thinking): {}\nPartner (calm): {}\nStudent: {}",
    "words below": "Student:\n{}\n\nPartner:\n{}\n\nStudent:\n{}",
    "words around": "Sure! Here it is:\n\nStudent: {}\nPartner: {}\nStudent: {}\n\n---\nNote: the Partner knew it.",
    "rules between": "Student: {}\n\n---\n\nPartner: {}\n\n---\n\nStudent: {}",
    "in a fence": "Here it is:\n```text\nStudent: {}\nPartner: {}\nStudent: {}\n```\n",
    "cut before a word": "Student: {}\nPartner: {}\nStudent: {}\nPartner:",
}
CODE = "Here it is:\n```python\ndef f():\n    return '''\nPartner: no turn\n---\n'''\n```\nIs it right?"


def turns(text: str) -> list[tuple[str, str]]:
    return [(turn.party, turn.text) for turn in script_turns(text, ScriptedModel())]


@pytest.mark.parametrize("form", FORMS)
def test_turns_are_found_in_every_form_that_models_write(form):
    assert turns(FORMS[form].format(*THREE)) == list(zip(["student", "partner", "student"], THREE, strict=True))


@pytest.mark.parametrize("form", ["plain", "bold", "numbered and bold", "headings", "words below", "in a fence"])
def test_a_turn_of_several_lines_and_a_program_is_whole(form):
    said = ["One line.\n\nAnd another: here.", "A partner: I am one.\nStudents may ask.", CODE]
    assert [text for _, text in turns(FORMS[form].format(*said))] == said


@pytest.mark.parametrize(
    "text",
    ["", "Hello.", "Partner: Four.\nStudent: Eight.", "Student: A.\nStudent: B.\nPartner: C.", "Student:\nPartner: A."],
)
def test_sides_that_cannot_be_told_apart_are_a_failure_of_their_own(text):
    with pytest.raises(UnparsedScript, match="student's first"):
        turns(text)


@pytest.mark.parametrize(("end", "cut"), [("", True), ("\nPartner:", False), ("\n\n---\nNote: all of it", False)])
def test_a_last_turn_that_the_token_limit_cut_is_no_whole_one(underspecified, end, cut):
    class Cut(Parrot):
        async def complete(self, messages, sampling):
            return (await super().complete(messages, sampling))._replace(finished=False)

    condition, written = Condition(partition="script", voice="model"), FORMS["plain"].format(*THREE) + end
    cast = Cast(Parrot(), Cut(written), partner_prompts=Prompts("chat"))
    episode = Episode(task=underspecified[0], condition=condition, cast=cast, settings=DialogueSettings(), key="k")
    assert [turn.finished for turn in asyncio.run(play(episode)).turns] == [True, True, not cut]


def test_the_writer_sees_both_sides_and_is_not_told_to_hide_from_itself(underspecified):
    task, condition, writer = underspecified[0], Condition(partition="script", voice="model"), Parrot("Student: Hm.")
    cast = Cast(Parrot(), writer, partner_prompts=Prompts("chat"))
    asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=DialogueSettings(), key="k")))
    [read] = writer.seen
    briefing = read[0]["content"]
    assert all(known in briefing for known in (task.question, task.missing[0].text, task.solution, task.answer))
    assert "Do not say" not in briefing and "what it knows itself at that point" in briefing
