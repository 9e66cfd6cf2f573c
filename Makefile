# Every target does its own set-up; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# 0: quick; larger: more rows and repetitions
BENCH ?=
COUNT ?= 100000

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz lint types imports format bench clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) \
	  | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# One stamp per set of extras: re-installed when the project file changes.
$(VENV)/.demo $(VENV)/.test: $(VENV)/.%: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing rhokit and its '$*' extras into $(VENV) ..."
	@$(PIP) install --constraint constraints.txt --editable '.[$*]'
	@touch $@

demo: $(VENV)/.demo  ## Densities, classes and values of real data, printed and drawn
	@$(BIN)/python -m rhokit.demo

test: $(VENV)/.test  ## Lint, types, import contract and tests (CI runs this)
	@$(MAKE) --no-print-directory lint types imports
	$(BIN)/python -m pytest -q -n 2

test-slow: $(VENV)/.test  ## The tests marked slow (minutes)
	$(BIN)/python -m pytest -q -m slow

fuzz: $(VENV)/.test  ## 100,000 damaged and hostile model files (COUNT=N for others)
	$(BIN)/python -m tests.io.fuzz --count $(COUNT)

lint: $(VENV)/.test  ## ruff, codespell, and no comparison that asserts nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell src tests docs examples benchmarks README.md CHANGELOG.md
	@! grep -rnE '^[[:space:]]*(np|numpy|xp|torch)\.(allclose|array_equal)\(' tests \
	  || { echo 'a comparison above asserts nothing'; exit 1; }

types: $(VENV)/.test  ## mypy
	$(BIN)/mypy

imports: $(VENV)/.test  ## The import contract
	$(BIN)/lint-imports

format: $(VENV)/.test  ## Format and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.test  ## Measure (BENCH=NAME for one section: benchmarks/README.md)
	@$(BIN)/python -m benchmarks $(BENCH)

clean:  ## Remove the virtual environment and everything made
	rm -rf $(VENV) demo-output build dist .pytest_cache .mypy_cache .ruff_cache
