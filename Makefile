# `make` lists what can be made. Nothing is needed beforehand but Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
COMPILE := var/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test bench lint format venv lock clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 16

demo: $(VENV)/.runtime ## a running example with data (PORT=8000 chooses the port, RESET=1 starts afresh)
	@env -u DATABASE_URL -u CELERY_BROKER_URL DEBUG=true $(BIN)/python manage.py demo $(if $(PORT),--port $(PORT)) $(if $(RESET),--reset)

test: $(VENV)/.dev ## every check and test, with the servers they need (ARGS=tests/annotation runs a part)
	@$(BIN)/python -m tests $(ARGS)

bench: $(VENV)/.dev ## measure speed against its floor (minutes; ARGS=--help tells more)
	@$(BIN)/python -m bench $(ARGS)

lint: $(VENV)/.dev ## ruff and mypy
	@$(BIN)/python -m tests --only-checks

format: $(VENV)/.dev ## let ruff format and sort
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

venv: $(VENV)/.dev ## only the virtual environment, with everything for development

lock: var/uv/bin/uv ## pin the requirements again (UPGRADE=1 takes newer versions)
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) requirements-dev.in -o requirements-dev.txt

clean: ## remove the virtual environment and caches; var/ with its data stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment serves both: what development needs includes the runtime, so its stamp counts for both.
$(VENV)/.runtime: requirements.txt | $(BIN)/pip
	@echo "Installing what Touchstone runs on ..."
	@$(INSTALL) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt requirements.txt | $(BIN)/pip
	@echo "Installing what Touchstone and its tests need ..."
	@$(INSTALL) -r requirements-dev.txt
	@touch $@ $(VENV)/.runtime

# pip comes last when an environment is made, so where it is the rest is too.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Touchstone needs Python 3.11 or newer: say which with PYTHON=, as in: make PYTHON=python3.12 demo" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq python3-venv; } || { \
		echo "This Python cannot make virtual environments: install python3-venv and try again" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

var/uv/bin/uv:
	$(PYTHON) -m venv var/uv
	var/uv/bin/pip install --quiet uv
