# `make` sets everything up and runs the benchmark; `make test` sets everything up and passes the tests.
# TORCH chooses the build: `make TORCH=torch==2.13.0`. It is named beside the project in one command, because pip then
# chooses the torchvision that was made for that torch. ARGS goes to run_all.py: `make ARGS="--preset paper"`.

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch
ARGS ?=

.PHONY: run test slow speed environment

run: $(VENV)/.run
	$(VENV)/bin/python run_all.py --suite uci $(ARGS)

test: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/python -m pytest -n auto --dist loadgroup

environment: $(VENV)/.test

slow: $(VENV)/.test
	$(VENV)/bin/python -m pytest -m slow

speed: $(VENV)/.run
	$(VENV)/bin/python -m bench.speed

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet "$(TORCH)" --editable .
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(VENV)/bin/python -m pip install --quiet "$(TORCH)" --editable ".[test]"
	touch $@
