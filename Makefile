# `make demo` and `make test` set up everything they need and reuse it the next time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RELEASES := 2026.6.5 2026.9.6
JOBS ?= 2
# Tests without OpenClaw wait half of their time for processes, so that more of them than there are cores take less.
WORKERS ?= 4

.DEFAULT_GOAL := help
.PHONY: help demo check test e2e e2e-long attacks lint lint-style lint-types lint-async lint-async-all forms suite docs bench fuzz clean chaos

help:
	@echo "make demo   run the core tasks on real OpenClaw with the built-in scripted model"
	@echo "make test   every check and test, on both OpenClaw releases (about forty minutes on two cores)"
	@echo "make check  all but real OpenClaw and the long kills (about seven minutes on two cores)"
	@echo "make e2e    only the tests on real OpenClaw"
	@echo "make e2e-long  more of them: the whole suite in private homes, five kills, other providers (about half an hour)"
	@echo "make attacks  what an agent can do to the measurement at each level of the sandbox, as a table (about forty minutes)"
	@echo "make suite  write the tasks' generated files, the values in their checks, and the tables in tasks/README.md"
	@echo "make docs   write the generated pages of the documentation and build it into .site/"
	@echo "make bench  the benchmarks of tests/bench, printed as tables"
	@echo "make chaos  a run of 200 trials, killed 100 times and resumed each time, and 200 on a disturbed cluster (fifteen minutes)"
	@echo "make fuzz   100 000 hostile inputs to all that reads files, replies and outputs (about ten minutes)"

# The virtual environments: made anew when pyproject.toml changes.
$(BIN)/pinchbench-async: pyproject.toml | $(VENV)/.python
	@echo "Installing the Python packages into $(VENV)." >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable . || { \
	  echo "The Python packages could not be installed; check the network and run this again." >&2; exit 1; }
	@touch $@

$(VENV)/.dev: $(BIN)/pinchbench-async
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' || { \
	  echo "The development packages could not be installed; check the network and run this again." >&2; exit 1; }
	@touch $@

# What the tests need beside Python: a missing part is named before the first test.
$(VENV)/.browser: tests/chromium.py | $(VENV)/.dev
	@$(BIN)/python tests/chromium.py >&2
	@touch $@

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

demo: $(BIN)/pinchbench-async
	@$(BIN)/pinchbench-async openclaw install >/dev/null
	@$(BIN)/pinchbench-async --model demo/oracle --suite core --concurrency 4 --openclaw $(lastword $(RELEASES)) --no-upload

lint: lint-style lint-types lint-async

lint-style: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports

lint-types: $(VENV)/.dev
	$(BIN)/mypy

# flake8-async walks the tree of a file once for each of some rules, a second a file for all of them. `make check` looks
# at the package, for what ruff does not know already; `make test` at the tests too, for everything.
ASYNC_FILES = grep -rlE '\basync (def|with|for)\b|\bawait\b' --include='*.py'

# `make check` looks only at files that have changed since it last found nothing.
LINTED := .cache/lint-async

lint-async: $(VENV)/.dev
	@mkdir -p $(dir $(LINTED)) && touch $(LINTED).new
	@files=$$($(ASYNC_FILES) pinchbench); \
	if [ $(LINTED) -nt .flake8 ] && [ $(LINTED) -nt $(VENV)/.dev ]; then files=$$(find $$files -newer $(LINTED)); fi; \
	[ -z "$$files" ] || $(BIN)/flake8 --jobs 1 $$files
	@mv $(LINTED).new $(LINTED)

lint-async-all: $(VENV)/.dev
	$(BIN)/flake8 --jobs $(JOBS) --enable ASYNC $$($(ASYNC_FILES) pinchbench tests)

check: $(VENV)/.dev $(VENV)/.browser
	@$(MAKE) --no-print-directory --jobs $(JOBS) lint
	$(BIN)/pytest -n $(WORKERS) --timeout 300 --dist worksteal -m "not openclaw and not chaos and not played and not long"

e2e: $(VENV)/.dev
	@for release in $(RELEASES); do $(BIN)/pinchbench-async openclaw install $$release >/dev/null || exit; done
	$(BIN)/pytest -n $(JOBS) -m "openclaw and not long" --dist worksteal tests/e2e

e2e-long: $(VENV)/.dev
	@for release in $(RELEASES); do $(BIN)/pinchbench-async openclaw install $$release >/dev/null || exit; done
	$(BIN)/pytest -n $(JOBS) -m "openclaw and long" tests/e2e

attacks: $(VENV)/.dev
	@for release in $(RELEASES); do $(BIN)/pinchbench-async openclaw install $$release >/dev/null || exit; done
	$(BIN)/python tests/attacks/table.py --releases $(RELEASES)

test: check lint-async-all
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "chaos or played or (long and not openclaw)"
	$(MAKE) e2e

forms: $(VENV)/.dev
	$(BIN)/pinchbench-async tasks check --form 1-20

suite: $(VENV)/.dev
	$(BIN)/python tasks/generators
	$(BIN)/python tasks/expected.py
	$(BIN)/python tasks/table.py

docs: $(VENV)/.dev
	$(BIN)/python tests/docs/generate.py
	$(BIN)/zensical build --strict --config-file .zensical.toml

bench: $(VENV)/.dev
	$(BIN)/python tests/bench/startup.py
	$(BIN)/python tests/bench/start_order.py
	$(BIN)/python tests/bench/overhead.py
	$(BIN)/python tests/bench/reaction.py
	$(BIN)/python tests/bench/journal.py
	$(BIN)/python tests/bench/streams.py
	$(BIN)/python tests/bench/judge_overlap.py
	$(BIN)/python tests/bench/pages.py
	$(BIN)/python tests/bench/site.py
	$(BIN)/python tests/bench/calibration.py
	$(BIN)/python tests/bench/sequential.py
	$(BIN)/python tests/bench/items.py
	$(BIN)/python tests/bench/soundness.py
	$(BIN)/python tests/bench/judge_certificate.py
	$(BIN)/python tests/bench/wire.py
	$(BIN)/python tests/bench/deaths.py
	$(BIN)/python tests/bench/cluster.py

fuzz: $(VENV)/.dev
	PINCHBENCH_FUZZ=100000 $(BIN)/pytest -n $(JOBS) tests/fuzz

chaos: $(VENV)/.dev
	$(BIN)/python tests/chaos/chaos.py
	$(BIN)/python tests/chaos/cluster.py

clean:
	rm -rf $(VENV) .site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
