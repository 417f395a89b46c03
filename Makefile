# `make` sets everything up and runs the benchmark; `make test` sets everything up, checks the code and passes the tests;
# `make unit` passes those that take under three minutes together; `make docs` writes the documentation to `site/`, and
# `make paper` the paper to `build/paper/`, which needs LaTeX.
# TORCH chooses the build: `make TORCH=torch==2.13.0`. It is named beside the project in one command, because pip then
# chooses the torchvision that was made for that torch. ARGS goes to run_all.py: `make ARGS="--preset paper"`. INSTALL is
# the command that installs packages into VENV.

PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch
ARGS ?=
INSTALL ?= $(VENV)/bin/python -m pip install --quiet

.PHONY: run test checks tests unit slow coverage speed environment docs paper

run: $(VENV)/.run
	$(VENV)/bin/python run_all.py --suite uci $(ARGS)

# The checks run beside the tests, which often wait; a failure of either fails both.
test: $(VENV)/.test
	$(MAKE) --jobs=2 --keep-going checks tests

tests: $(VENV)/.test
	$(VENV)/bin/python -m pytest -n auto --dist loadgroup

checks: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy

unit: $(VENV)/.test
	$(VENV)/bin/python -m pytest -n auto --dist loadgroup -m "not slow and not integration"

coverage: $(VENV)/.test
	$(VENV)/bin/python -m pytest -n auto --dist loadgroup --cov --cov-report=term --cov-report=xml

environment: $(VENV)/.test

slow: $(VENV)/.test
	$(VENV)/bin/python -m pytest -m slow

# A link that leads nowhere, a page that no menu has, or a name that the code lacks is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build

paper: $(VENV)/.run
	$(VENV)/bin/python -m paper

speed: $(VENV)/.run
	$(VENV)/bin/python -m benchmarks.speed

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) "$(TORCH)" --editable .
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) "$(TORCH)" --editable ".[docs]"
	touch $(VENV)/.run $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) "$(TORCH)" --editable ".[test]"
	touch $(VENV)/.run $(VENV)/.docs $@
