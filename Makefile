# Every target sets itself up in .venv; nothing else has to be installed but Python 3.11 or newer.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test lint format bench openapi clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/installed ## start the service on 127.0.0.1, port 8000 (PORT=… for another)
	@$(BIN)/python -m app --port $(PORT)

test: .venv/installed-dev ## run the tests
	@$(BIN)/pytest

lint: .venv/installed-dev ## check style, types and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/installed-dev ## put the source in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev ## measure speed, each figure beside a reference of the same run
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

lock: .venv/installed-dev ## write requirements.lock, which the image installs
	@$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --output-file requirements.lock pyproject.toml

openapi: .venv/installed ## write openapi/openapi.json
	@$(BIN)/python -m app.export_openapi

clean: ## remove the environment and every cache
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'airsched needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …' >&2; exit 1; }
	@echo 'setting up .venv (once)'
	@$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	@echo 'installing the service into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@echo 'compiling the kernels'
	@$(BIN)/python -m app.compilation
	@touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	@echo 'installing the service and its development tools into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@echo 'compiling the kernels'
	@$(BIN)/python -m app.compilation
	@touch $@ .venv/installed
