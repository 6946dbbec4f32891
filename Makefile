# `make demo` and `make test` set up everything they need and reuse it the next time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RELEASES := 2026.6.5 2026.9.6

.DEFAULT_GOAL := help
.PHONY: help demo test test-long repeat attacks lint lint-style lint-imports lint-types lint-async lint-async-all forms \
  players suite docs bench fuzz clean chaos mutants releases

help:
	@echo "make demo       run the core tasks on real OpenClaw with the built-in scripted model"
	@echo "make test       linters, types, and the tests, ten of them on real OpenClaw (ten minutes on two cores)"
	@echo "make test-long  all other tests: everything on both OpenClaw releases, repeated kills, clusters (an hour)"
	@echo "make repeat     make test N=20 times next to BUSY=2 busy processes, until one fails"
	@echo "make attacks    what an agent can do to the measurement at each level of the sandbox, as a table (forty minutes)"
	@echo "make suite      write the tasks' generated files, the values in their checks, and the tables in tasks/README.md"
	@echo "make forms      twenty fresh forms of each task that has them, checked like the public tasks"
	@echo "make docs       write the generated pages of the documentation and build it into .site/"
	@echo "make bench      the benchmarks of tests/bench, printed as tables"
	@echo "make chaos      a run of 200 trials, killed 100 times and resumed each time"
	@echo "make mutants    small wrong edits to the package, one at a time, and which test catches each (ten minutes)"
	@echo "make fuzz       100,000 hostile inputs to every parser of files, replies and outputs (ten minutes)"

# The virtual environment, which is updated when pyproject.toml changes.
$(BIN)/pinchbench-async: pyproject.toml | $(VENV)/.python
	@echo "Installing the Python packages into $(VENV)." >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable . || { \
	  echo "The Python packages could not be installed; check the network and run this again." >&2; exit 1; }
	@$(BIN)/python -m compileall -q pinchbench  # or each worker of the tests would do it, all at the same time
	@touch $@

$(VENV)/.dev: $(BIN)/pinchbench-async
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || { \
	  echo "The development packages could not be installed; check the network and run this again." >&2; exit 1; }
	@touch $@

# What the tests need besides Python: a missing part is named before the first test.
$(VENV)/.browser: tests/chromium.py tests/faketime.py | $(VENV)/.dev
	@$(BIN)/python tests/chromium.py >&2
	@$(BIN)/python tests/faketime.py >&2
	@touch $@

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

demo: $(BIN)/pinchbench-async
	@$(BIN)/pinchbench-async demo

# The releases of OpenClaw that are tested.
releases: $(VENV)/.dev
	@for release in $(RELEASES); do $(BIN)/pinchbench-async openclaw install $$release >/dev/null || exit; done

lint: lint-style lint-imports lint-types lint-async

lint-style: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check

lint-imports: $(VENV)/.dev
	$(BIN)/lint-imports

lint-types: $(VENV)/.dev
	$(BIN)/mypy

# flake8-async walks the tree of a file once for each of some rules, a second a file for all of them. `make test` looks
# at the package, for what ruff does not know already; `make test-long` at the tests too, for everything.
ASYNC_FILES = grep -rlE '\basync (def|with|for)\b|\bawait\b' --include='*.py'

# `make test` looks only at files that have changed since it last found nothing; in a fresh clone, at those not committed.
LINTED := .cache/lint-async

lint-async: $(VENV)/.dev
	@mkdir -p $(dir $(LINTED)) && touch $(LINTED).new
	@if [ ! -e $(LINTED) ]; then files=$$(git ls-files -mo --exclude-standard 'pinchbench/*.py'); \
	elif [ $(LINTED) -nt .flake8 ] && [ $(LINTED) -nt $(VENV)/.dev ]; then files=$$(find pinchbench -name '*.py' -newer $(LINTED)); \
	else files=pinchbench; fi; \
	files=$$($(ASYNC_FILES) -s /dev/null $$files); \
	[ -z "$$files" ] || $(BIN)/flake8 --jobs 1 $$files
	@mv $(LINTED).new $(LINTED)

lint-async-all: $(VENV)/.dev
	$(BIN)/flake8 --jobs 2 --enable ASYNC $$($(ASYNC_FILES) pinchbench tests)

test test-long: $(VENV)/.dev $(VENV)/.browser releases
	@$(BIN)/python tests/stages.py $@ $(lastword $(RELEASES))

N ?= 20
BUSY ?= 2
repeat: $(VENV)/.dev $(VENV)/.browser releases
	@tests/repeat.sh $(N) $(BUSY)

attacks: releases
	$(BIN)/python tests/attacks/table.py --releases $(RELEASES)

forms: $(VENV)/.dev
	$(BIN)/pinchbench-async tasks check --form 1-20

players: $(VENV)/.dev
	$(BIN)/python tests/players.py

suite: $(VENV)/.dev
	$(BIN)/python tasks

docs: $(VENV)/.dev
	$(BIN)/python tests/docs/generate.py
	$(BIN)/zensical build --strict --config-file .zensical.toml

bench: $(VENV)/.dev
	$(BIN)/python tests/bench/startup.py
	$(BIN)/python tests/bench/start_order.py
	$(BIN)/python tests/bench/overhead.py
	$(BIN)/python tests/bench/journal.py
	$(BIN)/python tests/bench/calibration.py
	$(BIN)/python tests/bench/sequential.py
	$(BIN)/python tests/bench/wire.py

mutants: $(VENV)/.dev
	$(BIN)/python tests/mutants/run.py --at-least 43

fuzz: $(VENV)/.dev
	PINCHBENCH_FUZZ=100000 $(BIN)/pytest -n 2 tests/fuzz

chaos: $(VENV)/.dev
	PINCHBENCH_CHAOS_TRIALS=200 PINCHBENCH_CHAOS_KILLS=100 PINCHBENCH_CHAOS_SEED=$$$$ $(BIN)/pytest -n 2 tests/chaos

clean:
	rm -rf $(VENV) .site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
