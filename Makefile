# Two commands: `make demo` and `make test`. Each sets everything up by itself; `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# In build environments, too, so nothing unpinned is installed.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start hundreds of processes; each would compile every module again, which takes longer than its work.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(BIN)/python -m pip install --quiet
# Thousands of modules of which the tests load some hundred, each compiled when it is first loaded.
LAZY   := --no-compile
# Its trees stay to the end: collecting garbage takes a seventh of its time and frees next to nothing. It begins to
# collect again by itself once all files are read.
MYPY   := import gc; gc.disable(); gc.enable = lambda: None; from mypy.__main__ import console_entry; console_entry()
# One for each core; each starts a PostgreSQL of its own, and one of them a Spark, see tests/conftest.py.
# One more where memory is ample, as each waits for a server, a browser or a clock a quarter of its time.
WORKERS ?= $(shell cores=$$(nproc 2> /dev/null || echo 2); \
	awk -v n=$$cores '/^MemAvailable/ && $$2 > 4000000 * (n + 1) {more = 1} END {print n + more}' /proc/meminfo 2> /dev/null || echo $$cores)

.PHONY: help demo serve clickhouse test test-deep tests lint style types bench bench-peers corpus docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "discreet needs Python 3.11 or newer; set PYTHON=python3.12, say")'
	$(PYTHON) -m venv $(VENV)
	@$(PIP) pip || echo "going on with the pip of this Python, which takes longer to choose files"
	@touch $@

$(VENV)/run: $(VENV)/made pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/dev: $(VENV)/made pyproject.toml constraints.txt
	$(PIP) $(LAZY) -e '.[dev]'
	@touch $@ $(VENV)/run

$(VENV)/server: $(VENV)/made pyproject.toml constraints.txt
	$(PIP) $(LAZY) -e '.[plots,server]'
	@touch $@ $(VENV)/run

$(VENV)/clickhouse: $(VENV)/made pyproject.toml constraints.txt
	$(PIP) $(LAZY) -e '.[dev,clickhouse]'
	@touch $(VENV)/run $(VENV)/dev $@

$(VENV)/bench: $(VENV)/dev
	$(PIP) -e '.[bench]'
	@touch $@

demo: $(VENV)/run  ## private answers on invented hospital visits
	@$(BIN)/discreet demo

serve: $(VENV)/server  ## the service on invented hospital visits, with pages, on this machine alone
	@$(BIN)/discreet serve --demo

clickhouse: $(VENV)/clickhouse  ## the embedded ClickHouse, 600 MB, without which its tests are skipped

# Each process of the tests uses one core; threads of NumPy would wait for each other.
tests test-deep: export OPENBLAS_NUM_THREADS = 1
# Types are checked beside the tests: one core would wait for them else, and for the last test at the end.
test: style  ## lint, types, import contracts and every test
	@$(MAKE) --no-print-directory -j2 types tests

# Each charge of a ledger waits for the disk, which leaves a core idle for minutes; so the files of tests are in memory,
# where there is ample room. Any user may write there, as in /tmp. A deep run has them on the disk.
MEMORY ?= /dev/shm
tests: $(VENV)/dev
	@if [ "$$(df -Pk $(MEMORY) 2> /dev/null | awk 'NR == 2 {print $$4}')" -gt 8000000 ] 2> /dev/null; then \
		TMPDIR=$$(mktemp -d $(MEMORY)/discreet-XXXXXX) && chmod 1777 "$$TMPDIR" && export TMPDIR && trap 'rm -rf "$$TMPDIR"' EXIT HUP INT TERM; fi; \
	$(BIN)/python -m pytest -n $(WORKERS)

test-deep: lint  ## the same with every case of every list, which make test slices, and more random ones; hours
	DISCREET_DEEP=1 $(BIN)/python -m pytest -n $(WORKERS)

lint: style types  ## ruff, mypy --strict and the floors

style: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/python -c '$(MYPY)'
	$(BIN)/lint-imports

bench: $(VENV)/bench  ## speed and accuracy, each as a ratio against a reference in the same run
	$(BIN)/python -m benchmarks

bench-peers: $(VENV)/dev  ## speed and error beside other libraries, each in an environment of its own; about an hour
	@status=0; $(BIN)/python -m benchmarks.peers.twelve || status=1; $(BIN)/python -m benchmarks.peers || status=1; exit $$status

corpus: $(VENV)/dev  ## analysts' questions beside plain DuckDB: right, wrong, refused with reason, refused without need
	$(BIN)/python -m benchmarks.corpus

docs: $(VENV)/dev  ## the SQL reference and the pictures, from the tables of functions and aggregates and the formulas
	$(BIN)/python docs/reference.py > docs/sql.md.new && mv docs/sql.md.new docs/sql.md
	$(BIN)/python docs/architecture.py text > docs/architecture.md.new && mv docs/architecture.md.new docs/architecture.md
	$(BIN)/python docs/architecture.py picture > docs/figures/architecture.svg
	$(BIN)/python docs/figures/choosing.py bounds > docs/figures/bounds.svg
	$(BIN)/python docs/figures/choosing.py max_rows > docs/figures/max_rows.svg
	$(BIN)/python docs/figures/accuracy.py quantiles > docs/figures/quantiles.svg
	$(BIN)/python docs/figures/accuracy.py totals > docs/figures/totals.svg
	$(BIN)/python docs/figures/accuracy.py noise > docs/figures/noise.svg
	$(BIN)/python docs/figures/learning.py > docs/figures/learning.svg
	$(BIN)/python docs/figures/synthetic.py > docs/figures/synthetic_models.svg
	$(BIN)/discreet plan --stream 365 --epsilon 1 --output docs/figures/streams.svg
	$(BIN)/discreet plan --stream 2048 --epsilon 1 --delta 1e-6 --output docs/figures/streams_gaussian.svg

clean:  ## remove everything that was made
	rm -rf $(VENV) .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
