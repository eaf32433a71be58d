# Every target sets up what it needs in .venv; nothing has to be activated.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
UV     := $(shell command -v uv 2>/dev/null)
REV    ?= HEAD~1
SEED   ?= $(shell date +%s)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format docs reproduce serve lidar bench mutants pythons release-check clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv with everything in it

# The stamp is written last, so an interrupted set-up is done again.
$(READY): WITH = dev
$(READY): TAKES = once, about two minutes
# All that the demonstration needs, which is little.
$(VENV)/.demo-ready: WITH = cli
$(VENV)/.demo-ready: TAKES = once, about half a minute
# What the site needs, and what a release is checked with.
$(VENV)/.docs-ready: WITH = docs
$(VENV)/.docs-ready: TAKES = once, about half a minute
$(VENV)/.release-ready: WITH = release
$(VENV)/.release-ready: TAKES = once, about a minute
$(READY) $(VENV)/.demo-ready $(VENV)/.docs-ready $(VENV)/.release-ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "linkedbandits needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) ($(TAKES))..."
ifneq ($(UV),)
	@test -d $(VENV) || $(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python -e '.[$(WITH)]'
else
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[$(WITH)]'
endif
	@touch $@

demo: $(if $(wildcard $(READY)),$(READY),$(VENV)/.demo-ready) ## which policy finds the best of ten options soonest?
	@$(BIN)/linkedbandits compare --scenario one-sparse --arms 10 --delta 0.1 --trials 1000 --seed 7

# Two more than there are cores: a third of the time tests wait, for servers, browsers and signals.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

# Tests begin hundreds of processes, and each would compile the library anew where the environment forbids to keep that.
test: export PYTHONDONTWRITEBYTECODE =
# Every worker has a core of its own at best: threads of numpy's would only wait for each other.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: $(READY) ## all tests, on all cores, in a random order: SEED=7 repeats one
	@echo "Tests in random order; the same order again: make test SEED=$(SEED)"
	@$(BIN)/python -m compileall -q -j 0 src tools # once, and not by every worker at the same time
	@$(BIN)/python -m linkedbandits.lidar.engines.compiled # likewise
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -p randomly --randomly-seed=$(SEED)

lint: $(READY) ## ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## let ruff rewrite the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Warnings are errors, and a link inside that leads nowhere is a warning.
docs: $(VENV)/.docs-ready ## this documentation as a site, in docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

release-check: lint test pythons $(VENV)/.release-ready ## is it ready to be released? half an hour; RELEASE=1 for the last look
	@$(BIN)/python -m tools.release_check $(if $(RELEASE),--release)

pythons: ## does the wheel work with each Python from 3.11 to 3.14 that is here? a minute each; PYTHONS='...' names them
	@$(PYTHON) -m tools.pythons $(PYTHONS)

reproduce: $(READY) ## the paper's experiment, with a report: some minutes, into reproduction/
	@$(BIN)/linkedbandits reproduce

serve: $(READY) ## the live service with simulated users, and a page to watch them
	@$(BIN)/linkedbandits serve --demo

lidar: $(READY) ## a small depth frame, adaptive against not, as a picture
	@$(BIN)/linkedbandits lidar --size 40 --picture lidar.png

bench: $(VENV)/.bench-ready ## the measured claims, hours in all; SECTION=economy runs a part
	@REV="$(REV)" ONLY="$(ONLY)" $(BIN)/python -m benchmarks $(SECTION)

mutants: $(READY) ## do the tests notice mistakes? an hour or two; MUTANTS='--part policies --sample 40' for less
	@$(BIN)/python -m tools.mutants $(MUTANTS)

# What the benchmarks compare with is not needed for anything else.
$(VENV)/.bench-ready: $(READY)
ifneq ($(UV),)
	@$(UV) pip install --quiet --python $(BIN)/python -e '.[bench]'
else
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
endif
	@touch $@

clean: ## remove the environment and the caches
	@rm -rf $(VENV) docs/_build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
