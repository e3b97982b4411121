# Nothing but Python >= 3.11 with venv, and make, is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow peers lint types imports check generated bench clean

demo: $(VENV)/.run ## run the three commands on a throw-away home
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/.dev ## every test that is quick; peers that are not here are skipped, saying why
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not peer" $(TESTS)

test-slow: $(VENV)/.dev ## the tests that take seconds: kills, loads, large files
	$(BIN)/python -m pytest -m "slow and not peer" $(TESTS)

peers: $(VENV)/.dev ## the tests against real peers: $DSHLOOP_TEST_DSH, $DSHLOOP_TEST_DSH_012, $DSHLOOP_TEST_PNPM_DIR, $DSHLOOP_TEST_AGENTMEMORY
	$(BIN)/python -m pytest tests/peers $(TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types imports test

generated: $(VENV)/.dev ## write the root help, the completion scripts and docs/errors.md anew
	$(BIN)/python -m dshloop.cli.generated .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit("dshloop needs Python 3.11 or newer") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@$(BIN)/python -m compileall -q dshloop
	@touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(BIN)/python -m compileall -q dshloop
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
