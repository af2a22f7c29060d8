# Every target works in a fresh clone with nothing but Python ≥ 3.11 and Node ≥ 20: what it needs is installed into .venv first.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
# PYTHON=/path/to/python chooses one; otherwise the first of these that is new enough.
PYTHONS := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
DEMO := memflush-demo
# make test TESTS=tests/unit TEST_ARGS="-k flush -x" runs some of them.
TESTS ?= tests notebooks
TEST_ARGS ?=

.PHONY: help demo test lint format bench mutation clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/installed-demo ## Run the quickstart offline in a fresh folder and show what it remembered
	@$(BIN)/memflush demo --output $(DEMO)

test: $(VENV)/installed-test ## Run all tests, the notebooks included
	@if ls tests/browser/test_*.py >/dev/null 2>&1; then sh tools/ensure_browser.sh; fi
	@sh tools/real_notebooks.sh $(BIN)/python
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile --nbval $(TESTS) $(TEST_ARGS)

lint: $(VENV)/installed-test $(VENV)/installed-lint ## Check style, types and the arrows between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed-lint ## Put the code in its usual form
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

notebooks: $(VENV)/installed-test ## Execute the notebooks in place, so that their saved outputs are those of this version
	$(BIN)/python tools/refresh_notebooks.py

bench: $(VENV)/installed-test ## Print the tables of every benchmark
	@$(BIN)/python tools/run_benchmarks.py

# MUTANTS='memflush_jupyter.memory.limits*' tries some of them; all of them take hours.
MUTANTS ?=

mutation: $(VENV)/installed-dev ## Break memory/ and context/ in thousands of small ways; the tests must notice
	MEMFLUSH_EXAMPLES=8 $(BIN)/mutmut run $(MUTANTS)

clean: ## Remove everything that these targets made
	rm -rf $(VENV) dist build $(DEMO) $(DEMO)-[0-9]* mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say which extras .venv holds; a change of pyproject.toml installs again.
$(BIN)/python:
	@for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "memflush-jupyter needs Python 3.11 or newer and found none. Install it (Debian and Ubuntu: apt-get install python3 python3-venv), or say where it is: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$found cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$found"; \
	rm -rf $(VENV) && "$$found" -m venv $(VENV)

$(VENV)/installed-demo: pyproject.toml | $(BIN)/python
	@echo "Installing memflush-jupyter into $(VENV) (a minute or two, once)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing memflush-jupyter into $(VENV), with what '$*' needs (a minute or two, once)"
	@$(PIP) --editable '.[$*]'
	@touch $@
