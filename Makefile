# On a machine with a GPU the same constraints give the CUDA build of torch.
PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: env demo test test-slow bench

env: .venv/installed

# torch first: what follows then finds it there, and takes no other build.
.venv/installed: pyproject.toml constraints.txt
	@echo "Installing into .venv; this takes some minutes, once."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

demo: env
	$(BIN)/maieutic run configs/quickstart.yaml

test: env
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

test-slow: env
	$(BIN)/pytest -m slow

bench: env
	$(BIN)/python -m benchmarks.limit
	$(BIN)/python -m benchmarks.growth
