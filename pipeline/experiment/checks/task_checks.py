"""What may be asked of the tasks' source, and which tasks a condition may play.

Raises ValueError, which a config's reader tells with the file and the key.
"""

from __future__ import annotations

from pipeline.core.plugins import is_address
from pipeline.experiment.fields import Fields
from pipeline.knowledge.partition import Partition, partitions


def check_tasks(experiment: Fields) -> None:
    """Raises ValueError where the source, or a second one beside it, cannot give what is asked of it."""
    tasks, source = experiment.tasks, experiment.source
    for part, of_part in zip(tasks.parts, experiment.sources, strict=True):
        if part.path and of_part.made_here and not is_address(part.source):
            raise ValueError(
                f"tasks.path: {part.path!r}: source {part.source!r} makes its problems and reads no file. Leave it "
                "out, or name a source that reads yours, such as gsm8k"
            )
    if tasks.held_out and not source.kinds:
        raise ValueError(
            f"tasks.held_out: {list(tasks.held_out)} are kinds of problems, which source {tasks.source!r} "
            "does not have. Leave it out"
        )
    if bool(experiment.exams.held_out) != bool(tasks.held_out):
        raise ValueError(
            f"exams.held_out: {experiment.exams.held_out} tasks of the kinds {list(tasks.held_out)} in "
            "tasks.held_out: give both, or neither"
        )
    if tasks.per_condition and source.dialogues:
        raise ValueError(
            f"tasks.per_condition: {tasks.per_condition} is of problems that are played, and source {tasks.source!r} "
            "has people's dialogues. Leave it out"
        )
    if tasks.second is not None:
        _check_second(experiment)
    open_text = [part.name for part in experiment.sources if not part.closed]
    if open_text and "closed" in experiment.readers:
        raise ValueError(
            f"reading: 'closed' reads the embedded world's own wordings alone, and tasks are of {open_text[0]!r}. Use "
            "semantic, cross_encoder or judge, or leave the key out"
        )


def _check_second(experiment: Fields) -> None:
    second, sources = experiment.tasks.second, experiment.sources
    assert second is not None
    nested = second.second or second.per_condition or second.held_out
    if nested or any(source.dialogues for source in sources) or sources[0].name == sources[1].name:
        raise ValueError(
            f"tasks.second: tasks of {second.source!r} beside those of {experiment.tasks.source!r}: two different "
            "sources are expected, neither of them with people's dialogues as mathdial, and second has none of second, "
            "per_condition and held_out"
        )
    if shared := sorted(set(experiment.tasks.held_out) & set(sources[1].kinds)):
        raise ValueError(
            f"tasks.held_out: {', '.join(shared)}: tasks.second, of {second.source!r}, has such tasks, too, and would "
            "train on them. Hold out kinds of the first source alone, or leave out second"
        )
    same_problems = {sources[0].name, sources[1].name} == {"hidden_item", "hidden_item_hard"}
    if same_problems and second.seed == experiment.tasks.seed:
        raise ValueError(
            f"tasks.second.seed: {second.seed}: {second.source!r} draws the problems of {experiment.tasks.source!r}: "
            "with one seed the same ones would stand in both. Give another seed"
        )


def check_tasks_of(experiment: Fields, condition_name: str) -> None:
    """Raises ValueError where a condition cannot play, or not learn from, the tasks that there are."""
    condition, tasks = experiment.conditions[condition_name], experiment.tasks
    if (condition.voice == "human") != (experiment.source.dialogues is not None):
        raise ValueError(
            f"conditions.{condition_name}.voice: 'human' goes with a tasks.source of people's dialogues such as "
            f"mathdial, and only with it; source {tasks.source!r} with voice {condition.voice!r} does not go"
        )
    absent = set(condition.specifications or ()).difference(*(part.train for part in tasks.parts))
    if condition.specifications is not None and (absent or not condition.specifications):
        raise ValueError(
            f"conditions.{condition_name}.specifications: {list(condition.specifications)} must name specifications of "
            f"tasks.train ({', '.join(tasks.train)}), at least one"
        )
    there = {source.name for source in experiment.sources}
    if condition.sources is not None and (set(condition.sources) - there or not condition.sources):
        raise ValueError(
            f"conditions.{condition_name}.sources: {list(condition.sources)} must name sources of tasks and "
            f"tasks.second ({', '.join(sorted(there))}), at least one"
        )
    _check_counts(experiment, condition_name)
    _check_partition(experiment, condition_name)


def _check_counts(experiment: Fields, condition_name: str) -> None:
    tasks, condition = experiment.tasks, experiment.conditions[condition_name]
    trains = any(sum(part.train.values()) for part in tasks.parts)
    if trains and condition.voice != "human" and not any(map(len, experiment.stretches(condition_name).values())):
        named = {"specifications": condition.specifications, "sources": condition.sources}
        asked = ", ".join(f"{key}: {list(each)}" for key, each in named.items() if each is not None)
        raise ValueError(
            f"conditions.{condition_name}: no task of tasks.train is left for it ({asked or 'per_condition is 0'}). "
            "Name others, or raise the counts of those"
        )
    parts = zip(("tasks", "tasks.second"), experiment.sources, tasks.parts, strict=False)
    counts = {(source.name, kind): (where, n) for where, source, part in parts for kind, n in part.train.items()}
    for (source_name, kind), stretch in experiment.stretches(condition_name).items():
        where, count = counts[source_name, kind]
        if stretch.stop > count:
            raise ValueError(
                f"tasks.per_condition: {tasks.per_condition} has conditions.{condition_name} play {kind} tasks "
                f"{stretch.start + 1} to {stretch.stop}, and {where}.train.{kind} is {count}. Raise this, or lower that"
            )


def _check_partition(experiment: Fields, condition_name: str) -> None:
    """A partner that holds facts, or what is wrong with a first solution, needs tasks that have them."""
    condition, tasks = experiment.conditions[condition_name], experiment.tasks
    sources = experiment.sources_of(condition_name)
    row, partition = condition.row, condition.partition
    # Of people's dialogues the row says what they knew, and nobody is told anything.
    bare = [each.name for each in sources if not each.has_facts]
    if row.holds_only_facts and bare and condition.voice != "human":
        at = f" with tasks.path {tasks.path!r}" if tasks.path else ""
        raise ValueError(
            f"conditions.{condition_name}.partition: {partition!r} has nothing to tell on source {bare[0]!r}{at}, "
            "whose questions lack nothing. Use a source of underspecified tasks such as sharded or embedded, or one of "
            f"the partitions {partitions(_needs_no_tasks_of_its_own)}"
        )
    read = [each.name for each in sources if not each.made_here]
    if row.deals_shares and read and condition.voice != "human":
        raise ValueError(
            f"conditions.{condition_name}.partition: {partition!r} deals the facts of a problem to both, and is for "
            f"sources that make their problems: of what {read[0]!r} reads nobody knows that a share does not hold the "
            "other's. Use another partition, or source embedded"
        )
    worded = [each.name for each in sources if each.worded]
    if condition.manner in ("vague", "erring") and worded:
        raise ValueError(
            f"conditions.{condition_name}.manner: {condition.manner!r} changes the numbers of facts, and those of "
            f"source {worded[0]!r} are told in words, dates and times. Use plain, low_effort, or source embedded"
        )
    unsolved = [each.name for each in sources if not each.has_first_solutions]
    if row.tells_mistakes and unsolved:
        raise ValueError(
            f"conditions.{condition_name}.partition: {partition!r} tells where a first solution is wrong, and "
            f"tasks of source {unsolved[0]!r} have none. Use source stepverify, or partition "
            f"{partitions(lambda row: row.tells_verdicts and not row.tells_mistakes)}"
        )


def _needs_no_tasks_of_its_own(row: Partition) -> bool:
    """The partner knows more, whatever the tasks are, and nothing false."""
    of_tasks = row.holds_only_facts or row.tells_mistakes
    return row.informs and not (of_tasks or row.deals_shares or row.believes_key or row.one_writer)
