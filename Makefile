# make demo | test | bench | clean. The first use sets up .venv, which takes a minute or two.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Written last, so that an interrupted set-up is never taken as ready.
READY := $(VENV)/.ready
# Says that a browser for the tests was looked for; there may be none.
BROWSER := $(VENV)/.browser

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test bench clean

help:
	@echo "make demo   show what warpcert does"
	@echo "make test   check the style, the types, the layers and the behaviour"
	@echo "make bench  time geometry and bounds"
	@echo "make clean  remove .venv, caches and builds"

demo: $(READY)
	@$(BIN)/warpcert demo

test: $(READY) $(BROWSER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 --dist worksteal

bench: $(READY)
	$(BIN)/python -m benchmarks.geometry
	$(BIN)/python -m benchmarks.bounds

# The scripts in .venv name the folder they were made in: a moved checkout needs a new one.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
$(shell rm -f $(READY))
endif

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "warpcert needs Python 3.11 or newer, '$(PYTHON)' is not: make PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	@echo "Setting up $(VENV) from pyproject.toml and constraints.txt (a minute or two) ..."
	@test -e $@ || rm -rf $(VENV)
	@rm -f $@
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		-c constraints.txt -e '.[dev]'
	@printf '%s' '$(CURDIR)' > $@

$(BROWSER): | $(READY)
	@.ci/browser
	@touch $@

clean:
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
