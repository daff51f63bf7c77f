# The commands of a developer; CONTRIBUTING.md explains them.
#
# TT_BUILD=compiled compiles the hot modules and the native kernels, TT_BUILD=native the native kernels alone,
# TT_BUILD=interpreted nothing; without it, what was chosen last stays.

SHELL := bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

WHEEL_BUILD := $(or $(TT_BUILD),auto)

# An installation is remembered by a file that names its form, so that asking for the other one installs again.
INSTALLED := $(patsubst $(VENV)/.installed-%,%,$(firstword $(wildcard $(VENV)/.installed-*)))
TT_BUILD ?= $(or $(INSTALLED),interpreted)
export TT_BUILD
STAMP := $(VENV)/.installed-$(TT_BUILD)

.PHONY: help demo test test-all test-sweep develop native lint types format docs wheel coverage bench clean

help: ## list the commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 12

# The matrices are too small to be worth sharing among threads.
demo: $(STAMP) ## train a network to read handwritten digits, from five seeds
	OPENBLAS_NUM_THREADS=1 $(BIN)/tt demo --seeds 5

# One process for each core, and one thread for each process; a file's tests stay together, with what they set up.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile

test: $(STAMP) ## the tests
	$(PYTEST)

test-all: $(STAMP) ## the tests, and those that take long
	$(PYTEST) -m "not sweep" --hypothesis-profile=exhaustive

test-sweep: $(STAMP) ## what takes hours: all kernels of CUDA on an emulated device, and under AddressSanitizer
	$(PYTEST) -m sweep

develop: $(BIN)/python ## install the project into the virtual environment, so that edits take effect at once
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@$(BIN)/python -c 'from tt.core import compiled; print("hot modules:", compiled.status().reason)'
	@$(BIN)/python -c 'from tt.backends.cpu.native import loading; print("native kernels:", loading.status().reason)'
	@rm -f $(VENV)/.installed-* && touch $(STAMP)

native: $(BIN)/python ## compile the native kernels whose sources have changed
	$(BIN)/python -m tt.backends.cpu.native.building

lint: $(STAMP) $(VENV)/.tools ## style, types and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: $(STAMP) $(VENV)/.tools ## both type checkers
	$(BIN)/mypy
	$(BIN)/pyright

format: $(VENV)/.tools ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) $(VENV)/.documentation ## the documentation as a site with search, in build/site; a broken link is an error
	$(BIN)/tt ops pages docs/operators
	$(BIN)/sphinx-build -b html -c docs --fail-on-warning --keep-going --quiet . build/site
	@echo "build/site/index.html"

wheel: $(STAMP) ## build the wheel and the source distribution into dist/
	TT_BUILD=$(WHEEL_BUILD) $(BIN)/python -m build --outdir dist .

coverage: $(STAMP) ## the tests, and which lines they did not run
	TT_COMPILED=0 $(BIN)/python -m pytest --cov --cov-report=term --cov-report=html

bench: $(STAMP) ## everything that is measured, as tables and a picture in build/benchmarks
	$(BIN)/python -m benchmarks.publish $(BENCH)

clean: ## remove all that these commands made
	rm -rf $(VENV) .editable build dist htmlcov .coverage .coverage.* coverage.xml
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find api core backends plugins cli examples tests benchmarks \
		\( -name '*.so' -o -name '*.pyd' -o -name __pycache__ \) -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tt needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# api/* are named because each entry of api/ is a link in the editable layout.
$(STAMP): $(BIN)/python pyproject.toml hatch_build.py $(wildcard ops.yaml api/*)
	@$(MAKE) --no-print-directory develop

$(VENV)/.tools: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[lint]"
	@touch $@

$(VENV)/.documentation: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@
