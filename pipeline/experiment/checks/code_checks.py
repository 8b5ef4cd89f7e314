"""What a config may ask of code tasks.

Raises ValueError, which a config's reader tells with the file and the key.
"""

from __future__ import annotations

from pipeline.experiment.fields import Fields


def check_code(experiment: Fields, condition_name: str) -> None:
    """Raises ValueError where a condition asks of code tasks what they cannot give."""
    condition = experiment.conditions[condition_name]
    if not any(source.has_programs for source in experiment.sources_of(condition_name)):
        return
    row = condition.row
    refused = (
        ("partition", row.deals_shares, "a function cannot be told in two shares. Use facts"),
        ("partition", row.believes_key, "no wrong program is made for it. Use symmetric or key"),
        (
            "partition",
            row.one_writer,
            "the turns of a script are lines, and a program has several",
        ),
        ("selection", condition.selection == "agreement", "two programs are hardly ever the same text. Use outcome"),
        ("manner", condition.manner == "convincing", "it compares answers as text. Use plain"),
        ("method", condition.method == "grpo_step", "a program has no expert's steps. Use another method"),
    )
    for axis, is_asked, why in refused:
        if is_asked:
            value = getattr(condition, axis)
            raise ValueError(f"conditions.{condition_name}.{axis}: {value!r} does not go with code tasks: {why}")
    if experiment.dialogue.beliefs:
        raise ValueError(
            f"dialogue.beliefs: {experiment.dialogue.beliefs}: private beliefs are compared as values, and "
            "programs are not. Set it to 0 with code tasks"
        )
