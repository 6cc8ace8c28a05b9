# Everything there is to remember. `make` alone prints this list.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
RUST   := Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name Cargo.toml)

# Tests run on every core, so that more threads inside one of them would only be in the way.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
# Rust comes from the PATH; where there is none, from a folder of the project's own (see tools-are-there).
RUST_HOME := $(CURDIR)/.rust
ifeq ($(shell command -v cargo),)
export CARGO_HOME := $(RUST_HOME)/cargo
export RUSTUP_HOME := $(RUST_HOME)/rustup
export PATH := $(CARGO_HOME)/bin:$(PATH)
endif

.PHONY: help demo live test test-full lint audit mutations fuzz bench bench-quick bench-scale bench-live study docs pictures wheel build clean tools-are-there

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## set up, then watch five learners on a sensor network that grows and ages
	@$(BIN)/headwater demo

live: build ## set up, then help a simulated plant in your browser: label, watch the error rate, correct the experts
	@$(BIN)/headwater demo --live

test: build $(VENV)/tools ## set up, then run every test: Rust, Python, doctests, documentation
	cargo test --quiet --workspace
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist worksteal

test-full: export HEADWATER_FULL = 1
test-full: $(VENV)/engines test ## the same with what takes long, such as hundreds of killed processes: half an hour more

lint: build $(VENV)/tools ## set up, then check style and types of both languages
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- --deny warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(VENV)/pip ## every locked version, its age and whether it was withdrawn; known faults, if cargo-audit and pip-audit are there
	@$(BIN)/python tools/versions.py
	@if command -v cargo-audit >/dev/null; then cargo audit; fi
	@if command -v pip-audit >/dev/null; then pip-audit --requirement constraints.txt --no-deps --disable-pip; fi

mutations: build $(VENV)/tools ## deliberate faults in a copy of the core, one at a time: does a test notice each?
	$(BIN)/python tools/mutations.py

fuzz: build ## look for inputs that break a promise, FUZZ_SECONDS (60) per target
	$(BIN)/python rust/fuzz/run.py

bench: build $(VENV)/bench ## speed beside other libraries and C, in one run of a quarter of an hour; writes docs/internals/benchmarks.md
	$(BIN)/python benches/bench.py --docs docs/internals/benchmarks.md

bench-quick: build $(VENV)/bench ## the same in a minute, with rough numbers; writes nothing
	$(BIN)/python benches/bench.py --quick

bench-scale: build ## a million events while the features grow to three million
	$(BIN)/python benches/scale.py
	$(BIN)/python benches/fesl_scale.py
	$(BIN)/python benches/endless.py

bench-live: build ## what durability and HTTP cost: a live stream and the service, each beside a floor without a learner
	$(BIN)/python benches/durability.py
	$(BIN)/python benches/service_load.py

study: build $(VENV)/peers ## our numbers beside the papers'; HEADWATER_DATA names the folder of data sets
	$(BIN)/headwater reproduce all
	$(BIN)/headwater study recommended
	$(BIN)/headwater study delays
	$(BIN)/python studies/life.py
	$(BIN)/python studies/olvf.py
	$(BIN)/python studies/scaling.py
	$(BIN)/python studies/honest_quality.py
	$(BIN)/python studies/calibration.py
	$(BIN)/python studies/spring_streams.py --figures docs/learners
	$(BIN)/python studies/spring_parts.py

docs: build $(VENV)/docs ## build the documentation as a site in site/; fails on warnings, broken links and pages that nothing links to
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet --jobs auto --doctree-dir target/doctrees docs site
	@$(BIN)/python tools/check_site.py site

pictures: build $(VENV)/tools ## take the pictures of the pages in the documentation anew; needs Chromium
	@$(BIN)/python tools/pictures.py

wheel: tools-are-there $(VENV)/pip ## build a wheel in dist/ and try it, without Rust, with every Python that is found
	@$(PIP) --group wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --strip --quiet --out dist $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_17)
	@$(BIN)/python tools/check_wheel.py dist/*.whl

build: tools-are-there $(VENV)/built ## set up .venv and build the package in it

clean: ## remove what was built and the environment
	rm -rf $(VENV) $(RUST_HOME) target dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.html
	find python tests studies benches -name __pycache__ -type d -exec rm -rf {} +
	rm -f python/headwater/*.so

tools-are-there:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Headwater needs Python 3.11 or newer, and '$(PYTHON)' is not one: install it, or name it by make PYTHON=..."; exit 1; }
	@command -v cargo >/dev/null || { \
	  echo "There is no Rust toolchain here: fetching one into .rust (about 600 MB; make clean removes it) ..."; \
	  mkdir -p $(RUST_HOME) && { $(PYTHON) -m venv $(RUST_HOME)/venv && \
	  $(RUST_HOME)/venv/bin/python -m pip install --disable-pip-version-check --constraint constraints.txt puccinialin && \
	  $(RUST_HOME)/venv/bin/python -m puccinialin --location $(RUST_HOME); } > $(RUST_HOME)/fetch.log 2>&1 || { \
	  echo "Headwater needs a Rust toolchain, and none could be fetched (why: .rust/fetch.log): install one from https://rustup.rs"; exit 1; }; }

# Files that say what has been set up; a second run finds them and does nothing.
$(VENV)/pip: constraints.txt
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' does not work here: install your system's package for it (python3-venv on Debian)."; exit 1; }
	@$(PIP) pip
	@touch $@

$(VENV)/built: $(VENV)/pip pyproject.toml $(RUST)
	@echo "Building the package (a minute or two the first time) ..."
	@$(PIP) --group build
	@VIRTUAL_ENV=$(VENV) PIP_CONSTRAINT=constraints.txt $(BIN)/maturin develop --release --quiet --extras studies,datasets,live,serve > $(VENV)/build.log 2>&1 || { \
	  cat $(VENV)/build.log; exit 1; }
	@touch $@

$(VENV)/tools: $(VENV)/pip pyproject.toml
	@$(PIP) --group test --group lint
	@touch $@

$(VENV)/engines: $(VENV)/pip pyproject.toml
	@$(PIP) --group engines
	@touch $@

$(VENV)/peers: $(VENV)/pip pyproject.toml
	@$(PIP) --group study
	@touch $@

$(VENV)/docs: $(VENV)/pip pyproject.toml
	@$(PIP) --group docs
	@touch $@

# One by one: a library that cannot be installed here is listed as missing, and nothing else fails.
$(VENV)/bench: $(VENV)/pip benches/requirements.txt
	@grep -v '^#' benches/requirements.txt | while read -r peer; do \
	  $(PIP) "$$peer" || echo "$$peer cannot be installed; the table will say that it is missing."; done
	@touch $@
