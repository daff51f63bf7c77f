# The commands of a developer; CONTRIBUTING.md explains them.
#
# TT_BUILD=auto, the default, compiles the hot modules and the native kernels where a C compiler is found;
# TT_BUILD=compiled fails without one, TT_BUILD=native compiles the native kernels alone, TT_BUILD=interpreted nothing.
# Without it, what was chosen last stays.

SHELL := bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Tests and tools start hundreds of processes: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# What is installed is compiled when it is first imported, most of it never.
export PIP_NO_COMPILE := 1

WHEEL_BUILD := $(or $(TT_BUILD),auto)

# An installation is remembered by a file that names its form and the entries of api/, each of which is a link in the
# editable layout: asking for the other form, and a new entry, install again.
ENTRIES := $(firstword $(shell echo $(sort $(filter-out api/__pycache__ %.pyi,$(wildcard api/*))) | cksum))
INSTALLED := $(firstword $(subst -, ,$(patsubst $(VENV)/.installed-%,%,$(firstword $(wildcard $(VENV)/.installed-*)))))
TT_BUILD ?= $(or $(INSTALLED),auto)
export TT_BUILD
STAMP := $(VENV)/.installed-$(TT_BUILD)-$(ENTRIES)

.PHONY: help demo test test-family test-slice test-all test-sweep test-sanitized fuzz develop native lint types format docs browser wheel wheels coverage bench clean

help: ## list the commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 12

# The matrices are too small to be worth sharing among threads.
demo: $(STAMP) ## train a network to read handwritten digits, from five seeds
	OPENBLAS_NUM_THREADS=1 $(BIN)/tt demo --seeds 5

# One process for each core, and one thread for each process; a file's tests stay together, with what they set up.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile

test: $(STAMP) ## the tests
	$(PYTEST) $(PYTEST_OPTIONS)

test-family: $(STAMP) ## the tests of a family of operators: TT_NATIVE=0 make test-family FAMILY=reduction
	$(PYTEST) --family=$(FAMILY) $(PYTEST_OPTIONS)

SLICE ?= 1/16

test-slice: $(STAMP) ## a slice of the tests that take long: make test-slice SLICE=3/16
	$(PYTEST) -m "not sweep" --hypothesis-profile=exhaustive --slice=$(SLICE) $(PYTEST_OPTIONS)

test-all: $(STAMP) ## the tests, and those that take long
	$(PYTEST) -m "not sweep" --hypothesis-profile=exhaustive $(PYTEST_OPTIONS)

test-sweep: $(STAMP) ## what takes hours: all kernels of CUDA on an emulated device, and under AddressSanitizer; the CPU's on an emulated ARM
	$(PYTEST) -m sweep $(PYTEST_OPTIONS)

# Options of `python -m tests.fuzz`: make fuzz FUZZ="--seconds 600 --only 'index_*'".
FUZZ ?= --seconds 60

fuzz: $(STAMP) ## random programs, in processes that may crash
	$(BIN)/python -m tests.fuzz $(FUZZ)

# The first command is of the samples, the second of random calls; both run with what is compiled for the sanitizers.
SANITIZED_CHECKS ?= --checks runs --checks inplace --checks out --dtype float32 --dtype int64

test-sanitized: $(STAMP) ## samples and random calls under AddressSanitizer and UBSan
	$(BIN)/python -m tests.fuzz.sanitized -- -m tt.cli.main ops check --backend cpu --run $(SANITIZED_CHECKS)
	$(BIN)/python -m tests.fuzz.sanitized -- -m tests.fuzz --megabytes 0 $(FUZZ) operators

# Installs what a table of pyproject.toml asks for: $(call install,project.optional-dependencies.test).
REQUIRED := import functools, sys, tomllib; \
	data = tomllib.load(open("pyproject.toml", "rb")); \
	print(*(line for path in sys.argv[1:] for line in functools.reduce(dict.get, path.split("."), data)), sep="\n")
install = $(BIN)/python -c '$(REQUIRED)' $(1) >$(VENV)/required.txt && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/required.txt

# What the build needs is installed first, so that it runs in this environment: nothing is fetched twice.
develop: $(BIN)/python ## install the project into the virtual environment, so that edits take effect at once
	$(call install,build-system.requires project.dependencies project.optional-dependencies.test)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@$(BIN)/python -m compileall -q -j 0 api core backends plugins cli
	@$(BIN)/python -c 'from tt.core import compiled; print("hot modules:", compiled.status().reason)'
	@$(BIN)/python -c 'from tt.backends.cpu.native import loading; print("native kernels:", loading.status().reason)'
	@rm -f $(VENV)/.installed-* && touch $(STAMP)

native: $(BIN)/python ## compile the native kernels whose sources have changed
	$(BIN)/python -m tt.backends.cpu.native.build

lint: $(STAMP) $(VENV)/.tools ## style, types and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tt.core.schema.stubs
	$(BIN)/mypy
	$(BIN)/lint-imports

types: $(STAMP) $(VENV)/.tools ## both type checkers
	$(BIN)/python -m tt.core.schema.stubs
	$(BIN)/mypy
	$(BIN)/pyright

format: $(VENV)/.tools ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) $(VENV)/.documentation ## the documentation as a site with search, in build/site; a broken link is an error
	$(BIN)/tt ops pages docs/operators
	$(BIN)/sphinx-build -j auto -b html -c docs --fail-on-warning --keep-going --quiet . build/site
	@echo "build/site/index.html"

browser: build/site/searchindex.js $(VENV)/.browser ## look at the site in Chromium; screenshots in build/screenshots
	$(PYTEST) --dist=worksteal -m browser -rs tests/docs/test_browser.py $(PYTEST_OPTIONS)

build/site/searchindex.js:
	@$(MAKE) --no-print-directory docs

# What is compiled here from the same sources is not compiled again; `make wheels` compiles everything.
wheel: $(STAMP) ## build the wheel and the source distribution into dist/
	TT_BUILD=$(WHEEL_BUILD) TT_LIBRARIES=$(CURDIR)/.editable/tt $(BIN)/python -m build --no-isolation --outdir dist .

wheels: ## build a compiled wheel for each Python that is installed, and try it where no compiler is
	PYTHONS="$(PYTHONS)" .ci/wheels

coverage: $(STAMP) ## the tests, and which lines they did not run
	TT_COMPILED=0 $(PYTEST) --cov --cov-report=term --cov-report=html

bench: $(STAMP) ## everything that is measured, on each instruction set, as tables and a picture in build/benchmarks
	$(BIN)/python -m benchmarks.publish $(BENCH)

clean: ## remove all that these commands made
	rm -rf $(VENV) .editable build dist htmlcov .coverage .coverage.* coverage.xml
	rm -rf core/schema/_snapshot.py core/tensor/tensor_methods.pyi core/dispatch/registry/typed_ops.pyi core/library.pyi docs/operators docs/reference
	find api backends -name '*.pyi' -delete
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find api core backends plugins cli examples tests benchmarks \
		\( -name '*.so' -o -name '*.pyd' -o -name __pycache__ \) -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tt needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(BIN)/python pyproject.toml hatch_build.py
	@$(MAKE) --no-print-directory develop

$(VENV)/.tools: $(BIN)/python pyproject.toml
	$(call install,project.optional-dependencies.lint)
	@touch $@

$(VENV)/.browser: $(BIN)/python pyproject.toml
	$(call install,project.optional-dependencies.browser)
	@touch $@

$(VENV)/.documentation: $(BIN)/python pyproject.toml
	$(call install,project.optional-dependencies.docs)
	@touch $@
