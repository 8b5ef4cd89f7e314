"""Which engines roles may name, and what those can be asked for.

Raises ValueError, which a config's reader tells with the file and the key.
"""

from __future__ import annotations

from pipeline.engines.settings import Engine
from pipeline.experiment.fields import WHOLE, Fields
from pipeline.experiment.roles import ROLES, Role


def check_engine_names(experiment: Fields) -> None:
    """Raises ValueError for a role whose engine is not there."""
    if "" in experiment.engines:
        raise ValueError("engines: '' is no name. The engine of roles that name none is `engine`")
    known = ", ".join(experiment.engines) or "none. Write engines: {NAME: {kind: ...}}"
    roles: dict[str, Role] = {
        "student": experiment.student,
        "partner": experiment.partner,
        "judge": experiment.judge,
        "challenger": experiment.challenger,
    }
    for name, role in roles.items():
        if role.engine and role.engine not in experiment.engines:
            raise ValueError(f"{name}.engine: {role.engine!r} is not in engines. Known: {known}")


def check_roles(experiment: Fields) -> None:
    """Raises ValueError for engines that cannot do what is asked of them, and for a judge that may not judge."""
    for name in experiment.roles_in_use:
        kind, key = experiment.engine_of(name).kind, f"{experiment.engine_of(name).config_key}.kind"
        if experiment.dialogue.deterministic and kind in ("vllm", "openai"):
            raise ValueError(
                f"dialogue.deterministic: true needs a batch of one, which {key} {kind!r} cannot promise. Set {key}: "
                "transformers"
            )
        own = experiment.role(name).sampling.temperature
        if name != "judge" and own and not experiment.dialogue.temperature:
            raise ValueError(
                f"{name}.sampling.temperature: {own:g}: dialogue.temperature: 0 asks every role for its likeliest "
                "turn, so this would count for nothing. Raise dialogue.temperature, and give 0 to those that are to be "
                "asked so"
            )
    for name in ROLES:
        experiment.prompts(name)
    _check_memory(experiment)
    _check_paces(experiment)
    _check_judge(experiment)
    _check_prices(experiment)
    _check_sound(experiment)
    _check_demonstrated(experiment)


def _check_demonstrated(experiment: Fields) -> None:
    for name, each in experiment.conditions.items():
        shown = experiment.partner.prompts == "demonstrated" and each.voice == "model"
        shown &= each.partition in ("key", "mindreader")
        if shown and (each.reveal or each.disclosure != "on_request"):
            key, value = ("reveal", "true") if each.reveal else ("disclosure", each.disclosure)
            raise ValueError(
                f"conditions.{name}.{key}: {value}: the prompts `demonstrated` show a partner with the key that tells "
                "the first step and not the answer, whatever is said here. Leave it out, or use other partner.prompts"
            )


def _check_memory(experiment: Fields) -> None:
    if len(beside := experiment.vllm_models) < 2:
        return
    shares = [experiment.named_engines[name].gpu_memory_utilization for name in beside]
    taken = sum(share or 0 for share in shares)
    if taken > 1 or (None in shares and taken >= WHOLE):
        raise ValueError(
            f"engines: {', '.join(name or 'engine' for name in beside)} run beside each other, and their "
            f"gpu_memory_utilization comes to {taken:g} of a GPU. At most 1 is there for all, and less than {WHOLE} "
            "where one of them names none"
        )


def _check_paces(experiment: Fields) -> None:
    first: dict[tuple[str, str], Engine] = {}
    for engine in map(experiment.engine_of, ROLES):
        if engine.kind != "openai":
            continue
        other = first.setdefault((engine.url.rstrip("/"), engine.key_env), engine)
        if engine.requests_per_minute != other.requests_per_minute:
            raise ValueError(
                f"{engine.config_key}.requests_per_minute: {_in_yaml(engine.requests_per_minute)}, and "
                f"{other.config_key} has {_in_yaml(other.requests_per_minute)} for the same url and key_env, whose "
                "requests are spaced together. Write the same number into both"
            )


def _in_yaml(number: float | None) -> str:
    return "null" if number is None else f"{number:g}"


def _check_judge(experiment: Fields) -> None:
    partner, metrics = experiment.readers
    readers = {"reading.partner": partner, "reading.metrics": metrics, "acts.labeller": experiment.acts.labeller}
    reads = [key for key, name in readers.items() if name == "judge"]
    if reads and not experiment.judge.model:
        raise ValueError(f"{reads[0]}: a judge needs judge.model, its name or directory")
    convincing = [name for name, condition in experiment.conditions.items() if condition.manner == "convincing"]
    if convincing and metrics == "judge":
        raise ValueError(
            f"reading.metrics: 'judge' would measure what conditions.{convincing[0]}, whose partner is rewarded for "
            "convincing that judge, made of it. Name another reader"
        )


def _check_prices(experiment: Fields) -> None:
    known = {*experiment.engines, *(experiment.role(name).model for name in ROLES)}
    if unknown := [name for name in experiment.prices if name not in known]:
        raise ValueError(
            f"prices.{unknown[0]}: {unknown[0]!r} is the model of no role, and no engine of `engines`. Known: "
            f"{', '.join(sorted(known))}"
        )


def _check_sound(experiment: Fields) -> None:
    if experiment.partner.sound is not None and all(c.voice != "model" for c in experiment.conditions.values()):
        raise ValueError(
            f"partner.sound: {experiment.partner.sound} is asked of partners that are models, and no condition has "
            "voice: model. Leave it out"
        )
