# Two commands do all the set-up: `make demo` and `make test`. While you work: `make quick`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo
# One thread per test process: two that share cores are far slower than two that do not. Processes that
# tests start find compiled modules.
# Each process begins with a stretch of files, whose models it trains once, and then helps the others.
TESTS ?= -n auto --dist worksteal
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest $(TESTS)

.PHONY: demo test quick check style types unit completion keywords package audit fuzz format clean

demo: $(VENV)/.installed
	$(BIN)/verax demo --out $(OUT) --overwrite

# Types are checked beside the tests; what they find is printed in one piece, as soon as it is there.
test: style
	@mkdir -p .pytest_cache; \
	{ $(MAKE) --no-print-directory types > .pytest_cache/types.log 2>&1; code=$$?; \
	  cat .pytest_cache/types.log; exit $$code; } & types=$$!; \
	$(MAKE) --no-print-directory unit; unit=$$?; \
	wait $$types && exit $$unit

# Under 90 seconds on two cores: style, and all tests but those marked slow; stops at a failure.
quick: style
	$(PYTEST) -m 'not slow' -x

check: style types

style: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed
	$(BIN)/lint-imports
	$(BIN)/mypy

# The report is tested in Chromium: the system's, or else one that the tests install. With CI set none may be skipped.
unit: $(VENV)/.installed
	$(PYTEST) --durations=20

# Writes src/verax/commands.json, from which `verax completion` makes its scripts.
completion: $(VENV)/.installed
	$(BIN)/python -c 'from verax.cli.completion import keep; keep()'

# Writes src/verax/training/keywords.py, from which type checkers know the options of `verax.train`.
keywords: $(VENV)/.installed
	$(BIN)/python scripts/keywords.py

# The wheel and the source archive, built into dist/ and looked through.
package: $(VENV)/.installed
	$(BIN)/python scripts/package.py

# What needs downloads, each check in an environment of its own; writes audits/YYYY-MM-DD.md.
audit: $(VENV)/.installed
	$(BIN)/python scripts/audit.py

# 10,000 spoilt inputs of every class, within limits of time and memory; what failed is in .fuzz.
FUZZ ?= --seed 0 --inputs 10000 --workers 2
fuzz: $(VENV)/.installed
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m fuzz $(FUZZ)

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OUT) .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .cache

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
