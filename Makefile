# Every target sets itself up in .venv; nothing else has to be installed but Python 3.11 or newer.
PYTHON ?= python3
PORT ?= 8000
SCALE ?= quick
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run demo test lint check-deploy check-openapi format bench figures load fuzz soak openapi lock audit clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/installed ## start the service on 127.0.0.1, port 8000 (PORT=… for another)
	@$(BIN)/python -m app --port $(PORT)

demo: .venv/installed-demo ## train a model over the air, with a service of its own
	@rm -rf build/demo
	@$(BIN)/python -m examples.demo --output build/demo

test: .venv/installed-cifar ## run the tests
	@$(BIN)/pytest

lint: .venv/installed-dev ## check style, types and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check-deploy: .venv/installed-dev ## check the Dockerfile, compose file, manifests and alert rules
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/ci.yml
	$(BIN)/kubernetes-validate --strict $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*.yaml))
	@if command -v promtool > /dev/null; then promtool test rules deploy/prometheus/alerts_test.yml; \
	  else echo 'the alert rules were not run: that takes promtool (Debian: prometheus)'; fi

check-openapi: ## lint openapi/openapi.json and compile the types made from it (needs npm)
	npx --yes @stoplight/spectral-cli@6 lint openapi/openapi.json --ruleset openapi/.spectral.yaml --fail-severity hint
	@mkdir -p build
	npx --yes --package openapi-typescript@7 --package typescript@5 -- sh -c \
	  'openapi-typescript openapi/openapi.json --output build/openapi.ts && tsc --strict --noEmit build/openapi.ts'

format: .venv/installed-dev ## put the source in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev ## measure speed, each figure beside a reference of the same run
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

load: .venv/installed-load ## load the service with more and more clients, as a table and a picture (5 min)
	@$(BIN)/python -m benchmarks.load_test

fuzz: .venv/installed-dev ## send thousands of requests made from the OpenAPI document (minutes)
	@$(BIN)/pytest tests/faults/test_schema.py --hypothesis-profile thorough

soak: .venv/installed-dev ## load the service for minutes and watch its memory (SOAK_SECONDS=300)
	@$(BIN)/pytest tests/faults/test_soak.py -m soak -s

lock: .venv/installed-dev ## write requirements.lock, which the image installs
	@$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --extra tracing \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --output-file requirements.lock pyproject.toml

audit: .venv/installed-dev ## look up known vulnerabilities of what the image installs (needs the network)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	@$(BIN)/pip-audit --require-hashes --disable-pip --requirement requirements.lock

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

.venv/installed-load: pyproject.toml | .venv/installed-dev
	@echo 'installing the load generator into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[load]'
	@touch $@

.venv/installed-cifar: .venv/installed-dev
	@echo 'installing what learning CIFAR-10 needs into .venv'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cifar]'
	@touch $@
