# Every target sets itself up in .venv; nothing else has to be installed but Python 3.11 or newer.
PYTHON ?= python3
PORT ?= 8000
SCALE ?= quick
BIN := .venv/bin

.DEFAULT_GOAL := help
# Every target with a description is a command, not a file.
.PHONY: $(shell awk -F: '/^[a-z-]+:.*\#\# / {print $$1}' Makefile)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/installed ## start the service on 127.0.0.1, port 8000 (PORT=… for another)
	@$(BIN)/python -m app --port $(PORT)

demo: .venv/installed-demo ## train a model over the air, with a service of its own
	@rm -rf build/demo
	@$(BIN)/python -m examples.demo --output build/demo

demo-flower: build/flower-venv/installed-demo ## train with Flower, over the air and with plain strategies (minutes)
	@rm -rf build/flower
	@build/flower-venv/bin/python -m examples.flower.compare

test: .venv/installed-torch ## run the tests, except those for Flower
	@$(BIN)/pytest --numprocesses auto --dist loadfile

test-lowest: $(BIN)/uv ## run the tests with the lowest versions that are allowed (10 min)
	@rm -rf build/lowest-venv
	@echo 'setting up build/lowest-venv'
	@$(BIN)/uv venv --quiet --seed --python 3.11 build/lowest-venv
	@$(BIN)/uv pip install --quiet --python build/lowest-venv --resolution lowest-direct \
	  --editable '.[tracing]' --editable './clients[federated]' --group dev
	@$(BIN)/uv pip freeze --python build/lowest-venv --exclude-editable
	@NUMBA_CACHE_DIR=$(CURDIR)/build/lowest-venv/kernels build/lowest-venv/bin/pytest

check-flower: build/flower-venv/installed ## test the Flower strategy on a grid in process
	@build/flower-venv/bin/python -m pytest tests/client/flower

test-flower: build/flower-venv/installed-demo ## the same, and the example in torch, also on Ray (minutes)
	@build/flower-venv/bin/python -m pytest tests/client/flower -m 'slow or not slow'

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
	  else echo '*** THE ALERT RULES WERE NOT TESTED: install promtool (Debian: apt install prometheus) ***' >&2; \
	    test "$$CI" != true; fi

check-openapi: ## lint openapi/openapi.json and compile the types made from it (needs npm)
	npx --yes @stoplight/spectral-cli@6 lint openapi/openapi.json --ruleset openapi/.spectral.yaml --fail-severity hint
	@mkdir -p build
	npx --yes --package openapi-typescript@7 --package typescript@5 -- sh -c \
	  'openapi-typescript openapi/openapi.json --output build/openapi.ts && tsc --strict --noEmit build/openapi.ts'

format: .venv/installed-dev ## fix the style of the source
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-dev ## measure speed, each figure beside a reference of the same run
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

load: .venv/installed-dev ## load the service at random times up to its capacity, as a table and a picture (15 min)
	@$(BIN)/python -m benchmarks.load_test

attack: .venv/installed-dev ## attack a service of this machine, and print what others notice (BEFORE=revision to compare)
	@$(BIN)/python -m benchmarks.attack $(if $(BEFORE),--before $(BEFORE))

fuzz: .venv/installed-dev ## send thousands of requests made from the OpenAPI document (minutes)
	@$(BIN)/pytest tests/faults/test_schema.py --hypothesis-profile thorough

fuzz-magnitudes: .venv/installed-dev ## send channels of every magnitude and rank to every algorithm and route (minutes)
	@FUZZ_PROBLEMS=$(or $(FUZZ_PROBLEMS),200) $(BIN)/pytest tests/faults/test_magnitudes.py

soak: .venv/installed-dev ## load the service for minutes and watch its memory (SOAK_SECONDS=300)
	@$(BIN)/pytest tests/faults/test_soak.py -m soak -s

mutants: .venv/installed-dev ## plant 30 defects, one at a time, and count those that the tests notice (half an hour)
	@$(BIN)/python -m tests.mutation

lock: $(BIN)/uv ## write requirements.lock, which the image installs
	@$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --extra tracing \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --output-file requirements.lock pyproject.toml

audit: .venv/bin/python ## look up known vulnerabilities of what the image installs (needs the network)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip --requirement requirements.lock

figures: .venv/installed-dev $(if $(DATA),.venv/installed-torch) ## draw the paper's figures beside ours (SCALE=paper for its size, DATA=… to learn)
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

# pip 25.1 is the first that knows dependency groups.
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
define install
	@$(PIP_INSTALL) 'pip>=25.1'
	@$(PIP_INSTALL) $(1)
endef
define install_and_compile
	$(call install,$(1))
	@$(BIN)/python -m app.warmup
endef

# A service compiles what is missing while it runs.
.venv/installed: pyproject.toml clients/pyproject.toml | .venv/bin/python
	@echo 'installing the service and its client into .venv'
	$(call install,--editable . --editable ./clients)
	@touch $@

.venv/installed-demo: pyproject.toml clients/pyproject.toml | .venv/bin/python
	@echo 'installing the service and what the demonstration needs into .venv'
	$(call install_and_compile,--editable . --editable './clients[federated]')
	@touch $@ .venv/installed

.venv/installed-dev: pyproject.toml clients/pyproject.toml | .venv/bin/python
	@echo 'installing the service, its client and the development tools into .venv'
	$(call install_and_compile,--editable '.[tracing]' --editable './clients[federated]' --group dev)
	@touch $@ .venv/installed .venv/installed-demo

.venv/installed-torch: .venv/installed-dev
	@echo 'installing what learning with torch needs into .venv'
	$(call install,--editable './clients[torch]' --group learning)
	@touch $@

$(BIN)/uv: | .venv/bin/python
	$(call install,uv)

# Apart, because Flower pins older versions of what the service uses. The lower bound is that of the
# newest interface: without it an older Flower would be taken, to go with the newest FastAPI.
build/flower-venv/installed: pyproject.toml clients/pyproject.toml | $(BIN)/uv
	@echo 'setting up build/flower-venv'
	@test -d build/flower-venv || $(BIN)/uv venv --quiet --python $(BIN)/python build/flower-venv
	@$(BIN)/uv pip install --quiet --python build/flower-venv \
	  --editable . --editable './clients[federated,flower]' 'flwr>=1.41' 'pytest>=8.3'
	@build/flower-venv/bin/python -m app.warmup
	@touch $@

build/flower-venv/installed-demo: build/flower-venv/installed examples/flower/pyproject.toml
	@echo 'installing torch, flwr-datasets and Ray into build/flower-venv'
	@# By pip and in the version of the group "learning", which has a build for CPUs: uv takes gigabytes of CUDA.
	@$(BIN)/python -m pip --python build/flower-venv/bin/python install --quiet --disable-pip-version-check torch==2.13.0
	@$(BIN)/uv pip install --quiet --python build/flower-venv --requirements examples/flower/pyproject.toml
	@touch $@
