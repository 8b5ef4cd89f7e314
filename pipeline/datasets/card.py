"""The simulation card of a dataset: who knew what how disclosed, models, prompts, counts, known limits.

Every sentence about the condition comes from its row of `pipeline.knowledge.partition`, so the card cannot drift
from what was run. The text around it is templates/card.md.j2.

    maieutic build configs/quickstart.yaml     # writes runs/quickstart/datasets/<condition>/README.md
"""

from __future__ import annotations

from huggingface_hub import DatasetCard, DatasetCardData

from pipeline.building.turn_values import has_turn_values
from pipeline.core.card_template import card_template
from pipeline.core.schema import Message, digest
from pipeline.core.shown_text import cut
from pipeline.datasets.card_figures import audit, counts, rates
from pipeline.datasets.card_roles import roles
from pipeline.datasets.card_words import DISCLOSURE, KEEP, LEARN, MANNER, MEMORY, SELECTION, VOICES, YOKED_REWARD
from pipeline.datasets.condition_rows import records_of
from pipeline.datasets.learning_rules import A_ROW, LEARNING_RULES, Format
from pipeline.datasets.survey import Survey
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.places import without_place, without_places
from pipeline.judging.stated_leak import privileged
from pipeline.knowledge.briefing import shapes
from pipeline.knowledge.condition import FROM_TASKS, OF_PARTNER, Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.partition import Items, in_order
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import script_view, view


def card(survey: Survey, rows: dict[Format, int]) -> str:
    """The README of one condition's dataset, which has so many `rows` in each format, of the surveyed dialogues."""
    experiment, name, condition = survey.experiment, survey.condition_name, survey.condition
    rule, sources = LEARNING_RULES[condition.method], experiment.sources_of(name)
    learned = records_of(survey, rule.format)
    first = next((survey.read(record.place) for record in learned), None)
    body = card_template("pipeline", "card.md.j2").render(
        experiment=experiment,
        name=name,
        condition=condition,
        student=knows(condition.row.student),
        partner=knows(condition.row.partner),
        disclosure=_disclosure(condition),
        voice=_voice(experiment, condition),
        roles=roles(experiment, condition),
        selection=SELECTION[condition.selection],
        keep=KEEP[condition.keep].format(
            fell=f"{sum(condition.keep not in record.holds for record in survey.dialogues)} of {len(survey.dialogues)}"
        ),
        base=without_place(condition.base),
        dropped="; where the partner violated its knowledge constraint, dropped"
        if condition.violations == "drop"
        else "",
        method=rule.says + (YOKED_REWARD if (condition.method, condition.selection) == ("grpo", "yoked") else ""),
        pool=_pool(experiment, name),
        memory=MEMORY[condition.memory].format(**experiment.memory.model_dump()) if condition.memory != "none" else "",
        format=rule.format,
        per_task=experiment.per_task(condition.learns_from or name),
        learn=LEARN[experiment.training.learn],
        sources=", ".join(f"`{source.name}`" for source in sources),
        licence="\n\n".join(dict.fromkeys(source.licence.asks for source in sources)),
        rates=rates(condition, learned),
        audit=audit(condition, survey.dialogues, learned) if condition.method not in FROM_TASKS else [],
        of_dialogues=condition.method not in FROM_TASKS,
        rows=rows[rule.format],
        counts=counts(condition, learned, rows[rule.format]),
        others=[(format, rows[format], A_ROW[format]) for format in rows if format != rule.format],
        limits=_limits(experiment, name),
        prompts=_prompts(experiment, condition),
        views=[] if first is None else _views(experiment, condition, first),
        config=without_places(experiment),
        model=without_place(experiment.student.model),
    )
    return str(DatasetCard(f"---\n{_metadata(survey, rows).to_yaml()}\n---\n\n{body}"))


def _metadata(survey: Survey, rows: dict[Format, int]) -> DatasetCardData:
    """What a hub reads of the card."""
    experiment, trains = survey.experiment, LEARNING_RULES[survey.condition.method].format
    licences = {source.licence.spdx for source in experiment.sources_of(survey.condition_name)}
    configs = [
        {
            "config_name": format,
            "data_files": f"{format}/*.parquet",
            **({"default": True} if format == trains and len(rows) > 1 else {}),
        }
        for format in rows
    ]
    return DatasetCardData(
        pretty_name=f"{experiment.name}: {survey.condition_name}",
        language="en",
        license=licences.pop() if len(licences) == 1 else "other",
        tags=["maieutic", "dialogue", "knowledge-asymmetry"],
        task_categories=["text-generation"],
        configs=configs,
    )


def knows(items: Items | None) -> str:
    """One party's row in words, in their order."""
    return "nobody: there is no partner" if items is None else "; ".join(item.says for item in in_order(items))


def _disclosure(condition: Condition) -> str:
    if condition.row.partner is None:
        return "There is no partner: the student goes on after content-free turns."
    if not condition.row.holds_private:
        return "The partner has nothing to tell that the student cannot read." + MANNER[condition.manner]
    if condition.voice == "human":
        return "People: what they told, and when, was up to them."
    told = DISCLOSURE[condition.disclosure] + MANNER[condition.manner]
    if condition.row.holds_answer:
        told += " It may say the answer." if condition.reveal else " It is not to say the answer."
    return told


def _pool(experiment: Experiment, condition_name: str) -> str:
    """Whose dialogues the rows are made of, and whether those of branches are among them."""
    source = experiment.conditions[condition_name].learns_from
    whose = f"Its dialogues are those of condition `{source}`" if source else "Its dialogues are this condition's own"
    of_partner = experiment.conditions[condition_name].method in OF_PARTNER
    if of_partner or not has_turn_values(experiment, source or condition_name):
        return f"{whose}."
    return f"{whose}, and those in which they were played on from other turns that the student might have said."


def _voice(experiment: Experiment, condition: Condition) -> str:
    model = without_place(experiment.partner.model or experiment.student.model)
    weights = {"base": "its untrained weights", "current": "the student's current weights"}
    name = f"`{model}`, {weights.get(condition.weights, f'the adapter of condition `{condition.weights}`')}"
    wordings = sum(len(lines) for lines in WORDINGS["train"].values())
    return VOICES[condition.voice].format(wordings, model=name)


def _limits(experiment: Experiment, condition_name: str) -> list[str]:
    condition, limits = experiment.conditions[condition_name], list[str]()
    if condition.voice != "human":
        limits.append("The partner is simulated. What a student learns from it need not hold with people.")
    if condition.pass_rate != (0, 1):
        limits.append(
            f"Only tasks whose dialogues end right in {condition.pass_rate[0]:.0%} to "
            f"{condition.pass_rate[1]:.0%} of cases."
        )
    if condition.budget < 1:
        limits.append(f"Only tasks within the condition's budget, a share of {condition.budget:g} of them.")
    chooses = condition.selection != "none" or condition.keep != "all" or condition.violations == "drop"
    if chooses and LEARNING_RULES[condition.method].selects:
        limits.append("Rows were selected, so rates of acts here are not rates of what the student does.")
    if experiment.has_planted_acts:
        limits.append(
            "The base's acts (asking, acknowledging, giving in and so on) and how often it makes them were "
            "planted when it was trained; only changes against it mean anything."
        )
        if condition.is_plumbing_on_embedded:
            limits.append(
                "Plumbing: what this condition does in the embedded world is the corpus author's choice. "
                "No claim rests on it."
            )
    if any(source.has_programs for source in experiment.sources_of(condition_name)):
        limits.append(
            "Programs are right where they pass their tests. A partner gives one away where its own passes; one told "
            "in words or pieces, and false conventions, are not measured: those rules read numbers. A convention "
            "counts as asked for by its topics' words, with no measured precision or recall, and as told nearly word "
            "for word."
        )
    if condition.voice == "human":
        limits += [limit for source in experiment.sources_of(condition_name) for limit in source.limits]
        limits.append(
            "leak_stated misses leaks in people's talk: of those that MathDial's teachers admit the rule finds 64% "
            "(27 of 42, docs/labels.md)."
        )
    if condition.voice == "model" and privileged(condition):
        limits.append(
            "leak_stated reads the model's turns by rule. Of the replies of tutors that people call a leak, on the "
            "held-out half of MRBench, this rule found 26 of 28 (docs/labels.md)."
        )
    if condition.row.deals_shares:
        limits.append("Facts are dealt in turn; the student's question is its share and the last sentence.")
    return [*limits, "Answers are compared by value where they can be parsed. Acts and attempts are read off by rule."]


def _prompts(experiment: Experiment, condition: Condition) -> str:
    """With which templates models were prompted, and a hash of those that this condition's dialogues rest on."""
    student, partner = experiment.prompts("student"), experiment.prompts("partner")
    words = [f"Student: {student.says}."] if not condition.row.one_writer else []
    sampled = student if condition.method == "expert" else experiment.sampling_prompts(condition)
    if sampled != student and not condition.row.one_writer:
        words.append(f"While its dialogues were sampled it had {sampled.says}, which no row carries.")
    if condition.voice == "model":
        words.append(f"{'Writer of both sides' if condition.row.one_writer else 'Partner'}: {partner.says}.")
    return f"{' '.join(words)} Hash of the words: `{digest(shapes(condition, sampled, partner))}`."


def _views(experiment: Experiment, condition: Condition, first: Dialogue) -> list[tuple[str, list[str]]]:
    """Both parties' opening messages of a dialogue, or those of the writer of both sides, as lines."""
    shown = [("The student reads", view(first.task, condition, [], "student", experiment.prompts("student")))]
    prompted = condition.row.partner is not None and condition.voice != "human"
    if condition.row.one_writer:
        shown = [("The writer of both sides reads", script_view(first.task, condition, experiment.prompts("partner")))]
    elif prompted and known(first.task, condition, "partner").question:
        opening = view(first.task, condition, first.turns[:1], "partner", experiment.partner_prompts(condition))
        shown.append(("The partner reads", opening))
    return [(who, [line for message in messages for line in _lines(message)]) for who, messages in shown]


def _lines(message: Message) -> list[str]:
    """A message for an indented block: what a model or a source wrote stays text there, and has an end."""
    text, left = cut(message["content"])
    more = [f"({left} more letters)"] if left else []
    return f"[{message['role']}] {text}".splitlines() + more
