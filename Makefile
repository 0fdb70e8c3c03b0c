# Every target sets itself up in .venv; nothing else has to be installed but Python 3.11 or newer.
PYTHON ?= python3
PORT ?= 8000
SCALE ?= quick
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run demo test lint format bench figures openapi clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/installed ## start the service on 127.0.0.1, port 8000 (PORT=… for another)
	@$(BIN)/python -m app --port $(PORT)

demo: .venv/installed-demo ## train a model over the air, with a service of its own
	@rm -rf build/demo
	@$(BIN)/python -m airsched_client.federated.demo --output build/demo

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

figures: .venv/installed-dev $(if $(DATA),.venv/installed-cifar) ## draw the paper's figures beside ours (SCALE=paper for its size, DATA=… to learn)
	@$(BIN)/python -m experiments --scale $(SCALE) $(if $(DATA),--data $(DATA))

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

.venv/installed-demo: pyproject.toml | .venv/bin/python
	@echo 'installing the service and what the demonstration needs into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[federated]'
	@echo 'compiling the kernels'
	@$(BIN)/python -m app.compilation
	@touch $@ .venv/installed

.venv/installed-dev: pyproject.toml | .venv/bin/python
	@echo 'installing the service and its development tools into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@echo 'compiling the kernels'
	@$(BIN)/python -m app.compilation
	@touch $@ .venv/installed .venv/installed-demo

.venv/installed-cifar: .venv/installed-dev
	@echo 'installing what learning CIFAR-10 needs into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cifar]'
	@touch $@
