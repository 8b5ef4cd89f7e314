"""The templates that ship name only what there is, and one's own replace just those that they hold."""

import json
import runpy
from pathlib import Path

import pytest

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Turn
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import TOLD_TO_IT
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import CLOSED_PROMPTS, SETS, TEMPLATES, Prompts, prompts_of

WITH_PARTNER = [name for name, row in PARTITIONS.items() if row.partner is not None and not row.one_writer]
FACTS = Condition(partition="facts", voice="model")
TURN = [Turn(party="student", text="How many?")]


def reads(task, prompts: Prompts, condition: Condition = FACTS, party: str = "partner") -> str:
    return "\n".join(message["content"] for message in view(task, condition, TURN, party, prompts))


@pytest.fixture
def own(tmp_path):
    """Writes templates, and gives the prompts with them before `chat`."""

    def write(**files: str) -> Prompts:
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.j2"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return prompts_of(str(tmp_path), "chat")

    return write


@pytest.mark.parametrize("name", SETS)
def test_the_sets_that_ship_pass_the_checks_of_ones_own(name):
    prompts_of(str(TEMPLATES / name), "chat")


@pytest.mark.parametrize("partition", WITH_PARTNER)
def test_a_chat_partner_has_role_goal_two_dos_two_donts_length_and_one_example(partition, underspecified):
    condition = Condition(partition=partition, voice="model")
    briefing = view(underspecified[0], condition, TURN, "partner", Prompts("chat"))[0]["content"]
    parts = dict(part.split("\n", 1) for part in briefing.split("# ")[1:] if "\n" in part)
    assert {"Goal", "Do", "Don't", "Form", "Example, from another conversation"} <= set(parts)
    for part in ("Do", "Don't"):
        assert parts[part].count("\n- ") + parts[part].startswith("- ") == 2, part
    assert 2 <= parts["Example, from another conversation"].count("\nYou: ") <= 3


def test_in_brief_a_peer_reads_what_its_student_reads_and_who_knows_more_all(underspecified):
    peer = Condition(partition="symmetric", voice="model")
    mine, theirs = (view(underspecified[0], peer, [], party, Prompts("brief")) for party in ("student", "partner"))
    assert mine == theirs
    assert reads(underspecified[0], Prompts("brief")) == reads(underspecified[0], Prompts("chat"))


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_students_prompt_names_no_behaviour_under_test_and_instructed_does(partition, underspecified):
    condition = Condition(partition=partition, voice="model" if partition == "script" else "rule")
    words = "ask question guess agree disagree check verify missing lack hint help doubt confirm unsure know".split()
    neutral, ordered = (
        view(underspecified[0], condition, [], "student", Prompts(name))[0]["content"].lower().replace("unknown", "")
        for name in ("chat", "instructed")
    )
    assert not [word for word in words if word in neutral.split("# form")[0]]
    assert "ask your partner" in ordered and ordered.startswith(neutral[:200])


def test_a_folder_replaces_just_the_templates_that_it_holds(own, underspecified):
    task = underspecified[0]
    prompts = own(partner__facts="{% block opening %}Psst: {{ facts | join(' ') }}{% endblock %}")
    assert view(task, FACTS, TURN, "partner", prompts) == [
        {"role": "user", "content": f"Psst: {' '.join(fact.text for fact in task.missing)}\n\nHow many?"}
    ]
    for condition, party in ((FACTS, "student"), (Condition(partition="key", voice="model"), "partner")):
        assert reads(task, prompts, condition, party) == reads(task, Prompts("chat"), condition, party)


def test_a_template_of_ones_own_may_extend_the_one_that_it_replaces(own, underspecified):
    text = '{% extends "chat/partner/facts.j2" %}{% block length %}\nIn rhyme.\n{% endblock %}'
    found, shipped = (reads(underspecified[0], prompts) for prompts in (own(partner__facts=text), Prompts("chat")))
    assert found == shipped.replace("One or two short sentences, in plain words.", "In rhyme.") != shipped


def test_a_block_that_only_models_templates_have_is_refused_with_whose_set_it_is(own):
    text = '{% extends "chat/partner/facts.j2" %}{% block length %}In rhyme.{% endblock %}'
    folder = own(partner__facts=text).own
    with pytest.raises(ConfigError, match="stands the set `closed`, of the embedded base and of scripts"):
        prompts_of(folder, "closed")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{% block system %}\n\n{{ anser }}{% endblock %}", 3, "'anser' is not defined. Known here: answer"),
        ("{% block system %}\n{% if memories %}{% endif %}{% endblock %}", 2, "'memories' is not defined"),
        ("\n{% block system %}", 2, "Unexpected end of template"),
        ("\n{% extends 'chat/partner/fact.j2' %}", 2, "there is no template 'chat/partner/fact.j2'"),
        (
            "{% extends 'chat/partner/facts.j2' %}\n{% block lenght %}{% endblock %}",
            2,
            "chat/partner/facts.j2 has no block 'lenght' to replace. Known: .*length",
        ),
        ("Only you know: {{ facts }}", 1, "it has neither a block `system` nor a block `opening`"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_with_file_and_line(own, text, line, said):
    with pytest.raises(ConfigError, match=rf"facts\.j2:{line}: {said}"):
        own(partner__facts=text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{% block system %}\n{{ question.text }}\n{% endblock %}", r"facts\.j2:2: .* has no attribute 'text'"),
        ("{% block system %}\n\n{{ 1 / 0 }}{% endblock %}", r"facts\.j2:3: division by zero"),
    ],
)
def test_what_fails_in_a_template_is_an_error_with_file_and_line(own, text, said, underspecified):
    prompts = own(partner__facts=text)
    with pytest.raises(ConfigError, match=said):
        reads(underspecified[0], prompts)


def test_a_part_of_others_need_replace_nothing(own):
    assert own(_part="{{ given }}", student="{% block opening %}Hm.{% endblock %}")


def test_a_file_that_replaces_nothing_is_an_error(own):
    with pytest.raises(ConfigError, match=r"no template is called 'partner/fact\.j2'.*partner/facts\.j2"):
        own(partner__fact="Hm.")


def test_prompts_that_are_nowhere_are_an_error_that_names_what_there_is(tmp_path):
    for name in ("chatty", str(tmp_path / "none")):
        with pytest.raises(ConfigError, match="brief, demonstrated, may_ask, or a folder"):
            prompts_of(name, "chat")
    with pytest.raises(ConfigError, match="no template in this folder"):
        prompts_of(str(tmp_path), "chat")


def test_a_hash_of_the_words_changes_with_what_a_template_is_made_of_alone(own, tmp_path):
    before = own(partner__facts='{% extends "chat/partner/facts.j2" %}', _part="Hm.")
    hashes = [before.shapes(name) for name in ("partner/facts", "partner/key", "student")]
    assert hashes[1:] == [Prompts("chat").shapes(name) for name in ("partner/key", "student")]
    assert hashes[0] != Prompts("chat").shapes("partner/facts")
    Path(tmp_path, "partner/facts.j2").write_text('{% extends "chat/partner/facts.j2" %} ', encoding="utf-8")
    assert before.shapes("partner/facts") != hashes[0] and CLOSED_PROMPTS.shapes("student") not in hashes


@pytest.mark.parametrize("partition", PARTITIONS)
def test_closed_views_are_the_bytes_that_the_embedded_base_was_made_with(partition):
    before = json.loads(Path(__file__).with_name("closed_views.json").read_text("utf-8"))
    made = runpy.run_path(str(Path(__file__).with_name("closed_views.py")))
    assert made["hashes"](partition) == before[partition]


def test_what_a_partner_must_not_repeat_stands_in_what_it_is_told():
    texts = [path.read_text("utf-8") for name in ("closed", "chat") for path in (TEMPLATES / name).rglob("*.j2")]
    rendered = (
        "\n".join(texts)
        .replace("{{ owner }}", "you")
        .replace('{{ "you both" if both_know else ', "")
        .replace('"you alone" }}', "you alone")
    )
    assert not [phrase for phrase in TOLD_TO_IT if phrase not in rendered]


def test_the_words_are_part_of_the_ids_of_the_dialogues_that_they_shape(tmp_path):
    conditions = {name: {"partition": name, "voice": "model"} for name in ("facts", "key")} | {
        "rule": {"partition": "facts"}
    }

    def ids(**roles: object) -> dict[str, str]:
        made = Experiment.model_validate(
            {
                "name": "x",
                "engine": {"kind": "scripted"},
                "tasks": {"train": {"full": 1}},
                "conditions": conditions,
                **roles,
            }
        )
        return {name: DialogueKeys(Cell(made, name, 1)).id("t", 0) for name in conditions}

    def changed(**roles: object) -> set[str]:
        return {name for name, id in ids(**roles).items() if id != ids()[name]}

    (tmp_path / "partner").mkdir()
    (tmp_path / "partner/facts.j2").write_text("{% block opening %}Psst: {{ facts | join(' ') }}{% endblock %}")
    assert changed(partner={"prompts": str(tmp_path)}) == {"facts"}
    assert changed(partner={"prompts": "chat"}) == {"facts", "key"}
    assert changed(student={"prompts": "chat"}) == {"facts", "key", "rule"} and not changed(
        student={"prompts": "closed"}
    )
