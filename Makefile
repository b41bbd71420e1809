# Everything a newcomer, a developer and CI need. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup dev demo serve check format test test-slow bench bench-quality docs openapi sample clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.setup: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e .
	$(BIN)/python -m models.compiled
	@touch $@

$(VENV)/.dev: $(VENV)/.setup
	$(PIP) install -q -c constraints.txt -e '.[dev]'
	$(BIN)/python -m models.compiled --all
	@touch $@

setup: $(VENV)/.setup  ## install into .venv what the service needs

dev: $(VENV)/.dev  ## and what its tests need

demo: setup  ## start the service, turn real logits into a hierarchy, show what came of it
	$(BIN)/umbel demo

serve: setup  ## run the service on this machine until Ctrl-C
	$(BIN)/umbel serve

check: dev  ## format, lint, types, import floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: dev  ## mend what the formatter and the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: dev  ## all tests but the slow ones
	$(BIN)/pytest -n 2 --dist worksteal

test-slow: dev  ## the slow ones
	$(BIN)/pytest -m slow --timeout 1800

$(VENV)/.bench: $(VENV)/.setup
	$(PIP) install -q -c constraints.txt -e '.[bench]'
	@touch $@

bench: $(VENV)/.bench  ## the tables of numbers, as text, JSON and plots in bench-output
	$(BIN)/python -m bench

bench-quality: $(VENV)/.bench  ## how good the trees are on real sets with known classes
	$(BIN)/python -m bench quality purity margins sphere calibration tasks

docs: setup  ## write the generated pages of docs from the code
	PYTHONPATH=. $(BIN)/python scripts/write_docs.py

openapi: setup  ## write openapi/openapi.json from the code
	$(BIN)/umbel openapi > openapi/openapi.json.new && mv openapi/openapi.json.new openapi/openapi.json

sample: setup  ## make app/sample again from its public sources
	$(BIN)/python scripts/make_sample.py

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build dist *.egg-info demo-output bench-output
