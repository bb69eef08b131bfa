# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= demo
# One thread per test process: two that share cores are far slower than two that do not.
TESTS ?= -n auto

.PHONY: demo test check unit format clean

demo: $(VENV)/.installed
	$(BIN)/verax demo --out $(OUT) --overwrite

test: check unit

check: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The report is tested in Chromium: the system's, or else one that the tests install. With CI set none may be skipped.
unit: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/pytest $(TESTS)

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@
