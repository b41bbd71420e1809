# Everything a newcomer, a developer and CI need. `make help` lists it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
NODE := node_modules/.bin
PAGE := app/dashboard/js tests/dashboard/js client-js *.config.js

# Bytecode is kept: tests and services start many processes, and each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup dev demo serve check check-types check-style check-house check-page check-contract format test test-changed test-cpu test-page test-slow node chaos storm simulate fuzz fuzz-guided mutants audit sbom image-root bench bench-quality docs notebooks client client-js openapi check-released released sample platforms fresh release clean again

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# An index of PyTorch's CPU wheels, in place of PyTorch's: https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
# yes: PyTorch for CUDA (2.7 GB).
CUDA ?= no
# no: without PyTorch, wherever it is.
TORCH ?= yes
# Of maps, cones, pdf, h5ad and oidc, which `make setup` installs; none: EXTRAS=
EXTRAS ?= maps,cones,pdf,h5ad,oidc
INSTALL = $(PYTHON) scripts/install.py --venv $(VENV) --extras '$(EXTRAS)' \
  $(if $(TORCH_INDEX),--torch-index '$(TORCH_INDEX)') $(if $(filter yes,$(CUDA)),--cuda) \
  $(if $(filter no,$(TORCH)),--without-torch)
INSTALLED := pyproject.toml client/pyproject.toml constraints.txt scripts/install.py
# What one of these variables brings is looked for again, and so is an environment that is not whole.
ifneq ($(TORCH_INDEX)$(filter yes,$(CUDA))$(if $(wildcard $(BIN)/python),,again),)
INSTALLED += again
endif

$(VENV)/.setup: $(INSTALLED)
	@$(INSTALL)
	@touch $@

$(VENV)/.dev: $(VENV)/.setup
	@$(INSTALL) --dev
	$(BIN)/umbel compile --all
	@touch $@

setup: $(VENV)/.setup  ## install into .venv what the service needs

dev: $(VENV)/.dev  ## and what its tests need

demo: setup  ## start the service, turn real logits into a hierarchy, show what came of it
	$(BIN)/umbel demo

serve: setup  ## run the service on this machine until Ctrl-C
	$(BIN)/umbel serve

# The page is served as it is written; Node checks it, and nothing else needs Node.
node:
	@command -v node >/dev/null && command -v npm >/dev/null || { \
	  echo 'The page is checked with Node.js 18.18 or newer and npm (on Debian: apt-get install nodejs npm).' >&2; \
	  echo 'make setup, demo, serve and test need neither.' >&2; exit 1; }

node_modules/.package-lock.json: package.json package-lock.json .npmrc | node
	npm ci --no-progress
	@touch $@

build/contract.d.ts: openapi/openapi.json node_modules/.package-lock.json
	$(NODE)/openapi-typescript $< --output $@

check: check-types check-style check-house check-page check-contract  ## format, lint, types, import floors, the house's rules

check-types: dev  ## the types of the Python code
	$(BIN)/mypy
	$(BIN)/mypy --config-file client/pyproject.toml

check-style: dev  ## format and lint of the Python code, import floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

check-house: dev  ## the house's own rules: words, lengths of files, what each package lists
	$(BIN)/pytest -q -p no:cacheprovider tests/test_house.py

check-page: build/contract.d.ts  ## the same of the JavaScript of the page and the client
	$(NODE)/prettier --check --log-level warn $(PAGE)
	$(NODE)/eslint .
	$(NODE)/tsc
	$(NODE)/tsc -p client-js

# Both would ask the network for news of themselves.
check-contract: node_modules/.package-lock.json  ## Redocly's and Spectral's rules for the OpenAPI document
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(NODE)/redocly lint openapi/openapi.json
	$(NODE)/spectral lint --fail-severity warn openapi/openapi.json

format: dev node_modules/.package-lock.json  ## mend what the formatters and the linters can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NODE)/eslint --fix .
	$(NODE)/prettier --write --log-level warn $(PAGE)

# Three processes on two cores: tests that wait for a service leave the cores to those that compute.
test: dev  ## all tests but the slow ones
	$(BIN)/pytest -n 3

# BASE: a commit to compare with, in place of the merge base with main.
test-changed: dev  ## the tests that a change can affect, by the import graph
	$(BIN)/python scripts/changed_tests.py $(BASE)

test-cpu: dev  ## the CPU seconds of each file of TESTS (tests)
	$(BIN)/python -m pytest -n 3 -p tests.cpu_kit $(TESTS)

TESTS ?= tests
test-page: node  ## the page's pure modules, by Node alone
	node --test tests/dashboard/js/*.test.js

test-slow: dev  ## the slow ones
	$(BIN)/pytest -m slow --timeout 1800

# Processes are killed and connections cut; on this machine alone.
chaos: dev  ## storms over the service of real processes for about ten minutes, and their table
	$(BIN)/python -m tests.chaos

# 10,000 jobs and 500 kills take an hour with PAUSE=2, the seconds between faults.
storm: dev  ## one storm of JOBS jobs and about KILLS kills, and its table
	$(BIN)/python -m tests.chaos --rolls 0 --s3-jobs 0 --seconds 1 --pause $(PAUSE) --steady-clock --jobs $(JOBS) --kills $(KILLS)

JOBS ?= 1000
KILLS ?= 50
PAUSE ?= 0.3
simulate: dev  ## the ledger under a simulated clock, network and store, for SECONDS seconds
	$(BIN)/python -m tests.simulation --seconds $(SECONDS) --schedules $(SCHEDULES)

SECONDS ?= 300
SCHEDULES ?= 1000000
fuzz: dev  ## mutated files against every reader, for SECONDS seconds
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

fuzz-guided: dev  ## files led by the code that they reach, for SECONDS seconds each format
	$(PIP) install -q -c constraints.txt -e '.[fuzz]' -e ./client
	$(BIN)/python -m tests.fuzz.guided --seconds $(SECONDS)

mutants: dev  ## which single changes of the Lua scripts their model does not notice
	$(BIN)/python -m tests.workers.stores.redis.mutants

# Asks the index of packages for known weaknesses: the one check that needs the network.
audit: dev  ## known weaknesses of the packages that constraints.txt pins
	$(BIN)/python -m venv build/audit
	build/audit/bin/pip install -q pip-audit
	build/audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

$(VENV)/.bench: $(VENV)/.setup
	$(PIP) install -q -c constraints.txt -e '.[bench]' -e ./client
	@touch $@

bench: $(VENV)/.bench  ## the tables of numbers, as text, JSON and plots in bench-output
	$(BIN)/python -m bench

bench-quality: $(VENV)/.bench  ## how good trees and classifiers are on real sets with known classes
	$(BIN)/python -m bench quality purity linkage words margins sphere calibration tasks classifiers labelled views supervision completion attributes splits momentum l2h_tables deep

$(VENV)/.release: $(VENV)/.dev
	$(PIP) install -q -c constraints.txt -e '.[release]' -e ./client
	@touch $@

sbom: $(VENV)/.release  ## what a full installation holds, with versions and licences, as CycloneDX in dist
	$(BIN)/python -m scripts.release sbom

release: $(VENV)/.release  ## sdists and wheels in dist, tried in an empty environment, with SBOM and provenance
	$(BIN)/python -m scripts.release all

client-js: dev build/contract.d.ts  ## the JavaScript client as an npm package, in build
	$(BIN)/python -m scripts.package_js

platforms: dev  ## whether every dependency has wheels for every system and Python (docs/install.md)
	$(PIP) install -q --upgrade pip
	$(BIN)/python -m scripts.platforms

fresh:  ## make demo and make test as a new user has them: a clone, no compiler, no Node, an empty HOME
	$(PYTHON) scripts/fresh.py $(FRESH)

# Needs root, Buildah and debootstrap. IMAGE_ROOT: further options, as --build-arg EXTRAS=telemetry.
image-root: dev  ## build the image by Buildah alone, in build/image-root, and try the service in it
	$(BIN)/python -m scripts.image_root build --host-pip $(if $(TORCH_INDEX),--build-arg TORCH_INDEX=$(TORCH_INDEX)) $(IMAGE_ROOT)
	UMBEL_IMAGE_ROOT=build/image-root $(BIN)/pytest -m slow -s tests/e2e/test_image_root.py

docs: setup  ## write what is generated from the code: pages of docs, the page's list of metrics
	PYTHONPATH=. $(BIN)/python scripts/write_docs.py
	PYTHONPATH=. $(BIN)/python scripts/write_metrics.py
	PYTHONPATH=. $(BIN)/python scripts/write_scales.py

notebooks: dev  ## run the notebooks of docs, and write what they show into them
	PYTHONPATH=. $(BIN)/python scripts/write_notebooks.py

client: dev  ## write what the Python client has of the code: functions of methods, exceptions, asyncio
	PYTHONPATH=. $(BIN)/python scripts/write_client.py

openapi: setup  ## write openapi/openapi.json from the code
	$(BIN)/umbel openapi > openapi/openapi.json.new && mv openapi/openapi.json.new openapi/openapi.json

check-released: setup  ## what openapi/openapi.json breaks for clients of the last release
	$(BIN)/python -m scripts.contract

released: openapi  ## keep the contract as openapi/released.json, at a release
	$(BIN)/python -m scripts.contract release

sample: setup  ## make app/sample again from its public sources
	$(BIN)/python scripts/make_sample.py

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build dist *.egg-info client/build client/*.egg-info demo-output bench-output node_modules
